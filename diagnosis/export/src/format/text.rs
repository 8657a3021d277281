//! All events as the text of the kernel's `trace` file, which trace tools read and people grep.
//!
//! Each event is a line as the kernel prints it, with nanoseconds; times are of the clock that the
//! header names (`# clock: mono`), and so are expiries. What the kernel has no event for:
//!
//! | here | is |
//! |---|---|
//! | `# tardy: task pid=… process=… flags=…` | what is known of a thread (`TaskInfo`) |
//! | `tracing_mark_write: tardy: mark expiry_ns=… sequence=…` | a thread's own reading (`Mark`) |
//! | `tracing_mark_write: tardy: armed hrtimer=… …` | as `hrtimer_start`, of the line's task: what is to be known of a timer that is about to expire, where its arming does not tell it |
//! | `tracing_mark_write: tardy: clock_set …`, `idle_state …`, `task_group …`, `group_bandwidth …`, `group_weight …`, `task_cpus …`, `recorded …`, `stolen …`, `current …` | `ClockSet`, `IdleState`, `TaskGroup`, `GroupBandwidth`, `GroupWeight`, `TaskCpus`, `Recorded`, `Stolen`, `Current` |
//! | `CPU:0 [LOST 7 EVENTS]` | a loss, before the CPU's next event, as the kernel writes it |
//! | `task_rename: pid=… oldcomm=… newcomm=…` | a thread's name, at the beginning too |
//!
//! What is lost:
//! - flags of interrupts and preemption: `.....` in each line;
//! - that a priority fell back, where it is not known to what;
//! - when a loss began; whether an idle state only polls; that a task waits for a sleeping spinlock (it
//!   shows as `D`); the requested time of `nanosleep` and `clock_nanosleep`; the upper halves of
//!   arguments that the recording has not kept; slack above 4.29 s;
//! - for timers of the wheel what is finer than a tick, because jiffies are what the kernel prints;
//! - control characters in names, which become `?`.

use crate::event_row::mode_into;
use crate::names::Names;
use crate::output::Output;
use crate::{About, Export, ExportError, Format};
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use std::path::Path;
use tardy_explain::Explanation;
use tardy_model::event::{
    Call, ClockSet, Comm, ExpireBegin, IdleState, IpiSend, Irq, Loss, Section, SectionBegin,
    SectionEnd, SyscallEnter, TaskState, TimerArm, TimerMode, TimerPending, Waking, Woken,
    WokenNew, softirq,
};
use tardy_model::{
    Batch, CpuId, Event, Kind, NameId, Prio, Tables, TaskId, TimerClass, TimerDef, TimerId,
};

pub(super) struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["txt", "trace"]
    }

    fn meaning(&self) -> &'static str {
        "all events as the text of the kernel's trace file"
    }

    fn create(&self, path: &Path, about: &About) -> Result<Box<dyn Export>, ExportError> {
        let mut out = Output::create(path)?;
        out.put(|out| header(out, about))?;
        Ok(Box::new(File { out, lines: Lines::new(about.hz) }))
    }
}

struct File {
    out: Output,
    lines: Lines,
}

impl Export for File {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExportError> {
        let Self { out, lines } = self;
        batch.define(&mut lines.tables);
        out.put(|out| batch.events.iter().try_for_each(|event| lines.write(out, event)))
    }

    fn finish(self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        self.out.finish()
    }
}

fn header(out: &mut dyn Write, about: &About) -> io::Result<()> {
    let clock = one_line(about.clock_name());
    writeln!(out, "# tracer: nop\n#\n# clock: {clock}")?;
    if clock != "mono" {
        writeln!(out, "# tardy: expiries are of this clock")?;
    }
    let hz = about.hz.map(|hz| hz.to_string()).unwrap_or_default();
    for (title, value) in [
        ("host", &about.host),
        ("kernel", &about.kernel_release),
        ("machine", &about.machine),
        ("hz", &hz),
        ("written by", &about.written_by),
    ] {
        if !value.is_empty() {
            writeln!(out, "# {title}: {}", one_line(value))?;
        }
    }
    out.write_all(
        b"#\n\
          #                                _-----=> irqs-off/BH-disabled\n\
          #                               / _----=> need-resched\n\
          #                              | / _---=> hardirq/softirq\n\
          #                              || / _--=> preempt-depth\n\
          #                              ||| / _-=> migrate-disable\n\
          #                              |||| /     delay\n\
          #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
          #              | |         |   |||||     |         |\n",
    )
}

