//! A flight recorder: the newest events stay in the kernel's memory, and are copied when somebody was late.

use crate::flight_shared::FlightShared;
use crate::recursion_misses::recursion_misses;
use crate::ring::{Copied, Rings};
use crate::stacks::{self, Stacks};
use crate::translate::Translator;
use crate::{Error, FlightOptions, attach, idle_states, recursion_misses, roles, slots_shift_of};
use libbpf_rs::{Link, MapHandle};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tardy_kernel::{
    Exceeded, FlightRecorder, Held, Programs, Roles, monotonic_ns, present_end, tasks_now,
};
use tardy_model::event::{Current, Loss, Recorded, Switch, TaskInfo, TaskName};
use tardy_model::{Batch, CpuId, Event, Kind, Prio, SourceError, TaskId};

/// How long a program may take from its claim to its record's end: they run for microseconds.
const SETTLING: Duration = Duration::from_millis(10);

/// Events of one batch.
const BATCH_EVENTS: usize = 1 << 16;

/// The running flight recorder.
pub struct Flight {
    rings: Rings,
    shared: FlightShared,
    stacks: Option<Stacks>,
    programs: Programs,
    watched: MapHandle,
    /// Dropping these detaches the programs.
    links: Vec<Link>,
    translator: Translator,
    roles: Roles,
    missing: Vec<String>,
    start_ns: u64,
}

/// What one CPU held.
struct OnCpu {
    cpu: CpuId,
    events: Vec<Event>,
    /// Who was current before the first of them, where that is known.
    first: Option<(u32, u16)>,
    /// Older ones had been there.
    is_cut: bool,
}

impl Flight {
    /// Loads the programs, attaches them, and watches who is there already.
    ///
    /// The rings' size is rounded down to a power of two.
    ///
    /// # Errors
    /// As [`crate::Live::start`].
    pub fn start(options: &FlightOptions) -> Result<Self, Error> {
        let cpus = present_end();
        let slots_shift = slots_shift_of(&options.source, cpus)?;
        let translator = Translator::new();
        let start_ns = monotonic_ns();
        let attached = attach::attach(&options.source, Some(options), cpus, slots_shift)?;
        let mut roles = roles(&options.source, true);
        // What it does with what it holds is its own doing too.
        *roles.processes.entry(std::process::id()).or_default() |= TaskInfo::OWN;
        let shared = attached.flight.expect("it was attached as a flight recorder");
        let mut flight = Self {
            rings: attached.rings,
            shared,
            stacks: attached.stacks,
            programs: Programs::default(),
            watched: attached.watched,
            links: attached.links,
            translator,
            roles,
            missing: attached.missing,
            start_ns,
        };
        for process in &options.source.watched_processes {
            flight.watch_threads_of(*process);
        }
        Ok(flight)
    }

    fn watch_threads_of(&mut self, process: u32) {
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
        for thread in threads.flatten() {
            if let Some(thread) = thread.file_name().to_str().and_then(|name| name.parse().ok()) {
                self.shared.watch(thread);
            }
        }
    }

    /// The stacks that were taken since a time.
    fn stacks(&mut self, from_ns: u64, batch: &mut Batch) -> Vec<Event> {
        let copied = self.stacks.as_ref().map(Stacks::copy).unwrap_or_default();
        let since = copied.iter().filter(|raw| raw.time_ns >= from_ns);
        let (translator, programs) = (&mut self.translator, &mut self.programs);
        since.filter_map(|raw| translator.stack(raw, programs, batch)).collect()
    }

