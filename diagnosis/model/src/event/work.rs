//! Work that a kernel thread does for somebody else.

use super::{Pack, Payload};
use crate::NameId;

/// A kworker begins a piece of work. `c` function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkBegin {
    /// The work's function.
    pub function: NameId,
}

/// It has done it. `c` function, where the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkEnd {
    /// The work's function.
    pub function: NameId,
}

macro_rules! pack_function {
    ($($kind:ident),*) => {$(
        impl Pack for $kind {
            fn pack(&self) -> Payload {
                Payload { c: self.function.0, ..Payload::default() }
            }
            #[inline]
            fn unpack(p: Payload) -> Self {
                Self { function: NameId(p.c) }
            }
        }
    )*};
}
pack_function!(WorkBegin, WorkEnd);
