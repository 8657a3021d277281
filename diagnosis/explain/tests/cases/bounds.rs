//! Streams that reach bounds.
