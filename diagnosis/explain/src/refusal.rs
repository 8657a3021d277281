//! Where the scheduler does not let a victim run although nothing that may run first does.
//!
//! A task that runs on may be one that cannot be preempted where it is. A *choice* is another thing: a
//! switch to a task that may not run first, or the CPU going to sleep, while the victim is in its queue. A
//! bandwidth was used up, or the CPU has to idle for another one's sake. What ends it tells which:
//!
//! | the victim | what is seen | it was |
//! |---|---|---|
//! | `SCHED_DEADLINE` | its budget's timer fires before it runs; one whose arming was not seen, where it lost the CPU or runs at once | its budget |
//! | fair | the CPU idles by choice, or the victim runs at once after the timer; a group's bandwidth timer fires | that bandwidth |
//! | fair | the CPU idles by choice, and no such timer fires | forced idle: core scheduling, `sched_ext`, or a bandwidth whose timer is not recorded |
//! | real-time | the CPU chooses a task of lower priority, or to idle, for a millisecond, or leaves a real-time task that could run for one | the bandwidth of real-time tasks, where they had half of the second before (of what is known of it, if they were left runnable) or its timer fires; else not known |

use crate::piece::Refusal;
use std::collections::VecDeque;
use tardy_followers::{Activity, Cpu, Purpose};
use tardy_model::{CpuId, Culprit, Prio, Setting, TaskId};

/// No idle state of any driver takes longer to wake from: what is longer is something else's (`intel_idle.c`
/// has 10 ms at most).
pub(crate) const EXIT_NS_MAX: u64 = 20_000_000;

/// A wait shorter than this is not looked into: no bandwidth of the kernel's is given back so soon.
const WAIT_NS_MIN: u64 = 20_000;

/// A real-time victim must be refused for at least this long: the kernel's own periods are of 10 ms and
/// more; a victim that is moved, or whose waking CPU has not put it into the queue yet, is passed over for
/// microseconds.
const REALTIME_NS_MIN: u64 = 1_000_000;

/// Shorter than this a task of lower priority may run because nobody has told its CPU of the victim yet.
const CHOICE_NS_MIN: u64 = 100_000;

/// A fair victim that had waited for at least [`GROUP_NS_MIN`] and runs this soon after a group's timer ran
/// because of it: such timers fire some times a second, so that chance is one in hundreds. On a CPU that slept all the
/// while it has to have waited longer than waking from any usual state takes (`intel_idle.c`: 1 ms).
const AT_ONCE_NS: u64 = 100_000;
const GROUP_NS_MIN: u64 = 200_000;
const ASLEEP_NS_MIN: u64 = 1_000_000;

/// A CPU on which such a timer fires switches at the end of its interrupt; what comes later has other reasons too (a slice
/// that ends, somebody else who is woken).
const SWITCHES_NS: u64 = 20_000;

/// The period of the bandwidth of real-time tasks (`sched_rt_period_us`), unless set otherwise.
const REALTIME_PERIOD_NS: u64 = 1_000_000_000;

/// Group's timers that may fire in that time for one of them to mean something.
const FIRINGS_PER_S_MAX: usize = 100;

/// Refusals of one phase that are told.
const REFUSALS_MAX: usize = 64;

/// Firings of bandwidth timers that are remembered; the kernel's periods are milliseconds long.
const FIRINGS_MAX: usize = 256;

/// A bandwidth's timer fired.
#[derive(Clone, Copy, Debug)]
struct Firing {
    time_ns: u64,
    purpose: Purpose,
    /// Whose it is; `None` where its arming was not seen.
    owner: Option<TaskId>,
    cpu: CpuId,
}

/// Tasks that are to leave their CPUs at the same time; more are not noticed.
const LEAVING_MAX: usize = 1024;

/// Tasks of throttled groups that lost the CPU for it, which are remembered.
const THROTTLED_MAX: usize = 4096;

/// The last firings of bandwidth timers, and whom the kernel itself said to throttle.
#[derive(Debug, Default)]
pub(crate) struct Firings {
    fired: VecDeque<Firing>,
    /// To leave the CPU at its next switch.
    leaving: Vec<TaskId>,
    /// Who left it then, and when.
    throttled: VecDeque<(u64, TaskId)>,
}

