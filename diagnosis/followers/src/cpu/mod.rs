//! The contexts of one CPU: a task, an interrupt in it, a softirq, a timer's callback, nested and left by
//! switches at any depth.
//!
//! | event | the stack |
//! |---|---|
//! | interrupt, softirq or callback begins | one more on top |
//! | its end | all above it go with it: their ends were not seen |
//! | a switch in a softirq, or in a callback of a thread for timers | what is there and above it are kept for the task that is left, and come back with it |
//! | any other switch, idle | empty: nothing switches in a hard interrupt |
//! | a loss | empty, and nothing is known of the past since then |

mod context;
mod delivery;
mod expiry;
mod hang;
mod history;
mod pending;
mod resolution;
mod sections;
mod sent;
mod stolen;
mod unrecorded;

pub use expiry::{Callback, Deferral, Expiry, RunIn};
pub use hang::PutOff;
pub use history::{SPANS_MAX, Walk};
pub use stolen::StolenTime;

use crate::activity::Activity;
use crate::prios::Prios;
use crate::timers::Place;
use context::{Context, Raise};
use delivery::Deliveries;
use hang::Hangs;
use history::History;
use pending::Pendings;
use resolution::ExpiryRounds;
use sections::Sections;
use sent::Senders;
pub(crate) use sent::Sent;
use std::collections::VecDeque;
use stolen::Silences;
use tardy_model::event::{IdleEnter, Irq, Nmi, Section, SectionBegin, SectionEnd, Vector};
use tardy_model::{Prio, TaskId};
use unrecorded::Rounds;

/// Interrupts within softirqs within interrupts: deeper than any kernel nests them.
const NESTING_MAX: usize = 16;

/// Tasks that were left in the middle of a softirq, of which that is kept.
const LEFT_MAX: usize = 64;

/// Ticks that are remembered: a softirq that waits for longer has its timer's tick unknown.
const TICKS_MAX: usize = 64;

/// One CPU.
#[derive(Debug)]
pub struct Cpu {
    /// What runs where no interrupt does.
    base: Activity,
    /// The task that must be current, by the last switch or event.
    current: Option<TaskId>,
    /// When that came to run.
    switched_ns: u64,
    /// The time of the last event.
    last_ns: u64,
    /// Events seen.
    events: u64,
    /// Contexts above the task, innermost last.
    contexts: Vec<Context>,
    /// What was left by a switch in the middle of a softirq (`PREEMPT_RT` runs them in threads), by thread.
    left: Vec<(TaskId, Vec<Context>)>,
    history: History,
    /// Softirqs that are raised and have not begun since, by vector.
    raises: [Option<Raise>; 10],
    pendings: Pendings,
    sent: Senders,
    /// Callbacks begun.
    callbacks: u32,
    /// The number of the event that was the end of an interrupt, or of a section with interrupts off right after it.
    left_irq_at: u64,
    rounds: Rounds,
    expiry_rounds: ExpiryRounds,
    /// When the last interrupts of the timer began, oldest first.
    timer_irqs: VecDeque<u64>,
    /// The last ticks: when each was due, and the entry of its interrupt; oldest first.
    ticks: VecDeque<(u64, u64)>,
    irqs_off: Sections,
    preempt_off: Sections,
    /// A real-time task could run and one below was chosen.
    realtime_out: Sections,
    silences: Silences,
    stolen: StolenTime,
    /// What interrupts took to come to tasks, and to the CPU where it polled: a hypervisor may bring those sooner.
    to_tasks: Deliveries,
    to_polling: Deliveries,
    hangs: Hangs,
}

