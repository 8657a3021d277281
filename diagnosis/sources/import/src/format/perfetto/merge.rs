//! The second reading: the bundles of all CPUs side by side, in order of time.

use super::bundle::{Bundle, BundleClock, Entry, EntryWhat};
use super::clocks::{Clocks, StampClock};
use super::duplicates::{Duplicates, Identity};
use super::index::{Block, BundleAt, CpuBundles, NO_BLOCK, Symbols, inflate};
use super::own::{self, Said};
use super::plan::{Plans, VALUES_MAX, places};
use super::tasks::Tasks;
use crate::Contents;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use tardy_ftrace::decode::{Decoder, EventId, Value};
use tardy_model::event::{IdleEnter, Loss, TaskExit, TaskInfo};
use tardy_model::{Batch, CpuId, Event, Kind, TaskId};

/// Events in a batch, about.
const BATCH_EVENTS: usize = 8192;

/// Bytes of bundles that are held, one bundle per CPU and data source. A trace that needs more is refused: no machine
/// writes bundles so large.
const HELD_BYTES_MAX: usize = 256 << 20;

/// Bytes of inflated packets that are kept for the bundles of other CPUs in them; beyond, the one not
/// used for longest is inflated again.
const INFLATED_BYTES_KEPT: usize = 32 << 20;

/// How often all packets may be inflated: recorders write what was at one time into one, which is needed again rarely.
const INFLATED_ANEW_MAX: u64 = 8;

/// Idle states that are remembered to poll; a kernel has ten.
const IDLE_STATES: u32 = 64;

/// All CPUs' events in one order.
pub(super) struct Merge {
    files: Files,
    symbols: Symbols,
    plans: Plans,
    clocks: Clocks,
    /// The clock offsets that come next.
    offsets: usize,
    lanes: Vec<Lane>,
    cpus: Vec<Cpu>,
    /// Of each lane that has events left, the time of the next one.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    held_bytes: usize,
    pub(super) decoder: Decoder,
    tasks: Tasks,
    /// Which idle states poll, a bit each.
    polls: u64,
    /// The trace begins here.
    begins_ns: u64,
    now_ns: u64,
    switch: EventId,
    waking: EventId,
    switch_places: [usize; 7],
    waking_places: [usize; 4],
    pub(super) counters: Counters,
}

/// What is to be said when all has been read.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Events that came after their time.
    pub(super) late: u64,
    /// Compact switches and wakings whose other task is not known.
    pub(super) unknown_switches: u64,
    pub(super) unknown_wakings: u64,
    /// Damaged events.
    pub(super) damaged: u64,
    /// Events that two data sources have.
    pub(super) duplicates: u64,
    pub(super) events: u64,
    /// Events of kinds that tell nothing.
    pub(super) silent: u64,
    /// The clock of the times, where the trace itself says that it is another than its stamps'.
    pub(super) clock: Option<String>,
}

/// One CPU.
#[derive(Default)]
struct Cpu {
    /// How many data sources have events of it.
    lanes: u32,
    running: Running,
    duplicates: Duplicates,
}

/// One CPU's events by one data source, and where it is in its bundles.
struct Lane {
    cpu: u16,
    /// The CPU's place.
    place: usize,
    bundles: std::vec::IntoIter<BundleAt>,
    bundle: Bundle,
    next: usize,
    /// Events before the next one are missing.
    lost: bool,
    /// The time of its last event; `None` before the first.
    last_ns: Option<u64>,
}

/// Who runs on a CPU, as the compact events leave it.
#[derive(Clone, Debug, Default)]
struct Running {
    pid: Option<u32>,
    /// Not known where only an event said who was current.
    prio: Option<u64>,
    name: Vec<u8>,
}

impl Running {
    /// As a switch tells it.
    fn is_now(&mut self, pid: Value<'_>, prio: Value<'_>, name: Value<'_>) {
        let number = |value: Value<'_>| match value {
            Value::Number(number) => Some(number),
            _ => None,
        };
        self.pid = number(pid).map(|pid| pid as u32);
        self.prio = number(prio);
        self.name.clear();
        if let Value::Text(name) = name {
            self.name.extend(name);
        }
    }

    fn is_at_least(&mut self, pid: u32) {
        if self.pid != Some(pid) {
            self.pid = Some(pid);
            self.prio = None;
            self.name.clear();
        }
    }
}

