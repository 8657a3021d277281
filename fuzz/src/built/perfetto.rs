//! Perfetto's traces: messages within messages, whose lengths are right.
//!
//! Each byte chooses a field of the message that is open, of those that the reader's own schema has: a message is
//! opened, a value is taken from what follows. [`CLOSE`] ends the innermost message, [`PACKET`] all of them, and
//! [`ODD`] is a field of any number and encoding.

use super::{BYTES_MAX, Taker};
use tardy_perfetto::{Described, Field, Message, Trace};

/// Ends the innermost message.
pub const CLOSE: u8 = 0xff;
/// Ends all messages and begins another packet.
pub const PACKET: u8 = 0xfe;
/// A field that the schema may not have: its number and encoding follow.
pub const ODD: u8 = 0xfd;

/// A message that is open: what it is, the number of its field, and where its content begins.
struct Open {
    message: &'static Message,
    number: u32,
    from: usize,
}

/// Builds a trace.
pub fn perfetto(how: &[u8]) -> Vec<u8> {
    let mut how = Taker::new(how);
    let trace = Trace::MESSAGE.expect("a message has a description");
    let packet = &trace.fields[0];
    let (mut out, mut open) = (Vec::new(), Vec::new());
    while let Some(choice) = how.more() {
        if out.len() > BYTES_MAX {
            break;
        }
        match choice {
            CLOSE => drop(open.pop().map(|last| close(&mut out, last))),
            PACKET => close_all(&mut out, &mut open),
            ODD => odd(&mut out, &mut how),
            _ => {
                if open.is_empty() {
                    begin(&out, &mut open, packet);
                }
                let message = open.last().map_or(trace, |last: &Open| last.message);
                let Some(field) = field(message, choice) else { continue };
                match field.message {
                    Some(_) => begin(&out, &mut open, field),
                    None => value(&mut out, &mut how, field),
                }
            }
        }
    }
    close_all(&mut out, &mut open);
    out
}

/// The field that a byte chooses; no message has as many as there are bytes.
fn field(message: &'static Message, choice: u8) -> Option<&'static Field> {
    let count = message.fields.len();
    (count > 0).then(|| &message.fields[usize::from(choice) % count])
}

fn begin(out: &[u8], open: &mut Vec<Open>, field: &'static Field) {
    if let Some(message) = field.message {
        open.push(Open { message, number: field.number, from: out.len() });
    }
}

fn close_all(out: &mut Vec<u8>, open: &mut Vec<Open>) {
    while let Some(last) = open.pop() {
        close(out, last);
    }
}

/// Puts before a message's content what it is and how long.
fn close(out: &mut Vec<u8>, Open { number, from, .. }: Open) {
    let mut head = Vec::new();
    varint(&mut head, u64::from(number) << 3 | 2);
    varint(&mut head, (out.len() - from) as u64);
    out.splice(from..from, head);
}

fn value(out: &mut Vec<u8>, how: &mut Taker<'_>, field: &Field) {
    let key = u64::from(field.number) << 3;
    if field.encoding.contains("bytes") || field.encoding.contains("string") {
        varint(out, key | 2);
        text(out, how);
    } else if field.encoding.contains("packed = \"true\"") {
        varint(out, key | 2);
        let mut numbers = Vec::new();
        for _ in 0..how.byte() % 8 {
            varint(&mut numbers, how.number());
        }
        varint(out, numbers.len() as u64);
        out.extend(numbers);
    } else if field.encoding.contains("fixed64") {
        varint(out, key | 1);
        out.extend(how.number().to_le_bytes());
    } else {
        varint(out, key);
        varint(out, how.number());
    }
}

fn odd(out: &mut Vec<u8>, how: &mut Taker<'_>) {
    let number = u64::from(how.two() & 0x7ff).max(1);
    let wire = how.byte() % 6;
    varint(out, number << 3 | u64::from(wire));
    match wire {
        0 => varint(out, how.number()),
        1 => out.extend(how.number().to_le_bytes()),
        2 => text(out, how),
        5 => out.extend((how.number() as u32).to_le_bytes()),
        _ => {}
    }
}

fn text(out: &mut Vec<u8>, how: &mut Taker<'_>) {
    let bytes = how.some();
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
