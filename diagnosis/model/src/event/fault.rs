//! Page faults.

use super::{Pack, Payload};

/// The current task touches a page that is not there. `a` address. The kernel tells when it begins,
/// not when it ends: that is when the task waits, or is next seen doing something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// What it touched.
    pub address: u64,
}

impl Pack for PageFault {
    fn pack(&self) -> Payload {
        Payload { a: self.address, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { address: p.a }
    }
}
