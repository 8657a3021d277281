"""Who ran when on which CPU, who was queued where, and every wakeup: from the kernel's own rules.

The rules, from kernel/sched/core.c:

- `sched_waking` is told by the waker, on the waker's CPU, before it chooses a queue. Its target is where
  the thread ran last.
- The choice of another CPU, then or later, is told by `sched_migrate_task`, where that is recorded.
- `sched_wakeup` is told once the thread is in a queue: its target is that queue's CPU. It is told by the
  waker, or by an interrupt on the target.
- A waking that finds the thread still on its CPU, or preempted on its way to sleep, only takes the sleep
  back: nothing was late by it, although both events are told.
- A waker tells of the waking before it waits for the thread to be off its CPU: a waking may stand before
  the switch by which its thread went to sleep.
- `sched_switch` is told by the CPU that switches. Who leaves it runnable stays in its queue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Optional

import events
from lines import LOST, UNKNOWN_PID, Line
from timelines import Cpu

# Clocks of CPUs differ by less, or a trace says nothing of what happened between CPUs.
SKEW_NS_MAX = 100_000

# A waker, which keeps interrupts off, has chosen a queue within this time. What moves the thread later, where
# no sched_wakeup tells that it was queued meanwhile, is taken for a balance.
CHOICE_NS_MAX = 50_000

# A thread that is woken on its way to sleep is there within this time.
EARLY_NS_MAX = 200_000

# Threads in which softirqs run as part of the thread: it is the scheduler that lets them run.
_SOFTIRQ_THREADS = ("ksoftirqd/", "ktimers/", "ktimersoftd/", "irq/")


class State(Enum):
    UNKNOWN = 0
    BLOCKED = 1
    WAKING = 2
    QUEUED = 3
    RUNNING = 4


@dataclass
class Wait:
    """A thread that could run and did not yet: after a wakeup, or after it was preempted."""

    pid: int
    line: int
    start_ns: int
    told_on: int
    """The CPU on which the waking was told: the waker's, or that of the timer's interrupt."""
    is_new: bool = False
    is_preempted: bool = False
    has_called: bool = False
    """It called the scheduler and was not preempted, where a trace tells the two apart."""
    comm: str = ""
    queues: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """From when in which CPU's queue; several CPUs where nothing tells which of them."""
    fired: Optional[tuple[int, int]] = None
    """When its timer's callback began, and on which CPU, where nothing tells of the waking itself."""
    slept_ns: Optional[int] = None
    """When it left its CPU, where that was after the waking, and that CPU."""
    slept_on: int = -1
    is_optional: bool = False
    """The events allow to take it for a wakeup, or for none."""
    is_inverted: bool = False
    """The clocks of two CPUs differ by more than it took: it ends before it begins."""
    end_ns: int = 0
    end_line: int = 0
    cpu: int = -1
    end_comm: str = ""

    @property
    def lateness_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass
class Thread:
    state: State = State.UNKNOWN
    cpu: int = -1
    wait: Optional[Wait] = None
    early: Optional[Wait] = None
    """A waking that was told while the thread was still on its CPU."""
    unwoken_line: Optional[Line] = None
    """The switch to it that no waking came before."""
    softirqs: int = 0


@dataclass
class _Core:
    timeline: Cpu = field(default_factory=Cpu)
    pid: int = UNKNOWN_PID
    comm: str = ""
    seen_ns: int = 0
    prev: int = UNKNOWN_PID
    other_line: int = -1
    """The last event that cannot stand within a waking."""
    hard: int = 0
    interrupted_ns: Optional[int] = None
    idle: Thread = field(default_factory=Thread)
    """Every CPU has an idle task of its own, and all are number 0."""


@dataclass
class Reading:
    """All that a trace tells of scheduling."""

    cpus: dict[int, Cpu]
    waits: list[Wait]
    """Completed ones, wakeups and preemptions, in order of their ends."""
    names: dict[int, set[str]]
    events: int
    kinds: dict[str, int]
    has_losses: bool


