//! One HTML page that loads nothing and works offline.
//!
//! Whatever comes from a trace is text or the value of an attribute, escaped by maud; none of it is
//! in a script or a style. The page's policy lets run only the one script and the one style below,
//! by their hashes, and lets nothing be fetched.

mod chart;

pub(crate) use chart::{
    Axis, Frame, decade_label, rows_without_overlap, share_cell, tick_label, two,
};

use crate::clean::clean;
use crate::data::Data;
use crate::section::SECTIONS;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole report as an HTML page.
pub fn page(data: &Data<'_>) -> String {
    let body = html! { @for section in SECTIONS { (section.html(data)) } };
    document(&clean(&data.context.title), &body)
}

/// A page with this title, which must be clean, and this body.
pub(crate) fn document(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("tardy ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (body) }
                div #tip role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// Nothing is allowed but the style and the script that are in the page.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        source_hash(STYLE),
        source_hash(SCRIPT)
    )
}

/// A `hash-source` of CSP level 2.
fn source_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests;