impl Cpu {
    /// Nothing seen yet; `spans_max` changes of activity are remembered.
    pub fn new(spans_max: usize) -> Self {
        Self {
            base: Activity::Unknown,
            current: None,
            switched_ns: 0,
            last_ns: 0,
            events: 0,
            contexts: Vec::with_capacity(NESTING_MAX),
            left: Vec::new(),
            history: History::new(spans_max),
            raises: [None; 10],
            pendings: Pendings::default(),
            sent: Senders::default(),
            callbacks: 0,
            left_irq_at: u64::MAX,
            rounds: Rounds::default(),
            expiry_rounds: ExpiryRounds::default(),
            timer_irqs: VecDeque::new(),
            ticks: VecDeque::new(),
            irqs_off: Sections::default(),
            preempt_off: Sections::default(),
            realtime_out: Sections::default(),
            silences: Silences::default(),
            stolen: StolenTime::default(),
            to_tasks: Deliveries::default(),
            to_polling: Deliveries::default(),
            hangs: Hangs::default(),
        }
    }

    /// What it does now.
    #[inline]
    pub fn activity(&self) -> Activity {
        self.contexts.last().map_or(self.base, |context| context.activity)
    }

    /// Whether it is in no interrupt, softirq or callback.
    pub fn in_task_context(&self) -> bool {
        self.contexts.is_empty()
    }

    /// Whether the task runs that is current: neither an interrupt in it nor a softirq.
    pub fn runs_itself(&self) -> bool {
        self.contexts.iter().all(Context::is_of_timer_thread)
    }

    /// Whether an interrupt runs.
    pub fn in_interrupt(&self) -> bool {
        self.contexts.iter().any(Context::is_interrupt)
    }

    /// Calls `piece` for each change of activity in `from_ns..to_ns`, in order, without a gap.
    #[inline]
    pub fn between(&self, from_ns: u64, to_ns: u64, piece: impl FnMut(u64, u64, Activity)) {
        self.history.between(from_ns, to_ns, piece);
    }

