//! Is a thread that really kept a victim from running named, with the time it really took?

use crate::explained::{Wakeup, explain_all};
use crate::machine::Machine;
use crate::program::{Running, tardy};
use rustix::thread::{
    ClockId, CpuSet, clock_nanosleep_absolute, sched_getaffinity, sched_setaffinity,
};
use rustix::time::{Timespec, clock_gettime};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

const NAME: &str = "spinner-90";
const BUSY_NS: u64 = 600_000;
/// Not a multiple of the victim's interval, so that the spins move across its expiries: whatever
/// its phase, more than every second covers one.
const PERIOD_NS: u64 = 4_047_000;
/// A bound on what a broken test can do to the machine.
const SPINS_MAX: usize = 3000;
/// Between two readings of the clock that are further apart the spinner did not run.
const GAP_NS: u64 = 1_000;
/// Shorter waits say more of the way to sleep, which no clock of the spinner's sees, than of the
/// spin.
const WAIT_MIN_NS: u64 = 450_000;

/// Fewer ratios say nothing of their median.
const RATIOS_MIN: usize = 20;

/// A spin that lost more than this part of its time says what the host took without counting it, which no event tells.
const LOST_PART_MAX: u64 = 40;

/// Gaps of one spin that are kept.
const GAPS_MAX: usize = 64;

/// One time of being busy, as the spinner's own clock readings tell it.
struct Spin {
    start_ns: u64,
    end_ns: u64,
    /// When it did not run in between: interrupts, the hypervisor.
    gaps: Vec<(u64, u64)>,
}

impl Spin {
    fn covers(&self, time_ns: u64) -> bool {
        self.start_ns < time_ns && time_ns < self.end_ns
    }

    /// How long it ran after the interrupt that woke whoever expired at `expiry_ns`, and how long it did not.
    fn ran_after_the_interrupt_of(&self, expiry_ns: u64) -> Option<(u64, u64)> {
        let (_, back_ns) = *self.gaps.iter().find(|(_, end_ns)| *end_ns > expiry_ns)?;
        let later = self.gaps.iter().filter(|(start_ns, _)| *start_ns >= back_ns);
        let gaps_ns = later.map(|(start_ns, end_ns)| end_ns - start_ns).sum::<u64>();
        Some((self.end_ns - back_ns - gaps_ns, gaps_ns))
    }
}

fn clock_ns(clock: rustix::time::ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn now_ns() -> u64 {
    clock_ns(rustix::time::ClockId::Monotonic)
}

fn sleep_until(time_ns: u64) {
    let until = Timespec::try_from(Duration::from_nanos(time_ns)).expect("584 years are enough");
    // Woken early by a signal it spins early.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
}

/// Is busy once, and writes it to `spin`, whose memory is there already.
fn be_busy(spin: &mut Spin) {
    spin.start_ns = now_ns();
    spin.end_ns = spin.start_ns;
    while spin.end_ns < spin.start_ns + BUSY_NS {
        let now_ns = now_ns();
        if now_ns - spin.end_ns > GAP_NS && spin.gaps.len() < GAPS_MAX {
            spin.gaps.push((spin.end_ns, now_ns));
        }
        spin.end_ns = now_ns;
    }
}

/// Spins under `SCHED_FIFO` 90 on `cpu` until `stop`; with the CPU time that it took.
fn spinner(cpu: usize, stop: &'static AtomicBool) -> JoinHandle<(Vec<Spin>, u64)> {
    let spin_on = move || {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set).expect("the CPU is ours");
        let fresh = || Spin { start_ns: 1, end_ns: 1, gaps: Vec::with_capacity(GAPS_MAX) };
        let mut spins: Vec<Spin> = (0..SPINS_MAX).map(|_| fresh()).collect();
        let prio = ThreadPriority::Crossplatform(ThreadPriorityValue::try_from(90).unwrap());
        let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        set_thread_priority_and_policy(thread_native_id(), prio, fifo).expect("root may");
        let mut next_ns = now_ns() + PERIOD_NS;
        for spin in &mut spins {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            sleep_until(next_ns);
            // Before the spin, so that nothing lies between its end and the next sleep.
            next_ns = (next_ns + PERIOD_NS).max(now_ns());
            be_busy(spin);
        }
        (spins, clock_ns(rustix::time::ClockId::ThreadCPUTime))
    };
    std::thread::Builder::new().name(NAME.to_owned()).spawn(spin_on).unwrap()
}

