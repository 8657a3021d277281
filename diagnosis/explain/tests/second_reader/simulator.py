"""A scheduler of a few CPUs that writes what it does as an ftrace text, and knows what is true of it.

It is made of the kernel's order of things, not of its policies: what is decided at random is who sleeps for
how long, who wakes whom, which queue is chosen, how long interrupts last. Times are nanoseconds.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, field
from typing import Callable, Optional

from machines import Options

IDLE_EXIT = 4294967295
IDLE_PRIO = 120
EXIT_NS = (1_000, 8_000, 60_000, 250_000)
"""What it costs to leave each idle state."""


@dataclass
class Truth:
    """One wakeup: as it was, on the trace's clocks."""

    pid: int
    start_ns: int
    end_ns: int
    cpu: int
    expiry_ns: Optional[int] = None
    """Of the timer that woke it, where the trace tells of timers."""


@dataclass
class Task:
    pid: int
    comm: str
    prio: int
    cpu: int
    left_ns: int = 0
    asleep_ns: Optional[int] = None
    """Since when it is off its CPU to sleep."""
    ready_ns: int = 0
    woken_ns: Optional[int] = None
    waits_for: str = ""
    timer: int = 0
    expiry_ns: Optional[int] = None
    is_brief: bool = False
    """It runs once and ends."""
    is_back: bool = False
    """Its sleep was taken back while it waited in a queue."""

    @property
    def is_realtime(self) -> bool:
        return self.prio < 100


@dataclass
class Core:
    number: int
    skew_ns: int
    now_ns: int = 0
    task: Optional[Task] = None
    queue: list[Task] = field(default_factory=list)
    state: Optional[int] = None
    began_ns: int = 0
    turn: int = 0


def _system(event: str) -> str:
    """The group of an event, which perf tells with its name."""
    for start, system in (("sched_", "sched"), ("hrtimer_", "timer"), ("irq_", "irq"), ("softirq_", "irq"),
                          ("cpu_", "power"), ("sys_", "raw_syscalls")):
        if event.startswith(start):
            return system
    return "irq_vectors"


