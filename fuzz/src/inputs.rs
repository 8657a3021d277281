//! The committed inputs of a target and its dictionary.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a target is given.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Files' names and contents, in the order of names.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Those that are small and become large, and take long: not to be tried many times.
    pub large: Vec<(PathBuf, Vec<u8>)>,
    /// Words of the format.
    pub words: Vec<Vec<u8>>,
}

impl Inputs {
    /// Those of the target of this name.
    ///
    /// # Errors
    /// Where a file cannot be read, or a line of the dictionary is none.
    pub fn of(target: &str) -> io::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let files = read_all(&root.join("corpus").join(target))?;
        let large = match read_all(&root.join("large").join(target)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            large => large?,
        };
        let text = fs::read_to_string(root.join(format!("dictionaries/{target}.dict")))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.filter(|line| !line.starts_with('#'));
        let words = lines.map(|line| word(line).ok_or_else(|| no_word(target, line)));
        Ok(Self { files, large, words: words.collect::<io::Result<_>>()? })
    }
}

fn read_all(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        files.push((path, bytes));
    }
    files.sort();
    Ok(files)
}

fn no_word(target: &str, line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{target}.dict: `{line}` is no word"))
}

/// A line as libFuzzer has it: `"word"` with `\\`, `\"` and `\xAB`.
fn word(line: &str) -> Option<Vec<u8>> {
    let inside = line.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut rest = inside.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (escaped, behind) = rest.split_first()?;
        rest = behind;
        match escaped {
            b'\\' | b'"' => bytes.push(*escaped),
            b'x' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = behind;
            }
            _ => return None,
        }
    }
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_dictionary() {
        assert_eq!(word(r#""a\x0a\"\\b""#), Some(b"a\n\"\\b".to_vec()));
        for line in ["a", r#""a\n""#, r#""\x1""#, r#""""#, "\""] {
            assert_eq!(word(line), None, "{line}");
        }
    }
}