impl Merge {
    /// Of what the first reading found. Reads the first bundle of each lane.
    #[expect(clippy::too_many_arguments, reason = "they are the parts of an index")]
    pub(super) fn new(
        file: Contents,
        cpus: Vec<CpuBundles>,
        blocks: Vec<Block>,
        symbols: Symbols,
        plans: Plans,
        clocks: Clocks,
        tasks: Tasks,
        decoder: Decoder,
    ) -> io::Result<Self> {
        let event = |name| EventId::of(name).expect("the decoder reads the scheduler's events");
        let (switch, waking) = (event("sched_switch"), event("sched_waking"));
        let mut merge = Self {
            files: Files::new(file, blocks),
            symbols,
            plans,
            clocks,
            offsets: 0,
            lanes: Vec::new(),
            cpus: Vec::new(),
            heads: BinaryHeap::new(),
            held_bytes: 0,
            decoder,
            tasks,
            polls: 0,
            begins_ns: 0,
            now_ns: 0,
            switch,
            waking,
            switch_places: places(
                switch,
                [
                    "prev_pid",
                    "prev_comm",
                    "prev_prio",
                    "prev_state",
                    "next_pid",
                    "next_comm",
                    "next_prio",
                ],
            ),
            waking_places: places(waking, ["pid", "comm", "prio", "target_cpu"]),
            counters: Counters::default(),
        };
        for CpuBundles { cpu, bundles } in cpus {
            // Lanes come by CPU.
            if merge.lanes.last().is_none_or(|last| last.cpu != cpu) {
                merge.cpus.push(Cpu::default());
            }
            let of_cpu = merge.cpus.len() - 1;
            merge.cpus[of_cpu].lanes += 1;
            let place = merge.lanes.len();
            merge.lanes.push(Lane {
                cpu,
                place: of_cpu,
                bundles: bundles.into_iter(),
                bundle: Bundle::default(),
                next: 0,
                lost: false,
                last_ns: None,
            });
            if let Some(time_ns) = merge.load(place)? {
                merge.heads.push(Reverse((time_ns, place as u32)));
            }
        }
        merge.begins_ns = merge.heads.peek().map_or(0, |Reverse((time_ns, _))| *time_ns);
        merge.now_ns = merge.begins_ns;
        for lane in &mut merge.lanes {
            // What it had before has been dropped from the trace.
            let before = merge.clocks.monotonic_ns(StampClock::Boot, lane.bundle.previous_end);
            lane.lost |= lane.bundle.previous_end != 0
                && before > merge.begins_ns
                && !lane.bundle.begins_with_its_loss();
        }
        Ok(merge)
    }

    /// Fills `batch`. `false` at the end.
    pub(super) fn next_batch(&mut self, batch: &mut Batch) -> io::Result<bool> {
        while batch.events.len() < BATCH_EVENTS {
            let Some(Reverse((time_ns, place))) = self.heads.peek().copied() else {
                self.tasks.tell(u64::MAX, self.now_ns, &mut self.decoder, batch);
                return Ok(!batch.is_empty());
            };
            self.counters.late += u64::from(time_ns < self.now_ns);
            self.now_ns = self.now_ns.max(time_ns);
            self.before_event(batch);
            let place = place as usize;
            if self.is_duplicate(place) {
                self.counters.duplicates += 1;
            } else {
                self.event(place, batch);
            }
            match self.advance(place)? {
                Some(time_ns) => {
                    if let Some(mut head) = self.heads.peek_mut() {
                        *head = Reverse((time_ns, place as u32));
                    }
                }
                None => {
                    self.heads.pop();
                }
            }
        }
        Ok(true)
    }

    /// What is due before an event at this time.
    fn before_event(&mut self, batch: &mut Batch) {
        while let Some((from_ns, offsets)) = self.clocks.offsets().get(self.offsets)
            && (*from_ns <= self.now_ns || self.offsets == 0)
        {
            self.decoder.set_clocks(*offsets);
            self.offsets += 1;
        }
        if self.tasks.due_ns() < self.now_ns {
            self.tasks.tell(self.now_ns, self.begins_ns, &mut self.decoder, batch);
        }
    }