/// What the kernel has no event for is written as a program writes into a trace.
const OWN: &str = "tracing_mark_write: tardy:";

/// Timers of which it is known that they are armed, at most; as many as whoever reads it keeps.
const ARMED_MAX: usize = 1 << 18;

/// The tick where it is not known: 250 per second, most distributions' choice.
const TICK_NS: u64 = 4_000_000;

/// The callbacks of the tick, whose expiry shows where ticks begin.
const TICK: [&str; 2] = ["tick_nohz_handler", "tick_sched_timer"];

/// What is known while lines are written.
struct Lines {
    tables: Tables,
    names: Names,
    /// What a reader knows of each timer that is armed, by its address.
    armed: FxHashMap<u64, Arming>,
    tick_ns: u64,
    tick_phase_ns: u64,
    mode: String,
}

/// What was said when a timer was armed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arming {
    timer: TimerId,
    soft_ns: u64,
    slack_ns: u32,
    mode: TimerMode,
}

impl Lines {
    fn new(hz: Option<u32>) -> Self {
        let tick_ns = hz.filter(|hz| *hz > 0).map_or(TICK_NS, |hz| 1_000_000_000 / u64::from(hz));
        Self {
            tables: Tables::default(),
            names: Names::default(),
            armed: FxHashMap::default(),
            tick_ns: tick_ns.max(1),
            tick_phase_ns: 0,
            mode: String::new(),
        }
    }

    fn write(&mut self, out: &mut dyn Write, event: &Event) -> io::Result<()> {
        let old = self.names.get(event.task);
        self.names.see(event);
        match event.kind() {
            Kind::TaskInfo(info) => {
                let (pid, process, flags) = (event.task, info.process, info.flags);
                return writeln!(out, "# tardy: task pid={pid} process={process} flags={flags}");
            }
            Kind::Unknown(tag) => return writeln!(out, "# tardy: an event of unknown kind {tag}"),
            Kind::Loss(loss) => {
                // A reader takes what should have expired meanwhile for armed again, unseen.
                self.armed.clear();
                return lost(out, event, loss);
            }
            Kind::ExpireBegin(begin) => self.armed_before(out, event, begin)?,
            _ => {}
        }
        self.begin(out, event)?;
        self.end(out, event, old)?;
        writeln!(out)
    }