    /// A walk through what it did, from a time on.
    #[inline]
    pub fn walk(&self, from_ns: u64) -> Walk<'_> {
        self.history.walk(from_ns)
    }

    /// Whether it may have idled since a time; where it has not, that is sure.
    pub fn idled_since(&self, ns: u64) -> bool {
        self.history.idled_since(ns)
    }

    /// What ran, interrupts aside, right before a time; [`Activity::Unknown`] where that is not known.
    pub fn base_before(&self, ns: u64) -> Activity {
        self.history.base_before(ns)
    }

    /// Calls `piece` for what of a time it had left real-time tasks that could run for one below them, or for
    /// nothing, and what not; in order, without a gap.
    pub fn realtime_out(&self, from_ns: u64, to_ns: u64, piece: impl FnMut(u64, u64, bool)) {
        self.realtime_out.between(from_ns, to_ns, piece);
    }

    /// Whether it had a tick whose interrupt began between two times; only the last ones are remembered.
    pub fn ticked(&self, from_ns: u64, to_ns: u64) -> bool {
        self.ticks.iter().any(|(_, entry_ns)| (from_ns..=to_ns).contains(entry_ns))
    }

    /// Whether what it did at a time is forgotten for want of room ([`SPANS_MAX`]).
    pub fn has_forgotten(&self, ns: u64) -> bool {
        self.history.is_dropped(ns)
    }

    /// Calls `piece` for what of a time lies in a section with interrupts off, or without preemption, and
    /// what does not, as far as the stream tells; in order, without a gap.
    pub fn sections(
        &self,
        section: Section,
        from_ns: u64,
        to_ns: u64,
        piece: impl FnMut(u64, u64, bool),
    ) {
        match section {
            Section::IrqsOff => self.irqs_off.between(from_ns, to_ns, piece),
            Section::PreemptOff => self.preempt_off.between(from_ns, to_ns, piece),
        }
    }

    pub(crate) fn place(&self, cpu: usize) -> Place {
        Place { cpu: cpu as u16, number: self.events as u32 }
    }

    /// An event comes that has `task` as the current one. Where another should be, a switch is
    /// missing, and perhaps much else with it, although no loss was told of: who ran since the last
    /// event is not known, and must not be blamed. Returns since when, and the task that ran then.
    #[inline]
    pub fn check_current(
        &mut self,
        time_ns: u64,
        task: TaskId,
        prios: &Prios,
    ) -> Option<(u64, TaskId)> {
        self.events += 1;
        let since_ns = std::mem::replace(&mut self.last_ns, time_ns);
        let expected = self.current.replace(task);
        if expected == Some(task) {
            return None;
        }
        if expected.is_some() {
            self.forget(since_ns);
            self.current = Some(task);
        }
        self.base = match task {
            TaskId::IDLE => Activity::Idle(u32::MAX),
            task => Activity::Task(task, prios.of(task).unwrap_or(Prio::UNKNOWN)),
        };
        self.note(time_ns);
        expected.map(|expected| (since_ns, expected))
    }

    /// An event comes that has `task` as the current one. Whether all is as it was at the last one, which most events
    /// find, and nothing has to be looked at closer.
    #[inline]
    pub(crate) fn goes_on(&mut self, time_ns: u64, task: TaskId) -> bool {
        if self.current != Some(task) || self.silences.minds(self.last_ns, time_ns) {
            return false;
        }
        self.events += 1;
        self.last_ns = time_ns;
        true
    }

    /// Whether the event before this one was the end of an interrupt. The end of a section with interrupts off is told
    /// between that and the softirq that follows.
    pub(crate) fn has_left_irq(&self) -> bool {
        self.left_irq_at.wrapping_add(1) == self.events
    }

    /// Events that have come from it.
    #[inline]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// An event comes on a stream that tells what a hypervisor steals.
    #[inline]
    pub(crate) fn falls_silent(&mut self, time_ns: u64, steals: bool) {
        let Self { silences, contexts, base, last_ns, .. } = self;
        let slept = || {
            let activity = contexts.last().map_or(&*base, |context| &context.activity);
            matches!(activity, Activity::Idle(_))
        };
        silences.event(*last_ns, time_ns, steals, slept);
    }

    /// Another CPU has woken a task for this one, and sends an interrupt if that is to run at once.
    pub(crate) fn is_woken_for(&mut self, time_ns: u64) {
        self.silences.sent(time_ns);
    }

    /// A task is woken for this CPU, as far as is known.
    pub(crate) fn has_woken(&mut self, time_ns: u64, task: TaskId) {
        self.silences.has_woken(time_ns, task);
    }

    /// A task that was woken for this CPU comes into another one's queue, if it was the last: whether it was.
    pub(crate) fn was_not_woken(&mut self, time_ns: u64, task: TaskId) -> bool {
        self.silences.was_not_woken(time_ns, task)
    }

    /// A switch comes, to a task that `preempts` the one that ran. Yields up to when all that was stolen is told.
    pub(crate) fn tells_stolen(&mut self, preempts: bool) -> u64 {
        let ticked_ns = self.ticks.back().map_or(0, |(_, entry_ns)| *entry_ns);
        self.silences.switches(preempts, self.switched_ns, ticked_ns)
    }

    /// Up to when its last switch has told all that was stolen; `u64::MAX` where that is all before it.
    pub fn stolen_is_told_ns(&self) -> u64 {
        self.silences.told_ns()
    }

    /// Whether it is still to tell what was stolen in a time.
    pub(crate) fn awaits_stolen(&self, from_ns: u64, to_ns: u64) -> bool {
        self.silences.awaits(from_ns, to_ns)
    }

    /// Since when a task runs on it, if that does.
    pub(crate) fn runs_since(&self, task: TaskId) -> Option<u64> {
        (self.current == Some(task)).then_some(self.switched_ns)
    }

    /// While a task seemed to run in a time, it waited for a CPU that a hypervisor had stopped.
    /// Calls `held_up` for each stretch of that.
    pub(crate) fn was_held_up(
        &mut self,
        task: TaskId,
        times: (u64, u64),
        sure: bool,
        held_up: impl FnMut(u64, u64),
    ) {
        self.history.held_up(task, times, sure, held_up);
    }

    /// So much time was stolen from it lately; calls `placed` for each stretch of that which was none before, and whether
    /// it is sure.
    pub(crate) fn stolen(&mut self, ns: u64, mut placed: impl FnMut(u64, u64, bool)) {
        let Self { silences, history, stolen, .. } = self;
        // What a damaged stream tells may be any number.
        stolen.ns = stolen.ns.saturating_add(ns);
        let unplaced_ns = silences.place(ns, |from_ns, to_ns, sure| {
            history.stolen((from_ns, to_ns), sure, |from_ns, to_ns| placed(from_ns, to_ns, sure));
            if !sure {
                stolen.unsure_ns = stolen.unsure_ns.saturating_add(to_ns - from_ns);
            }
        });
        stolen.unplaced_ns = stolen.unplaced_ns.saturating_add(unplaced_ns);
    }

    /// How long the timer's interrupt takes to come to it, whoever runs, or while it polls, in nanoseconds; 0 while too
    /// few came to tell.
    pub fn delivery_ns(&self, polls: bool) -> u64 {
        if polls { self.to_polling.floor_ns() } else { self.to_tasks.floor_ns() }
    }

    /// What has been stolen from it.
    pub fn stolen_time(&self) -> StolenTime {
        self.stolen
    }

    /// The callback that has just begun is the tick's, which was due at a time.
    pub(crate) fn ticks(&mut self, due_ns: u64) {
        // Without events of interrupts, its callback is the first that is seen of it.
        let begin_ns = self.expiry().map_or(self.last_ns, |expiry| expiry.begin_ns);
        let entry_ns = self.interrupt_entry_ns().unwrap_or(begin_ns);
        if self.ticks.len() == TICKS_MAX {
            self.ticks.pop_front();
        }
        self.ticks.push_back((due_ns, entry_ns));
        self.silences.ticks();
    }

    #[inline]
    fn note(&mut self, time_ns: u64) {
        let Self { contexts, base, history, .. } = self;
        history.note(time_ns, contexts.last().map_or(&*base, |context| &context.activity));
    }

    #[inline]
    fn enter(&mut self, activity: Activity, begin_ns: u64) -> &mut Context {
        self.enters(Context::of(activity, begin_ns));
        self.contexts.last_mut().expect("one was pushed")
    }

    #[inline]
    fn enters(&mut self, context: Context) {
        if self.contexts.len() == NESTING_MAX {
            // Begins without ends: what is below cannot be true any more.
            self.contexts.clear();
        }
        self.history.note(context.begin_ns, &context.activity);
        self.contexts.push(context);
    }

    /// Leaves the innermost context that `is_it`, and all above it, whose ends were not seen.
    #[inline]
    fn leave(&mut self, time_ns: u64, is_it: impl Fn(Activity) -> bool) {
        if let Some(at) = self.contexts.iter().rposition(|context| is_it(context.activity)) {
            self.contexts.truncate(at);
            self.note(time_ns);
        }
    }

    /// An interrupt begins; `is_timer` if it is the CPU's timer's.
    pub fn irq_begin(&mut self, time_ns: u64, irq: Irq, is_timer: bool) {
        if is_timer {
            if self.timer_irqs.len() == TICKS_MAX {
                self.timer_irqs.pop_front();
            }
            self.timer_irqs.push_back(time_ns);
            self.expiry_rounds.interrupt();
        }
        if matches!(irq, Irq::Vector(vector) if vector != Vector::LOCAL_TIMER) {
            self.silences.came(time_ns);
        }
        let activity = match irq {
            Irq::Vector(vector) => self.sent.take(time_ns, vector).unwrap_or(Activity::Irq(irq)),
            Irq::Line(..) => Activity::Irq(irq),
        };
        self.enter(activity, time_ns);
    }

    /// Another CPU sends an interrupt: one that `calls` a function, or makes this one schedule.
    pub(crate) fn is_sent(&mut self, sent: Sent, calls: bool) {
        self.sent.send(sent, calls);
    }

    /// An interrupt ends, and all above it.
    pub fn irq_end(&mut self, time_ns: u64, irq: Irq) {
        self.left_irq_at = self.events;
        if irq == Irq::Vector(Vector::LOCAL_TIMER) {
            self.silences.timer_irq_ends();
        }
        self.hangs.ends(time_ns);
        self.leave(time_ns, |activity| match (activity, irq) {
            (Activity::Irq(inner), _) => inner.is_same(irq),
            (Activity::Ipi(inner, ..), Irq::Vector(vector)) => inner == vector,
            _ => false,
        });
    }

    pub(crate) fn nmi(&mut self, time_ns: u64, nmi: Nmi) {
        let from_ns = time_ns.saturating_sub(nmi.ns);
        self.history.insert(from_ns, time_ns, Activity::Nmi(nmi.handler));
    }

    pub(crate) fn softirq_raise(&mut self, time_ns: u64, vector: u32) {
        let interrupt_ns = self.interrupt_entry_ns();
        let tick_ns = self.expiry().map(|expiry| expiry.soft_ns);
        if let Some(raise) = self.raises.get_mut(vector as usize) {
            // A raise while one is pending changes nothing: the first counts.
            raise.get_or_insert(Raise { time_ns, tick_ns, interrupt_ns });
        }
    }

    /// The kernel clears what is pending before the action runs: a raise from here on is for the next run.
    pub fn softirq_begin(&mut self, time_ns: u64, vector: u32, in_thread: bool, prios: &Prios) {
        let raise = self.raises.get_mut(vector as usize).and_then(Option::take);
        let activity = match self.activity() {
            Activity::Task(task, prio) if in_thread => {
                let prio = if prio.is_known() { Some(prio) } else { prios.of(task) };
                Activity::ThreadedSoftirq(vector as u8, task, prio.unwrap_or(Prio::UNKNOWN))
            }
            _ => Activity::Softirq(vector),
        };
        self.enter(activity, time_ns).raise = raise;
    }

    /// A softirq ends, and all above it.
    pub fn softirq_end(&mut self, time_ns: u64, vector: u32) {
        self.leave(time_ns, |activity| match activity {
            Activity::Softirq(inner) => inner == vector,
            Activity::ThreadedSoftirq(inner, ..) => u32::from(inner) == vector,
            _ => false,
        });
    }

    /// The entry of the innermost interrupt that runs.
    pub fn interrupt_entry_ns(&self) -> Option<u64> {
        self.contexts
            .iter()
            .rev()
            .find(|context| context.is_interrupt())
            .map(|context| context.begin_ns)
    }

    /// Whether the interrupt that was entered at a time still runs.
    pub fn runs_interrupt(&self, entry_ns: u64) -> bool {
        self.contexts.iter().any(|context| context.begin_ns == entry_ns && context.is_interrupt())
    }

    /// Another task runs. Says whether a softirq was left in the middle.
    pub fn switch(&mut self, time_ns: u64, prev: TaskId, next: TaskId, next_prio: Prio) -> bool {
        // Nothing switches inside a hard interrupt: what is from one on was not seen to end.
        let hard = self.contexts.iter().position(Context::is_interrupt);
        let seen = hard.unwrap_or(self.contexts.len());
        self.contexts.truncate(seen);
        let leaves = self.contexts.first().is_some_and(Context::is_softirq);
        if self.contexts.first().is_some_and(Context::stays) {
            if self.left.len() == LEFT_MAX {
                self.left.remove(0);
            }
            self.left.push((prev, std::mem::take(&mut self.contexts)));
        }
        self.contexts.clear();
        self.current = Some(next);
        self.switched_ns = time_ns;
        self.base = match next {
            TaskId::IDLE => Activity::Idle(u32::MAX),
            task => Activity::Task(task, next_prio),
        };
        if !self.left.is_empty()
            && let Some(at) = self.left.iter().position(|(task, _)| *task == next)
        {
            (_, self.contexts) = self.left.remove(at);
            for context in &mut self.contexts {
                context.runs_in(next, next_prio);
            }
        }
        self.note(time_ns);
        leaves
    }

    /// A switch leaves a task of one priority, runnable or not, for one of another.
    pub(crate) fn chooses(&mut self, time_ns: u64, runnable: Option<Prio>, next: Prio) {
        let is_realtime = |prio: Prio| prio.0 >= 0 && prio.is_realtime();
        if next.is_realtime() {
            self.realtime_out.end(time_ns);
        } else if runnable.is_some_and(is_realtime) && next.is_known() {
            self.realtime_out.begin(time_ns);
        }
    }

    /// It goes to sleep, which it does in no interrupt.
    pub fn idle_enter(&mut self, time_ns: u64, enter: IdleEnter) {
        let state = if enter.only { u32::MAX } else { enter.state };
        self.base = match self.base {
            // A task that has the CPU idle for a while (`play_idle`) has it all the same.
            Activity::Task(..) if enter.polls => return,
            Activity::Task(task, prio) | Activity::InjectedIdle(.., task, prio) => {
                Activity::InjectedIdle(state, false, task, prio)
            }
            _ if enter.polls => Activity::Polling(enter.state),
            _ => Activity::Idle(state),
        };
        self.contexts.clear();
        // Going to sleep once more is a choice: who looks at the past must see it.
        self.history.note_anew(time_ns, &self.base);
    }

    pub(crate) fn idle_exit(&mut self, time_ns: u64) {
        self.base = match self.base {
            Activity::Unknown => Activity::Awake(u32::MAX),
            Activity::Idle(state) => Activity::Awake(state),
            Activity::InjectedIdle(state, _, task, prio) => {
                Activity::InjectedIdle(state, true, task, prio)
            }
            base => base,
        };
        self.note(time_ns);
    }

    pub(crate) fn section_begin(&mut self, time_ns: u64, begin: SectionBegin) {
        self.sections_mut(begin.section).begin(time_ns);
    }

    pub(crate) fn section_end(&mut self, time_ns: u64, end: SectionEnd) {
        if self.has_left_irq() {
            self.left_irq_at = self.events;
        }
        self.sections_mut(end.section).end(time_ns);
    }

    const fn sections_mut(&mut self, section: Section) -> &mut Sections {
        match section {
            Section::IrqsOff => &mut self.irqs_off,
            Section::PreemptOff => &mut self.preempt_off,
        }
    }

    /// The task that runs here is now at `prio`.
    pub(crate) fn reprioritise(&mut self, time_ns: u64, task: TaskId, prio: Prio) {
        if let Activity::Task(running, was) | Activity::InjectedIdle(.., running, was) =
            &mut self.base
            && *running == task
        {
            *was = prio;
            for context in self.contexts.iter_mut().filter(|it| it.is_of_timer_thread()) {
                context.runs_in(task, prio);
            }
            self.note(time_ns);
        }
    }

    /// The task that runs here turns out to have been at `prio` since an event last told another.
    pub(crate) fn had_prio(&mut self, task: TaskId, prio: Prio) {
        if let Activity::Task(running, thought) | Activity::InjectedIdle(.., running, thought) =
            self.base
            && running == task
            && thought != prio
        {
            self.history.had_prio(task, thought, prio);
        }
    }

    /// Events were lost from `since_ns` on: nothing is known until the next switch or interrupt.
    pub fn forget(&mut self, since_ns: u64) {
        // What comes next follows upon nothing that was seen.
        self.events += 1;
        self.history.forget(since_ns);
        self.base = Activity::Unknown;
        self.current = None;
        self.contexts.clear();
        self.left.clear();
        self.raises = [None; 10];
        self.pendings = Pendings::default();
        self.sent = Senders::default();
        self.silences.asked();
        self.hangs.forget();
        self.irqs_off.forget();
        self.preempt_off.forget();
        self.realtime_out.forget();
        self.note(since_ns);
    }
}

#[cfg(test)]
mod tests;
