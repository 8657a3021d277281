//! Fields of an event, packed or one by one.

use crate::format::{Endian, Field};

/// A field's value as a text or a message has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value<'a> {
    /// It is not there.
    #[default]
    Missing,
    /// A number; negative ones sign-extended.
    Number(u64),
    /// A name, or letters and words that stand for a number: a state, a mode.
    Text(&'a [u8]),
}

/// All fields of one event, in the order in which its handler counts them.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    Packed { bytes: &'a [u8], endian: Endian, fields: &'a [Option<Field>] },
    Given(&'a [Value<'a>]),
}

impl<'a> Values<'a> {
    #[inline]
    pub(super) fn number(&self, field: usize) -> Option<u64> {
        match *self {
            Self::Packed { bytes, endian, fields } => {
                fields.get(field)?.as_ref()?.number(bytes, endian)
            }
            Self::Given(values) => match values.get(field)? {
                Value::Number(number) => Some(*number),
                _ => None,
            },
        }
    }

    #[inline]
    pub(super) fn text(&self, field: usize) -> Option<&'a [u8]> {
        match *self {
            Self::Packed { bytes, endian, fields } => {
                let field = fields.get(field)?.as_ref()?;
                // A number is no text, whatever its bytes spell.
                if field.is_number() { None } else { field.text(bytes, endian) }
            }
            Self::Given(values) => match values.get(field)? {
                Value::Text(text) => Some(text),
                _ => None,
            },
        }
    }

    pub(super) fn is_packed(&self) -> bool {
        matches!(self, Self::Packed { .. })
    }

    /// A packed bitmap, in words of 64 bits.
    pub(super) fn words(&self, field: usize) -> Option<Vec<u64>> {
        let Self::Packed { bytes, endian, fields } = *self else { return None };
        let bytes = fields.get(field)?.as_ref()?.bytes(bytes, endian)?;
        // Of machines with words of 32 bits, two make one.
        let (words, rest) = bytes.as_chunks::<8>();
        let rest = (!rest.is_empty()).then(|| endian.number(rest).unwrap_or(0));
        Some(words.iter().filter_map(|word| endian.number(word)).chain(rest).collect())
    }

    /// The first elements of a packed array of numbers, as many as there are up to the record's end: some arrays are longer
    /// than their format says.
    pub(super) fn elements(&self, field: usize, count: usize) -> Option<Vec<u64>> {
        const USUAL_BYTES: u32 = 8;
        let Self::Packed { bytes, endian, fields } = *self else { return None };
        let field = fields.get(field)?.as_ref()?;
        let each = field.size.checked_div(field.elements).unwrap_or(USUAL_BYTES).clamp(1, 8);
        let bytes = bytes.get(field.offset as usize..)?;
        Some(
            bytes
                .chunks_exact(each as usize)
                .take(count)
                .filter_map(|it| endian.number(it))
                .collect(),
        )
    }

    pub(super) fn size(&self, field: usize) -> Option<u32> {
        match self {
            Self::Packed { fields, .. } => Some(fields.get(field)?.as_ref()?.size),
            Self::Given(_) => None,
        }
    }
}
