//! The atomics and the lock of the shared part. The model test puts others in their place.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard};
