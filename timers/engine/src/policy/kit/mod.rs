//! What policies are made of.

/// The part of [`Policy`](super::Policy) that every base has from its fields `store` and `device`.
macro_rules! asked_of_store_and_device {
    () => {
        fn expiry(&self, key: Key) -> Result<Expiry, Stale> {
            self.store.get(key).map(|timer| timer.arm.expiry)
        }

        fn len(&self) -> usize {
            self.store.len()
        }

        fn device_ns(&self) -> Option<u64> {
            self.device.at_ns()
        }

        fn put_off_ns(&self) -> Option<u64> {
            self.device.put_off_ns()
        }

        fn program(&mut self) -> Program {
            self.device.tell()
        }

        fn programmed(&self) -> u64 {
            self.device.programmed()
        }
    };
}
use asked_of_store_and_device;

mod device;
mod edges;
mod hard_or_soft;
mod jiffy_lists;
mod laned;
mod pending;
mod rounds;
mod slots;
mod softirq_base;
mod store;

pub(crate) use hard_or_soft::HardOrSoft;
pub(crate) use jiffy_lists::{EdgeWork, JiffyLists};
pub(crate) use laned::{Laned, Rules, Served};
pub(crate) use pending::{Equals, Pending};
pub use slots::Key;
pub(crate) use softirq_base::SoftirqBase;