    /// Who, where and when: `          cyclic-4101    [000] ..... 12165.412116000: `.
    fn begin(&self, out: &mut dyn Write, event: &Event) -> io::Result<()> {
        let Event { time_ns, cpu, task, .. } = *event;
        let name = self.name(task, "<idle>");
        let (s, ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        write!(out, "{name:>16}-{task:<7} [{:03}] ..... {s:5}.{ns:09}: ", cpu.0)
    }

    #[allow(clippy::too_many_lines, reason = "a line or two for each kind of event")]
    fn end(&mut self, out: &mut dyn Write, event: &Event, old: Option<Comm>) -> io::Result<()> {
        match event.kind() {
            Kind::TimerArm(arm) => self.arm(out, event, arm),
            Kind::ExpireBegin(begin) => self.expire(out, event, begin),
            Kind::TimerCancel(cancel) => self.timer(out, cancel.timer, "cancel"),
            Kind::TimerPending(pending) => self.pending(out, pending),
            Kind::ExpireEnd(end) => self.timer(out, end.timer, "expire_exit"),
            Kind::IrqBegin(begin) => match begin.irq {
                Irq::Line(number, name) => {
                    let name = one_line(self.tables.name(name));
                    write!(out, "irq_handler_entry: irq={number} name={name}")
                }
                Irq::Vector(_) => vector(out, begin.irq, "entry"),
            },
            Kind::IrqEnd(end) => match end.irq {
                Irq::Line(number, _) => {
                    write!(out, "irq_handler_exit: irq={number} ret=handled")
                }
                Irq::Vector(_) => vector(out, end.irq, "exit"),
            },
            Kind::SoftirqRaise(raise) => softirq_event(out, "raise", raise.vector),
            Kind::SoftirqBegin(begin) => softirq_event(out, "entry", begin.vector),
            Kind::SoftirqEnd(end) => softirq_event(out, "exit", end.vector),
            Kind::Waking(Waking { target, target_cpu, prio }) => {
                self.woken(out, "waking", target, target_cpu, prio)
            }
            Kind::Woken(Woken { target, target_cpu, prio }) => {
                self.woken(out, "wakeup", target, target_cpu, prio)
            }
            Kind::WokenNew(WokenNew { target, target_cpu, prio }) => {
                self.woken(out, "wakeup_new", target, target_cpu, prio)
            }
            Kind::Switch(switch) => {
                let idle = format!("swapper/{}", event.cpu);
                let preempted = if switch.preempted { "+" } else { "" };
                write!(
                    out,
                    "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={}{preempted} \
                     ==> next_comm={} next_pid={} next_prio={}",
                    self.name(event.task, &idle),
                    event.task,
                    switch.prev_prio,
                    letter(switch.prev_state),
                    self.name(switch.next, &idle),
                    switch.next,
                    switch.next_prio,
                )
            }
            Kind::Migrate(migrate) => {
                let (pid, from, to) = (migrate.target, migrate.from, migrate.to);
                let comm = self.name(pid, "swapper");
                write!(
                    out,
                    "sched_migrate_task: comm={comm} pid={pid} prio=120 orig_cpu={from} \
                     dest_cpu={to}"
                )
            }
            Kind::Priority(priority) => {
                let (pid, old, new) = (priority.target, priority.old, priority.new);
                let comm = self.name(pid, "swapper");
                write!(out, "sched_pi_setprio: comm={comm} pid={pid} oldprio={old} newprio={new}")
            }
            Kind::SyscallEnter(enter) => syscall(out, enter),
            Kind::SyscallExit(exit) => {
                write!(out, "sys_exit: NR {} = {}", exit.number, exit.result)
            }
            Kind::IdleEnter(enter) => {
                write!(out, "cpu_idle: state={} cpu_id={}", enter.state, event.cpu)
            }
            Kind::IdleExit(_) => write!(out, "cpu_idle: state={} cpu_id={}", u32::MAX, event.cpu),
            Kind::Mark(mark) => {
                write!(out, "{OWN} mark expiry_ns={} sequence={}", mark.expiry_ns, mark.sequence)
            }
            Kind::TaskName(name) => {
                let old = old.map_or_else(|| "<...>".to_owned(), |old| one_line(&old.to_string()));
                let (pid, new) = (event.task, one_line(&name.comm.to_string()));
                write!(out, "task_rename: pid={pid} oldcomm={old} newcomm={new} oom_score_adj=0")
            }
            Kind::TaskExit(_) => {
                let (pid, comm) = (event.task, self.name(event.task, "swapper"));
                write!(out, "sched_process_exit: comm={comm} pid={pid} prio=120")
            }
            Kind::PageFault(fault) => {
                write!(out, "page_fault_user: address=0x{:x} ip=0x0 error_code=0x4", fault.address)
            }
            Kind::Signal(signal) => write!(
                out,
                "signal_deliver: sig={} errno=0 code=0 sa_handler=0 sa_flags=0",
                signal.number
            ),
            Kind::WorkBegin(work) => self.work(out, "start", work.function),
            Kind::WorkEnd(work) => self.work(out, "end", work.function),
            Kind::Nmi(nmi) => {
                let handler = self.function_of(nmi.handler);
                write!(out, "nmi_handler: {handler}() delta_ns: {} handled: 1", nmi.ns)
            }
            Kind::IpiSend(send) => self.ipi(out, send),
            Kind::SectionBegin(SectionBegin { section, caller }) => {
                self.section(out, section, "disable", caller)
            }
            Kind::SectionEnd(SectionEnd { section, caller }) => {
                self.section(out, section, "enable", caller)
            }
            Kind::ClockSet(ClockSet { by_ns, since_ns }) => {
                write!(out, "{OWN} clock_set by_ns={by_ns} since_ns={since_ns}")
            }
            Kind::IdleState(IdleState { state, exit_latency_ns, name }) => {
                let name = one_line(self.tables.name(name));
                write!(
                    out,
                    "{OWN} idle_state state={state} exit_latency_ns={exit_latency_ns} name={name}"
                )
            }
            Kind::TaskGroup(group) => {
                let throttled = u8::from(group.throttled);
                let path = one_line(self.tables.name(group.path));
                write!(out, "{OWN} task_group throttled={throttled} path={path}")
            }
            Kind::GroupBandwidth(group) => {
                let (quota_ns, period_ns) = (group.quota_ns, group.period_ns);
                let path = one_line(self.tables.name(group.path));
                write!(
                    out,
                    "{OWN} group_bandwidth quota_ns={quota_ns} period_ns={period_ns} path={path}"
                )
            }
            Kind::GroupWeight(group) => {
                let path = one_line(self.tables.name(group.path));
                write!(out, "{OWN} group_weight weight={} path={path}", group.weight)
            }
            Kind::TaskCpus(task) => write!(out, "{OWN} task_cpus cpus={:#x}", task.cpus),
            Kind::Recorded(recorded) => {
                write!(out, "{OWN} recorded kinds={:#x}", recorded.kinds)
            }
            Kind::Stolen(stolen) => write!(out, "{OWN} stolen ns={}", stolen.ns),
            Kind::Current(current) => write!(out, "{OWN} current prio={}", current.prio.0),
            Kind::Stack(stack) => {
                let (of, late_ns, taken) = (stack.of, stack.late_ns, stack.taken.name());
                let frames = one_line(self.tables.name(stack.frames));
                write!(out, "{OWN} stack of={of} late_ns={late_ns} taken={taken} frames={frames}")
            }
            // Written before.
            _ => Ok(()),
        }
    }

    /// A thread's name as traces show it.
    fn name(&self, task: TaskId, idle: &str) -> String {
        if task == TaskId::IDLE {
            return idle.to_owned();
        }
        let name = self.names.get(task).map(|name| one_line(&name.to_string()));
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| "<...>".to_owned())
    }