impl Firings {
    /// `owner` is `None` where the arming was not seen.
    pub(crate) fn saw(
        &mut self,
        time_ns: u64,
        purpose: Purpose,
        owner: Option<TaskId>,
        cpu: CpuId,
    ) {
        if self.fired.len() == FIRINGS_MAX {
            self.fired.pop_front();
        }
        self.fired.push_back(Firing { time_ns, purpose, owner, cpu });
    }

    /// A task's group has no bandwidth left: at its next switch it is taken off.
    pub(crate) fn throttles(&mut self, task: TaskId) {
        if !self.leaving.contains(&task) && self.leaving.len() < LEAVING_MAX {
            self.leaving.push(task);
        }
    }

    /// A task leaves the CPU.
    pub(crate) fn leaves(&mut self, time_ns: u64, task: TaskId) {
        let Some(at) = self.leaving.iter().position(|leaving| *leaving == task) else { return };
        self.leaving.swap_remove(at);
        if self.throttled.len() == THROTTLED_MAX {
            self.throttled.pop_front();
        }
        self.throttled.push_back((time_ns, task));
    }

    fn was_throttled(&self, time_ns: u64, task: TaskId) -> bool {
        let mut since = self.throttled.iter().rev().take_while(|(at_ns, _)| *at_ns >= time_ns);
        since.any(|throttled| *throttled == (time_ns, task))
    }

    /// Whether a group's timer that fired at a time can have been what let a task of `cpu` run, which had waited since
    /// another: it fired there, or another CPU interrupted that one for it; and such timers are few, so that it is no chance.
    fn is_told(&self, cpu: &Cpu, on: CpuId, from_ns: u64, at_ns: u64, to_ns: u64) -> bool {
        let groups = |firing: &&Firing| firing.purpose == Purpose::CfsBandwidth;
        let lately = self
            .fired
            .iter()
            .rev()
            .take_while(|firing| at_ns.saturating_sub(firing.time_ns) <= REALTIME_PERIOD_NS);
        let few = lately.filter(groups).count() <= FIRINGS_PER_S_MAX;
        let fired_here =
            self.fired.iter().filter(groups).any(|it| it.time_ns == at_ns && it.cpu == on);
        let mut told = fired_here && to_ns - at_ns <= SWITCHES_NS;
        cpu.between(at_ns, to_ns, |_, _, activity| {
            // What brings an idle one out of that has told it, be it recorded or not.
            let is_awoken = activity.is_idle() && at_ns - from_ns >= ASLEEP_NS_MIN;
            told |= matches!(activity, Activity::Ipi(..)) || is_awoken;
        });
        few && told
    }

    /// The last one of a purpose after `from_ns` and up to `to_ns`.
    fn last(
        &self,
        from_ns: u64,
        to_ns: u64,
        purpose: Purpose,
        is_it: impl Fn(&Firing) -> bool,
    ) -> Option<u64> {
        let lately = self.fired.iter().rev().take_while(|firing| firing.time_ns > from_ns);
        let mut those = lately.filter(|firing| firing.time_ns <= to_ns);
        let found = those.find(|firing| firing.purpose == purpose && is_it(firing));
        found.map(|firing| firing.time_ns)
    }
}

/// Whom a CPU may have refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) task: TaskId,
    pub(crate) prio: Prio,
    /// The CPU itself woke it or took it off, so that it was in the queue from the beginning.
    pub(crate) queued_here: bool,
    /// An event told then that it is in this CPU's queue.
    pub(crate) queued_ns: Option<u64>,
    pub(crate) cpu: CpuId,
    /// It lost the CPU when the wait began: what came next was chosen.
    pub(crate) lost_it: bool,
    /// It has the CPU in the end because who had it before left by itself.
    pub(crate) is_next: bool,
}

/// A refusal, from when to when.
pub(crate) type Refused = (u64, u64, Refusal);

/// Refusals as they are found. The room is used again for every phase.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    pub(crate) refused: Vec<Refused>,
    gaps: Vec<Gap>,
}

