//! What helps against the work of a softirq. On kernels without `PREEMPT_RT` nothing breaks into it but
//! interrupts, in whichever thread it runs: no model of preemption does, nor any priority.

use super::{Remedy, Weight};
use tardy_model::event::softirq;

/// The scheduler's, which balances load.
const SCHED: u32 = 7;

/// What to do about the softirq that a thread works on, whatever its priority, where most of the first group's part is
/// one.
pub(crate) fn in_thread(weight: &Weight<'_>) -> Option<Remedy> {
    let (vector, first) = (weight.softirq()?, weight.first()?);
    let (who, name, helps) = (first.group.words(), softirq::name(vector), remedy(vector)?);
    let processes = first.group.verb("processes", "process");
    let text = format!(
        "{who} {processes} the softirq {name}, which only PREEMPT_RT lets threads preempt. {helps}"
    );
    let alone = weight.isolate().filter(|_| vector == SCHED);
    Some(Remedy::text(text).by(alone.into_iter().chain(weight.leave())).against(first))
}

/// What an engineer would do about a vector's work, in a sentence; `None` of one that the kernel does not have.
pub(crate) fn remedy(vector: u32) -> Option<&'static str> {
    Some(match vector {
        // NET_TX and NET_RX.
        2 | 3 => {
            "Take the network card's interrupts (/proc/irq/NUMBER/smp_affinity_list) and its \
             packets (queues/rx-N/rps_cpus) to other CPUs, run NAPI in threads of its own \
             (/sys/class/net/NAME/threaded), or shorten its turns (net.core.netdev_budget_usecs)."
        }
        // BLOCK and IRQ_POLL.
        4 | 5 => {
            "Take the disk's interrupts to other CPUs (/proc/irq/NUMBER/smp_affinity_list), and have requests completed \
             on the CPU that made them (/sys/block/NAME/queue/rq_affinity set to 2)."
        }
        // HI and TASKLET.
        0 | 6 => {
            "Tasklets run on the CPU of their driver's interrupt: move that to other CPUs \
             (/proc/irq/NUMBER/smp_affinity_list)."
        }
        // TIMER and HRTIMER.
        1 | 8 => {
            "Keep the programs that arm these timers off the thread's CPUs, or isolate these \
                CPUs (nohz_full=, isolcpus=)."
        }
        // SCHED.
        7 => {
            "The scheduler balances load between CPUs: exclude the thread's CPUs \
                (isolcpus=domain, or an isolated cpuset)."
        }
        // RCU.
        9 => {
            "Let RCU callbacks run on other CPUs (rcu_nocbs=CPUS) or in threads \
                (rcutree.use_softirq=0)."
        }
        _ => return None,
    })
}
