//! A recording as a system that can be simulated: the machine's costs, the kernel, and every thread's script.

use crate::experience::Class;
use crate::groups::groups;
use crate::observed::{BySeen, Costs, Observed, Programming, ThreadSeen, WAKING};
use crate::refusal::Refusal;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::sync::Arc;
use tardy_changes::{Whom, stem};
use tardy_model::event::TaskInfo;
use tardy_model::{Culprit, Prio, Setting, TaskId};
use tardy_sim::{
    Bandwidth, CPUS_MAX, Cost, Device, Kernel, NO_THREAD, Outside, Pace, Policy, Preemption,
    Scripted, Softirqs, System, Taken, Thread, Throttles, Workload,
};

/// A thread that waits for others this many times more rarely than for its timers lives by its timers: at its
/// beginning every one waits for somebody.
const WAITS_SHARE: usize = 20;

/// What a kernel with threads for its softirqs calls itself.
const RT: &str = "PREEMPT_RT";

/// The threads of such a kernel that run timers' softirqs.
pub(crate) const KTIMERS: &str = "ktimers/";

/// Those that run all others.
pub(crate) const KSOFTIRQD: &str = "ksoftirqd/";

/// So many ordinary sleepers show where this kernel expires them, whatever it is.
const SLEEPERS_MIN: u64 = 20;

/// What is known of the kernel that was recorded beside its events.
#[derive(Clone, Debug, Default)]
pub struct KernelSeen {
    /// Its preemption model, as the kernel tells it: `PREEMPT_RT`, `PREEMPT_DYNAMIC (none)`.
    pub preemption: Option<String>,
    /// Ticks per second.
    pub hz: Option<u32>,
    /// CPUs online.
    pub cpus: u32,
    /// How much of a CPU real-time threads may use.
    pub realtime: RealTimeShare,
    /// How it keeps control groups without CPU time from running.
    pub throttles: Throttles,
    /// What kind of machine it runs on.
    pub class: Class,
    /// It is a guest of KVM, which may wait for CPUs that sleep.
    pub is_kvm_guest: bool,
}

/// How much of a CPU real-time threads may use (`sched_rt_runtime_us`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RealTimeShare {
    /// Nobody says.
    #[default]
    Unknown,
    /// All of it.
    All,
    /// So much time in each period, ns.
    Limited {
        /// So much.
        runtime_ns: u64,
        /// In so much.
        period_ns: u64,
    },
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
/// What a thread of the system was in the recording.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub(crate) task: TaskId,
    pub(crate) process: TaskId,
    pub(crate) name: String,
    /// Its program: the name of the first thread of its process, unless a victim is in that.
    pub(crate) program: Option<String>,
    /// What it is called in a change, with others that do the same: see [`call`].
    pub(crate) called: String,
    pub(crate) is_victim: bool,
    pub(crate) marks: bool,
    /// A thread of the kernel.
    pub(crate) is_kernel: bool,
    /// One of those that is bound to its CPU.
    pub(crate) is_bound_kernel: bool,
    /// One of tardy's own that record: it is in the way only as long as somebody looks.
    pub(crate) is_own: bool,
    /// It lives by what others do, not by its timers.
    pub(crate) waits: bool,
    /// When it woke whom, since the recording began.
    pub(crate) woke: Arc<[(u64, u32)]>,
}

/// A recording as a system.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) system: System,
    /// By the threads' places.
    pub(crate) roles: Vec<Role>,
    /// Lines of interrupts by the places of devices.
    pub(crate) lines: Vec<Option<u32>>,
    /// What comes as thefts do, and was told by nobody to be one: `None` where none was told at all.
    pub(crate) stalls: Option<Arc<[Taken]>>,
    /// How long leaving each idle state takes by the driver's table, by its number; `None` of one that was not entered, or of
    /// which nobody told, as without a cpuidle driver.
    pub(crate) idle_states: Vec<Option<u64>>,
    /// What waking up takes after sleeps for which the hypervisor does not wait is assumed: too few were recorded.
    pub(crate) assumes_waking: bool,
    /// What programming the clock-event device takes, where that shows.
    pub(crate) programming: Option<Programming>,
    /// Real-time threads were throttled, and nobody says by what bound.
    pub(crate) is_throttled_somehow: bool,
    pub(crate) span_ns: u64,
    /// So long after its beginning the recording begins.
    pub(crate) shift_ns: u64,
}