/// The refusals between two times, in order.
pub(crate) fn refusals(
    cpu: &Cpu,
    firings: &Firings,
    from_ns: u64,
    to_ns: u64,
    waiting: Waiting,
    room: &mut Refusals,
) {
    let found = &mut room.refused;
    found.clear();
    if to_ns - from_ns < WAIT_NS_MIN || !waiting.prio.is_known() {
        return;
    }
    let Waiting { task, prio, .. } = waiting;
    let Refusals { refused: found, gaps } = room;
    gaps.clear();
    // To a fair task nothing but idling is refused: where a CPU did not idle there is nothing to find.
    if prio.is_realtime() || cpu.idled_since(from_ns) {
        choices(cpu, from_ns, to_ns, waiting, |gap| gaps.push(gap));
    }
    if prio.0 < 0 {
        // Of one whose arming was not seen nobody knows whose it is, and since Linux 6.12 each CPU has one for fair tasks
        // (`dl_server_timer`): it is the victim's where that had lost the CPU to nobody above it, or runs at once then.
        let alone = !ran_before(cpu, from_ns, to_ns, waiting);
        let idles = gaps.iter().any(|gap| gap.chosen == Chosen::Idle);
        let ends_it = |firing: &Firing| {
            let told = || firing.cpu == waiting.cpu || idles || is_sent(cpu, firing.time_ns, to_ns);
            waiting.lost_it || to_ns - firing.time_ns <= AT_ONCE_NS && told()
        };
        let own =
            |firing: &Firing| firing.owner.map_or(alone && ends_it(firing), |owner| owner == task);
        if let Some(at_ns) = firings.last(from_ns, to_ns, Purpose::DeadlineBudget, own) {
            let budget = Refusal::Throttled(Culprit::Setting(Setting::DeadlineBudget(task)));
            found.push((from_ns, at_ns, budget));
            return;
        }
    }
    if prio.is_realtime() {
        let mut left_out = Vec::new();
        cpu.realtime_out(from_ns, to_ns, |start_ns, end_ns, is_out| {
            if is_out && prio.0 >= 0 && end_ns - start_ns >= CHOICE_NS_MIN {
                left_out.push((start_ns, end_ns));
            }
        });
        let fired = firings.last(from_ns, to_ns, Purpose::RtBandwidth, |_| true).is_some();
        // A bandwidth is used up by real-time tasks that run, and concerns them alone.
        let some = prio.0 >= 0 && !(gaps.is_empty() && left_out.is_empty());
        let bandwidth = if some && (fired || uses_realtime(cpu, from_ns, !left_out.is_empty())) {
            Refusal::Throttled(Culprit::Setting(Setting::RtBandwidth))
        } else {
            Refusal::Unknown
        };
        // Another one that could run was left as well, perhaps before the victim came.
        found.extend(
            left_out.iter().take(REFUSALS_MAX).map(|(start, end)| (*start, *end, bandwidth)),
        );
        let apart = |gap: &Gap| {
            let mut left_out = left_out.iter();
            !left_out.any(|(start_ns, end_ns)| gap.start_ns < *end_ns && *start_ns < gap.end_ns)
        };
        let refused = gaps.drain(..).filter(apart).filter_map(|gap| match gap.chosen {
            Chosen::Idle if !fired || prio.0 < 0 => {
                Some((gap.idle_ns, gap.end_ns, Refusal::ForcedIdle))
            }
            _ if gap.end_ns - gap.start_ns < CHOICE_NS_MIN => None,
            // It was chosen all the same: what kept the victim out is not known.
            Chosen::Task if gap.end_ns - gap.start_ns < REALTIME_NS_MIN => {
                Some((gap.start_ns, gap.end_ns, Refusal::Unknown))
            }
            _ if gap.end_ns - gap.start_ns < REALTIME_NS_MIN => None,
            _ => Some((gap.start_ns, gap.end_ns, bandwidth)),
        });
        found.extend(refused.take(REFUSALS_MAX));
        found.sort_unstable_by_key(|(start_ns, ..)| *start_ns);
        return;
    }
    let group = Refusal::Throttled(Culprit::Setting(Setting::CfsBandwidth(task)));
    let fired_ns = firings.last(from_ns, to_ns, Purpose::CfsBandwidth, |_| true);
    if firings.was_throttled(from_ns, task) {
        found.push((from_ns, fired_ns.unwrap_or(to_ns), group));
        return;
    }
    match (gaps.first(), fired_ns) {
        (Some(first), Some(at_ns)) if gaps.last().is_some_and(|last| ends(last, at_ns)) => {
            found.push((first.idle_ns, at_ns, group));
        }
        (None, Some(at_ns))
            if to_ns - at_ns <= AT_ONCE_NS
                && at_ns - from_ns >= GROUP_NS_MIN
                && !waiting.is_next
                && !ran_realtime(cpu, at_ns, to_ns)
                && firings.is_told(cpu, waiting.cpu, from_ns, at_ns, to_ns)
                // A CPU that is busy switches no sooner for it; the tick makes it switch anyhow.
                && !cpu.ticked(at_ns.saturating_sub(AT_ONCE_NS), to_ns) =>
        {
            found.push((from_ns, at_ns, group));
        }
        _ => {
            let forced = |gap: &Gap| (gap.idle_ns, gap.end_ns, Refusal::ForcedIdle);
            found.extend(gaps.iter().take(REFUSALS_MAX).map(forced));
        }
    }
}

