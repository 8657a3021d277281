//! Findings as terminal text, JSON and one self-contained page.
//!
//! [`Data`] says what there is to show. [`screen()`] writes the most important of it as text that fits on a
//! terminal, [`terminal`] all of it, [`page()`] as one HTML page
//! that loads nothing, [`json`] as documents with a stable schema. Text and page are made of the
//! same sections: start reading at `section/mod.rs`, where a new one is a file and a line in
//! a registry.
//!
//! This crate computes no findings, reads no file, and trusts no name: names come from traces, and
//! may hold escape sequences or markup ([`clean`]).
#![forbid(unsafe_code)]

pub mod clean;
mod compare;
mod confidence;
mod cyclictest;
mod data;
mod experiment;
mod histograms;
pub mod json;
mod late;
mod names;
mod page;
pub mod palette;
mod pi;
mod plot;
mod rearm;
mod screen;
mod section;
mod sentences;
mod shares;
mod simulated;
mod sleep;
mod staircase;
mod text;
mod text_report;
mod timers;
pub mod units;
mod watched;
mod whatif;
mod why;

pub use compare::{
    Bound, Changed, Compared, DifferingSetting, Figure, Gate, GateOutcome, GateVerdict, JudgedGate,
    SettingsCompared, SideFacts, SideKind, SideSample, Subject, compare_page, compare_screen,
    compare_text, letter, quantile_name, verdict_sentence, why_unbounded,
};
pub use cyclictest::{Resolution, cyclictest_lines};
pub use data::{Caught, Context, Data, Limits};
pub use experiment::{
    ExperimentData, curves_file, experiment_page, experiment_sentences, experiment_text,
    predicted_text,
};
pub use histograms::histograms_text;
pub use late::{LateColumn, LateLine, LateSort, TREND as LATE_TREND, late_table};
pub use page::page;
pub use pi::{BoostsSeen, pi_sentences, pi_text};
pub use rearm::{DeviceSeen, DeviceUse, rearm_text};
pub use screen::{LINES_MAX as SCREEN_LINES_MAX, screen};
pub use sentences::top_sentences;
pub use simulated::{
    SimulatedData, SimulatedLocks, SimulatedMoves, SimulatedRow, simulated_page, simulated_text,
};
pub use sleep::{sleep_sentences, sleep_text};
pub use staircase::{StaircaseRun, staircase_text};
pub use text::Terminal;
pub use text_report::terminal;
pub use timers::{
    Counted, TimerColumn, TimerGrouping, TimerLine, TimerSort, TimerUse, timer_lines, timer_table,
};
pub use watched::{Watched, WatchedRow, watched_page};
pub use whatif::{Predictions, Shown, WhatIfDocument, whatif_text};
pub use why::why_text;

#[cfg(test)]
mod fixture;