impl Model {
    /// Of a recording.
    pub(crate) fn of(observed: &Observed, seen: &KernelSeen) -> Result<Self, Refusal> {
        let cpus = observed.cpus.max(u16::try_from(seen.cpus).unwrap_or(0).min(CPUS_MAX));
        if observed.bounds.contains(&"CPUs") || seen.cpus > CPUS_MAX.into() {
            return Err(Refusal::TooLarge { what: "CPUs", max: CPUS_MAX.into() });
        }
        let (machine, assumes_waking) = observed.costs.machine(cpus.max(1), seen.is_kvm_guest);
        let own = OwnCosts::of(&observed.costs);
        let ktimers = observed.threads.iter();
        let ktimers = ktimers.filter(|thread| thread.comm.to_string().starts_with(KTIMERS));
        let has_ktimers = ktimers.clone().next().is_some();
        // Traces of others do not say, but who has threads for that is one.
        let is_rt = match seen.preemption.as_deref() {
            Some(model) => model.contains(RT),
            None => ktimers.clone().any(|thread| thread.runs_timers),
        };
        // Since Linux 5.4 ordinary sleepers expire in the softirq there, but a kernel may have a switch for that.
        let [in_softirq, in_interrupt] = observed.fair_sleepers;
        let is_shown = in_softirq + in_interrupt >= SLEEPERS_MIN;
        let is_soft = (is_rt || is_shown && in_softirq > 0) && in_interrupt <= in_softirq;
        let mut kernel = Kernel {
            preemption: if is_rt { Preemption::Rt } else { Preemption::Full },
            softirqs: match (is_rt, has_ktimers) {
                (true, true) => Softirqs::Ktimers,
                (true, false) => Softirqs::Ksoftirqd,
                (false, _) => Softirqs::IrqTail,
            },
            timers: if is_soft { "softirq-expires-next-after" } else { "hardirq" }.to_owned(),
            tells_sections: false,
            throttles: seen.throttles,
            ..Kernel::default()
        };
        let serving = observed.threads.iter().filter(|thread| {
            let served_by = if has_ktimers { KTIMERS } else { KSOFTIRQD };
            thread.comm.to_string().starts_with(served_by)
        });
        if let Some(prio @ 0..=98) =
            serving.filter_map(|thread| thread.draft.prio.prio()).map(|prio| prio.0).min()
        {
            kernel.settings.common = 99 - prio as u8;
        }
        if let RealTimeShare::Limited { runtime_ns, period_ns } = seen.realtime {
            kernel.rt_bandwidth = Some(Bandwidth { runtime_ns, period_ns });
        }
        let hz = seen.hz.filter(|hz| *hz > 0).unwrap_or(250);
        if let Some(jiffy_ns) = NonZeroU64::new(1_000_000_000 / u64::from(hz)) {
            kernel.settings.jiffy_ns = jiffy_ns;
        }
        let jiffy_ns = kernel.settings.jiffy_ns.get();
        let ticks = u128::from(observed.span_ns() / jiffy_ns) * u128::from(cpus.max(1));
        // Where CPUs tick while they idle too, all ticks that can be are there.
        kernel.nohz = u128::from(observed.ticks) * 10 < ticks * 9;
        kernel.nohz_from_ns = observed.costs.stops_ticks_from_ns();
        // Ticks are at multiples of a jiffy from the beginning, as they were.
        let shift_ns = match observed.tick_ns {
            0 => 0,
            tick_ns => (jiffy_ns + observed.first_ns % jiffy_ns - tick_ns % jiffy_ns) % jiffy_ns,
        };
        let name_of = &|place: u32| {
            let thread = observed.threads.get(place as usize);
            thread.map_or_else(String::new, |thread| stem(&thread.comm.to_string()).to_owned())
        };
        let costs = &observed.costs;
        let sections = [
            costs.lates.sections(costs.usual_late_ns(), name_of),
            costs.holds.sections(costs.usual_switch_ns(), name_of),
        ];
        let mut roles = Vec::new();
        let mut threads = Vec::new();
        let (groups, of_threads) = groups(observed);
        for (thread, group) in observed.threads.iter().zip(of_threads) {
            roles.push(role(thread));
            let again_ns = NonZeroU64::new(observed.span_ns()).filter(|_| thread.draft.goes_on());
            threads.push(Thread {
                again_ns,
                group,
                ..scripted(thread, is_rt, own, shift_ns, &sections)
            });
        }
        tell_programs(&mut roles);
        call(&mut roles);
        let devices = observed.sources.iter().map(|(name, _)| Device {
            name: name.clone(),
            cpu: 0,
            every: None,
            handler: Cost::ZERO,
            softirq: None,
        });
        let outside = outside(observed, is_rt, &threads, shift_ns);
        let devices = devices.collect();
        let workload = Workload { threads, devices, outside, groups, ..Workload::default() };
        let mut stalls = observed.stalls.clone();
        shifted(&mut stalls, shift_ns);
        Ok(Self {
            system: System { machine, kernel, workload, seed: 1 },
            roles,
            stalls: (!observed.thefts.is_empty()).then(|| stalls.into()),
            lines: observed.sources.iter().map(|(_, line)| *line).collect(),
            idle_states: costs.idle_states(),
            assumes_waking,
            programming: costs.programming(),
            is_throttled_somehow: seen.realtime == RealTimeShare::Unknown
                && observed.blames(Culprit::Setting(Setting::RtBandwidth)),
            span_ns: observed.span_ns() + shift_ns,
            shift_ns,
        })
    }