    /// Whether another data source has told the lane's next event.
    fn is_duplicate(&mut self, place: usize) -> bool {
        let lane = &self.lanes[place];
        let cpu = &mut self.cpus[lane.place];
        if cpu.lanes == 1 {
            return false;
        }
        let bundle = &lane.bundle;
        let entry = bundle.entries[lane.next];
        let message = bundle.message(entry);
        let at = entry.at as usize;
        let identity = match entry.what {
            EntryWhat::CompactSwitch => {
                bundle.compact.switches.get(at).map(|switch| Identity::Switch(switch.next.into()))
            }
            EntryWhat::CompactWaking => {
                bundle.compact.wakings.get(at).map(|waking| Identity::Waking(waking.target.into()))
            }
            EntryWhat::Generic => Some(Identity::Generic(message)),
            EntryWhat::Planned(plan) => {
                let plan = self.plans.plan(plan);
                let number = |at: usize| match plan.read(message)[at] {
                    Value::Number(number) => number,
                    _ => 0,
                };
                Some(if plan.event == self.switch {
                    Identity::Switch(number(self.switch_places[4]))
                } else if plan.event == self.waking {
                    Identity::Waking(number(self.waking_places[0]))
                } else {
                    Identity::Event(plan.event, message)
                })
            }
        };
        // Kinds that only one of them has cost no more than this.
        identity.is_some_and(|it| cpu.duplicates.has(place as u32, entry.time_ns, &it))
    }

    /// The lane's next event, now.
    fn event(&mut self, place: usize, batch: &mut Batch) {
        let Self { lanes, cpus, plans, decoder, symbols, tasks, counters, polls, .. } = self;
        let time_ns = self.now_ns;
        let lane = &mut lanes[place];
        let running = &mut cpus[lane.place].running;
        let bundle = &lane.bundle;
        let entry = bundle.entries[lane.next];
        let id = CpuId(lane.cpu);
        counters.events += 1;
        let is_compact = matches!(entry.what, EntryWhat::CompactSwitch | EntryWhat::CompactWaking);
        if std::mem::take(&mut lane.lost) {
            *running = Running::default();
            let end_ns = self.clocks.monotonic_ns(StampClock::Boot, bundle.previous_end);
            let known_until_ns = lane.last_ns.unwrap_or(self.begins_ns);
            let since_ns = known_until_ns.max(if end_ns <= time_ns { end_ns } else { 0 });
            if lane.last_ns.is_some() || since_ns < time_ns {
                let loss = Loss { since_ns, count: u32::MAX };
                let task = if is_compact { TaskId::IDLE } else { TaskId(entry.pid) };
                batch.events.push(Event::new(time_ns, id, task, loss.into()));
            }
        }
        lane.last_ns = Some(time_ns);
        if !is_compact {
            running.is_at_least(entry.pid);
        }
        let current = TaskId(entry.pid);
        let before = batch.events.len();
        match entry.what {
            EntryWhat::Planned(plan) => {
                let plan = plans.plan(plan);
                let mut values = plan.read(bundle.message(entry));
                if let Some(function) = plan.function
                    && let Value::Number(number) = values[function]
                    && let Some(name) = symbols.name(bundle.scope, number)
                {
                    values[function] = Value::Text(name);
                }
                decoder.decode_values(time_ns, id, current, plan.event, &values, batch);
                if plan.event == self.switch {
                    let places = &self.switch_places;
                    running.is_now(values[places[4]], values[places[6]], values[places[5]]);
                }
            }
            EntryWhat::Generic => {
                let said = own::read(bundle.message(entry), plans);
                *polls |= tell_own(&said, (time_ns, id, current), decoder, counters, batch);
            }
            EntryWhat::CompactSwitch => {
                let values = Self::compact_switch(&self.switch_places, bundle, entry, running);
                match values {
                    Some((prev, values)) => {
                        decoder.decode_values(time_ns, id, prev, self.switch, &values, batch);
                    }
                    None => counters.unknown_switches += 1,
                }
                if let Some(switch) = bundle.compact.switches.get(entry.at as usize) {
                    running.is_now(
                        Value::Number(switch.next.into()),
                        Value::Number(switch.prio),
                        Value::Text(bundle.compact.name(switch.name)),
                    );
                }
            }
            EntryWhat::CompactWaking => {
                let waking = bundle.compact.wakings.get(entry.at as usize).copied();
                if let (Some(waking), Some(pid)) = (waking, running.pid) {
                    let mut values = [Value::Missing; VALUES_MAX];
                    let fields = [
                        Value::Number(waking.target.into()),
                        Value::Text(bundle.compact.name(waking.name)),
                        Value::Number(waking.prio),
                        Value::Number(waking.target_cpu),
                    ];
                    for (place, value) in self.waking_places.into_iter().zip(fields) {
                        values[place] = value;
                    }
                    let current = TaskId(pid);
                    decoder.decode_values(time_ns, id, current, self.waking, &values, batch);
                } else {
                    counters.unknown_wakings += 1;
                }
            }
        }
        settle(batch, before, tasks, *polls);
    }

