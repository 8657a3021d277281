//! What kind of timer, and how urgent.

/// What who arms a timer says about it, beside its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    /// Precise or coarse.
    pub kind: Kind,
    /// At which priority it is to be fired.
    pub priority: Priority,
}

/// The type of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// It is there to fire, to the nanosecond.
    #[default]
    Precise,
    /// A timeout, nearly always moved or cancelled before it fires; it may fire a granule late.
    Coarse,
}

/// Where a timer's priority comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Priority {
    /// One of four levels.
    Level(Level),
    /// That of the task or thread that arms it.
    Inherit,
}

/// One of the four levels at which timers can be fired; a thread each, the highest is the most
/// urgent (proposed by Ingo Molnar, linux-kernel, "High resolution timers and BH processing on -RT",
/// 2005-01-28).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// The least urgent one, expired where everything else is.
    pub const LOWEST: Self = Self(0);
    /// The most urgent one.
    pub const HIGHEST: Self = Self(Self::COUNT as u8 - 1);

    /// Level `number`, 0–3; `None` above.
    pub const fn new(number: u8) -> Option<Self> {
        if (number as usize) < Self::COUNT { Some(Self(number)) } else { None }
    }

    /// 0–3.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// All of them, the least urgent first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..Self::COUNT as u8).map(Self)
    }
}