    /// The same where a hypervisor takes nothing; `None` where no theft was recorded.
    pub(crate) fn without_thefts(&self) -> Option<Self> {
        let stalls = self.stalls.clone()?;
        let mut without = self.clone();
        without.system.workload.outside.thefts = stalls;
        Some(without)
    }

    /// Threads that do nothing on the victims' CPUs.
    pub(crate) fn away(&self) -> HashSet<TaskId> {
        let threads = self.roles.iter().zip(&self.system.workload.threads);
        let victims = threads.clone().filter(|(role, _)| role.is_victim);
        let cpus = victims.fold(0, |mask, (_, victim)| mask | victim.cpus);
        let is_away = |thread: &Thread| {
            let does_nothing = thread.script.as_ref().is_none_or(|script| script.is_empty());
            does_nothing || thread.cpus & cpus == 0
        };
        threads.filter(|(_, thread)| is_away(thread)).map(|(role, _)| role.task).collect()
    }

    /// The places of the threads that are meant.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn whom(&self, whom: &Whom) -> Result<Vec<usize>, Refusal> {
        let is_it = |role: &Role| match whom {
            Whom::Victim => role.is_victim,
            Whom::Id(id) => role.task.0 == *id || role.process.0 == *id,
            Whom::Name(_) => whom.means(&role.name, role.program.as_deref()),
            Whom::Irq(_) => false,
        };
        let found: Vec<usize> =
            (0..self.roles.len()).filter(|at| is_it(&self.roles[*at])).collect();
        if found.is_empty() { Err(Refusal::nobody(whom)) } else { Ok(found) }
    }
}

/// Gives roles their programs.
fn tell_programs(roles: &mut [Role]) {
    let of_victims: HashSet<TaskId> =
        roles.iter().filter(|role| role.is_victim).map(|role| role.process).collect();
    let first = roles.iter().filter(|role| role.task == role.process && !role.is_kernel);
    let first = first.filter(|role| !role.name.is_empty() && !of_victims.contains(&role.process));
    let programs: HashMap<TaskId, String> =
        first.map(|role| (role.process, role.name.clone())).collect();
    for role in roles {
        role.program = programs.get(&role.process).cloned();
    }
}