    /// The events of each CPU that has any, in the order of its records; and what they define.
    fn translate(&mut self, copied: &[Copied], batch: &mut Batch) -> Vec<OnCpu> {
        self.translator.begin_anew();
        let mut cpus = Vec::new();
        for (cpu, copied) in copied.iter().enumerate() {
            // Who was switched from first was there from the beginning on; where nobody was, nobody has
            // changed since the last switch.
            let mut first = None;
            copied.read(|record, _| {
                if record.tag == Switch::TAG && first.is_none() {
                    first = Some((record.task, (record.c & 0xffff) as u16));
                }
            });
            let first = first.or(copied.current);
            if let Some((task, _)) = first {
                self.translator.first_current(cpu as u16, task);
            }
            let (translator, mut events) = (&mut self.translator, Vec::new());
            let is_cut = copied.read(|record, definition| {
                translator.flight_record(record, definition, batch, &mut events);
            });
            if !events.is_empty() || first.is_some() {
                cpus.push(OnCpu { cpu: CpuId(cpu as u16), events, first, is_cut });
            }
        }
        cpus
    }
}

/// Who was there at `from_ns`, and what idle states there are: by procfs, and of those that have ended
/// since by the events themselves.
fn who_is_there(from_ns: u64, tasks: Vec<Event>, cpus: &[OnCpu]) -> Vec<Event> {
    let mut there = idle_states(from_ns);
    let named: BTreeSet<TaskId> = tasks.iter().map(|event| event.task).collect();
    there.extend(tasks);
    let mut gone = BTreeMap::new();
    for event in cpus.iter().flat_map(|cpu| &cpu.events) {
        let is_told = matches!(event.tag(), TaskName::TAG | TaskInfo::TAG);
        if is_told && !named.contains(&event.task) {
            gone.entry((event.task, event.tag())).or_insert(*event);
        }
    }
    there.extend(gone.into_values());
    for event in &mut there {
        event.time_ns = from_ns;
    }
    there
}

/// A thread that began lately told of itself before it was known that it is watched.
fn tell_roles(cpus: &mut [OnCpu], roles: &Roles) {
    for event in cpus.iter_mut().flat_map(|cpu| &mut cpu.events) {
        if let Kind::TaskInfo(info) = event.kind()
            && let Some(role) = roles.threads.get(&event.task.0)
        {
            let info = TaskInfo { flags: info.flags | role, ..info };
            *event = Event::new(event.time_ns, event.cpu, event.task, info.into());
        }
    }
}

/// From when on every CPU's events are there, as far as they were overwritten.
fn whole_from_ns(cpus: &[OnCpu], start_ns: u64) -> u64 {
    let cut = cpus.iter().filter(|cpu| cpu.is_cut);
    let first = |cpu: &OnCpu| cpu.events.iter().map(|event| event.time_ns).min();
    cut.filter_map(first).max().unwrap_or(start_ns)
}

/// Puts the events of all CPUs into one order, from where all of them are there. Ahead of them comes what
/// each CPU runs then. Where that is too late for `needed_ns`, all that is there comes, and where a CPU's
/// begin it says that there had been others. Of one time a stack comes before the switch that it is of.
fn in_order(
    stacks: Vec<Event>,
    cpus: Vec<OnCpu>,
    whole_ns: u64,
    start_ns: u64,
    needed_ns: u64,
) -> Vec<Event> {
    let is_whole = whole_ns <= needed_ns;
    let mut ordered = stacks;
    for OnCpu { cpu, events, first, is_cut } in cpus {
        let mut current = first;
        let mut held = Vec::with_capacity(events.len());
        for event in events {
            if is_whole && event.time_ns < whole_ns {
                if let Kind::Switch(switch) = event.kind() {
                    current = Some((switch.next.0, switch.next_prio.0 as u16));
                }
            } else {
                held.push(event);
            }
        }
        if let (true, Some((task, prio))) = (is_whole, current) {
            let runs = Kind::Current(Current { prio: Prio(prio as i16) });
            ordered.push(Event::new(whole_ns, cpu, TaskId(task), runs));
        }
        if let (false, true, Some(first)) = (is_whole, is_cut, held.first()) {
            let loss = Loss { since_ns: start_ns, count: u32::MAX };
            ordered.push(Event::new(first.time_ns, cpu, TaskId::IDLE, Kind::Loss(loss)));
        }
        ordered.extend(held);
    }
    // A stable sort: of one time, what a CPU runs and what is missing come first.
    ordered.sort_by_key(|event| event.time_ns);
    ordered
}

