//! Fields as the kernel's print formats show them: `key=value key=value`.
//!
//! The keys of an event are known and nearly always come in the same order, so the next one is
//! guessed and only compared. Whatever is no known key is passed over.

use super::head::COMM_BYTES_MAX;
use tardy_ftrace::decode::Value;

/// The most fields that are read of one event.
pub(crate) const FIELDS_MAX: usize = 8;

/// How a field's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Decimal, or hexadecimal behind `0x`.
    Number,
    /// Hexadecimal, with `0x` or without.
    Hex,
    /// A task's name, which may hold anything: it goes as far as the last place where this follows.
    Comm(&'static [u8]),
    /// A path, which may hold anything and is of any length.
    Path(&'static [u8]),
    /// A function: its name, or its address where no name was known.
    Function,
    /// Letters or words that stand for a number, or the number itself.
    Words,
    /// Letters only: what looks like a number is one of them too.
    Letters,
    /// A mask of CPUs: hexadecimal words with commas between.
    Mask,
    /// All that is left.
    Rest,
}

/// A key of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// As it stands in the text, with `=`.
    pub(crate) text: &'static [u8],
    pub(crate) kind: Kind,
    /// Its place among the fields; [`PASSED_OVER`] where it is not asked for.
    pub(crate) field: usize,
}

/// The place of fields that are not asked for.
pub(crate) const PASSED_OVER: usize = FIELDS_MAX;

/// The values of an event's fields, in the decoder's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields<'a> {
    pub(crate) values: [Value<'a>; FIELDS_MAX],
}

impl<'a> Fields<'a> {
    /// Sets a value, where it has none yet: what comes twice is no field the second time.
    #[inline]
    pub(crate) fn set(&mut self, field: usize, value: Value<'a>) {
        if let Some(old @ Value::Missing) = self.values.get_mut(field) {
            *old = value;
        }
    }

    /// Whether all of these are there, a bit each.
    pub(crate) fn has_all(&self, fields: u16) -> bool {
        let mut values = self.values.iter().enumerate();
        values.all(|(field, value)| fields >> field & 1 == 0 || *value != Value::Missing)
    }
}

/// Reads what `keys` name.
#[inline]
pub(crate) fn parse<'a>(keys: &[Key], body: &'a [u8]) -> Fields<'a> {
    let mut fields = Fields::default();
    let (mut at, mut expected) = (0, 0);
    while at < body.len() {
        // Some kernels show some fields in brackets.
        if matches!(body[at], b' ' | b'\t' | b'[' | b',') {
            at += 1;
            continue;
        }
        let rest = &body[at..];
        let is_next = |key: &&Key| rest.starts_with(key.text);
        let found = match keys.get(expected).filter(is_next) {
            Some(_) => Some(expected),
            None => keys.iter().position(|key| is_next(&key)),
        };
        let Some(found) = found else {
            at += token_end(rest);
            continue;
        };
        let key = &keys[found];
        expected = found + 1;
        let value_at = at + key.text.len();
        let (value, bytes) = value(key.kind, &body[value_at..]);
        fields.set(key.field, value);
        at = value_at + bytes;
    }
    fields
}

fn token_end(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b' ').unwrap_or(text.len()).max(1)
}

/// A value at the beginning of `text`, and how long it is.
#[inline]
fn value(kind: Kind, text: &[u8]) -> (Value<'_>, usize) {
    let as_number = |number: Option<u64>| number.map_or(Value::Missing, Value::Number);
    let word_bytes = || {
        let is_end = |byte: &u8| matches!(byte, b' ' | b'\t' | b']' | b',');
        text.iter().position(is_end).unwrap_or(text.len())
    };
    match kind {
        Kind::Number => {
            let bytes = word_bytes();
            (as_number(number(&text[..bytes])), bytes)
        }
        Kind::Hex => {
            let bytes = word_bytes();
            let word = &text[..bytes];
            (as_number(hex(word.strip_prefix(b"0x").unwrap_or(word))), bytes)
        }
        Kind::Function => {
            let bytes = word_bytes();
            (function(&text[..bytes]), bytes)
        }
        Kind::Words => {
            let bytes = word_bytes();
            let word = &text[..bytes];
            (number(word).map_or(Value::Text(word), Value::Number), bytes)
        }
        Kind::Letters => {
            let bytes = word_bytes();
            (Value::Text(&text[..bytes]), bytes)
        }
        Kind::Mask => {
            let bytes = token_end(text).min(text.len());
            (Value::Text(&text[..bytes]), bytes)
        }
        Kind::Comm(next) => {
            let bytes = comm_bytes(text, next);
            (Value::Text(&text[..bytes]), bytes)
        }
        Kind::Path(next) => {
            let bytes = memchr::memmem::rfind(text, next).unwrap_or(text.len());
            (Value::Text(&text[..bytes]), bytes)
        }
        Kind::Rest => (Value::Text(text.trim_ascii_end()), text.len()),
    }
}