/// Gives roles what they are called in a change: the name of their program, as a person would name them; where that is
/// not known, the name of the thread. In both their stem, or the whole name where all of that stem have it, whose
/// number tells no threads apart then (`qemu-system-x86`).
fn call(roles: &mut [Role]) {
    let name_of = |role: &Role| role.program.as_ref().unwrap_or(&role.name).clone();
    let mut whole: HashMap<String, Option<String>> = HashMap::new();
    for role in roles.iter() {
        let own = name_of(role);
        let name = whole.entry(stem(&own).to_owned()).or_insert(Some(own.clone()));
        if name.as_ref().is_some_and(|name| *name != own) {
            *name = None;
        }
    }
    for role in roles {
        let own = name_of(role);
        let stem = stem(&own);
        role.called = whole.get(stem).cloned().flatten().unwrap_or_else(|| stem.to_owned());
    }
}

/// What of a thread's run the simulator adds by itself.
#[derive(Clone, Copy, Debug)]
struct OwnCosts {
    switch_ns: u64,
    /// For each of the two threads that is a fair one.
    switch_fair_ns: u64,
    queue_ns: u64,
    wakeup_ns: u64,
}

impl OwnCosts {
    fn of(costs: &Costs) -> Self {
        let (wakeup_ns, _) = costs.usual_ns();
        let (switch_ns, switch_fair_ns) = costs.usual_switch_parts_ns();
        let queue_ns = costs.usual_queue_ns();
        Self { switch_ns, switch_fair_ns, queue_ns, wakeup_ns }
    }
}

fn role(thread: &ThreadSeen) -> Role {
    let is_kernel = thread.info.has(TaskInfo::KERNEL);
    // Of one that never ran nobody knows, if nobody told.
    let is_unknown = thread.allowed.is_none() && thread.draft.cpus == 0;
    let is_bound = is_unknown || thread.bound_to().is_some_and(u64::is_power_of_two);
    Role {
        task: thread.task,
        process: thread.info.process,
        name: thread.comm.to_string(),
        program: None,
        called: String::new(),
        is_victim: thread.is_victim,
        marks: thread.draft.marks,
        is_kernel,
        is_bound_kernel: is_kernel && is_bound,
        is_own: thread.info.has(TaskInfo::OWN),
        waits: thread.draft.waits * WAITS_SHARE > thread.draft.sleeps + WAITS_SHARE,
        woke: thread.draft.woke.as_slice().into(),
    }
}

/// The policy of a priority as the kernel has it. Which of those without a real-time priority it is was told when the
/// recording began, or the thread did.
fn policy(prio: Prio, info: TaskInfo) -> Policy {
    match prio.0 {
        ..0 => Policy::Deadline { deadline_ns: 1_000_000 },
        rt @ 0..=98 => Policy::Fifo(99 - rt as u8),
        _ if info.has(TaskInfo::IDLE) => Policy::Idle,
        other => {
            let nice = (other - 120).clamp(-20, 19) as i8;
            if info.has(TaskInfo::BATCH) { Policy::Batch { nice } } else { Policy::Other { nice } }
        }
    }
}

fn outside(observed: &Observed, is_rt: bool, threads: &[Thread], shift_ns: u64) -> Outside {
    let mut arrivals = observed.arrivals.clone();
    if is_rt {
        for (place, ns) in &observed.threaded {
            if let Some(arrival) = arrivals.get_mut(*place) {
                arrival.softirq_ns = arrival.softirq_ns.saturating_add(*ns);
            }
        }
    }
    let is_there = |wakes: u32| {
        let script = threads.get(wakes as usize).and_then(|thread| thread.script.as_ref());
        script.is_some_and(|script| !script.is_empty())
    };
    for arrival in &mut arrivals {
        arrival.at_ns += shift_ns;
        if arrival.wakes != NO_THREAD && !is_there(arrival.wakes) {
            arrival.wakes = NO_THREAD;
        }
    }
    // What only woke a thread that the simulator has itself.
    let wakings = observed.sources.iter().position(|(name, _)| name == WAKING);
    arrivals.retain(|it| it.wakes != NO_THREAD || Some(it.device as usize) != wakings);
    // Those that came to idle CPUs were put before their time.
    arrivals.sort_by_key(|arrival| arrival.at_ns);
    let mut thefts: Vec<Taken> = observed.thefts.iter().chain(&observed.stalls).copied().collect();
    thefts.sort_by_key(|theft| theft.at_ns);
    shifted(&mut thefts, shift_ns);
    let paces = observed.paces.iter().map(|it| Pace { at_ns: it.at_ns + shift_ns, ..*it });
    Outside { arrivals: arrivals.into(), thefts: thefts.into(), paces: paces.collect() }
}

