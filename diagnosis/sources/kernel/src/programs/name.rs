//! Names of programs' functions, as a person wrote them.

use tardy_model::event::FRAME_SEPARATOR;

/// A name of a symbol table in plain letters: what would break a folded stack is replaced, and of what compilers of
/// C++ and Rust make of names (`_ZN3foo3barEv`) the parts are shown.
pub(super) fn readable(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let plain = |c: char| if c.is_whitespace() || c.is_control() { '?' } else { c };
    let name: String = demangled(&name).chars().map(plain).collect();
    name.replace(FRAME_SEPARATOR, "<_")
}

/// The parts of a nested name with `::` between them; else the name itself.
fn demangled(name: &str) -> String {
    let whole = || name.to_owned();
    let Some(rest) = name.strip_prefix("_Z") else { return whole() };
    let (mut rest, nested) = match rest.strip_prefix('N') {
        Some(rest) => (rest.trim_start_matches(['K', 'V', 'r', 'R', 'O']), true),
        None => (rest, false),
    };
    let mut parts: Vec<&str> = Vec::new();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(length) = rest[..digits].parse::<usize>() else { break };
        let Some(part) = rest[digits..].get(..length) else { return whole() };
        parts.push(part);
        rest = &rest[digits + length..];
        if !nested {
            break;
        }
    }
    let is_hash = |part: &&str| {
        part.len() == 17
            && part.starts_with('h')
            && part[1..].chars().all(|c| c.is_ascii_hexdigit())
    };
    if parts.last().is_some_and(is_hash) {
        parts.pop();
    }
    if parts.is_empty() { whole() } else { parts.join("::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_they_were_written() {
        for (name, expected) in [
            ("pthread_mutex_lock", "pthread_mutex_lock"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_ZNK3Foo3barEv", "Foo::bar"),
            ("_Z4workPv", "work"),
            ("_ZN3Foo", "Foo"),
            ("_ZNSt6vectorIiSaIiEE3endEv", "_ZNSt6vectorIiSaIiEE3endEv"),
            ("_ZN99x", "_ZN99x"),
            ("_Z", "_Z"),
            ("_ZN4\u{e9}\u{e9}E", "\u{e9}\u{e9}"),
            ("_ZN3\u{e9}\u{e9}E", "_ZN3\u{e9}\u{e9}E"),
            ("_ZN99999999999999999999x", "_ZN99999999999999999999x"),
            ("a<-b \n", "a<_b??"),
        ] {
            assert_eq!(readable(name.as_bytes()), expected);
        }
        assert_eq!(readable(b"\xff"), "\u{fffd}");
    }
}