    /// A task is woken; `-1` stands for a CPU that is not known.
    fn woken(
        &self,
        out: &mut dyn Write,
        what: &str,
        pid: TaskId,
        cpu: CpuId,
        prio: Prio,
    ) -> io::Result<()> {
        let comm = self.name(pid, "swapper");
        write!(out, "sched_{what}: comm={comm} pid={pid} prio={prio} target_cpu=")?;
        if cpu.is_known() { write!(out, "{:03}", cpu.0) } else { write!(out, "-1") }
    }

    /// A function's name; of one that has none, the address 0.
    fn function_of(&self, name: NameId) -> String {
        match self.tables.name(name) {
            "" => "0x0".to_owned(),
            name => one_line(name),
        }
    }

    /// What it is for is a function's name, or a reason in words.
    fn ipi(&self, out: &mut dyn Write, send: IpiSend) -> io::Result<()> {
        let what_for = self.function_of(send.function);
        let is_reason = what_for.contains(' ');
        if send.targets == 1 && !is_reason {
            return write!(
                out,
                "ipi_send_cpu: cpu={} callsite=0x0 callback={what_for}",
                send.first
            );
        }
        let (word, bit) = (send.first.0 / 32, u32::from(send.first.0 % 32));
        let mask = u128::from(send.targets) << bit;
        let words = (0..3).rev().map(|at| (mask >> (32 * at)) as u32);
        let mut words: Vec<u32> = words.skip_while(|word| *word == 0).collect();
        words.resize(words.len() + usize::from(word), 0);
        let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
        let mask = words.join(",");
        if is_reason {
            write!(out, "ipi_raise: target_mask={mask} ({what_for})")
        } else {
            write!(out, "ipi_send_cpumask: cpumask={mask} callsite=0x0 callback={what_for}")
        }
    }