fn shifted(thefts: &mut [Taken], shift_ns: u64) {
    for theft in thefts {
        theft.at_ns += shift_ns;
    }
}

fn scripted(
    thread: &ThreadSeen,
    is_rt: bool,
    own: OwnCosts,
    shift_ns: u64,
    sections: &[BySeen; 2],
) -> Thread {
    let draft = &thread.draft;
    let mut script = draft.steps.clone();
    if is_rt && thread.info.has(TaskInfo::KERNEL) && thread.serves_softirqs() {
        // The simulator has threads of its own for that.
        script.clear();
    }
    for step in &mut script {
        if let Scripted::SleepUntil(ns) = step {
            *ns += shift_ns;
        }
    }
    let name = thread.comm.to_string();
    let strewn = sections.each_ref().map(|by_name| by_name.of(stem(&name)));
    let share: f64 = strewn.iter().flatten().map(|strewn| strewn.share).sum();
    let switch_ns = own.switch_ns + (own.switch_fair_ns as f64 * draft.fair_ones()) as u64;
    for at in 1..script.len() {
        let less_ns = match script[at] {
            Scripted::Sleep(_) | Scripted::SleepUntil(_) => switch_ns + own.queue_ns,
            Scripted::Wait => switch_ns,
            Scripted::Wake(_) => own.wakeup_ns,
            Scripted::Run(_) | Scripted::Back => 0,
        };
        if let Scripted::Run(ns) = &mut script[at - 1] {
            *ns = ns.saturating_sub(less_ns);
        }
    }
    for step in &mut script {
        if let Scripted::Run(ns) = step {
            // Stretches in which it is not interrupted or preempted come on top.
            *ns -= (*ns as f64 * share.clamp(0.0, 1.0)) as u64;
        }
    }
    let [irqs_off, preempt_off] = strewn.map(|it| it.map(|strewn| strewn.sections.clone()));
    Thread {
        name,
        irqs_off,
        preempt_off,
        policy: policy(draft.prio.prio().unwrap_or(Prio(120)), thread.info),
        cpus: thread.bound_to().unwrap_or(u64::MAX),
        first_cpu: draft.first_cpu,
        slack_ns: draft.slack_ns.unwrap_or(0),
        script: Some(script.into()),
        repeat_from: draft.begins_at,
        skips_passed: draft.skips_passed(),
        watched: thread.is_victim,
        ..Thread::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(task: u32, process: u32, name: &str, is_victim: bool) -> Role {
        Role {
            task: TaskId(task),
            process: TaskId(process),
            name: name.to_owned(),
            program: None,
            called: String::new(),
            is_victim,
            marks: false,
            is_kernel: false,
            is_bound_kernel: false,
            is_own: false,
            waits: false,
            woke: [].into(),
        }
    }

    #[test]
    fn threads_are_called_by_their_program_unless_a_victim_is_in_it() {
        let mut roles = vec![
            role(10, 10, "rustc", false),
            role(11, 10, "opt cgu.3", false),
            role(20, 20, "player", false),
            role(21, 20, "audio", true),
            role(22, 20, "disk-1", false),
            role(23, 20, "disk-2", false),
            // The first thread of its process was never seen.
            role(31, 30, "worker", false),
        ];
        tell_programs(&mut roles);
        call(&mut roles);
        let called: Vec<&str> = roles.iter().map(|role| role.called.as_str()).collect();
        assert_eq!(called, ["rustc", "rustc", "player", "audio", "disk", "disk", "worker"]);
    }
}