    /// The values of a switch, and who leaves; `None` where that is not known.
    fn compact_switch<'a>(
        places: &[usize; 7],
        bundle: &'a Bundle,
        entry: Entry,
        running: &'a Running,
    ) -> Option<(TaskId, [Value<'a>; VALUES_MAX])> {
        let switch = bundle.compact.switches.get(entry.at as usize)?;
        let (prev, prio) = (running.pid?, running.prio?);
        let mut values = [Value::Missing; VALUES_MAX];
        let fields = [
            Value::Number(prev.into()),
            Value::Text(&running.name),
            Value::Number(prio),
            Value::Number(switch.prev_state),
            Value::Number(switch.next.into()),
            Value::Text(bundle.compact.name(switch.name)),
            Value::Number(switch.prio),
        ];
        for (place, value) in places.iter().zip(fields) {
            values[*place] = value;
        }
        Some((TaskId(prev), values))
    }

    /// Goes on to the lane's next event; its time, if there is one.
    #[inline]
    fn advance(&mut self, place: usize) -> io::Result<Option<u64>> {
        let lane = &mut self.lanes[place];
        lane.next += 1;
        match lane.bundle.entries.get(lane.next) {
            Some(entry) => Ok(Some(entry.time_ns)),
            None => self.load(place),
        }
    }

    /// Reads the next bundle with events in it; the time of its first.
    fn load(&mut self, place: usize) -> io::Result<Option<u64>> {
        let lane = &mut self.lanes[place];
        lane.next = 0;
        for at in lane.bundles.by_ref() {
            self.held_bytes -= lane.bundle.bytes.len();
            lane.bundle.bytes.clear();
            if self.held_bytes + at.bytes as usize > HELD_BYTES_MAX {
                let why = "its bundles of events are larger than any that are known";
                return Err(io::Error::new(io::ErrorKind::OutOfMemory, why));
            }
            self.files.read(at, &mut lane.bundle.bytes)?;
            self.held_bytes += lane.bundle.bytes.len();
            lane.bundle.scope = at.scope;
            lane.bundle.parse(&self.plans);
            self.counters.damaged += lane.bundle.damaged;
            self.counters.silent += lane.bundle.silent;
            lane.lost |= at.after_loss;
            to_monotonic(&mut lane.bundle, &self.clocks);
            if let Some(first) = lane.bundle.entries.first() {
                lane.lost = lane.lost && !lane.bundle.begins_with_its_loss();
                return Ok(Some(first.time_ns));
            }
        }
        self.held_bytes -= lane.bundle.bytes.len();
        lane.bundle = Bundle::default();
        Ok(None)
    }
}

/// Tells what an event says that tells its own name; yields the idle states that poll, a bit each.
fn tell_own(
    said: &Said<'_>,
    (time_ns, id, current): (u64, CpuId, TaskId),
    decoder: &mut Decoder,
    counters: &mut Counters,
    batch: &mut Batch,
) -> u64 {
    let before = batch.events.len();
    match *said {
        Said::Kernel(event, ref values) => {
            decoder.decode_values(time_ns, id, current, event, values, batch);
        }
        Said::Event(kind) => {
            let event = Event::new(time_ns, id, current, kind);
            decoder.introduce(&[event]);
            batch.events.push(event);
        }
        Said::Named(kind, name) => {
            let name = decoder.define_name(&String::from_utf8_lossy(name), batch);
            let kind = own::with_name(kind, name);
            batch.events.push(Event::new(time_ns, id, current, kind));
        }
        Said::Armed(event, ref values) => {
            decoder.decode_values(time_ns, id, current, event, values, batch);
            batch.events.truncate(before);
        }
        Said::Clock(name) => {
            counters.clock = Some(String::from_utf8_lossy(name).into_owned());
            counters.events -= 1;
        }
        Said::Polls(state) if state < IDLE_STATES => return 1 << state,
        Said::Polls(_) => {}
        Said::Nothing => {
            counters.silent += 1;
            counters.events -= 1;
        }
    }
    0
}

