//! What an event's bytes mean: the text of `events/*/*/format`, and fields read by it.
//!
//! The same text stands in `trace.dat` files, from machines of either endianness and word size, so
//! nothing here assumes the running one.

/// The byte order of the machine that wrote a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// How an event's bytes are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// The event's name, without its group.
    pub name: String,
    /// The number that stands in the `common_type` field of its records.
    pub id: u16,
    /// Its fields, the common ones first. At most [`FIELDS_MAX`].
    pub fields: Vec<Field>,
    /// The kernel's own format string and arguments; some meanings (state letters) stand only here.
    pub print: String,
}

/// The most fields read of one event; the kernel's largest have a few dozen.
pub const FIELDS_MAX: usize = 256;

/// One field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where it begins, in bytes from the start of the record.
    pub offset: u32,
    /// How many bytes it has there.
    pub size: u32,
    /// Whether a number in it is signed.
    pub signed: bool,
    /// How its bytes are to be taken.
    pub shape: Shape,
    /// Of how many elements it is an array; 1 where it is none, 0 where that is not told (`[]`).
    pub elements: u32,
}

/// How a field's bytes are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// In place.
    Plain,
    /// `__data_loc`: the place holds offset (low half, from the record's start) and length (high).
    DataLoc,
    /// `__rel_loc`: as above, the offset counted from this field's end.
    RelLoc,
}

/// Why a text is not an event's format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// There is no usable `name:` line.
    #[error("a format without a `name:` line")]
    NoName,
    /// There is no usable `ID:` line.
    #[error("the format of event `{0}` has no `ID:` line with a number of 16 bits")]
    NoId(String),
    /// A field's line cannot be read.
    #[error("the format of event `{event}` has a field that cannot be read: `{line}`")]
    BadField {
        /// Which event.
        event: String,
        /// The line.
        line: String,
    },
    /// More than [`FIELDS_MAX`] fields.
    #[error("the format of event `{0}` has more than {FIELDS_MAX} fields")]
    TooManyFields(String),
}

impl EventFormat {
    /// Reads the text of a `format` file.
    ///
    /// # Errors
    /// Where name, id or a field cannot be read.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let name = value("name:").filter(|name| !name.is_empty()).ok_or(FormatError::NoName)?;
        let id = value("ID:")
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| FormatError::NoId(name.to_owned()))?;
        let mut fields = Vec::new();
        for line in text.lines().take_while(|line| !line.starts_with("print fmt:")) {
            if !line.trim_start().starts_with("field") {
                continue;
            }
            if fields.len() == FIELDS_MAX {
                return Err(FormatError::TooManyFields(name.to_owned()));
            }
            fields.push(Field::parse(line).ok_or_else(|| FormatError::BadField {
                event: name.to_owned(),
                line: line.trim().to_owned(),
            })?);
        }
        let print = text.find("print fmt:").map(|at| text[at + 10..].trim().to_owned());
        Ok(Self { name: name.to_owned(), id, fields, print: print.unwrap_or_default() })
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field of that name; of `name[n]`, the n-th element of an array.
    pub fn field_or_element(&self, name: &str) -> Option<Field> {
        let Some((array, at)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) else {
            return self.field(name).cloned();
        };
        let at: u32 = at.parse().ok()?;
        let array = self.field(array).filter(|array| at < array.elements)?;
        let size = array.size / array.elements;
        let offset = array.offset.checked_add(at * size)?;
        Some(Field { name: name.to_owned(), offset, size, elements: 1, ..array.clone() })
    }
}

impl Field {
    /// Reads one line: `field:DECLARATION; offset:N; size:N; signed:N;`. Old kernels leave out
    /// `signed`; some texts write `field special:`.
    pub fn parse(line: &str) -> Option<Self> {
        let mut parts = line.trim().split(';').map(str::trim);
        let (_, declaration) = parts.next()?.split_once(':')?;
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once(':')?;
            match key.trim() {
                "offset" => offset = Some(value.trim().parse().ok()?),
                "size" => size = Some(value.trim().parse().ok()?),
                "signed" => signed = value.trim() == "1",
                _ => {}
            }
        }
        let declaration = declaration.trim();
        let shape = match declaration.split_whitespace().next()? {
            "__data_loc" => Shape::DataLoc,
            "__rel_loc" => Shape::RelLoc,
            _ => Shape::Plain,
        };
        let last = declaration.split_whitespace().next_back()?;
        let (name, elements) = match last.split_once('[') {
            // Old kernels write the size of a name by its constant: `comm[TASK_COMM_LEN]`.
            Some((name, count)) => (name, count.trim_end_matches(']').parse().unwrap_or(0)),
            None => (last, 1),
        };
        let name = name.trim_start_matches('*');
        if name.is_empty() {
            return None;
        }
        Some(Self { name: name.to_owned(), offset: offset?, size: size?, signed, shape, elements })
    }

    /// Whether it is one number in place, rather than an array, a text or a location.
    pub fn is_number(&self) -> bool {
        self.shape == Shape::Plain && self.elements == 1 && matches!(self.size, 1 | 2 | 4 | 8)
    }

    /// The field as a number, sign-extended where it is signed; `None` where the record is too
    /// short or the size is none of 1, 2, 4 and 8 bytes.
    #[inline]
    pub fn number(&self, record: &[u8], endian: Endian) -> Option<u64> {
        let bytes = slice(record, self.offset, self.size)?;
        let value = endian.number(bytes)?;
        let spare_bits = 64 - 8 * self.size;
        Some(if self.signed { ((value << spare_bits) as i64 >> spare_bits) as u64 } else { value })
    }

    /// The field's bytes: in place, or where its location points; `None` where the record is too
    /// short.
    pub fn bytes<'a>(&self, record: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        let location = || Some(endian.number(slice(record, self.offset, 4)?)? as u32);
        match self.shape {
            Shape::Plain => slice(record, self.offset, self.size),
            Shape::DataLoc => location().and_then(|at| slice(record, at & 0xffff, at >> 16)),
            Shape::RelLoc => {
                let at = location()?;
                slice(record, self.offset.checked_add(4)?.checked_add(at & 0xffff)?, at >> 16)
            }
        }
    }

    /// The field's bytes up to the first zero.
    pub fn text<'a>(&self, record: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        let bytes = self.bytes(record, endian)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(&bytes[..end])
    }
}

