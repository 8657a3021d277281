//! Flags that every verb takes: how much is printed beside the results, and in which colours.
#![allow(clippy::doc_markdown)] // what --help prints has no markup in it

use clap::{Args, ColorChoice};
use std::sync::atomic::{AtomicBool, Ordering};
use tardy_report::Terminal;

/// Whether the user wants results only. It is set once, before the verb begins.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Where they stand in `--help`: behind the flags of the verb.
const BEHIND: usize = 1_000;

/// Flags of the whole command line; they can also stand behind the verb.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Manners {
    /// Print only results: no progress, no remarks
    #[arg(short, long, global = true, display_order = BEHIND)]
    quiet: bool,

    /// When to use colours; auto: on a terminal that shows them, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = BEHIND)]
    color: ColorChoice,
}

impl Manners {
    /// From now on they hold for everything that is printed.
    pub(crate) fn take_effect(self) {
        QUIET.store(self.quiet, Ordering::Relaxed);
        Terminal::set_colours(match self.color {
            ColorChoice::Auto => None,
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
        });
    }
}

/// Whether the user wants results only.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}
