//! Findings as terminal text, JSON and one self-contained page.
#![forbid(unsafe_code)]