class Reader:
    """Reads events in order of time."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.kinds: dict[str, int] = {}
        for line in lines:
            self.kinds[line.event] = self.kinds.get(line.event, 0) + 1
        self.tells_migrations = "sched_migrate_task" in self.kinds
        self.tells_waking = "sched_waking" in self.kinds
        self.tells_wakeup = "sched_wakeup" in self.kinds
        switches = (events.switch(line.rest) for line in lines if line.event == "sched_switch")
        self.tells_preempted = any(switch and switch.is_preempted for switch in switches)
        self.cores: dict[int, _Core] = {}
        self.threads: dict[int, Thread] = {}
        self.names: dict[int, set[str]] = {}
        self.waits: list[Wait] = []
        self.sleepers: dict[str, int] = {}
        """By the address of a sleep's timer, which thread armed it last."""
        self.fired: dict[int, tuple[int, int]] = {}

    def read(self) -> Reading:
        for line in self.lines:
            self._line(line)
        for core in self.cores.values():
            # A CPU that tells nothing more does not switch: what it runs is known to the end of all.
            core.timeline.current.set(self.lines[-1].time_ns, UNKNOWN_PID)
        losses = self.kinds.pop(LOST, 0)
        return Reading(
            {number: core.timeline for number, core in self.cores.items()}, self.waits, self.names,
            len(self.lines) - losses, self.kinds, losses > 0,
        )

    def _line(self, line: Line) -> None:
        core = self.cores.setdefault(line.cpu, _Core())
        if line.event == LOST:
            self._lost(core)
            return
        core.timeline.tell_lag(line.time_ns)
        if core.pid == UNKNOWN_PID and line.pid != UNKNOWN_PID:
            self._came_to_know(core, line)
        elif line.pid != core.pid and line.pid == core.prev and line.event != "sched_switch":
            # Interrupts that come while the CPU is between two tasks, which old ones allow, find the old one.
            core.timeline.lag(line.pid, core.seen_ns, line.time_ns)
        if line.event == "sched_switch":
            switch = events.switch(line.rest)
            if switch:
                self._switch(line, core, switch)
        elif line.event in events.WAKES:
            wake = events.wake(line.rest)
            if wake and wake.pid:
                self._name(wake.pid, wake.comm)
                if line.event == "sched_waking":
                    self._waking(line, wake)
                else:
                    self._wakeup(line, wake, is_new=line.event == "sched_wakeup_new")
        elif line.event == "sched_migrate_task":
            move = events.migrate(line.rest)
            if move:
                self._migrate(line, move.pid, move.queue)
        elif line.event in events.SLEEPERS:
            self._sleeper(line)
        elif line.event in events.HARD_ENTRIES:
            core.hard += 1
            self._interrupts(core, line.time_ns)
        elif line.event in events.HARD_EXITS:
            core.hard = max(0, core.hard - 1)
            self._interrupts(core, line.time_ns)
        elif line.event == "softirq_entry":
            self._current_thread(core).softirqs += 1
            self._interrupts(core, line.time_ns)
        elif line.event == "softirq_exit":
            thread = self._current_thread(core)
            thread.softirqs = max(0, thread.softirqs - 1)
            self._interrupts(core, line.time_ns)
        if not line.event.startswith("sched_") or line.event == "sched_switch":
            core.other_line = line.number
        core.seen_ns = max(core.seen_ns, line.time_ns)

    # -- CPUs

    def _came_to_know(self, core: _Core, line: Line) -> None:
        """The head of any event names the current thread."""
        self._current(core, line.time_ns, line.pid, line.comm)
        thread = self._thread(line.pid)
        if line.pid and thread.state is State.UNKNOWN:
            thread.state, thread.cpu = State.RUNNING, line.cpu

    def _current(self, core: _Core, time_ns: int, pid: int, comm: str) -> None:
        core.prev, core.pid, core.comm = core.pid, pid, comm
        core.timeline.current.set(time_ns, pid)

    def _interrupts(self, core: _Core, time_ns: int) -> None:
        """Ends or begins a stretch of interrupts, after the counts have changed."""
        softirqs = self._current_thread(core).softirqs
        if softirqs and core.comm.startswith(_SOFTIRQ_THREADS):
            softirqs = 0
        is_interrupted = core.hard > 0 or softirqs > 0
        if is_interrupted and core.interrupted_ns is None:
            core.interrupted_ns = time_ns
        elif not is_interrupted and core.interrupted_ns is not None:
            core.timeline.interrupted.add(core.interrupted_ns, time_ns)
            core.interrupted_ns = None

    def _lost(self, core: _Core) -> None:
        """Events of this CPU are missing: what any thread did meanwhile is not known."""
        core.timeline.current.set(core.seen_ns, UNKNOWN_PID)
        core.pid = core.prev = UNKNOWN_PID
        core.hard, core.interrupted_ns = 0, None
        for thread in self.threads.values():
            thread.early = None
            thread.softirqs = 0
            if thread.wait:
                thread.wait.is_optional = True
            if thread.state is State.RUNNING and self.cores.get(thread.cpu) is not core:
                continue
            if thread.state is not State.WAKING and thread.state is not State.QUEUED:
                thread.state = State.UNKNOWN

    def _switch(self, line: Line, core: _Core, switch: events.Switch) -> None:
        self._name(switch.next, switch.next_comm)
        if switch.prev != UNKNOWN_PID:
            self._name(switch.prev, switch.prev_comm)
        if core.pid != switch.prev:
            # Switches are missing since the CPU's last event. Who ran there is not known.
            core.timeline.current.set(core.seen_ns, UNKNOWN_PID)
            if core.pid:
                self._thread(core.pid).state = State.UNKNOWN
        # No switch happens in a hard interrupt: an exit was not told. A softirq stays its thread's.
        core.hard = 0
        leaving = self._thread(switch.prev)
        if switch.prev > 0:
            self._leave(line, leaving, switch)
        self._current(core, line.time_ns, switch.next, switch.next_comm)
        self._interrupts(core, line.time_ns)
        if switch.next:
            self._arrive(line, self._thread(switch.next), switch)

    # -- threads

    def _thread(self, pid: int) -> Thread:
        return self.threads.setdefault(pid, Thread())

    def _current_thread(self, core: _Core) -> Thread:
        return self._thread(core.pid) if core.pid else core.idle

    def _name(self, pid: int, comm: str) -> None:
        self.names.setdefault(pid, set()).add(comm)

    def _leave(self, line: Line, thread: Thread, switch: events.Switch) -> None:
        # A wait that is still open here ended unseen.
        thread.wait = None
        if switch.is_dead:
            thread.state, thread.early = State.UNKNOWN, None
        elif switch.is_runnable and not self._sleeps_woken(line, thread, switch):
            thread.state, thread.early = State.QUEUED, None
            thread.wait = Wait(switch.prev, line.number, line.time_ns, line.cpu, is_preempted=True,
                               has_called=self.tells_preempted and not switch.is_preempted,
                               comm=switch.prev_comm, queues=[(line.time_ns, (line.cpu,))])
        else:
            thread.state = State.BLOCKED
            if thread.early:
                thread.early.slept_ns, thread.early.slept_on = line.time_ns, line.cpu

    def _sleeps_woken(self, line: Line, thread: Thread, switch: events.Switch) -> bool:
        """Whether it goes to sleep while another CPU wakes it: kernels from 5.8 to 5.17 then show the state that
        the waker has written, TASK_WAKING, which has no letter of its own."""
        early = thread.early
        if early is None or switch.is_preempted or len(early.queues) > 1:
            return False
        is_sure = switch.next == 0 or self.tells_wakeup
        return is_sure and line.time_ns - early.start_ns <= EARLY_NS_MAX

    def _arrive(self, line: Line, thread: Thread, switch: events.Switch) -> None:
        wait = thread.wait
        if wait is None and thread.early:
            # The waking stands before the switch to sleep and no other followed, or that switch was not seen.
            wait = thread.early
            wait.is_optional = True
        if wait is not None:
            self._complete(wait, line, switch)
        thread.unwoken_line = line if wait is None and thread.state is State.BLOCKED else None
        thread.state, thread.cpu = State.RUNNING, line.cpu
        thread.wait = thread.early = None

    def _complete(self, wait: Wait, line: Line, switch: events.Switch) -> None:
        wait.end_ns, wait.end_line, wait.cpu = line.time_ns, line.number, line.cpu
        wait.end_comm = switch.next_comm
        since_ns, queue = wait.queues[-1]
        if line.cpu not in queue:
            # It was moved, and nothing tells when.
            wait.queues[-1] = (since_ns, (*queue, line.cpu))
        self.waits.append(wait)

    def _waking(self, line: Line, wake: events.Wake) -> None:
        thread = self._thread(wake.pid)
        wait = Wait(wake.pid, line.number, line.time_ns, line.cpu, comm=wake.comm,
                    queues=[(line.time_ns, wake.queue)])
        if thread.state is State.RUNNING:
            if self._is_inverted(thread, line):
                self._complete_inverted(thread, wait)
            elif thread.cpu != line.cpu:
                thread.early = wait
        elif (thread.state is State.QUEUED and thread.wait and thread.wait.is_preempted
              and not thread.wait.has_called):
            pass  # preempted on its way to sleep: it need not sleep, and waits as before
        else:
            # Where one is open already, its run was not seen; or it had slept, which nobody who can run is woken from.
            wait.is_optional = thread.wait is not None and not thread.wait.has_called
            thread.state, thread.wait, thread.early = State.WAKING, wait, None

    def _wakeup(self, line: Line, wake: events.Wake, is_new: bool) -> None:
        thread = self._thread(wake.pid)
        if thread.state is State.WAKING and thread.wait:
            # The waker was choosing until now; what it chose it was heading for all along.
            start_ns = thread.wait.queues[0][0]
            thread.wait.queues = [(start_ns, wake.queue)]
            thread.state = State.QUEUED
        elif thread.state is State.RUNNING:
            if thread.early:
                thread.early.queues.append((line.time_ns, wake.queue))
            elif not self.tells_waking and self._is_inverted(thread, line):
                self._complete_inverted(thread, Wait(wake.pid, line.number, line.time_ns, line.cpu))
        elif thread.state is not State.QUEUED:
            # A waking that has its wakeup already was taken back.
            early = thread.early if thread.early and len(thread.early.queues) == 1 else None
            wait = early or Wait(wake.pid, line.number, line.time_ns, line.cpu)
            wait.comm, wait.is_new = wake.comm, is_new
            wait.queues = [(wait.start_ns, wake.queue)]
            if not self.tells_waking:
                wait.fired = self.fired.pop(wake.pid, None)
            # A wakeup without its waking: events are missing.
            wait.is_optional = self.tells_waking and early is None and not is_new
            thread.state, thread.wait, thread.early = State.QUEUED, wait, None

    def _sleeper(self, line: Line) -> None:
        """A sleep's timer is armed by its thread, and fires."""
        timer = events.sleeper(line.rest)
        if timer and line.event == "hrtimer_start":
            self.sleepers[timer] = line.pid
            self.fired.pop(line.pid, None)
        elif timer and timer in self.sleepers:
            self.fired[self.sleepers[timer]] = line.time_ns, line.cpu

    def _is_inverted(self, thread: Thread, line: Line) -> bool:
        """Whether this is what woke the thread that runs already, by a clock that is behind."""
        unwoken = thread.unwoken_line
        return (unwoken is not None and unwoken.cpu != line.cpu
                and line.time_ns - unwoken.time_ns < SKEW_NS_MAX)

    def _complete_inverted(self, thread: Thread, wait: Wait) -> None:
        unwoken, thread.unwoken_line = thread.unwoken_line, None
        assert unwoken is not None
        wait.is_optional = wait.is_inverted = True
        wait.queues = [(unwoken.time_ns, (unwoken.cpu,))]
        wait.end_ns, wait.end_line, wait.cpu = unwoken.time_ns, unwoken.number, unwoken.cpu
        self.waits.append(wait)

    def _migrate(self, line: Line, pid: int, queue: tuple[int, ...]) -> None:
        thread = self._thread(pid)
        wait = thread.wait
        if wait is None:
            return
        core = self.cores[line.cpu]
        is_choice = (thread.state is State.WAKING and len(wait.queues) == 1 and line.cpu == wait.told_on
                     and core.other_line < wait.line and line.time_ns - wait.start_ns < CHOICE_NS_MAX)
        if is_choice:
            # The waker is still at it: this is its choice, not a balance.
            wait.queues = [(wait.queues[0][0], queue)]
        else:
            wait.queues.append((line.time_ns, queue))


def read(lines: list[Line]) -> Reading:
    """What the events tell, which must be in order of time."""
    return Reader(lines).read()
