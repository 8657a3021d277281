//! What was brought, from where, and whether it is still that.

use crate::VmError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A package of Debian's, as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name, without the architecture.
    pub name: String,
    /// Debian's version of it.
    pub version: String,
    /// Of the package's file, in hexadecimal digits.
    pub sha256: String,
}

/// A file, as it was when it was brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Below the folder that the manifest is in.
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Since 1970. A file of the same size and time is taken for the same.
    modified_ns: i128,
    sha256: String,
}

impl Kept {
    pub(crate) fn of(folder: &Path, path: impl Into<PathBuf>) -> Result<Self, VmError> {
        let path = path.into();
        let file = folder.join(&path);
        let (bytes, modified_ns) = Self::look(&file).map_err(VmError::file("read", &file))?;
        let sha256 = sha256(&file)?;
        Ok(Self { path, bytes, modified_ns, sha256 })
    }

    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    fn look(file: &Path) -> std::io::Result<(u64, i128)> {
        let found = fs::metadata(file)?;
        Ok((
            found.len(),
            i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()),
        ))
    }

    /// Where it is, if it is what it was. `command` would bring it anew.
    pub(crate) fn check(&self, folder: &Path, command: &str) -> Result<PathBuf, VmError> {
        let file = folder.join(&self.path);
        let changed = |why: &str| VmError::Changed {
            path: file.clone(),
            why: why.to_owned(),
            command: command.to_owned(),
        };
        let (bytes, modified_ns) = Self::look(&file).map_err(|error| changed(&gone(&error)))?;
        if bytes != self.bytes {
            return Err(changed("has another size than when it was fetched"));
        }
        // A copy of the folder is as good; only what was touched is read.
        if modified_ns != self.modified_ns && sha256(&file)? != self.sha256 {
            return Err(changed("has another checksum than when it was fetched"));
        }
        Ok(file)
    }
}

fn gone(error: &std::io::Error) -> String {
    format!("cannot be read any more: {error}")
}

/// The checksum of a file, in hexadecimal digits.
pub(crate) fn sha256(file: &Path) -> Result<String, VmError> {
    let mut hash = Sha256::new();
    let mut open = tardy_files::open_named(file).map_err(VmError::file("read", file))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match open.read(&mut buffer) {
            Ok(0) => return Ok(digits(&hash.finalize())),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(VmError::file("read", file)(error)),
        }
    }
}

/// The checksum of a text, in hexadecimal digits.
pub(crate) fn sha256_of(text: &str) -> String {
    digits(&Sha256::digest(text))
}

fn digits(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What `kernel.json` and `tools.json` have in common.
pub(crate) trait Manifest: Serialize + for<'a> Deserialize<'a> {
    /// The name of its file.
    const FILE: &'static str;
    /// What its field `schema` holds.
    const SCHEMA: &'static str;

    fn schema(&self) -> &str;

    fn write(&self, folder: &Path) -> Result<(), VmError> {
        let path = folder.join(Self::FILE);
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| VmError::file("write", &path)(error.into()))?;
        text.push(b'\n');
        fs::write(&path, text).map_err(VmError::file("write", path))
    }

    /// Nothing where there is none.
    fn read(folder: &Path, command: &str) -> Result<Option<Self>, VmError> {
        let path = folder.join(Self::FILE);
        let changed =
            |why: String| VmError::Changed { path: path.clone(), why, command: command.to_owned() };
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(VmError::file("read", path)(error)),
        };
        let read: Self = serde_json::from_slice(&text)
            .map_err(|error| changed(format!("is not as it was written: {error}")))?;
        if read.schema() != Self::SCHEMA {
            return Err(changed(format!("is of another version of tardy ({})", read.schema())));
        }
        Ok(Some(read))
    }
}

/// Seconds since 1970.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_is_the_same_until_its_content_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it");
        fs::write(&file, "some").unwrap();
        let kept = Kept::of(folder.path(), "it").unwrap();
        assert_eq!(kept.check(folder.path(), "bring").unwrap(), file);

        let earlier = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        fs::File::options().write(true).open(&file).unwrap().set_modified(earlier).unwrap();
        kept.check(folder.path(), "bring").unwrap();

        let words = |content: &str| {
            fs::write(&file, content).unwrap();
            fs::File::options().write(true).open(&file).unwrap().set_modified(earlier).unwrap();
            kept.check(folder.path(), "bring").unwrap_err().to_string()
        };
        let path = file.display();
        assert_eq!(
            words("other"),
            format!("{path} has another size than when it was fetched; get it again with `bring`")
        );
        assert_eq!(
            words("same"),
            format!(
                "{path} has another checksum than when it was fetched; get it again with `bring`"
            )
        );
        fs::remove_file(&file).unwrap();
        let gone = kept.check(folder.path(), "bring").unwrap_err().to_string();
        assert!(gone.contains("cannot be read any more"), "{gone}");
    }

    #[test]
    fn a_checksum_is_the_one_that_others_compute() {
        let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_of(""), of_nothing);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(sha256(file.path()).unwrap(), of_nothing);
    }
}
