//! A bandwidth was used up.

use super::{Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Doing, Phase, Piece, Refusal};
use tardy_model::{Cause, Culprit};

/// Runnable → a bandwidth is given back: a control group's (`cpu.max`), a deadline task's budget, or that of
/// all real-time tasks. `refusal.rs` tells them apart. Whatever the CPU did meanwhile, the victim could not
/// have run.
pub(super) struct Throttled;

impl Rule for Throttled {
    fn cause(&self) -> Cause {
        Cause("throttled")
    }

    fn meaning(&self) -> &'static str {
        "the thread, its control group or its class had used up its CPU bandwidth"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Refused]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        match piece.refusal {
            Some(Refusal::Throttled(culprit)) => Some(culprit),
            _ => None,
        }
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let first = weight.first()?;
        let name = first.group.name.as_str();
        Some(if let Some(group) = name.strip_prefix("CFS bandwidth of ") {
            let command = group.starts_with('/').then(|| shell_path(group)).flatten();
            Remedy::text(format!(
                "{name} is used up. Raise the limit of the control group (and of its parents), or use less CPU time in it."
            ))
            .with(command.map(lift))
            .by(["cpu-max(victim)=off"])
        } else if name.starts_with("deadline") {
            Remedy::text(format!(
                "{name} is used up. Give the thread a longer SCHED_DEADLINE runtime, or find out \
                 why it runs longer than it asked for."
            ))
        } else {
            // The fair server heeds no sysctl.
            let lift = "sysctl -w kernel.sched_rt_runtime_us=-1; for f in \
                        /sys/kernel/debug/sched/fair_server/cpu*/runtime; do [ -e $f ] && echo 0 > $f; done";
            Remedy::text(
                "Real-time tasks use up kernel.sched_rt_runtime_us (since Linux 6.12, what the \
                 fair server leaves them). Find the task that hardly ever sleeps, or lift the \
                 limit:",
            )
            .with(Some(lift.to_owned()))
            // On another CPU nobody starves, or it has a server of its own.
            .by(["rt-runtime=off".to_owned()].into_iter().chain(weight.leave()))
        })
    }
}

/// Takes the bandwidth from a group, in either version of control groups.
fn lift(path: &str) -> String {
    let unified = format!("/sys/fs/cgroup{path}/cpu.max");
    let legacy = format!("/sys/fs/cgroup/cpu{path}/cpu.cfs_quota_us");
    format!("[ -e {unified} ] && echo max > {unified} || echo -1 > {legacy}")
}

/// A path that means nothing else to a shell. Names come from traces.
fn shell_path(path: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._+-@:".contains(c);
    (path.chars().all(is_plain) && !path.contains("..")).then_some(path)
}
