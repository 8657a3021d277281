//! The balance of a story that has ended: every stretch of its lateness shown to the causes.

use crate::cause::{Judge, Soles};
use crate::finished::{Blame, Finished};
use crate::label::Labels;
use crate::piece::{Case, Doing, Phase, Piece, Refusal};
use crate::refusal::{EXIT_NS_MAX, Firings, Refusals, Refused, Waiting, refusals};
use crate::shares::Shares;
use crate::stacks::Stacks;
use crate::story::{Stage, Story};
use crate::summary::Summary;
use crate::threads::{RunState, Threads};
use crate::wait::Wait;
use tardy_followers::{Activity, Cpu, Followers, Visible, Walk};
use tardy_model::event::Section;
use tardy_model::{CpuId, Culprit, NameId, Segment, Stretch, StretchKind, TaskId, WakeupKind};

/// A CPU needs up to this many times its idle state's exit latency to be awake; what is longer is something
/// else's. Drivers' tables have a typical figure, which firmware and clocks stretch.
const EXIT_LATENCIES: u64 = 2;

/// From where a CPU is awake to where it takes interrupts again.
const WAY_OUT_NS_MAX: u64 = 20_000;

/// From where an idle CPU is awake to where it runs who is in its queue.
const WAY_TO_SWITCH_NS_MAX: u64 = 20_000;

/// What CPUs, threads and timers did, for who makes a balance.
pub(crate) struct Past<'a> {
    pub(crate) followers: &'a Followers,
    pub(crate) threads: &'a Threads,
    pub(crate) firings: &'a Firings,
    pub(crate) stacks: &'a Stacks,
    /// Exit latency by idle state; 0 where it is not known.
    pub(crate) exit_latencies_ns: &'a [u64],
}

/// Which causes' pieces become no segments where a task ran: a bit for each. Most pieces of most wakeups are such,
/// and of most wakeups nobody looks at them one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedOver(pub(crate) u32);

impl PassedOver {
    /// Somebody looks at every segment.
    pub(crate) const NONE: Self = Self(0);

    #[inline]
    fn has(self, cause: u8) -> bool {
        self.0 >> cause & 1 != 0
    }
}

/// Where pieces are blamed on somebody.
pub(crate) struct Blaming<'a> {
    pub(crate) labels: &'a mut Labels,
    pub(crate) summary: &'a mut Summary,
}

/// Stands for the last segment's cause where no segment may grow by the next piece.
const NO_SEGMENT: u8 = u8::MAX;

/// Room that is used again for every balance.
#[derive(Debug, Default)]
pub(crate) struct Balancer {
    refusals: Refusals,
    judge: Judge,
    /// The place of the last segment's cause, or [`NO_SEGMENT`].
    last: u8,
    /// Of the balance that was made last.
    pub(crate) shares: Shares,
    /// Part of it lies further back than what is remembered.
    pub(crate) is_cut: bool,
    /// Of whom that is, where it is a thread.
    pub(crate) forgotten: Option<TaskId>,
}

