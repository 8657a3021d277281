//! What changed between two sides, and by whom: a table that sums to the change, to the nanosecond.
//!
//! An [`Account`] is a [`Sink`](crate::Sink)'s: it keeps what each wakeup of one side was late by, and for whom.
//! [`Account::taken`] sums that over some of the wakeups, all of them and their worst 1 %; [`Change::between`] is
//! the table of two such sums. A row is what a cause, or a group of culprits, adds to the change of the mean: what
//! it took per wakeup on the one side, less what it took on the other.
//!
//! All of it is whole numbers. What a row adds is a fraction whose denominator is the product of both sides' numbers
//! of wakeups, the same for all rows, so their numerators sum to that of the change; only then are rows rounded to
//! nanoseconds, by largest remainders ([`rounded`]), so that the rounded rows sum to the rounded change.

mod account;
mod rounded;
mod table;

pub use account::{Account, Key, Sum, Taken};
pub use table::{Change, ChangeOf, ChangeRow, Who};