#[inline]
fn slice(record: &[u8], offset: u32, size: u32) -> Option<&[u8]> {
    let end = offset.checked_add(size)?;
    record.get(offset as usize..end as usize)
}

impl Endian {
    /// This machine's.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// An unsigned number of 1, 2, 4 or 8 bytes.
    #[inline]
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        // A copy of fixed size each: a number is read several times an event.
        macro_rules! read {
            ($($type:ty),*) => {
                match bytes.len() {
                    $(size if size == size_of::<$type>() => {
                        let bytes = bytes.try_into().ok()?;
                        Some(u64::from(match self {
                            Self::Little => <$type>::from_le_bytes(bytes),
                            Self::Big => <$type>::from_be_bytes(bytes),
                        }))
                    })*
                    _ => None,
                }
            };
        }
        read!(u32, u64, u16, u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "name: sched_migrate_task\nID: 371\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:char old[4];\toffset:12;\tsize:4;\n\
        \tfield:__rel_loc char[] new;\toffset:16;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"comm=%s\", __get_str(comm)\n";

    #[test]
    fn reads_numbers_arrays_and_locations_in_both_byte_orders() {
        let format = EventFormat::parse(TEXT).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("sched_migrate_task", 371));
        assert_eq!(format.print, "\"comm=%s\", __get_str(comm)");
        for endian in [Endian::Little, Endian::Big] {
            let fold = |number: u32| match endian {
                Endian::Little => number.to_le_bytes(),
                Endian::Big => number.to_be_bytes(),
            };
            let mut record = vec![0; 4];
            record.extend(fold(-7i32 as u32));
            record.extend(fold(0x0004_0014));
            record.extend(b"abc\0");
            record.extend(fold(0x0003_0004));
            record.extend(b"xyz\0new");
            let text = |name| format.field(name).unwrap().text(&record, endian);
            let pid = format.field("common_pid").unwrap().number(&record, endian);
            assert_eq!(pid, Some(-7i64 as u64));
            assert_eq!(text("comm"), Some(&b"xyz"[..]));
            assert_eq!(text("old"), Some(&b"abc"[..]));
            assert_eq!(text("new"), Some(&b"new"[..]));
        }
    }

    #[test]
    fn refuses_what_is_no_format() {
        assert_eq!(EventFormat::parse("hello"), Err(FormatError::NoName));
        assert_eq!(EventFormat::parse("name: x\nID: -"), Err(FormatError::NoId("x".into())));
        let bad = EventFormat::parse("name: x\nID: 1\n\tfield:int a;\toffset:b;\tsize:4;\n");
        assert!(matches!(bad, Err(FormatError::BadField { .. })));
        let many = format!("name: x\nID: 1\n{}", "field:int a; offset:0; size:4;\n".repeat(257));
        assert_eq!(EventFormat::parse(&many), Err(FormatError::TooManyFields("x".into())));
    }

    proptest! {
        #[test]
        fn no_text_and_no_record_breaks_it(
            text in "(name: [a-z]{0,3}\n)?(ID: [0-9]{0,6}\n)?(\tfield:.{0,9} a(\\[.?\\])?;offset:[0-9]{0,11};size:[0-9]{0,11};\n){0,4}.*",
            record in prop::collection::vec(any::<u8>(), 0..64),
            offset: u32, size: u32, signed: bool, near in 0u32..70,
        ) {
            let _ = EventFormat::parse(&text);
            for (offset, size) in [(offset, size), (near, size % 10)] {
                for shape in [Shape::Plain, Shape::DataLoc, Shape::RelLoc] {
                    let field = Field { name: "a".into(), offset, size, signed, shape, elements: 1 };
                    for endian in [Endian::Little, Endian::Big] {
                        let _ = field.number(&record, endian);
                        let text = field.text(&record, endian);
                        prop_assert!(text.is_none_or(|text| text.len() <= record.len()));
                    }
                }
            }
        }
    }
}