impl Balancer {
    /// The whole wakeup, ended at `end_ns`, with its balance, into `finished`. Pieces that become no segments are
    /// blamed on their culprits at once.
    pub(crate) fn close(
        &mut self,
        story: &Story,
        end_ns: u64,
        to_user: bool,
        past: &Past<'_>,
        Finished { wakeup, blames, .. }: &mut Finished,
        (passed_over, blaming): (PassedOver, Blaming<'_>),
    ) {
        let last = story.last();
        let end_ns = story.ended(end_ns);
        self.shares.clear();
        self.last = NO_SEGMENT;
        (self.is_cut, self.forgotten) = (story.is_cut, None);
        wakeup.segments.clear();
        blames.clear();
        wakeup.stretches.clear();
        let visible = past.followers.visible;
        let mut balance = Balance {
            story,
            past,
            stretch: 0,
            sees_sections: visible.section_events(),
            sees_all: visible.interrupts() && visible.idle_states(),
            piece: first_piece(&story.case, &last, visible),
            segments: &mut wakeup.segments,
            blames,
            soles: self.judge.soles(last.phase),
            passed_over,
            blaming,
            room: self,
        };
        let mut stretches = Stretches::new(story, end_ns, past.threads, &mut wakeup.stretches);
        let mut waits = story.waits.iter();
        let mut walk = None;
        for (at, stage) in story.stages.iter().enumerate() {
            let until_ns = story.stages.get(at + 1).map_or(end_ns, |next| next.start_ns);
            let wait = if stage.phase.is_blocked() { waits.next() } else { None };
            balance.stretch = stretches.stage(stage, wait);
            balance.piece.next_cpu = story.stages.get(at + 1).map_or(stage.cpu, |next| next.cpu);
            match wait {
                Some(wait) => balance.wait(stage, until_ns, wait),
                None => balance.stage(stage, until_ns, &mut walk),
            }
        }
        wakeup.task = story.case.task;
        wakeup.cpu = last.cpu;
        wakeup.prio = story.case.prio;
        wakeup.kind = story.case.kind;
        wakeup.timer = story.case.timer;
        wakeup.expiry_ns = story.expiry_ns;
        wakeup.lateness_ns = end_ns - story.expiry_ns;
        wakeup.to_user = to_user;
        (wakeup.touched_by_loss, wakeup.near_loss) = (false, false);
        wakeup.boosts.clear();
        wakeup.boosts.extend_from_slice(&story.boosts);
        wakeup.lock = story.lock;
        wakeup.chain.clear();
        wakeup.chain.extend_from_slice(story.chain(past.threads));
        let slept = |woken_ns: u64| past.threads.sleeps_in(wakeup.task, woken_ns.saturating_sub(1));
        let woken_ns = if past.stacks.any() { story.woken_ns() } else { None };
        wakeup.slept_in = woken_ns.map_or(NameId::NONE, slept);
    }
}

/// Segments as they are found.
struct Balance<'a> {
    story: &'a Story,
    past: &'a Past<'a>,
    stretch: u16,
    sees_sections: bool,
    /// No interrupt, softirq or idling is hidden from it.
    sees_all: bool,
    /// The one that was shown last: what is the same in the next one stays. What only some are shown with (a
    /// refusal, a section, that the exit latency is over) is taken back after them.
    piece: Piece<'a>,
    segments: &'a mut Vec<Segment>,
    blames: &'a mut Vec<Blame>,
    /// Of the phase of the piece.
    soles: Soles,
    passed_over: PassedOver,
    blaming: Blaming<'a>,
    room: &'a mut Balancer,
}

