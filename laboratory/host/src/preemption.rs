//! When the kernel lets a thread be preempted inside it.

use crate::command_line::CommandLine;
use crate::kernel_config::KernelConfig;
use crate::root::Root;
use std::fmt;

/// Where a running thread may be preempted while it is in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nowhere: it must block, return to user space or offer the CPU by itself.
    None,
    /// At the places that were marked for it.
    Voluntary,
    /// Everywhere outside locked sections, but a fair thread for another fair one at a tick only.
    Lazy,
    /// Everywhere outside locked sections.
    Full,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Lazy => "lazy",
            Self::Full => "full",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::Voluntary, Self::Lazy, Self::Full]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

/// The preemption model of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preemption {
    /// `PREEMPT_RT`: spinlocks sleep, interrupts have threads.
    pub(crate) realtime: bool,
    /// Whether the mode can be changed while the kernel runs.
    pub(crate) dynamic: bool,
    /// The mode; `None` where nothing tells it. Without `dynamic` that is one of the two which the
    /// version does not name, none or voluntary.
    pub(crate) mode: Option<Mode>,
}

/// Where a kernel with `PREEMPT_DYNAMIC` tells and takes its mode.
pub(crate) const SWITCH: &str = "sys/kernel/debug/sched/preempt";

impl Preemption {
    /// `version` as `uname -v`.
    pub(crate) fn read(
        root: &Root,
        version: &str,
        config: &KernelConfig,
        line: &CommandLine,
    ) -> Self {
        // Patched kernels before 5.x wrote "PREEMPT RT".
        let realtime = root.word("sys/kernel/realtime").as_deref() == Some("1")
            || version.contains("PREEMPT_RT")
            || version.contains("PREEMPT RT");
        let dynamic = version.contains("PREEMPT_DYNAMIC") || config.has("PREEMPT_DYNAMIC");
        let built = [
            ("PREEMPT_NONE", Mode::None),
            ("PREEMPT_VOLUNTARY", Mode::Voluntary),
            ("PREEMPT_LAZY", Mode::Lazy),
            ("PREEMPT", Mode::Full),
            ("PREEMPT_RT", Mode::Full),
        ]
        .into_iter()
        .find_map(|(option, mode)| config.has(option).then_some(mode));
        let mode = if dynamic {
            chosen(root).or_else(|| line.value("preempt").and_then(Mode::parse)).or(built)
        } else {
            let told = version.split_whitespace().any(|word| word.starts_with("PREEMPT"));
            built.or(told.then_some(Mode::Full))
        };
        Self { realtime, dynamic, mode }
    }
}

/// The mode in brackets: `none voluntary (full) lazy`.
fn chosen(root: &Root) -> Option<Mode> {
    let modes = root.word(SWITCH)?;
    let name = modes.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    Mode::parse(name?)
}

impl fmt::Display for Preemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.realtime, self.dynamic, self.mode) {
            (true, _, Some(Mode::Lazy)) => f.write_str("PREEMPT_RT (lazy)"),
            (true, ..) => f.write_str("PREEMPT_RT"),
            (_, true, Some(mode)) => write!(f, "PREEMPT_DYNAMIC ({})", mode.name()),
            (_, true, None) => f.write_str("PREEMPT_DYNAMIC (mode not known)"),
            (_, _, Some(Mode::None)) => f.write_str("PREEMPT_NONE"),
            (_, _, Some(Mode::Voluntary)) => f.write_str("PREEMPT_VOLUNTARY"),
            (_, _, Some(Mode::Lazy)) => f.write_str("PREEMPT_LAZY"),
            (_, _, Some(Mode::Full)) => f.write_str("PREEMPT"),
            (_, _, None) => f.write_str("PREEMPT_NONE or PREEMPT_VOLUNTARY"),
        }
    }
}