impl FlightRecorder for Flight {
    fn name(&self) -> &'static str {
        "live-ebpf"
    }

    fn missing(&self) -> &[String] {
        &self.missing
    }

    fn bytes_per_cpu(&self) -> u64 {
        self.rings.bytes_per_cpu()
    }

    fn watch_thread(&mut self, thread: u32) {
        self.shared.watch(thread);
    }

    fn watch_process(&mut self, process: u32) -> Result<(), SourceError> {
        let info = attach::watched_info(true);
        attach::watch(&self.watched, process, info)?;
        self.roles.processes.insert(process, info);
        self.watch_threads_of(process);
        Ok(())
    }

    fn set_bar(&mut self, ns: u64) {
        self.shared.set_bar(ns);
    }

    fn exceeded(&self) -> Option<Exceeded> {
        self.shared.exceeded()
    }

    fn over_count(&self) -> u64 {
        self.shared.over_count()
    }

    fn hold(&mut self) -> Result<Held, SourceError> {
        let exceeded = self.shared.exceeded();
        let mut roles = self.roles.clone();
        for thread in self.shared.watched().chain(exceeded.map(|exceeded| exceeded.task.0)) {
            *roles.threads.entry(thread).or_default() |= TaskInfo::WATCHED;
        }
        // Before the copy: who ends after this is in it with a name.
        let tasks = tasks_now(0, &roles);
        let until_ns = monotonic_ns();
        let copied = self.rings.copy(|| std::thread::sleep(SETTLING));
        self.shared.look_again();

        let mut definitions = Batch::default();
        let mut cpus = self.translate(&copied, &mut definitions);
        drop(copied);
        tell_roles(&mut cpus, &roles);
        let whole_ns = whole_from_ns(&cpus, self.start_ns);
        let needed_ns = exceeded.map_or(u64::MAX, |exceeded| exceeded.due_ns);
        let there_ns = cpus.iter().filter_map(|cpu| cpu.events.first()).map(|event| event.time_ns);
        let from_ns =
            if whole_ns <= needed_ns { whole_ns } else { there_ns.min().unwrap_or(whole_ns) };
        let mut there = who_is_there(from_ns, tasks, &cpus);
        // Not when interrupts of the timer begin and end, nor when callbacks end: nothing is promised.
        let recorded = Kind::Recorded(Recorded { kinds: 0 });
        there.insert(0, Event::new(from_ns, CpuId(0), TaskId::IDLE, recorded));
        self.translator.groups(from_ns, &mut definitions);
        there.append(&mut definitions.events);
        let stacks = self.stacks(from_ns, &mut definitions);
        let events = in_order(stacks, cpus, whole_ns, self.start_ns, needed_ns);

        let mut batches = vec![Batch { events: there, ..definitions }];
        let more = events.chunks(BATCH_EVENTS);
        batches.extend(more.map(|events| Batch { events: events.to_vec(), ..Batch::default() }));
        Ok(Held { batches, from_ns: whole_ns, until_ns })
    }

    fn notes(&self) -> Vec<String> {
        let symbols = self.translator.symbols().note();
        let missed = recursion_misses::note(&recursion_misses(&self.links));
        let unwatched = self.shared.unwatched();
        let unwatched = (unwatched > 0).then(|| {
            format!(
                "{unwatched} threads were not watched, because their ids collide with others in \
                    a table"
            )
        });
        let stacks = self.stacks.as_ref().and_then(|stacks| stacks::note(stacks.left_out()));
        let programs = self.programs.note();
        symbols.into_iter().chain(missed).chain(unwatched).chain(stacks).chain(programs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::{IdleExit, TaskState};

    fn at(time_ns: u64, cpu: u16, task: u32) -> Event {
        Event::new(time_ns, CpuId(cpu), TaskId(task), Kind::IdleExit(IdleExit))
    }

    fn switch(time_ns: u64, cpu: u16, from: u32, to: u32) -> Event {
        let kind = Kind::Switch(Switch {
            prev_state: TaskState::Interruptible,
            prev_prio: Prio(120),
            next: TaskId(to),
            next_prio: Prio(50),
            preempted: false,
        });
        Event::new(time_ns, CpuId(cpu), TaskId(from), kind)
    }

    fn cpus() -> Vec<OnCpu> {
        let busy = vec![at(50, 0, 7), switch(60, 0, 7, 8)];
        let quiet = vec![at(10, 1, 0), switch(20, 1, 0, 9), at(55, 1, 9)];
        vec![
            OnCpu { cpu: CpuId(0), events: busy, first: Some((7, 120)), is_cut: true },
            OnCpu { cpu: CpuId(1), events: quiet, first: Some((0, 120)), is_cut: true },
            OnCpu { cpu: CpuId(2), events: Vec::new(), first: Some((5, 39)), is_cut: false },
        ]
    }

    #[test]
    fn it_begins_where_all_cpus_events_are_there_with_what_each_runs() {
        let whole_ns = whole_from_ns(&cpus(), 3);
        assert_eq!(whole_ns, 50);
        let ordered = in_order(Vec::new(), cpus(), whole_ns, 3, 52);
        let told: Vec<_> =
            ordered.iter().map(|event| (event.time_ns, event.cpu.0, event.task.0)).collect();
        assert_eq!(told, [(50, 0, 7), (50, 0, 7), (50, 1, 9), (50, 2, 5), (55, 1, 9), (60, 0, 7)]);
        let current = |prio| Kind::Current(Current { prio: Prio(prio) });
        assert_eq!(ordered[0].kind(), current(120));
        assert_eq!(ordered[2].kind(), current(50), "who was switched to before");
        assert_eq!(ordered[3].kind(), current(39), "who has run all the time");
    }

    #[test]
    fn what_is_needed_from_before_comes_with_a_loss_where_others_had_been() {
        let ordered = in_order(Vec::new(), cpus(), 50, 3, 15);
        let losses: Vec<_> = ordered.iter().filter(|event| event.tag() == Loss::TAG).collect();
        assert_eq!(
            losses.iter().map(|loss| (loss.time_ns, loss.cpu.0)).collect::<Vec<_>>(),
            [(10, 1), (50, 0)]
        );
        assert_eq!(ordered.len(), 7);
    }

    #[test]
    fn who_began_lately_and_is_watched_stays_so() {
        let info = |task| {
            let info = TaskInfo { process: TaskId(task), flags: TaskInfo::KERNEL };
            Event::new(5, CpuId(0), TaskId(task), info.into())
        };
        let events = vec![info(7), info(8)];
        let mut cpus = [OnCpu { cpu: CpuId(0), events, first: None, is_cut: false }];
        let mut roles = Roles::default();
        roles.threads.insert(7, TaskInfo::WATCHED);
        tell_roles(&mut cpus, &roles);
        let flags = cpus[0].events.iter().map(|event| match event.kind() {
            Kind::TaskInfo(info) => info.flags,
            other => panic!("{other:?}"),
        });
        let expected = [TaskInfo::KERNEL | TaskInfo::WATCHED, TaskInfo::KERNEL];
        assert_eq!(flags.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn where_nothing_was_overwritten_all_of_it_is_there() {
        let mut cpus = cpus();
        for cpu in &mut cpus {
            cpu.is_cut = false;
        }
        assert_eq!(whole_from_ns(&cpus, 3), 3);
        assert_eq!(in_order(Vec::new(), cpus, 3, 3, 52).len(), 8);
    }
}
