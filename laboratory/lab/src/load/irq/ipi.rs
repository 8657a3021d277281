//! `membarrier(2)`, private and expedited: a function-call interrupt to each CPU on which another
//! thread of this process runs at that moment.

use super::{Way, at_rate, spinner};
use rustix::thread::{MembarrierCommand, membarrier};
use std::io;

pub(super) const WAY: Way = Way {
    name: "ipi",
    rate_least: 0,
    posts: |irq, cpus| {
        // The process says once that it will. It costs others nothing, and ends with the process.
        let said = membarrier(MembarrierCommand::RegisterPrivateExpedited);
        said.map_err(|error| match error {
            rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL => io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel has no expedited membarrier(2) (CONFIG_MEMBARRIER, Linux 4.14)",
            ),
            error => error.into(),
        })?;
        let spinners = cpus.iter().map(|cpu| spinner(*cpu));
        let callers = (0..irq.threads).map(|index| {
            at_rate(irq, format!("irq-ipi-{index:02}"), &["barriers"], || {
                Ok(|| Ok(membarrier(MembarrierCommand::PrivateExpedited)?))
            })
        });
        Ok(spinners.chain(callers).collect())
    },
    #[cfg(test)]
    raises: &["Function call interrupts"],
};
