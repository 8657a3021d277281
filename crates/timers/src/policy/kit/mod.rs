//! What policies are made of.

mod device;
mod edges;
mod hard_or_soft;
mod jiffy_lists;
mod laned;
mod pending;
mod slots;
mod softirq_base;
mod store;

pub(crate) use hard_or_soft::HardOrSoft;
pub(crate) use jiffy_lists::{EdgeWork, JiffyLists};
pub(crate) use laned::{Laned, Rules, Served};
pub(crate) use pending::Pending;
pub use slots::Key;
pub(crate) use softirq_base::SoftirqBase;