/// Whether real-time tasks had most of the CPU in a period up to a time, or of what is known of that where that has to
/// do: if one that could run `was_left` for one below, or if the rest is forgotten.
fn uses_realtime(cpu: &Cpu, to_ns: u64, was_left: bool) -> bool {
    let (mut realtime_ns, mut known_ns) = (0, 0);
    cpu.between(to_ns.saturating_sub(REALTIME_PERIOD_NS), to_ns, |from_ns, until_ns, activity| {
        let ns = until_ns - from_ns;
        let prio = activity.thread().map(|(_, prio)| prio);
        known_ns += if activity == Activity::Unknown { 0 } else { ns };
        realtime_ns += if prio.is_some_and(|it| it.0 >= 0 && it.is_realtime()) { ns } else { 0 };
    });
    let is_forgotten = cpu.has_forgotten(to_ns.saturating_sub(REALTIME_PERIOD_NS));
    let of_ns = if was_left || is_forgotten { known_ns.max(1) } else { REALTIME_PERIOD_NS };
    realtime_ns * 2 >= of_ns
}

/// Whether another CPU interrupted this one.
fn is_sent(cpu: &Cpu, from_ns: u64, to_ns: u64) -> bool {
    let mut sent = false;
    cpu.between(from_ns, to_ns, |_, _, activity| sent |= matches!(activity, Activity::Ipi(..)));
    sent
}

/// Whether a real-time task had a CPU.
fn ran_realtime(cpu: &Cpu, from_ns: u64, to_ns: u64) -> bool {
    let mut ran = false;
    cpu.between(from_ns, to_ns, |_, _, activity| {
        ran |= activity.thread().is_some_and(|(_, prio)| prio.is_realtime());
    });
    ran
}

/// Whether a bandwidth that is given back at a time ends a gap: the CPU does not go on idling.
fn ends(gap: &Gap, at_ns: u64) -> bool {
    at_ns > gap.idle_ns && gap.end_ns <= at_ns.saturating_add(AT_ONCE_NS)
}

/// What a CPU chose rather than the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen {
    /// A task that may not run first.
    Task,
    /// Nothing.
    Idle,
}

/// A stretch in which a CPU had chosen others, or nothing.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Since when nothing ran that may run first.
    start_ns: u64,
    /// Since when it idled, if it did.
    idle_ns: u64,
    end_ns: u64,
    chosen: Chosen,
}

/// A gap as it grows.
struct Growing {
    start_ns: u64,
    idle_ns: Option<u64>,
    /// It idles by choice, and has not been interrupted since.
    idles: bool,
    /// The end of the last stretch in which it did.
    idled_ns: u64,
    chosen: Option<Chosen>,
}

impl Growing {
    fn since(start_ns: u64) -> Self {
        Self { start_ns, idle_ns: None, idles: false, idled_ns: start_ns, chosen: None }
    }

    fn ended(&self, end_ns: u64) -> Option<Gap> {
        let Self { start_ns, idle_ns, idled_ns, chosen, .. } = *self;
        let chosen = chosen?;
        let idle_ns = idle_ns.unwrap_or(start_ns);
        let end_ns = if chosen == Chosen::Idle { idled_ns } else { end_ns };
        (end_ns > start_ns).then_some(Gap { start_ns, idle_ns, end_ns, chosen })
    }