    fn section(
        &self,
        out: &mut dyn Write,
        section: Section,
        what: &str,
        caller: NameId,
    ) -> io::Result<()> {
        let of = match section {
            Section::IrqsOff => "irq",
            Section::PreemptOff => "preempt",
        };
        write!(out, "{of}_{what}: caller={} parent=0x0", self.function_of(caller))
    }

    fn work(&self, out: &mut dyn Write, what: &str, function: NameId) -> io::Result<()> {
        write!(out, "workqueue_execute_{what}: work struct 0x0")?;
        match self.tables.name(function) {
            // As kernels before 5.6, that do not tell it.
            "" => Ok(()),
            name => write!(out, ": function {}", one_line(name)),
        }
    }

    fn pending(&self, out: &mut dyn Write, pending: TimerPending) -> io::Result<()> {
        let TimerPending { timer, thread, prio } = pending;
        let address = address(self.tables.timer(timer), timer);
        let comm = self.name(thread, "swapper");
        write!(out, "timer_pending: hrtimer=0x{address:016x} comm={comm} pid={thread} prio={prio}")
    }

    fn timer(&self, out: &mut dyn Write, id: TimerId, what: &str) -> io::Result<()> {
        let def = self.tables.timer(id);
        let (class, address) = (class(def), address(def, id));
        write!(out, "{class}_{what}: {class}=0x{address:016x}")
    }

    fn arm(&mut self, out: &mut dyn Write, event: &Event, arm: TimerArm) -> io::Result<()> {
        let def = self.tables.timer(arm.timer);
        let (address, function) = (address(def, arm.timer), self.function_of(def.function));
        if self.armed.len() < ARMED_MAX || self.armed.contains_key(&address) {
            let TimerArm { timer, soft_ns, slack_ns, mode, .. } = arm;
            self.armed.insert(address, Arming { timer, soft_ns, slack_ns, mode });
        }
        if def.class == TimerClass::TimerList {
            return self.arm_wheel(out, event, arm, (address, &function));
        }
        if TICK.contains(&function.as_str()) {
            self.tick_phase_ns = arm.soft_ns % self.tick_ns;
        }
        write!(out, "hrtimer_start:")?;
        self.armed_fields(out, address, &function, (arm.soft_ns, arm.slack_ns, arm.mode))
    }

    fn armed_fields(
        &mut self,
        out: &mut dyn Write,
        address: u64,
        function: &str,
        (soft_ns, slack_ns, mode): (u64, u32, TimerMode),
    ) -> io::Result<()> {
        mode_into(&mut self.mode, mode);
        let (expires, mode) = (soft_ns.saturating_add(slack_ns.into()), &self.mode);
        write!(
            out,
            " hrtimer=0x{address:016x} function={function} expires={expires} \
             softexpires={soft_ns} mode={mode}"
        )
    }

    /// What is to be known of a timer that expires, where its arming has not told it.
    fn armed_before(
        &mut self,
        out: &mut dyn Write,
        event: &Event,
        begin: ExpireBegin,
    ) -> io::Result<()> {
        let ExpireBegin { timer, soft_ns, slack_ns, mode } = begin;
        let def = self.tables.timer(timer);
        if def.class != TimerClass::Hrtimer {
            return Ok(());
        }
        let address = address(def, timer);
        if self.armed.remove(&address) == Some(Arming { timer, soft_ns, slack_ns, mode }) {
            return Ok(());
        }
        let function = self.function_of(def.function);
        self.begin(out, &Event::new(event.time_ns, event.cpu, def.owner, event.kind()))?;
        write!(out, "{OWN} armed")?;
        self.armed_fields(out, address, &function, (soft_ns, slack_ns, mode))?;
        writeln!(out)
    }

