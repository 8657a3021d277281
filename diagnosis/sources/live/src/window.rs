//! What a ring holds whose newest records took the place of the oldest.

use crate::ring::{DEFINED_TAGS, Record};

/// The tag of a record's second half, as in `build.rs`.
const TAG_TIMER_DEFINITION: u8 = 0xf0;

/// What an overwriting ring held: the slots claimed last.
pub(crate) struct Window {
    pub(crate) slots_shift: u32,
    /// Slots claimed since the start, when the copying began: all of them are written.
    pub(crate) head: u64,
    /// The same when it had ended: what was claimed meanwhile may have taken the place of the oldest.
    pub(crate) head_after: u64,
}

impl Window {
    /// Reads its slots from the oldest on. Returns whether older ones had been there.
    ///
    /// It may begin in the middle of a record, whose second half is passed over; and in the first
    /// slot, which may have been left out for a record that reaches beyond the last: it is passed
    /// over too. Where a slot was claimed and never written, so is what may be its second half.
    pub(crate) fn read(
        &self,
        slot: impl Fn(usize) -> Option<Record>,
        mut take: impl FnMut(Record, Option<Record>),
    ) -> bool {
        let size = 1_u64 << self.slots_shift;
        let overwritten = self.head_after > size;
        let mut at = self.head_after.saturating_sub(size);
        if overwritten && at.is_multiple_of(size) {
            at += 1;
        }
        while at < self.head {
            let place = (at & (size - 1)) as usize;
            let Some(record) = slot(place) else {
                at += 2;
                continue;
            };
            at += 1;
            if record.tag == TAG_TIMER_DEFINITION {
                continue;
            }
            let mut definition = None;
            if DEFINED_TAGS.contains(&record.tag) {
                definition = slot(place + 1);
                at += 1;
            }
            take(record, definition);
        }
        overwritten
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::TimerArm;

    /// A ring of 8 slots as the kernel side writes it: letters are records, a capital's is followed
    /// by its definition.
    struct Written {
        slots: [Option<Record>; 9],
        head: u64,
    }

    const SHIFT: u32 = 3;

    impl Written {
        fn new(letters: &str) -> Self {
            let mut written = Self { slots: [None; 9], head: 0 };
            for (time_ns, letter) in letters.bytes().enumerate() {
                written.write(time_ns as u64 + 1, letter);
            }
            written
        }

        fn write(&mut self, time_ns: u64, letter: u8) {
            let place = (self.head & 7) as usize;
            let (task, two) = (letter.into(), letter.is_ascii_uppercase());
            let tag = if two { TimerArm::TAG } else { 0 };
            let record = Record { time_ns, task, cpu: 0, tag, flags: 0, a: 0, b: 0, c: 0 };
            self.slots[place] = Some(record);
            self.head += 1;
            if two {
                self.slots[place + 1] = Some(Record { tag: TAG_TIMER_DEFINITION, ..record });
                self.head += 1;
            }
        }

        fn read(&self) -> (String, bool) {
            self.read_after(self.head)
        }

        fn read_after(&self, head_after: u64) -> (String, bool) {
            let mut read = String::new();
            let window = Window { slots_shift: SHIFT, head: self.head, head_after };
            let overwritten = window.read(
                |place| self.slots[place],
                |record, definition| {
                    assert_eq!(definition.map(|it| it.task), definition.map(|_| record.task));
                    assert_eq!(definition.is_some(), record.tag == TimerArm::TAG);
                    read.push(record.task as u8 as char);
                },
            );
            (read, overwritten)
        }
    }

    #[test]
    fn what_was_not_overwritten_is_all_there() {
        assert_eq!(Written::new("").read(), (String::new(), false));
        assert_eq!(Written::new("aBcDe").read(), ("aBcDe".to_owned(), false));
        assert_eq!(Written::new("abcdefgh").read(), ("abcdefgh".to_owned(), false));
    }

    #[test]
    fn the_newest_are_kept_and_halves_passed_over() {
        assert_eq!(Written::new("abcdefghij").read(), ("cdefghij".to_owned(), true));
        // The oldest is the second half of B.
        assert_eq!(Written::new("aBcdefghi").read(), ("cdefghi".to_owned(), true));
        assert_eq!(Written::new("Bcdefghi").read(), ("cdefghi".to_owned(), true));
    }

    #[test]
    fn what_may_have_been_overwritten_while_it_was_copied_is_left_out() {
        let written = Written::new("abcdefghij");
        assert_eq!(written.read_after(13), ("fghij".to_owned(), true));
        assert_eq!(written.read_after(18), (String::new(), true), "all of it");
        assert_eq!(Written::new("abc").read_after(9), ("bc".to_owned(), true));
    }

    /// The record in the last slot reaches into the one behind it; the first slot is left out and
    /// holds what was there a round before.
    #[test]
    fn a_record_across_the_end_leaves_the_first_slot_out() {
        assert_eq!(Written::new("abcdefgHij").read(), ("defgHij".to_owned(), true));
        // The window begins in the slot that was left out.
        let begins_there = Written::new("abcdefgHijklmno");
        assert_eq!(begins_there.head, 16);
        assert_eq!(begins_there.read(), ("ijklmno".to_owned(), true));
    }

    #[test]
    fn a_slot_claimed_and_never_written_is_passed_over_with_what_may_be_its_second_half() {
        let mut written = Written::new("abcdefgh");
        written.slots[2] = None;
        assert_eq!(written.read(), ("abefgh".to_owned(), false));
    }
}
