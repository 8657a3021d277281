//! Threads bound to CPUs that sleep until absolute times, with a slack of 1 ns: a timer interrupt each,
//! but for those that come so close together that one serves several.

use super::Way;
use crate::clock::{now_ns, sleep_until};
use crate::load::crew::Post;
use crate::sched::bind;
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;

pub(super) const WAY: Way = Way {
    name: "timer",
    // A sleeper without a rate would sleep not at all, or spin.
    rate_least: 1,
    posts: |irq, cpus| {
        let every_ns = 1_000_000_000 / irq.rate;
        let on_each = |index| {
            cpus.iter().map(move |&cpu| {
                Post::new(format!("irq-tim-{cpu:02}-{index:02}"), &["sleeps"], move |duty| {
                    bind(cpu)?;
                    set_current_timer_slack(Some(NonZeroU64::MIN))?;
                    duty.begin();
                    let mut next_ns = now_ns();
                    while duty.goes_on() {
                        // One that is missed is left out.
                        next_ns = (next_ns + every_ns).max(now_ns());
                        let _ = sleep_until(next_ns);
                        duty.did(1);
                    }
                    Ok(())
                })
            })
        };
        Ok((0..irq.threads).flat_map(on_each).collect())
    },
    #[cfg(test)]
    raises: &["Local timer interrupts", "arch_timer"],
};