/// Names longer than the kernel's, in texts that somebody has written over.
const WRITTEN_OVER_BYTES_MAX: usize = 64;

/// How long a task's name is that `next` follows.
#[inline]
fn comm_bytes(text: &[u8], next: &[u8]) -> usize {
    let follows = |at: &usize| text[*at] == next[0] && text[*at..].starts_with(next);
    let last_place = text.len().min(COMM_BYTES_MAX + 1);
    let long = || (last_place..text.len().min(WRITTEN_OVER_BYTES_MAX)).find(follows);
    (0..last_place).rev().find(follows).or_else(long).unwrap_or(text.len().min(COMM_BYTES_MAX))
}

/// A function's name without its offset, which callbacks have as 0: `hrtimer_wakeup/0x0`. An address
/// is a number.
pub(crate) fn function(word: &[u8]) -> Value<'_> {
    if let Some(digits) = word.strip_prefix(b"0x") {
        return hex(digits).map_or(Value::Missing, Value::Number);
    }
    let is_end = |byte: &u8| matches!(byte, b'/' | b'+');
    let name = &word[..word.iter().position(is_end).unwrap_or(word.len())];
    if name.is_empty() { Value::Missing } else { Value::Text(name) }
}

/// A whole word as a number: decimal with a sign, or hexadecimal behind `0x`.
#[inline]
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if let Some(digits) = word.strip_prefix(b"0x") {
        return hex(digits);
    }
    match word.strip_prefix(b"-") {
        Some(digits) => {
            decimal(digits).filter(|value| *value <= i64::MIN.unsigned_abs()).map(u64::wrapping_neg)
        }
        None => decimal(word),
    }
}

#[inline]
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    (!digits.is_empty()).then_some(value)
}

#[inline]
pub(crate) fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        let digit = (*byte as char).to_digit(16)?;
        value = value << 4 | u64::from(digit);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (word, expected) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("-1", Some(u64::MAX)),
            ("0x1f", Some(0x1f)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("-9223372036854775808", Some(1 << 63)),
            ("-9223372036854775809", None),
            ("", None),
            ("-", None),
            ("0x", None),
            ("0x12345678123456781", None),
            ("12a", None),
        ] {
            assert_eq!(number(word.as_bytes()), expected, "{word}");
        }
    }

    #[test]
    fn names_of_tasks_hold_anything() {
        for (text, expected) in [
            ("bash pid=7", "bash"),
            (" pid=7", ""),
            ("a pid=1 pid=7", "a pid=1"),
            ("lto 8ylk5zenspk pid=7", "lto 8ylk5zenspk"),
            ("a=b: [c]>d pid=7", "a=b: [c]>d"),
            ("longer-than-kernels-allow pid=7", "longer-than-kernels-allow"),
            // A second pid belongs to something else.
            ("bash pid=7 and more pid=8", "bash"),
            ("nothing", "nothing"),
        ] {
            let (value, _) = value(Kind::Comm(b" pid="), text.as_bytes());
            assert_eq!(value, Value::Text(expected.as_bytes()), "{text}");
        }
    }

    #[test]
    fn functions_and_addresses() {
        assert_eq!(function(b"hrtimer_wakeup/0x0"), Value::Text(b"hrtimer_wakeup"));
        assert_eq!(function(b"hrtimer_wakeup+0x0/0x20"), Value::Text(b"hrtimer_wakeup"));
        assert_eq!(function(b"0xffffffff81000000"), Value::Number(0xffff_ffff_8100_0000));
        assert_eq!(function(b""), Value::Missing);
    }

    #[test]
    fn keys_in_any_order_with_others_between() {
        let key = |text, kind, field| Key { text, kind, field };
        let keys = [
            key(b"comm=".as_slice(), Kind::Comm(b" pid="), 1),
            key(b"pid=", Kind::Number, 0),
            key(b"prio=", Kind::Number, PASSED_OVER),
            key(b"timeout=", Kind::Number, 2),
        ];
        let expected = [
            Value::Number(7),
            Value::Text(b"x y"),
            Value::Number(4),
            Value::Missing,
            Value::Missing,
            Value::Missing,
            Value::Missing,
            Value::Missing,
        ];
        for text in [
            "comm=x y pid=7 prio=1 [timeout=4]",
            " timeout=4 new=z comm=x y pid=7",
            "[timeout=4] comm=x y pid=7 prio=1 pid=8",
        ] {
            assert_eq!(parse(&keys, text.as_bytes()).values, expected, "{text}");
        }
    }
}
