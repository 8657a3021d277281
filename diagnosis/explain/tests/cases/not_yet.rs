//! Cases that do not hold yet.

/// A case that does not hold yet, with what is said of it. A case that comes to hold is struck off; a new one
/// may stand here only until the commit that makes it hold.
pub(crate) const NOT_YET: &[(&str, &str)] = &[];