/// What tardy says the spinner took.
fn blamed_ns(wakeup: &Wakeup) -> u64 {
    let waits = wakeup.segments.iter().filter(|segment| segment.cause == "higher_priority");
    let culprits = waits.flat_map(|segment| &segment.culprits);
    culprits.filter(|culprit| culprit.name == NAME).map(|culprit| culprit.ns).sum()
}

fn measure_a_victim(cpu: usize, recording: &Path) -> (Vec<Spin>, u64) {
    static STOP: AtomicBool = AtomicBool::new(false);
    let spinner = spinner(cpu, &STOP);
    let mut command = tardy(["measure", "cyclic", "--json", "-t", "1", "-P", "80", "-i", "1ms"]);
    command.args(["-D", "5", "-a", &cpu.to_string(), "--record"]).arg(recording);
    let victim = Running::start(&mut command);
    let said = victim.said();
    STOP.store(true, Ordering::Relaxed);
    let ran = spinner.join().unwrap();
    said.expect(0);
    ran
}

#[test]
fn a_spinner_of_higher_priority_is_blamed_for_what_it_took() {
    let Some(_machine) = Machine::that_records() else { return };
    let cpus = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).rfind(|cpu| cpus.is_set(*cpu)).expect("we run somewhere");
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let (spins, ran_ns) = measure_a_victim(cpu, &recording);
    let explained = explain_all(&recording, &[]);

    // What the hypervisor took while it spun is not its own (the clock of tasks leaves that out, `update_rq_clock_task`).
    let timed: Vec<&Wakeup> = explained.timed().collect();
    let blamed: u64 = timed.iter().map(|wakeup| blamed_ns(wakeup)).sum();
    assert!(blamed <= ran_ns, "it is blamed for {blamed} ns and ran for {ran_ns} ns");

    let (mut ratios, mut stopped) = (Vec::new(), 0);
    for wakeup in explained.timed() {
        // Something of it is missing, and nobody is blamed for that.
        if wakeup.touched_by_loss {
            continue;
        }
        let covering = spins.iter().find(|spin| spin.covers(wakeup.expiry_ns));
        let ran_ns = covering.and_then(|spin| spin.ran_after_the_interrupt_of(wakeup.expiry_ns));
        let Some((ran_ns, lost_ns)) = ran_ns.filter(|(ran_ns, _)| *ran_ns >= WAIT_MIN_NS) else {
            continue;
        };
        assert!(blamed_ns(wakeup) > 0, "{wakeup:?}");
        if lost_ns > ran_ns / LOST_PART_MAX {
            stopped += 1;
            continue;
        }
        ratios.push(blamed_ns(wakeup) as f64 / ran_ns as f64);
    }
    ratios.sort_by(f64::total_cmp);
    let told =
        format!("{} of {} spins, {stopped} of which the host stopped", ratios.len(), spins.len());
    if ratios.len() < RATIOS_MIN && ratios.len() + stopped >= RATIOS_MIN {
        eprintln!("skipped: {told}");
        return;
    }
    assert!(ratios.len() >= RATIOS_MIN, "{told}");
    let median = ratios[ratios.len() / 2];
    eprintln!("{} waits: tardy's time is {median:.4} of the spinner's", ratios.len());
    assert!((median - 1.0).abs() <= 0.05, "{median}: {ratios:?}");
}
