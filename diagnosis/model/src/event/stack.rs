//! Kernel stacks, taken where something was late already.

use super::{Pack, Payload};
use crate::{NameId, TaskId};

/// Between two frames of a folded stack: `zap_pte_range<-unmap_page_range<-unmap_vmas`.
pub const FRAME_SEPARATOR: &str = "<-";

/// The one frame of a task's stack that was not in the kernel.
pub const IN_USER_SPACE: &str = "[user space]";

/// Behind the functions of a task that the kernel says slept for I/O (`io_schedule`).
pub const FOR_IO: &str = "[I/O]";

/// The function in which a folded stack's task was.
pub fn innermost(folded: &str) -> &str {
    folded.split(FRAME_SEPARATOR).next().unwrap_or_default()
}

/// Which stack was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Taken {
    /// A timer's interrupt came late: what it interrupted.
    Interrupted = 0,
    /// Somebody had waited long for the CPU: where the task that had it left it, preempted or to sleep.
    Left = 1,
    /// The task was woken: where it had slept.
    Slept = 2,
}

impl Taken {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Interrupted, Self::Left, Self::Slept];

    /// The name in tables and texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Left => "left",
            Self::Slept => "slept",
        }
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|taken| taken.name() == name)
    }
}

/// Where a task was in the kernel. It is evidence beside what other events tell, and says nothing of what a
/// CPU does. `flags` which stack, `a` how late it was, `b` whose, `c` the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Which stack.
    pub taken: Taken,
    /// Whose.
    pub of: TaskId,
    /// How late the timer's interrupt was, how long somebody had waited for the CPU, or how long the task had slept; 0
    /// where that is not known.
    pub late_ns: u64,
    /// The functions as a name: the innermost first, with [`FRAME_SEPARATOR`] between them.
    pub frames: NameId,
}

impl Pack for Stack {
    fn pack(&self) -> Payload {
        Payload { flags: self.taken as u8, a: self.late_ns, b: self.of.0, c: self.frames.0 }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        let taken = match p.flags {
            1 => Taken::Left,
            2 => Taken::Slept,
            _ => Taken::Interrupted,
        };
        Self { taken, of: TaskId(p.b), late_ns: p.a, frames: NameId(p.c) }
    }
}
