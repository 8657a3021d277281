//! Messages, with their fields as data.

/// What a message is, as data.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its name in Perfetto's schema, without the package.
    pub name: &'static str,
    /// The fields that are read or written here.
    pub fields: &'static [Field],
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: &'static str,
    /// How it is encoded: its type and label, as `prost` takes them. Text is `bytes`: what the kernel
    /// calls a task is in no encoding. Enumerations are `int32`.
    pub encoding: &'static str,
    /// The message that it holds.
    pub message: Option<&'static Message>,
}

/// A type that knows what message it is; containers of messages and plain numbers too, for whoever
/// describes a message by its fields' types.
pub trait Described {
    /// The message.
    const MESSAGE: Option<&'static Message>;
}

impl<T: Described> Described for Option<T> {
    const MESSAGE: Option<&'static Message> = T::MESSAGE;
}

impl<T: Described> Described for Vec<T> {
    const MESSAGE: Option<&'static Message> = T::MESSAGE;
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Described for $type {
            const MESSAGE: Option<&'static Message> = None;
        }
    )*};
}
plain!(bool, u8, i32, u32, i64, u64, String);

/// The message with the fields of all those that it can hold, `message` itself first, each once.
pub fn messages(message: &'static Message) -> Vec<&'static Message> {
    let mut found = vec![message];
    let mut at = 0;
    while let Some(message) = found.get(at).copied() {
        for inner in message.fields.iter().filter_map(|field| field.message) {
            if found.iter().all(|known| known.name != inner.name) {
                found.push(inner);
            }
        }
        at += 1;
    }
    found
}

/// Declares messages: `Name = "Name.In.Perfetto" { NUMBER field: (encoding) Type, … }`.
macro_rules! declare {
    ($(
        $(#[$doc:meta])*
        $name:ident = $perfetto:literal {
            $($number:tt $field:ident: ($($encoding:tt)*) $type:ty),* $(,)?
        }
    )*) => {$(
        $(#[$doc])*
        ///
        /// Fields are what Perfetto's schema says of them.
        #[derive(Clone, PartialEq, prost::Message)]
        #[allow(missing_docs)]
        pub struct $name {
            $(#[prost($($encoding)*, tag = $number)] pub $field: $type,)*
        }

        impl crate::message::Described for $name {
            const MESSAGE: Option<&'static crate::message::Message> =
                Some(&crate::message::Message {
                    name: $perfetto,
                    fields: &[$(crate::message::Field {
                        number: $number,
                        name: stringify!($field),
                        encoding: stringify!($($encoding)*),
                        message: <$type as crate::message::Described>::MESSAGE,
                    }),*],
                });
        }
    )*};
}
pub(crate) use declare;