impl<'a> Balance<'a> {
    fn cpu(&self, cpu: CpuId) -> Option<&'a Cpu> {
        self.past.followers.cpu(cpu).filter(|_| cpu != CpuId::UNKNOWN)
    }

    /// Pieces are of this stage from here on.
    fn begin(&mut self, stage: &Stage) {
        self.piece.phase = stage.phase;
        self.soles = self.room.judge.soles(stage.phase);
        (self.piece.prio, self.piece.prio_after) = (stage.prio, stage.prio_after);
        (self.piece.cpu, self.piece.waker_cpu) = (stage.cpu, stage.waker_cpu);
        self.piece.held_by = Culprit::Nobody;
    }

    fn wait(&mut self, stage: &Stage, until_ns: u64, wait: &Wait) {
        let (threads, cpus) = (self.past.threads, &self.past.followers.cpus);
        self.begin(stage);
        wait.between(stage.start_ns, until_ns, threads, cpus, |start_ns, stop_ns, held| {
            (self.piece.cpu, self.piece.held_by) = (held.cpu, held.by);
            if let (Activity::Unknown, Culprit::Task(holder)) = (held.activity, held.by) {
                self.is_forgotten(holder, start_ns);
            }
            self.piece(start_ns, stop_ns, held.activity);
        });
    }

    /// `walk` goes through what the CPU did that mattered last, and has mostly come to where this stage begins.
    fn stage(&mut self, stage: &Stage, until_ns: u64, walk: &mut Option<(CpuId, Walk<'a>)>) {
        if until_ns <= stage.start_ns {
            return;
        }
        if stage.phase == Phase::Unarmed {
            return self.unarmed(stage, until_ns);
        }
        self.begin(stage);
        let cpu = if self.room.judge.is_whole(stage.phase) { None } else { self.cpu(stage.cpu) };
        let Some(cpu) = cpu else {
            // What the CPU did does not matter; or where it was queued is not known, or no event has come from there.
            let (start_ns, activity) = (stage.start_ns, &Activity::Unknown);
            return self.piece(start_ns, until_ns, activity);
        };
        self.room.is_cut |= cpu.has_forgotten(stage.start_ns);
        let has_come =
            |(on, walk): &(CpuId, Walk<'a>)| *on == stage.cpu && walk.at_ns() == stage.start_ns;
        if !walk.as_ref().is_some_and(has_come) {
            *walk = None;
        }
        let (_, walk) = walk.get_or_insert_with(|| (stage.cpu, cpu.walk(stage.start_ns)));
        match stage.phase {
            Phase::Runnable => self.runnable(cpu, walk, stage, until_ns),
            Phase::Pending => self.pending(cpu, walk, stage, until_ns),
            _ => walk.to(until_ns, |start_ns, stop_ns, activity| {
                self.judge(start_ns, stop_ns - start_ns, activity);
            }),
        }
    }

    /// Who was to arm the timer ran, or slept: then nobody is known. While it could have run it waited as it would in a
    /// wakeup of its own, but that no callback was in the way of a timer that was not there.
    fn unarmed(&mut self, stage: &Stage, until_ns: u64) {
        let Case { task, armed_by, .. } = self.story.case;
        let by = if armed_by == TaskId::IDLE { task } else { armed_by };
        let own = Culprit::Task(by);
        self.begin(stage);
        self.piece.held_by = own;
        if by != task {
            return self.piece(stage.start_ns, until_ns, &Activity::Unknown);
        }
        let threads = self.past.threads;
        let by_timer = std::mem::replace(&mut self.piece.by_timer, false);
        threads.between(task, stage.start_ns, until_ns, |from_ns, to_ns, change| {
            let Some((change, cpu)) = change.and_then(|it| Some((it, self.cpu(it.cpu)?))) else {
                let is_forgotten = self.is_forgotten(task, from_ns);
                self.piece.held_by = if is_forgotten { Culprit::Nobody } else { own };
                return self.piece(from_ns, to_ns, &Activity::Unknown);
            };
            let mut walk = cpu.walk(from_ns);
            let stage = Stage { start_ns: from_ns, cpu: change.cpu, ..*stage };
            if change.doing == RunState::Waits {
                // What was refused is told by the whole wait, of which this is the end.
                let (start_ns, waker_cpu) = (change.since_ns, CpuId::UNKNOWN);
                let (phase, prio) = (Phase::Runnable, change.prio);
                let stage = Stage { start_ns, phase, waker_cpu, prio, prio_after: prio, ..stage };
                self.begin(&stage);
                return self.runnable(cpu, &mut walk, &stage, to_ns);
            }
            self.begin(&stage);
            self.piece.held_by = if change.doing == RunState::Runs { own } else { Culprit::Nobody };
            walk.to(to_ns, |start_ns, stop_ns, activity| self.piece(start_ns, stop_ns, activity));
        });
        self.piece.by_timer = by_timer;
    }

    /// Whether what a thread did is not remembered any more.
    fn is_forgotten(&mut self, task: TaskId, ns: u64) -> bool {
        let is_forgotten = self.past.threads.has_forgotten(task, ns);
        if is_forgotten {
            (self.room.is_cut, self.room.forgotten) = (true, Some(task));
        }
        is_forgotten
    }

    fn runnable(&mut self, cpu: &Cpu, walk: &mut Walk<'a>, stage: &Stage, until_ns: u64) {
        let case = &self.story.case;
        let waiting = Waiting {
            task: case.task,
            prio: stage.prio,
            queued_here: stage.waker_cpu == stage.cpu,
            queued_ns: self.story.queued_in(stage, until_ns),
            cpu: stage.cpu,
            lost_it: case.kind == WakeupKind::Preempted && stage.start_ns == self.story.expiry_ns,
            is_next: self.story.came == (until_ns, true),
        };
        let mut room = std::mem::take(&mut self.room.refusals);
        let firings = self.past.firings;
        refusals(cpu, firings, stage.start_ns, until_ns, waiting, &mut room);
        let mut queue = Queue {
            cpu,
            stage,
            refused: &room.refused,
            before: None,
            way_out_ns: WAY_TO_SWITCH_NS_MAX,
        };
        let is_plain = room.refused.is_empty() && !self.sees_sections;
        walk.to(until_ns, |start_ns, stop_ns, activity| {
            if is_plain && !activity.may_idle() {
                queue.before = Some(activity);
                return self.judge(start_ns, stop_ns - start_ns, activity);
            }
            self.queued(&mut queue, (start_ns, stop_ns), activity);
        });
        self.room.refusals = room;
    }

    /// A stretch in a queue whose CPU may have refused the victim, had a section, or had nothing to do but it.
    #[inline(never)]
    fn queued(
        &mut self,
        queue: &mut Queue<'_, 'a>,
        (start_ns, stop_ns): (u64, u64),
        activity: &'a Activity,
    ) {
        let Queue { cpu, stage, refused, .. } = *queue;
        // It has woken the victim, or had an interrupt right before: it sleeps only if it goes to sleep again.
        let has_woken = stage.waker_cpu == stage.cpu;
        let before = queue.before.replace(activity);
        let was_awake = before.map_or(has_woken, |before| before.is_interrupt());
        let from_ns = self.refused(cpu, refused, (start_ns, stop_ns), activity);
        if !self.idles(activity) {
            return self.by_section(cpu, Section::PreemptOff, (from_ns, stop_ns), activity);
        }
        // Nothing hides in its way out where all is recorded; and one that polls had none to go.
        let hides = !self.sees_all || matches!(*activity, Activity::Polling(_));
        if hides && (was_awake || !activity.is_asleep()) {
            return self.way_to_switch((from_ns, stop_ns), activity, &mut queue.way_out_ns);
        }
        if !activity.is_asleep() {
            return self.piece(from_ns, stop_ns, activity);
        }
        // Until another CPU's waking has brought it out of its state, no longer than that takes.
        let asleep = start_ns == stage.start_ns && stage.waker_cpu != stage.cpu;
        self.out_of_idle((from_ns, stop_ns), activity, asleep);
    }

    /// What of a stretch lies up to the last refusal's end in it, which may be a timer's of another CPU; where that is.
    fn refused(
        &mut self,
        cpu: &Cpu,
        refused: &[Refused],
        (mut at_ns, stop_ns): (u64, u64),
        activity: &'a Activity,
    ) -> u64 {
        for &(from_ns, to_ns, refusal) in refused {
            let (from_ns, to_ns) = (from_ns.max(at_ns), to_ns.min(stop_ns));
            if from_ns < to_ns {
                self.by_section(cpu, Section::PreemptOff, (at_ns, from_ns), activity);
                self.piece.refusal = Some(refusal);
                let is_known = refusal != Refusal::Unknown;
                self.piece(from_ns, to_ns, if is_known { activity } else { &Activity::Unknown });
                self.piece.refusal = None;
                at_ns = to_ns;
            }
        }
        at_ns
    }

    /// Whether the CPU has nothing to do but the victim.
    fn idles(&mut self, activity: &'a Activity) -> bool {
        if let Activity::InjectedIdle(..) = activity {
            self.piece.activity = activity;
            return self.piece.what_is_done() == Doing::Idle;
        }
        activity.is_idle()
    }

    /// The CPU is awake and on its way to the switch, of which `way_out_ns` are left.
    fn way_to_switch(
        &mut self,
        (from_ns, stop_ns): (u64, u64),
        activity: &'a Activity,
        way_out_ns: &mut u64,
    ) {
        let ran_ns = from_ns.saturating_add(*way_out_ns).min(stop_ns);
        *way_out_ns -= ran_ns - from_ns;
        self.piece(from_ns, ran_ns, activity);
        self.past_way_out(ran_ns, stop_ns, activity);
    }

    /// The CPU sleeps, and takes its state's exit latency to be awake.
    fn out_of_idle(
        &mut self,
        (from_ns, stop_ns): (u64, u64),
        activity: &'a Activity,
        asleep: bool,
    ) {
        let exit_ns = self.exit_ns(activity, asleep);
        let awake_ns = from_ns.saturating_add(exit_ns).min(stop_ns);
        self.piece(from_ns, awake_ns, activity);
        // Of the longest of all states it cannot be said that it was not told in time.
        if exit_ns == EXIT_NS_MAX {
            self.past_way_out(awake_ns, stop_ns, activity);
        } else {
            self.past_exit(awake_ns, stop_ns, activity);
        }
    }

    /// The CPU needs its idle state's exit latency from when its timer was due; what is longer is no exit. One that
    /// is awake has the interrupt no sooner than the device brings it. Nor has either where the kernel put it off.
    fn pending(&mut self, cpu: &Cpu, walk: &mut Walk<'a>, stage: &Stage, until_ns: u64) {
        let mut due_ns = stage.start_ns;
        for put_off in cpu.put_off_since(stage.start_ns) {
            let (from_ns, to_ns) = (put_off.from_ns.max(due_ns), put_off.to_ns.min(until_ns));
            if to_ns <= from_ns {
                continue;
            }
            self.due(cpu, walk, due_ns, from_ns);
            self.piece.put_off = Some(put_off.by.culprit());
            walk.to(to_ns, |start_ns, stop_ns, activity| {
                self.piece(start_ns, stop_ns, activity);
            });
            self.piece.put_off = None;
            due_ns = to_ns;
        }
        self.due(cpu, walk, due_ns, until_ns);
    }

    /// The interrupt should come at a time, and has not come until another.
    fn due(&mut self, cpu: &Cpu, walk: &mut Walk<'a>, due_ns: u64, until_ns: u64) {
        walk.to(until_ns, |start_ns, stop_ns, activity| {
            let polls = matches!(*activity, Activity::Polling(_));
            let delivered_ns = due_ns.saturating_add(cpu.delivery_ns(polls));
            let exit_ns = match *activity {
                _ if activity.is_asleep() => self.exit_ns(activity, true),
                // The idle loop has interrupts off on its way out.
                _ if activity.idle_state().is_some() => WAY_OUT_NS_MAX,
                _ => u64::MAX,
            };
            let awake_ns = start_ns.saturating_add(exit_ns).min(stop_ns);
            let idles = activity.idle_state().is_some();
            let brought_ns = if idles { start_ns } else { delivered_ns.clamp(start_ns, awake_ns) };
            self.piece.in_delivery = true;
            self.by_section(cpu, Section::IrqsOff, (start_ns, brought_ns), activity);
            self.piece.in_delivery = false;
            self.by_section(cpu, Section::IrqsOff, (brought_ns, awake_ns), activity);
            self.past_exit(awake_ns, stop_ns, activity);
        });
    }

    /// The CPU should be awake by its idle state's exit latency.
    fn past_exit(&mut self, awake_ns: u64, stop_ns: u64, activity: &'a Activity) {
        self.piece.is_past_exit = true;
        self.piece(awake_ns, stop_ns, activity);
        self.piece.is_past_exit = false;
    }

    /// It should run who is in its queue, and nothing tells why it does not.
    fn past_way_out(&mut self, ran_ns: u64, stop_ns: u64, activity: &'a Activity) {
        self.piece.is_past_way_out = true;
        self.piece(ran_ns, stop_ns, activity);
        self.piece.is_past_way_out = false;
    }

    /// What lies in a section that the stream tells of, and what does not.
    #[inline]
    fn by_section(
        &mut self,
        cpu: &Cpu,
        section: Section,
        (from_ns, to_ns): (u64, u64),
        activity: &'a Activity,
    ) {
        if !self.sees_sections || to_ns <= from_ns {
            return self.piece(from_ns, to_ns, activity);
        }
        cpu.sections(section, from_ns, to_ns, |start_ns, stop_ns, in_section| {
            (self.piece.in_section, self.piece.irqs_on) = (in_section, !in_section);
            self.piece(start_ns, stop_ns, activity);
        });
        (self.piece.in_section, self.piece.irqs_on) = (false, true);
    }

    /// How long a CPU can take to come out of idle: by its driver's table, where that is known and it
    /// really sleeps.
    fn exit_ns(&self, activity: &Activity, asleep: bool) -> u64 {
        let Some(state) = activity.idle_state() else { return EXIT_NS_MAX };
        let known = self.past.exit_latencies_ns.get(state as usize).copied();
        let known = known.filter(|ns| *ns > 0 && asleep);
        known.map_or(EXIT_NS_MAX, |ns| ns.saturating_mul(EXIT_LATENCIES))
    }

    fn piece(&mut self, start_ns: u64, stop_ns: u64, activity: &'a Activity) {
        if start_ns < stop_ns {
            self.judge(start_ns, stop_ns - start_ns, activity);
        }
    }

    /// A piece that is no stretch of nothing.
    #[expect(
        clippy::inline_always,
        reason = "most pieces are of two walks, which go on without a call"
    )]
    #[inline(always)]
    fn judge(&mut self, start_ns: u64, ns: u64, activity: &'a Activity) {
        if let Activity::Task(task, prio) = *activity
            && self.piece.refusal.is_none()
            && let Some(at) = self.soles.of(self.piece.standing(task, prio))
            && self.passed_over.has(at)
        {
            self.room.shares.add(at, ns);
            self.room.last = NO_SEGMENT;
            let culprit = self.blaming.labels.id_of_task(task);
            return self.blaming.summary.took(Blame { cause: at, culprit }, ns);
        }
        self.segment(start_ns, ns, activity);
    }

    /// A piece becomes a segment, or part of the last one.
    #[inline(never)]
    fn segment(&mut self, start_ns: u64, ns: u64, activity: &'a Activity) {
        let piece = &mut self.piece;
        piece.activity = activity;
        piece.doing = piece.what_is_done();
        let (at, culprit) = self.room.judge.of(piece);
        let stretch = self.stretch;
        self.room.shares.add(at, ns);
        if self.room.last == at
            && let Some(last) = self.segments.last_mut()
            && last.stretch == stretch
            && is_same(last.culprit, culprit)
        {
            last.ns += ns;
            return;
        }
        let cause = self.room.judge.cause(at);
        let stack = NameId::NONE;
        self.segments.push(Segment { cause, culprit, start_ns, ns, stretch, stack });
        self.blames.push(Blame { cause: at, culprit: self.blaming.labels.id(culprit) });
        self.room.last = at;
    }
}

