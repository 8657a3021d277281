//! What a guest sends, put where it belongs.

use crate::VmError;
use crate::channel::{
    self, DEPTH_MAX, Ended, FILES_BYTES_MAX, FILES_MAX, HOSTS, Hello, Message, Piece, Reader,
};
use crate::run::Said;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path};
use tardy_files::{Access, Folder};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads what a guest sends while it grows.
pub(crate) struct Received {
    port: File,
    /// What it is read into.
    chunk: Vec<u8>,
    reader: Reader,
    /// Where its files go.
    folder: Folder,
    /// Those that it has sent, with their bytes, and all of these together.
    files: HashMap<String, u64>,
    bytes: u64,
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
            folder: Folder::make(folder, Access::Private).map_err(VmError::file("make", folder))?,
            files: HashMap::new(),
            bytes: 0,
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
            let len = self
                .port
                .read(&mut self.chunk)
                .map_err(VmError::file("read", self.folder.path()))?;
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
                        "the guest has tardy {} with protocol version {}, but this tardy has \
                         version {}: build it again",
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
        let is_open = self.open.as_ref().is_some_and(|(name, _)| *name == piece.path);
        if !is_open || piece.offset == 0 {
            if let Err(why) = self.may_be(&piece) {
                self.garbled = Some(why);
                return Ok(());
            }
            let wrong = VmError::file("write", self.folder.path().join(&piece.path));
            let file = file_below(&self.folder, &piece.path, piece.offset == 0).map_err(wrong)?;
            self.open = Some((piece.path.clone(), file));
        }
        let ends = piece.offset.saturating_add(piece.bytes.len() as u64);
        let longest = self.files.entry(piece.path).or_default();
        self.bytes = self.bytes.saturating_add(ends.saturating_sub(*longest));
        *longest = ends.max(*longest);
        if self.bytes > FILES_BYTES_MAX {
            let gib = FILES_BYTES_MAX >> 30;
            self.garbled = Some(format!("its files have more than {gib} GiB together"));
            return Ok(());
        }
        if let Some((name, file)) = &self.open {
            let wrong = VmError::file("write", self.folder.path().join(name));
            file.write_all_at(&piece.bytes, piece.offset).map_err(wrong)?;
        }
        Ok(())
    }

    /// Whether a guest may send such a file: it may send anything.
    fn may_be(&self, piece: &Piece) -> Result<(), String> {
        let path = Path::new(&piece.path);
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || piece.path.is_empty() || piece.path.contains('\0') {
            return Err(format!("{:?} is not a valid file name", piece.path));
        }
        if path.starts_with(HOSTS) {
            return Err(format!("{:?} may be written only by the host", piece.path));
        }
        if path.components().count() > DEPTH_MAX + 1 {
            return Err(format!("{:?} is too deep", piece.path));
        }
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&piece.path) {
            return Err(format!("it sends more than {FILES_MAX} files"));
        }
        Ok(())
    }
}

/// Opens a file below a folder, or makes it and the folders on the way; no link is followed.
fn file_below(folder: &Folder, name: &str, is_empty: bool) -> io::Result<File> {
    let access = folder.access()?;
    let mut at = folder.another()?;
    let mut parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    let file = parts.pop().unwrap_or_default();
    for part in parts {
        at = match at.folder(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                at.make_folder(part, access)?
            }
            found => found?,
        };
    }
    let file = at.open_or_make(file, access)?;
    if is_empty {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
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

    #[test]
    fn what_a_guest_sends_is_bounded_and_stays_its_own() {
        let deep = "a/".repeat(DEPTH_MAX + 1) + "x";
        let cases = [
            (piece("vm/console.txt", 0, b"x"), "only by the host"),
            (piece(&deep, 0, b"x"), "too deep"),
            (piece("huge", u64::MAX - 1, b"x"), "GiB together"),
        ];
        for (message, said) in cases {
            let (folder, received) = receive(&[piece("a/y", 0, b"x"), message]);
            let garbled = received.garbled.unwrap_or_default();
            assert!(garbled.contains(said), "{garbled}");
            assert!(!folder.path().join("out/vm").exists());
        }
        let many: Vec<Message> =
            (0..=FILES_MAX).map(|at| piece(&format!("f{at}"), 0, b"")).collect();
        let (folder, received) = receive(&many);
        assert!(received.garbled.is_some_and(|why| why.contains("more than 10000 files")));
        assert_eq!(fs::read_dir(folder.path().join("out")).unwrap().count(), FILES_MAX);
    }

    #[test]
    fn a_link_in_the_folder_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (port, out) = (folder.path().join("port"), folder.path().join("out"));
        fs::create_dir(&out).unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, out.join("file")).unwrap();
        std::os::unix::fs::symlink(folder.path(), out.join("below")).unwrap();
        for name in ["file", "below/precious"] {
            fs::write(&port, piece(name, 0, b"x").frame()).unwrap();
            let mut received = Received::new(&port, &out).unwrap();
            assert!(received.look(&mut |_| {}).is_err(), "{name}");
        }
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
    }
}