fn to_monotonic(bundle: &mut Bundle, clocks: &Clocks) {
    let clock = match bundle.clock {
        BundleClock::Raw => StampClock::Raw,
        BundleClock::Local | BundleClock::Global if bundle.to_boot_ns == 0 => StampClock::Other,
        _ => StampClock::Boot,
    };
    let to_boot_ns = bundle.to_boot_ns;
    for entry in &mut bundle.entries {
        let stamp_ns = match bundle.clock {
            BundleClock::Local | BundleClock::Global => {
                entry.time_ns.saturating_add_signed(to_boot_ns)
            }
            _ => entry.time_ns,
        };
        entry.time_ns = clocks.monotonic_ns(clock, stamp_ns);
    }
}

/// Takes out of the events from `before` on what has been told already, and puts in what only the trace
/// as a whole tells.
#[inline]
fn settle(batch: &mut Batch, before: usize, tasks: &mut Tasks, polls: u64) {
    let mut at = before;
    while let Some(event) = batch.events.get_mut(at) {
        match event.tag() {
            TaskInfo::TAG => {
                if let Kind::TaskInfo(info) = event.kind()
                    && !tasks.is_new(event.task, info)
                {
                    batch.events.remove(at);
                    continue;
                }
            }
            TaskExit::TAG => tasks.forget(event.task),
            IdleEnter::TAG if polls != 0 => {
                if let Kind::IdleEnter(enter) = event.kind()
                    && enter.state < IDLE_STATES
                    && polls & 1 << enter.state != 0
                {
                    let enter = IdleEnter { polls: true, ..enter };
                    *event = Event::new(event.time_ns, event.cpu, event.task, enter.into());
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The trace's bytes, inflated where they must be.
struct Files {
    file: Contents,
    blocks: Vec<Block>,
    /// The last used is last.
    inflated: Vec<(u32, Vec<u8>)>,
    /// Bytes that may still be inflated.
    bytes_left: u64,
}

impl Files {
    fn new(file: Contents, blocks: Vec<Block>) -> Self {
        let once: u64 = blocks.iter().map(|block| u64::from(block.inflated_bytes)).sum();
        let bytes_left = once * INFLATED_ANEW_MAX + INFLATED_BYTES_KEPT as u64;
        Self { file, blocks, inflated: Vec::new(), bytes_left }
    }

    /// Puts a bundle's bytes behind those in `out`.
    fn read(&mut self, at: BundleAt, out: &mut Vec<u8>) -> io::Result<()> {
        if at.block == NO_BLOCK {
            // The first reading has seen that the file is as long.
            out.resize(at.bytes as usize, 0);
            return self.file.read_exact_at(out, at.at);
        }
        let begins = at.at as usize;
        let block = self.block(at.block)?;
        out.extend(block.get(begins..begins + at.bytes as usize).unwrap_or_default());
        Ok(())
    }

    fn block(&mut self, number: u32) -> io::Result<&[u8]> {
        if let Some(place) = self.inflated.iter().position(|(known, _)| *known == number) {
            let known = self.inflated.remove(place);
            self.inflated.push(known);
        } else {
            let block = self.blocks[number as usize];
            self.bytes_left =
                self.bytes_left.checked_sub(block.inflated_bytes.into()).ok_or_else(|| {
                    io::Error::new(
                        io::ErrorKind::InvalidData,
                        "its compressed packets hold the events in such disorder that reading them would take very \
                         long: decompress it first (traceconv)",
                    )
                })?;
            let mut compressed = vec![0; block.bytes as usize];
            self.file.read_exact_at(&mut compressed, block.at)?;
            let (bytes, _) = inflate(&compressed, block.compression);
            let kept = |blocks: &[(u32, Vec<u8>)]| -> usize {
                blocks.iter().map(|(_, bytes)| bytes.len()).sum()
            };
            while !self.inflated.is_empty()
                && kept(&self.inflated) + bytes.len() > INFLATED_BYTES_KEPT
            {
                self.inflated.remove(0);
            }
            self.inflated.push((number, bytes));
        }
        Ok(self.inflated.last().map_or(&[], |(_, bytes)| bytes))
    }
}