    /// In jiffies, counted from 0 at time 0.
    fn arm_wheel(
        &self,
        out: &mut dyn Write,
        event: &Event,
        arm: TimerArm,
        (address, function): (u64, &str),
    ) -> io::Result<()> {
        let tick_ns = self.tick_ns;
        let time_ns = event.time_ns;
        let since_tick_ns = (time_ns % tick_ns + tick_ns - self.tick_phase_ns) % tick_ns;
        let this_tick_ns = time_ns.saturating_sub(since_tick_ns);
        let now = this_tick_ns / tick_ns;
        let ticks = arm.soft_ns.saturating_sub(this_tick_ns).saturating_add(tick_ns / 2) / tick_ns;
        let later = (u64::from(arm.slack_ns) + tick_ns / 2) / tick_ns;
        let expires = now.saturating_add(ticks);
        let pinned = if arm.mode.0 & TimerMode::PINNED != 0 { "P" } else { "" };
        write!(
            out,
            "timer_start: timer=0x{address:016x} function={function} expires={expires} \
             [timeout={ticks}] bucket_expiry={} cpu={} idx=0 flags={pinned}",
            expires.saturating_add(later),
            event.cpu
        )
    }

    fn expire(&mut self, out: &mut dyn Write, event: &Event, begin: ExpireBegin) -> io::Result<()> {
        let def = self.tables.timer(begin.timer);
        let (address, function) = (address(def, begin.timer), self.function_of(def.function));
        if def.class == TimerClass::TimerList {
            let now = event.time_ns / self.tick_ns;
            return write!(
                out,
                "timer_expire_entry: timer=0x{address:016x} function={function} now={now} \
                 baseclk={now}"
            );
        }
        let now_ns = event.time_ns;
        write!(
            out,
            "hrtimer_expire_entry: hrtimer=0x{address:016x} function={function} now={now_ns}"
        )
    }
}

fn class(def: TimerDef) -> &'static str {
    match def.class {
        TimerClass::Hrtimer => "hrtimer",
        TimerClass::TimerList => "timer",
    }
}

/// Where the kernel keeps it; where that is not known, its number tells it from others.
fn address(def: TimerDef, id: TimerId) -> u64 {
    if def.address == 0 { id.0.into() } else { def.address }
}

fn letter(state: TaskState) -> char {
    state.letter()
}

fn lost(out: &mut dyn Write, event: &Event, loss: Loss) -> io::Result<()> {
    if loss.is_counted() {
        writeln!(out, "CPU:{} [LOST {} EVENTS]", event.cpu, loss.count)
    } else {
        writeln!(out, "CPU:{} [LOST EVENTS]", event.cpu)
    }
}

/// The vectors' numbers on x86 (`arch/x86/include/asm/irq_vectors.h`), in the order of their names.
const VECTORS: [u8; 11] = [236, 253, 252, 251, 246, 247, 250, 249, 244, 254, 255];

fn vector(out: &mut dyn Write, irq: Irq, what: &str) -> io::Result<()> {
    let Irq::Vector(vector) = irq else { return Ok(()) };
    let number = VECTORS.get(vector.0 as usize).copied().unwrap_or(0);
    write!(out, "{}_{what}: vector={number}", vector.name())
}

fn softirq_event(out: &mut dyn Write, what: &str, vector: u32) -> io::Result<()> {
    write!(out, "softirq_{what}: vec={vector} [action={}]", softirq::name(vector))
}

/// The arguments that have been kept, in their places.
fn syscall(out: &mut dyn Write, enter: SyscallEnter) -> io::Result<()> {
    let SyscallEnter { call, number, op, value, argument } = enter;
    let arguments = match call {
        Call::Futex => [argument, op.into(), value.into()],
        Call::ClockNanosleep => [0, op.into(), 0],
        Call::Nanosleep => [0; 3],
        _ => [argument, 0, 0],
    };
    let [a, b, c] = arguments;
    write!(out, "sys_enter: NR {number} ({a:x}, {b:x}, {c:x}, 0, 0, 0)")
}

/// A text without what would end its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