/// The queue of a CPU in which the victim waits to run.
struct Queue<'q, 'a> {
    cpu: &'q Cpu,
    stage: &'q Stage,
    refused: &'q [Refused],
    /// What the CPU did last.
    before: Option<&'a Activity>,
    /// What is left of the time in which an idle one can be on its way to the switch.
    way_out_ns: u64,
}

/// Whether two culprits are one. It is asked of most pieces, which are tasks' and timers'.
#[inline]
fn is_same(one: Culprit, other: Culprit) -> bool {
    match (one, other) {
        (Culprit::Task(one), Culprit::Task(other)) => one == other,
        (Culprit::Timer(one, by), Culprit::Timer(other, by_other)) => {
            one == other && by == by_other
        }
        _ => one == other,
    }
}

/// A piece of which no more is known than the stage.
fn first_piece<'a>(case: &'a Case, stage: &Stage, visible: Visible) -> Piece<'a> {
    Piece {
        case,
        phase: stage.phase,
        activity: &Activity::Unknown,
        doing: Doing::Unknown,
        prio: stage.prio,
        prio_after: stage.prio_after,
        cpu: stage.cpu,
        waker_cpu: stage.waker_cpu,
        next_cpu: stage.cpu,
        refusal: None,
        in_section: false,
        irqs_on: visible.section_events(),
        by_timer: case.kind == WakeupKind::Timer,
        sees_interrupts: visible.interrupts(),
        sees_hard_interrupts: visible.hard_interrupts(),
        is_past_exit: false,
        is_past_way_out: false,
        in_delivery: false,
        put_off: None,
        held_by: Culprit::Nobody,
    }
}

