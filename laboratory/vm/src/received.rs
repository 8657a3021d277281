//! What a guest sends, put where it belongs.

use crate::VmError;
use crate::channel::{self, Ended, Hello, Message, Piece, Reader};
use crate::run::Said;
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads what a guest sends while it grows.
pub(crate) struct Received {
    port: File,
    /// What it is read into.
    chunk: Vec<u8>,
    reader: Reader,
    /// Where its files go.
    folder: PathBuf,
    pub(crate) hello: Option<Hello>,
    pub(crate) ended: Option<Ended>,
    pub(crate) trouble: Option<String>,
    pub(crate) garbled: Option<String>,
    pub(crate) last_ns: u64,
    /// The file that was written last, with its name: pieces come in long rows.
    open: Option<(String, File)>,
}

impl Received {
    pub(crate) fn new(port: &Path, folder: &Path) -> Result<Self, VmError> {
        Ok(Self {
            port: File::open(port).map_err(VmError::file("read", port))?,
            chunk: vec![0; CHUNK_BYTES],
            reader: Reader::default(),
            folder: folder.to_owned(),
            hello: None,
            ended: None,
            trouble: None,
            garbled: None,
            last_ns: 0,
            open: None,
        })
    }

    /// Takes what has come since; whether anything had.
    pub(crate) fn look(&mut self, tell: &mut dyn FnMut(Said<'_>)) -> Result<bool, VmError> {
        let mut some = false;
        while self.garbled.is_none() {
            let len =
                self.port.read(&mut self.chunk).map_err(VmError::file("read", &self.folder))?;
            if len == 0 {
                break;
            }
            some = true;
            let mut messages = vec![];
            if let Err(garbled) =
                self.reader.feed(&self.chunk[..len], |message| messages.push(message))
            {
                self.garbled = Some(garbled.to_string());
            }
            for message in messages {
                self.take(message, tell)?;
            }
        }
        Ok(some)
    }

    fn take(&mut self, message: Message, tell: &mut dyn FnMut(Said<'_>)) -> Result<(), VmError> {
        match message {
            Message::Hello(hello) => {
                if hello.protocol != channel::VERSION {
                    self.garbled = Some(format!(
                        "tardy {} is in the guest, which speaks version {} of what this one speaks \
                         version {} of: build it anew",
                        hello.tardy,
                        hello.protocol,
                        channel::VERSION
                    ));
                }
                self.last_ns = hello.up_ns;
                tell(Said::Up { release: &hello.release, ns: hello.up_ns });
                self.hello = Some(hello);
            }
            Message::Stdout(bytes) => tell(Said::Stdout(&bytes)),
            Message::Stderr(bytes) => tell(Said::Stderr(&bytes)),
            Message::File(piece) => return self.write(piece),
            Message::Beat(now_ns) => {
                self.last_ns = now_ns;
                tell(Said::Time(now_ns));
            }
            Message::Trouble(why) => self.trouble = Some(why),
            Message::Ended(ended) => self.ended = Some(ended),
        }
        Ok(())
    }

    fn write(&mut self, piece: Piece) -> Result<(), VmError> {
        let Some(path) = below(&self.folder, &piece.path) else {
            self.garbled = Some(format!("{:?} is no name of a file", piece.path));
            return Ok(());
        };
        let is_open = self.open.as_ref().is_some_and(|(name, _)| *name == piece.path);
        if !is_open || piece.offset == 0 {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(VmError::file("make", folder))?;
            }
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(piece.offset == 0)
                .open(&path)
                .map_err(VmError::file("write", &path))?;
            self.open = Some((piece.path, file));
        }
        if let Some((_, file)) = &self.open {
            file.write_all_at(&piece.bytes, piece.offset).map_err(VmError::file("write", &path))?;
        }
        Ok(())
    }
}

/// A path below a folder, where it is one and stays there: a guest may send anything.
fn below(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && !name.is_empty() && !name.contains('\0')).then(|| folder.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn receive(messages: &[Message]) -> (tempfile::TempDir, Received) {
        let folder = tempfile::tempdir().unwrap();
        let port = folder.path().join("port");
        let mut file = File::create(&port).unwrap();
        for message in messages {
            file.write_all(&message.frame()).unwrap();
        }
        let mut received = Received::new(&port, &folder.path().join("out")).unwrap();
        received.look(&mut |_| {}).unwrap();
        (folder, received)
    }

    fn piece(path: &str, offset: u64, bytes: &[u8]) -> Message {
        Message::File(Piece { path: path.into(), offset, bytes: bytes.to_vec() })
    }

    #[test]
    fn files_grow_and_begin_anew() {
        let messages = [
            piece("a/b", 0, b"one"),
            piece("c", 0, b""),
            piece("a/b", 3, b"two"),
            piece("d", 0, b"long"),
        ];
        let (folder, _) = receive(&messages);
        let read = |name: &str| fs::read(folder.path().join("out").join(name)).unwrap();
        assert_eq!(
            (read("a/b"), read("c"), read("d")),
            (b"onetwo".to_vec(), vec![], b"long".to_vec())
        );
        let (folder, _) = receive(&[piece("d", 0, b"long"), piece("d", 0, b"x")]);
        assert_eq!(fs::read(folder.path().join("out/d")).unwrap(), b"x");
    }

    #[test]
    fn nothing_is_written_outside_the_folder() {
        for name in ["../x", "/etc/x", "a/../../x", "", ".", "a\0b"] {
            let (folder, received) = receive(&[piece(name, 0, b"x")]);
            assert!(received.garbled.is_some(), "{name:?}");
            assert!(!folder.path().join("x").exists());
        }
    }
}
