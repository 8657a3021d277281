//! `clock_nanosleep(2)`, absolute.

use super::{Arm, Way};
use crate::clock::sleep_until;
use std::io;

pub(super) const WAY: Way =
    Way { name: "sleep", units: &["sleeps"], make: |_| Ok(Box::new(Sleep)) };

struct Sleep;

impl Arm for Sleep {
    fn arm(&mut self, due_ns: u64) -> io::Result<()> {
        // A signal that comes first ends this sleep, and the next begins.
        let _ = sleep_until(due_ns);
        Ok(())
    }
}
