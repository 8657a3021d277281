//! What kind of thing a label names.

use tardy_explain::Label;

/// A label that nobody filled in is of kind `unknown`, never the empty string.
pub(super) fn kind_of(label: &Label) -> &'static str {
    if label.kind.is_empty() { "unknown" } else { label.kind }
}