class Simulator:
    """One run. `text()` is the trace, `truths` its wakeups."""

    def __init__(self, seed: int, options: Options) -> None:
        self.random = random.Random(seed)
        self.options = options
        self.truths: list[Truth] = []
        self.lines: list[tuple[int, str]] = []
        self.agenda: list[tuple[int, int, Callable[[int], None]]] = []
        self.count = 0
        self.start_ns = self.random.randrange(50, 5000) * 1_000_000_000
        self.cores = [Core(number, self._skew(), self.start_ns) for number in range(options.cpus)]
        self.tasks = [self._task(900 + at) for at in range(options.threads)]
        self._run()

    def text(self) -> str:
        head = ["# tracer: nop", "#", "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION"]
        return "\n".join([*head, *(line for _, line in sorted(self.lines, key=lambda one: one[0])), ""])

    # -- the machine

    def _skew(self) -> int:
        return self.random.randint(0, self.options.skew_ns)

    def _between(self, least_ns: int, most_ns: int) -> int:
        # As likely to be of any magnitude: most things are short, some are long.
        return round(least_ns * math.pow(most_ns / least_ns, self.random.random()))

    def _task(self, pid: int) -> Task:
        prio = self.random.choice([*[120] * 6, 110, 130, 89, 49, 19])
        comm = self.random.choice([f"worker {pid}", f"app:{pid}", f"a-{pid}", "same", f"k/{pid}:0"])
        return Task(pid, comm, prio, self.random.randrange(self.options.cpus), asleep_ns=self.start_ns,
                    waits_for=self.random.choice(["timer", "task", "irq", "softirq"]), timer=0xFFFF0000 + 64 * pid)

    def _run(self) -> None:
        for core in self.cores:
            self._at(self.start_ns, lambda now, core=core: self._enter_idle(core, now))  # type: ignore[misc]
        for task in self.tasks:
            delay_ns = self._between(10_000, 5_000_000)
            self._at(self.start_ns + delay_ns, lambda now, task=task: self._source(task, now))  # type: ignore[misc]
        end_ns = self.start_ns + self.options.span_ns
        while self.agenda and self.agenda[0][0] < end_ns:
            now, _, do = heapq.heappop(self.agenda)
            do(now)

    def _at(self, time_ns: int, do: Callable[[int], None]) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (time_ns, self.count, do))

    def _step(self, core: Core, least_ns: int = 300, most_ns: int = 3_000) -> int:
        """The CPU works a little; its next event is then."""
        core.now_ns += self._between(least_ns, most_ns)
        return core.now_ns

    def _tell(self, core: Core, event: str) -> None:
        stamp = core.now_ns + core.skew_ns
        name, pid = (core.task.comm, core.task.pid) if core.task else ("<idle>", 0)
        digits = f"{stamp % 1_000_000_000:09}"[: 9 if self.options.nanoseconds else 6]
        time = f"{stamp // 1_000_000_000}.{digits}: "
        cpu = f"[{core.number:03}]"
        if self.options.dialect == "perf":
            name = name if pid else "swapper"
            line = f"{name:>16} {pid:5} {cpu} {time} {_system(event)}:{event}"
        elif self.options.dialect == "report":
            line = f"{name:>16}-{pid:<5} {cpu} {time}{event.replace(': ', ':         ', 1)}"
        elif self.options.dialect == "tgid":
            line = f"{name:>16}-{pid:<7} ({pid if pid else '-----':>7}) {cpu} d..2. {time}{event}"
        else:
            line = f"{name:>16}-{pid:<7} {cpu} d..2. {time}{event}"
        self.lines.append((stamp, line))

    def _stamp(self, core: Core) -> int:
        stamp = core.now_ns + core.skew_ns
        return stamp if self.options.nanoseconds else stamp // 1000 * 1000

    # -- what wakes

    def _source(self, task: Task, now: int) -> None:
        """What the task waits for comes to pass: on its own CPU a timer, else on any."""
        if task.asleep_ns is None or task.asleep_ns > now or task.woken_ns is not None:
            return
        kind = task.waits_for
        core = self.cores[task.cpu] if kind == "timer" else self.random.choice(self.cores)
        if core.now_ns > now:
            self._at(core.now_ns, lambda later: self._source(task, later))
        elif kind == "task":
            self._wake_from_task(core, task, now)
        else:
            self._interrupt(core, now, kind, task)

    def _wake_from_task(self, core: Core, task: Task, now: int) -> None:
        if core.task is None:
            # Nobody runs here who could: later.
            self._at(now + self._between(20_000, 400_000), lambda later: self._source(task, later))
            return
        core.now_ns = now
        self._step(core)
        self._wake(core, task)
        self._decide(core)

    def _interrupt(self, core: Core, now: int, kind: str, task: Optional[Task]) -> None:
        core.now_ns = now
        self._leave_idle(core)
        began_ns = core.now_ns
        irq = self.random.randrange(30, 40)
        names = {"timer": ("local_timer_entry: vector=236", "local_timer_exit: vector=236")}
        entry, leave = names.get(kind, (f"irq_handler_entry: irq={irq} name=eth {irq}",
                                        f"irq_handler_exit: irq={irq} ret=handled"))
        self._step(core, 500, 40_000)
        if self.options.interrupts:
            self._tell(core, entry)
        self._step(core)
        if kind == "timer" and task and self.options.timers:
            self._tell(core, f"hrtimer_expire_entry: hrtimer=0x{task.timer:x} function=hrtimer_wakeup "
                             f"now={core.now_ns}")
            self._step(core)
        if task and kind != "softirq":
            self._wake(core, task)
        if kind == "timer" and task and self.options.timers:
            self._step(core)
            self._tell(core, f"hrtimer_expire_exit: hrtimer=0x{task.timer:x}")
        self._step(core, 300, 60_000)
        if self.options.interrupts:
            self._tell(core, leave)
        if kind == "softirq" and task:
            self._softirq(core, task)
        if core.task:
            # It ran for that much less.
            core.began_ns += core.now_ns - began_ns
        self._decide(core)

    def _softirq(self, core: Core, task: Task) -> None:
        self._step(core)
        if self.options.interrupts:
            self._tell(core, "softirq_entry: vec=3 [action=NET_RX]")
        self._step(core, 500, 200_000)
        if self.options.interrupts and self.random.random() < 0.3:
            self._tell(core, "irq_handler_entry: irq=28 name=gpio")
            self._step(core, 500, 50_000)
            self._tell(core, "irq_handler_exit: irq=28 ret=handled")
        self._wake(core, task)
        self._step(core, 500, 200_000)
        if self.options.interrupts:
            self._tell(core, "softirq_exit: vec=3 [action=NET_RX]")

    def _wake(self, core: Core, task: Task) -> None:
        """try_to_wake_up: the waking, a queue, the wakeup there."""
        if task.asleep_ns is None or task.asleep_ns > core.now_ns or task.woken_ns is not None:
            return
        task.woken_ns = self._stamp(core)
        words = f"comm={task.comm} pid={task.pid} prio={task.prio} target_cpu="
        if self.options.wakings:
            self._tell(core, f"sched_waking: {words}{task.cpu:03}")
        self._step(core)
        idle = [one for one in self.cores if one.task is None and not one.queue]
        if idle and self.random.random() < 0.4:
            self._move(core, task, self.random.choice(idle))
            self._step(core)
        target = self.cores[task.cpu]
        if target is core or target.task or self.random.random() < 0.5:
            self._enqueue(core, task, words)
            if target is not core:
                self._at(core.now_ns, lambda now: self._kicked(target, now))
        else:
            # The target is asked by an interrupt to put it into its own queue.
            self._at(core.now_ns, lambda now: self._kicked(target, now, task, words))

    def _wake_in_vain(self, core: Core, task: Task) -> None:
        """A waking that finds the task on its CPU or in its queue, and only takes its sleep back."""
        words = f"comm={task.comm} pid={task.pid} prio={task.prio} target_cpu={task.cpu:03}"
        if self.options.wakings:
            self._tell(core, f"sched_waking: {words}")
        self._step(core)
        if self.options.wakeups:
            self._tell(core, f"sched_wakeup: {words}")

    def _fork(self, core: Core) -> None:
        task = self._task(1000 + len(self.tasks))
        task.is_brief, task.asleep_ns, task.prio, task.cpu = True, None, 120, core.number
        self.tasks.append(task)
        self._step(core)
        task.woken_ns = self._stamp(core)
        self._tell(core, f"sched_wakeup_new: comm={task.comm} pid={task.pid} prio=120 target_cpu={task.cpu:03}")
        self._step(core)
        task.ready_ns = core.now_ns
        core.queue.append(task)

    def _enqueue(self, core: Core, task: Task, words: str) -> None:
        if not self.options.wakings:
            task.woken_ns = self._stamp(core)
        if self.options.wakeups:
            self._tell(core, f"sched_wakeup: {words}{task.cpu:03}")
        self._step(core)
        task.asleep_ns, task.ready_ns = None, core.now_ns
        self.cores[task.cpu].queue.append(task)

    def _kicked(self, core: Core, now: int, task: Optional[Task] = None, words: str = "") -> None:
        if core.now_ns > now:
            self._at(core.now_ns, lambda later: self._kicked(core, later, task, words))
            return
        core.now_ns, began_ns = now, now
        self._leave_idle(core)
        self._step(core)
        if self.options.interrupts:
            self._tell(core, "reschedule_entry: vector=253")
        self._step(core)
        if task:
            self._enqueue(core, task, words)
        if self.options.interrupts:
            self._tell(core, "reschedule_exit: vector=253")
        if core.task:
            core.began_ns += core.now_ns - began_ns
        self._decide(core)

    # -- who runs

    def _move(self, core: Core, task: Task, to: Core) -> None:
        if to.number == task.cpu:
            return
        if self.options.migrations:
            self._tell(core, f"sched_migrate_task: comm={task.comm} pid={task.pid} prio={task.prio} "
                             f"orig_cpu={task.cpu} dest_cpu={to.number}")
        task.cpu = to.number

    def _decide(self, core: Core) -> None:
        """At the end of an interrupt, or later where the task that runs cannot be preempted just now."""
        best = self._best(core)
        if core.task is None:
            self._switch(core, best)
        elif best and (best.prio < core.task.prio and (best.is_realtime or self.random.random() < 0.5)):
            delay_ns = self._between(500, 400_000) if self.random.random() < 0.3 else 0
            turn = core.turn
            self._at(core.now_ns + delay_ns, lambda now: self._preempt(core, turn, now))
        else:
            self._continue(core)

    def _preempt(self, core: Core, turn: int, now: int) -> None:
        if core.turn != turn:
            return
        if core.now_ns > now:
            self._at(core.now_ns, lambda later: self._preempt(core, turn, later))
            return
        core.now_ns = now
        best = self._best(core)
        if best and core.task:
            core.task.left_ns -= max(0, now - core.began_ns)
            if core.task.left_ns > 0:
                self._switch(core, best)
                return
        self._continue(core)

    def _best(self, core: Core) -> Optional[Task]:
        ready = [task for task in core.queue if task.ready_ns <= core.now_ns]
        if not ready:
            late = [task.ready_ns for task in core.queue]
            if late:
                self._at(min(late), lambda now: self._kicked(core, now))
        return min(ready, key=lambda task: task.prio, default=None)

    def _continue(self, core: Core) -> None:
        """What runs goes on to its end, or to the end of its slice."""
        task = core.task
        if task is None:
            return
        core.turn += 1
        turn = core.turn
        slice_ns = 3_000_000 if core.queue and not task.is_realtime else task.left_ns
        until_ns = max(core.now_ns, core.began_ns + min(task.left_ns, slice_ns))
        self._at(until_ns, lambda now: self._finish(core, turn, now))

    def _finish(self, core: Core, turn: int, now: int) -> None:
        if core.turn != turn or core.task is None:
            return
        if core.now_ns > now:
            self._at(core.now_ns, lambda later: self._finish(core, turn, later))
            return
        core.now_ns = now
        task = core.task
        task.left_ns -= max(0, now - core.began_ns)
        core.began_ns = now
        best = self._best(core)
        if task.left_ns > 0:
            if best:
                self._switch(core, best)
            else:
                self._continue(core)
            return
        self._sleep(core, task)

    def _sleep(self, core: Core, task: Task) -> None:
        if self.random.random() < 0.03:
            self._fork(core)
        if task.is_brief:
            self._switch(core, self._best(core), state="X")
            return
        if self.random.random() < 0.08:
            self._not_sleep(core, task)
            return
        task.waits_for = self.random.choice(["timer", "timer", "task", "irq", "softirq"])
        delay_ns = self._between(20_000, 8_000_000)
        calls = {"timer": "NR 230 (1, 1, 7ffd0, 0, 0, 0)", "task": "NR 202 (7f00, 80, 0, 0, 0, 0)"}
        self._syscall(core, "sys_enter", calls.get(task.waits_for, "NR 0 (5, 7f00, 1000, 0, 0, 0)"))
        expiry_ns = core.now_ns + delay_ns
        if task.waits_for == "timer" and self.options.timers:
            task.expiry_ns = expiry_ns
            self._tell(core, f"hrtimer_start: hrtimer=0x{task.timer:x} function=hrtimer_wakeup "
                             f"expires={expiry_ns} softexpires={expiry_ns} mode=ABS")
            self._step(core)
        wakers = [one for one in self.cores if one.task and one is not core and one.now_ns <= core.now_ns]
        if task.waits_for != "timer" and wakers and self.random.random() < 0.1:
            self._race(core, task, self.random.choice(wakers))
            return
        self._switch(core, self._best(core), state="S")
        self._at(max(expiry_ns, core.now_ns), lambda now: self._source(task, now))

    def _not_sleep(self, core: Core, task: Task) -> None:
        """It is on its way to sleep when it is woken: it was never off its queue, and needs no wakeup."""
        self._syscall(core, "sys_enter", "NR 0 (5, 7f00, 1000, 0, 0, 0)")
        wakers = [one for one in self.cores if one is not core and one.now_ns <= core.now_ns]
        best = self._best(core)
        task.left_ns = self._between(5_000, 2_000_000)
        if best and wakers:
            task.is_back = True
            self._switch(core, best, on_its_way=True)
            waker = self.random.choice(wakers)
            waker.now_ns = core.now_ns
            self._step(waker)
            self._wake_in_vain(waker, task)
            return
        if self.options.interrupts:
            self._tell(core, "irq_handler_entry: irq=28 name=gpio")
        self._step(core)
        self._wake_in_vain(core, task)
        self._step(core)
        if self.options.interrupts:
            self._tell(core, "irq_handler_exit: irq=28 ret=handled")
        self._step(core)
        self._syscall(core, "sys_exit", "NR 0 = 4096")
        core.began_ns = core.now_ns
        self._continue(core)

    def _race(self, core: Core, task: Task, waker: Core) -> None:
        """The waker is quicker than the switch: it tells of the waking, then waits for it."""
        waker.now_ns = core.now_ns
        task.woken_ns = self._stamp(waker)
        words = f"comm={task.comm} pid={task.pid} prio={task.prio} target_cpu="
        if self.options.wakings:
            self._tell(waker, f"sched_waking: {words}{task.cpu:03}")
        woken_ns, task.woken_ns = task.woken_ns, None
        self._step(core)
        self._switch(core, self._best(core), state="S")
        waker.now_ns = core.now_ns
        task.woken_ns = woken_ns
        self._step(waker)
        self._enqueue(waker, task, words)
        self._at(waker.now_ns, lambda now: self._kicked(self.cores[task.cpu], now))

    def _syscall(self, core: Core, event: str, words: str) -> None:
        # The same steps with and without, so that the same seed tells the same story.
        if self.options.syscalls:
            self._tell(core, f"{event}: {words}")
        self._step(core)

    def _switch(self, core: Core, to: Optional[Task], state: str = "", on_its_way: bool = False) -> None:
        """`on_its_way` to sleep it can only be preempted: who calls the scheduler then sleeps."""
        if to is None:
            to = self._pull(core)
        if to is None and core.task is None:
            self._enter_idle(core, core.now_ns)
            return
        if to:
            core.queue.remove(to)
        leaving = core.task
        if leaving is None:
            prev = f"prev_comm=swapper/{core.number} prev_pid=0 prev_prio={IDLE_PRIO} prev_state=R"
        else:
            prev = (f"prev_comm={leaving.comm} prev_pid={leaving.pid} prev_prio={leaving.prio} "
                    f"prev_state={state or self.random.choice(['R+' if on_its_way else 'R', 'R+'])}")
        after = (f"next_comm={to.comm} next_pid={to.pid} next_prio={to.prio}" if to else
                 f"next_comm=swapper/{core.number} next_pid=0 next_prio={IDLE_PRIO}")
        self._tell(core, f"sched_switch: {prev} ==> {after}")
        stamp = self._stamp(core)
        if leaving and state:
            leaving.asleep_ns = core.now_ns
        elif leaving:
            leaving.ready_ns = core.now_ns
            core.queue.append(leaving)
        core.task, core.turn = to, core.turn + 1
        self._step(core)
        if to is None:
            self._enter_idle(core, core.now_ns)
            return
        if to.woken_ns is not None:
            self.truths.append(Truth(to.pid, to.woken_ns, stamp, core.number, to.expiry_ns))
            to.expiry_ns = None
            self._syscall(core, "sys_exit", "NR 230 = 0" if to.waits_for == "timer" else "NR 202 = 0")
            to.woken_ns = None
        elif to.is_back:
            self._syscall(core, "sys_exit", "NR 0 = 4096")
        to.is_back = False
        if to.left_ns <= 0:
            to.left_ns = self._between(5_000, 6_000_000)
        core.began_ns = core.now_ns
        self._continue(core)

    def _pull(self, core: Core) -> Optional[Task]:
        """An idle CPU takes what waits elsewhere."""
        for other in self.cores:
            for task in other.queue:
                if other is not core and task.ready_ns <= core.now_ns and self.random.random() < 0.3:
                    self._move(core, task, core)
                    self._step(core)
                    other.queue.remove(task)
                    core.queue.append(task)
                    return task
        return None

    def _enter_idle(self, core: Core, now: int) -> None:
        core.now_ns = max(core.now_ns, now)
        self._step(core)
        core.state = self.random.randrange(len(EXIT_NS))
        self._tell(core, f"cpu_idle: state={core.state} cpu_id={core.number}")

    def _leave_idle(self, core: Core) -> None:
        if core.state is None:
            return
        core.now_ns += self._between(300, EXIT_NS[core.state])
        core.state = None
        self._tell(core, f"cpu_idle: state={IDLE_EXIT} cpu_id={core.number}")
        self._step(core)
