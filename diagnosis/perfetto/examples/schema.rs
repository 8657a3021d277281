//! Prints every field of every message: message, number, name, encoding, and the message it holds.

use tardy_perfetto::{Described, Trace, messages};

fn main() {
    for message in Trace::MESSAGE.map(messages).unwrap_or_default() {
        for field in message.fields {
            let inner = field.message.map_or("", |inner| inner.name);
            let name = field.name.trim_start_matches("r#");
            println!("{}\t{}\t{name}\t{}\t{inner}", message.name, field.number, field.encoding);
        }
    }
}