    fn chooses(&mut self, chosen: Chosen) {
        if self.chosen != Some(Chosen::Task) {
            self.chosen = Some(chosen);
        }
    }
}

/// Finds where a CPU chose others than the victim, or nothing.
fn choices(cpu: &Cpu, from_ns: u64, to_ns: u64, waiting: Waiting, mut found: impl FnMut(Gap)) {
    // A fair task has nobody above or below it but those of other classes: only idling is a choice.
    let fair = !waiting.prio.is_realtime();
    let may_run = |prio: Prio| fair || !prio.is_known() || prio.may_run_before(waiting.prio);
    let mut base = cpu.base_before(from_ns);
    let of_victim = |base: Activity| base.thread().is_some_and(|(task, _)| task == waiting.task);
    // Woken on its way to sleep, it comes into the queue only when it has left the CPU.
    let queued_from_the_beginning = waiting.lost_it || waiting.queued_here && !of_victim(base);
    let mut queued = queued_from_the_beginning;
    let mut gap = Growing::since(from_ns);
    let begins = |ns: u64| ns == from_ns && !waiting.lost_it;
    // Where an event tells when it came into the queue, nothing else says that it was there before.
    let may_be_queued =
        |ns: u64| queued_from_the_beginning || waiting.queued_ns.is_none_or(|it| it < ns);
    let mut in_interrupt = false;
    cpu.between(from_ns, to_ns, |start_ns, stop_ns, activity| {
        if activity.is_interrupt() {
            // Whoever told this CPU of the victim has been heard by now.
            queued |= start_ns > from_ns;
            in_interrupt = true;
            gap.idles = false;
            return;
        }
        let was_interrupted = std::mem::take(&mut in_interrupt);
        let may_run = activity.thread().is_some_and(|(_, prio)| may_run(prio));
        if activity == Activity::Unknown || may_run {
            gap.ended(start_ns).into_iter().for_each(&mut found);
            gap = Growing::since(stop_ns);
            queued |= is_switch(base, activity) && !of_victim(base);
        } else if activity.is_idle() {
            gap.idle_ns.get_or_insert(start_ns);
            // It goes to sleep, perhaps once more: an entry makes a span of its own.
            let stays = stop_ns - start_ns > EXIT_NS_MAX;
            queued |= stays;
            let enters = if stays {
                true
            } else if matches!(activity, Activity::Awake(_)) {
                false
            } else if base.is_idle() {
                start_ns > from_ns && !was_interrupted
            } else {
                is_switch(base, activity) && !begins(start_ns)
            };
            if enters && queued && (stays || may_be_queued(start_ns)) {
                gap.chooses(Chosen::Idle);
                gap.idles = true;
            }
            if gap.idles {
                gap.idled_ns = stop_ns;
            }
            queued |= is_switch(base, activity) && !of_victim(base);
        } else {
            gap.idle_ns = None;
            if is_switch(base, activity) {
                // One that goes to sleep may not have looked yet; one that switches has.
                let is_told = waiting.queued_ns.is_some_and(|ns| ns < start_ns);
                let is_queued = queued && may_be_queued(start_ns);
                if (is_queued || is_told && !of_victim(base)) && !begins(start_ns) {
                    gap.chooses(Chosen::Task);
                }
                queued |= !of_victim(base);
            }
        }
        base = activity;
    });
    gap.ended(to_ns).into_iter().for_each(&mut found);
}

/// Whether a task that may run first had the CPU.
fn ran_before(cpu: &Cpu, from_ns: u64, to_ns: u64, waiting: Waiting) -> bool {
    let mut ran = false;
    cpu.between(from_ns, to_ns, |_, _, activity| {
        let first = |(task, prio): (TaskId, Prio)| {
            task != waiting.task && prio.is_known() && prio.may_run_before(waiting.prio)
        };
        ran |= activity.thread().is_some_and(first);
    });
    ran
}

fn is_switch(from: Activity, to: Activity) -> bool {
    match (from, to) {
        (Activity::Unknown, _) | (_, Activity::Unknown) => false,
        _ => match (from.thread(), to.thread()) {
            (Some((from, _)), Some((to, _))) => from != to,
            _ => from.is_idle() != to.is_idle(),
        },
    }
}
