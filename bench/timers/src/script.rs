//! A list of operations on a timer queue, in memory and as a file.
//!
//! The file is little-endian `u64`s: [`MAGIC`], the number of slots, the number of records that set up,
//! the number of all records; then two per record: the operation in the upper half and its index in the
//! lower one, and a time in ticks. Every program that takes part reads it, in whatever language.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// The first eight bytes of a file: "tardytm1".
pub const MAGIC: u64 = u64::from_le_bytes(*b"tardytm1");

/// The most timers that a script arms at a time; more are refused when one is made or read.
pub const SLOTS_MAX: u64 = 100_000_000;

/// The most records of a script, 16 GiB of them; more are refused when one is made or read.
pub const RECORDS_MAX: u64 = 1 << 30;

/// One operation. Timers have numbers, *slots*; a slot's timer is armed again after it fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Arm the slot's timer.
    Insert {
        /// Which timer.
        slot: u32,
        /// When it is to fire, ticks.
        expiry: u64,
    },
    /// Disarm it.
    Cancel {
        /// Which timer.
        slot: u32,
    },
    /// Move it while it is armed.
    Rearm {
        /// Which timer.
        slot: u32,
        /// When it is to fire now, ticks.
        expiry: u64,
    },
    /// Take what is due at `now`, which is exactly `count` timers: those that are inserted again by the
    /// `count` records that follow, in order of slots.
    Pop {
        /// How many there are.
        count: u32,
        /// Up to when, ticks; never less than before.
        now: u64,
    },
}

impl Operation {
    /// How many operations on a timer this is: a pop is one for each timer.
    pub fn weight(self) -> u64 {
        match self {
            Self::Pop { count, .. } => u64::from(count),
            _ => 1,
        }
    }
}

/// One operation in 16 bytes, as it is in the file.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    head: u64,
    time: u64,
}

impl From<Operation> for Record {
    fn from(operation: Operation) -> Self {
        let (tag, index, time) = match operation {
            Operation::Insert { slot, expiry } => (0, slot, expiry),
            Operation::Cancel { slot } => (1, slot, 0),
            Operation::Rearm { slot, expiry } => (2, slot, expiry),
            Operation::Pop { count, now } => (3, count, now),
        };
        Self { head: tag << 32 | u64::from(index), time }
    }
}

impl Record {
    /// What it says.
    pub fn operation(self) -> Operation {
        let (index, time) = (self.head as u32, self.time);
        match self.head >> 32 {
            0 => Operation::Insert { slot: index, expiry: time },
            1 => Operation::Cancel { slot: index },
            2 => Operation::Rearm { slot: index, expiry: time },
            // Reading a file and `From` let no other tag through.
            _ => Operation::Pop { count: index, now: time },
        }
    }

    /// Whether its tag is one, and its slot or count is within `slots`.
    fn is_valid(self, slots: u32) -> bool {
        let index = self.head as u32;
        match self.head >> 32 {
            0..=2 => index < slots,
            3 => index <= slots,
            _ => false,
        }
    }
}

/// A list of operations.
#[derive(Clone, Debug)]
pub struct Script {
    /// How many timers have numbers: the queue holds no more at a time.
    pub slots: u32,
    /// How many of the records, at the beginning, fill the queue; they are not timed.
    pub setup: usize,
    /// All operations.
    pub records: Vec<Record>,
}

/// Why a file is no script.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It could not be read, or ends early.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It does not begin with [`MAGIC`].
    #[error("this is no list of timer operations")]
    Magic,
    /// Its numbers are beyond the bounds, or contradict each other.
    #[error("{0} timers, {1} + records to set up of {2}: not within {SLOTS_MAX} and {RECORDS_MAX}")]
    Bounds(u64, u64, u64),
    /// An operation that is none, or a timer that is none.
    #[error("record {0} is no operation")]
    Record(u64),
}

impl Script {
    /// How many operations on timers are timed.
    pub fn operations(&self) -> u64 {
        self.timed().iter().map(|record| record.operation().weight()).sum()
    }

    /// What fills the queue.
    pub fn filling(&self) -> &[Record] {
        &self.records[..self.setup]
    }

    /// What comes after that.
    pub fn timed(&self) -> &[Record] {
        &self.records[self.setup..]
    }

    /// Writes it to a file.
    ///
    /// # Errors
    /// The file's.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let (slots, setup, all) =
            (u64::from(self.slots), self.setup as u64, self.records.len() as u64);
        for word in [MAGIC, slots, setup, all] {
            file.write_all(&word.to_le_bytes())?;
        }
        for record in &self.records {
            file.write_all(&record.head.to_le_bytes())?;
            file.write_all(&record.time.to_le_bytes())?;
        }
        file.flush()
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// Where it is not one, or beyond the bounds.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
        let mut word = || -> io::Result<u64> {
            let mut bytes = [0; 8];
            file.read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes))
        };
        if word()? != MAGIC {
            return Err(Unreadable::Magic);
        }
        let (slots, setup, all) = (word()?, word()?, word()?);
        if slots > SLOTS_MAX || all > RECORDS_MAX || setup > all {
            return Err(Unreadable::Bounds(slots, setup, all));
        }
        let mut script = Self { slots: slots as u32, setup: setup as usize, records: Vec::new() };
        for number in 0..all {
            let record = Record { head: word()?, time: word()? };
            if !record.is_valid(script.slots) {
                return Err(Unreadable::Record(number));
            }
            script.records.push(record);
        }
        Ok(script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> Script {
        let operations = [
            Operation::Insert { slot: 0, expiry: 5 },
            Operation::Insert { slot: 1, expiry: u64::MAX },
            Operation::Rearm { slot: 1, expiry: 7 },
            Operation::Cancel { slot: 1 },
            Operation::Pop { count: 1, now: 5 },
        ];
        Script { slots: 2, setup: 2, records: operations.map(Record::from).to_vec() }
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        let before = script();
        before.write(&path).unwrap();
        let after = Script::read(&path).unwrap();
        let operations = |script: &Script| -> Vec<_> {
            script.records.iter().map(|record| record.operation()).collect()
        };
        assert_eq!((after.slots, after.setup, after.operations()), (2, 2, 3));
        assert_eq!(operations(&after), operations(&before));
    }

    #[test]
    fn what_is_no_script_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        script().write(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = whole.clone();
            change(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
            Script::read(&path).unwrap_err()
        };
        assert!(matches!(with(&|bytes| bytes[0] = 0), Unreadable::Magic));
        assert!(matches!(with(&|bytes| bytes[23] = 1), Unreadable::Bounds(..)));
        assert!(matches!(with(&|bytes| bytes[32] = 2), Unreadable::Record(0)));
        assert!(matches!(with(&|bytes| bytes[36] = 9), Unreadable::Record(0)));
        assert!(matches!(with(&|bytes| bytes.truncate(100)), Unreadable::Io(_)));
    }
}