/// Stretches as they are found; none where the victim never waited again.
struct Stretches<'a> {
    found: &'a mut Vec<Stretch>,
    threads: &'a Threads,
    task: TaskId,
    wanted: bool,
    end_ns: u64,
}

impl<'a> Stretches<'a> {
    fn new(story: &Story, end_ns: u64, threads: &'a Threads, found: &'a mut Vec<Stretch>) -> Self {
        Self { found, threads, task: story.case.task, wanted: story.has_waited(), end_ns }
    }

    /// The place of the stretch that a stage is part of. A wait lasts until the victim runs.
    fn stage(&mut self, stage: &Stage, wait: Option<&Wait>) -> u16 {
        if !self.wanted {
            return 0;
        }
        let last = self.found.last().map(|stretch| stretch.kind);
        let kind = match (wait, last) {
            (Some(wait), _) => Some(wait.kind()),
            (None, None) if stage.phase.is_on_cpu() => Some(StretchKind::Kernel),
            (None, None) => Some(StretchKind::Wakeup),
            (None, Some(StretchKind::Kernel)) => None,
            (None, Some(_)) => stage.phase.is_on_cpu().then_some(StretchKind::Kernel),
        };
        if let Some(kind) = kind {
            if let Some(last) = self.found.last_mut() {
                last.ns = stage.start_ns - last.start_ns;
            }
            let (start_ns, ns) = (stage.start_ns, self.end_ns - stage.start_ns);
            let stack = match kind {
                StretchKind::Blocked { .. } => self.threads.sleeps_in(self.task, start_ns),
                _ => NameId::NONE,
            };
            self.found.push(Stretch { kind, start_ns, ns, stack });
        }
        (self.found.len() - 1) as u16
    }
}
