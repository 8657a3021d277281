//! Encoded messages, read in place.
//!
//! Nothing is allocated, and nothing in the bytes leads outside of them.

/// The value of a field as it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number of any integer type; negative ones sign-extended.
    Varint(u64),
    /// `fixed64` and its kin.
    Fixed64(u64),
    /// `fixed32` and its kin.
    Fixed32(u32),
    /// Text, a message, or many numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// A number, or 0 for what is none.
    pub fn number(self) -> u64 {
        match self {
            Self::Varint(number) | Self::Fixed64(number) => number,
            Self::Fixed32(number) => number.into(),
            Self::Bytes(_) => 0,
        }
    }

    /// Text or a message; empty for what is neither.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// The bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The most bytes of a number.
pub const VARINT_BYTES_MAX: usize = 10;

/// A number at the beginning of `bytes`, which are moved behind it.
///
/// # Errors
/// Where there is none.
#[inline]
pub fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    // Most are short.
    match **bytes {
        [first, ref rest @ ..] if first < 0x80 => {
            *bytes = rest;
            Ok(first.into())
        }
        [first, second, ref rest @ ..] if second < 0x80 => {
            *bytes = rest;
            Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
        }
        _ => long_varint(bytes),
    }
}

fn long_varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Ok(number);
        }
    }
    Err(Malformed)
}

/// The fields of a message, in the order in which they stand.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Of a message.
    pub fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next field's number and value; `None` at the end.
    ///
    /// # Errors
    /// Where the bytes are no message from here on.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "an iterator that fails once would go on")]
    pub fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = varint(&mut self.rest)?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed)?;
        if number == 0 {
            return Err(Malformed);
        }
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let length = varint(&mut self.rest)?;
                let length = usize::try_from(length).map_err(|_| Malformed)?;
                let (value, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
                self.rest = rest;
                Value::Bytes(value)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed()?)),
            _ => return Err(Malformed),
        };
        Ok(Some((number, value)))
    }

    fn fixed<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Malformed> {
        let (value, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*value)
    }
}

/// Takes each number of a repeated field, of one of its encodings: one by one, or all in one value.
///
/// # Errors
/// Where they are no numbers.
pub fn numbers(value: Value<'_>, mut take: impl FnMut(u64)) -> Result<(), Malformed> {
    match value {
        Value::Bytes(mut packed) => {
            while !packed.is_empty() {
                take(varint(&mut packed)?);
            }
        }
        value => take(value.number()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FtraceEvent, SchedSwitch};
    use proptest::prelude::*;
    use prost::Message;

    #[test]
    fn reads_what_prost_writes() {
        let switch =
            SchedSwitch { prev_pid: Some(-1), next_prio: Some(300), ..SchedSwitch::default() };
        let event = FtraceEvent {
            timestamp: Some(u64::MAX),
            sched_switch: Some(switch.clone()),
            ..FtraceEvent::default()
        };
        let bytes = event.encode_to_vec();
        let mut fields = Fields::of(&bytes);
        assert_eq!(fields.next(), Ok(Some((1, Value::Varint(u64::MAX)))));
        let Ok(Some((4, Value::Bytes(inner)))) = fields.next() else { panic!("no switch") };
        assert_eq!(SchedSwitch::decode(inner).unwrap(), switch);
        let mut inner = Fields::of(inner);
        assert_eq!(inner.next(), Ok(Some((2, Value::Varint(u64::MAX)))));
        assert_eq!(inner.next(), Ok(Some((7, Value::Varint(300)))));
        assert_eq!((inner.next(), fields.next()), (Ok(None), Ok(None)));
    }

    #[test]
    fn bytes_that_are_no_message() {
        for bytes in [
            &[0x08][..],         // a tag without its number
            &[0x0a, 2, 1],       // longer than there is
            &[0x00, 1],          // there is no field 0
            &[0x0b],             // groups
            &[0x0d, 1, 2, 3],    // a cut fixed32
            &[0x08, 0x80, 0x80], // a number that does not end
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ] {
            assert_eq!(Fields::of(bytes).next(), Err(Malformed), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut fields = Fields::of(&bytes);
            let mut read = 0;
            while let Ok(Some((_, value))) = fields.next() {
                let _ = numbers(value, |_| read += 1);
            }
            prop_assert!(read <= bytes.len());
        }

        #[test]
        fn any_number(number: u64) {
            let bytes = FtraceEvent { timestamp: Some(number), ..FtraceEvent::default() }
                .encode_to_vec();
            prop_assert_eq!(Fields::of(&bytes).next(), Ok(Some((1, Value::Varint(number)))));
        }
    }
}
