"""What the fields of the scheduler's and the interrupts' events say, in every spelling there is."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

_SWITCH = re.compile(
    r"prev_comm=(?P<prev_comm>.*) prev_pid=(?P<prev>-?\d+) prev_prio=-?\d+ prev_state=(?P<state>\S+)"
    r"(?: ==>)? next_comm=(?P<next_comm>.*) next_pid=(?P<next>\d+) next_prio=-?\d+.*"
)
# trace-cmd's own words: "sudo:6972 [120] S ==> swapper/1:0 [120]".
_SWITCH_SHORT = re.compile(
    r"(?P<prev_comm>.*):(?P<prev>\d+) \[-?\d+\] (?P<state>\S+) ==> "
    r"(?P<next_comm>.*):(?P<next>\d+) \[-?\d+\].*"
)
_WAKE = re.compile(
    r"(?:comm=)?(?P<comm>.*?)(?: pid=|:)(?P<pid>\d+) (?:prio=-?\d+|\[-?\d+\])"
    r"(?: success=(?P<success>\d+))?(?: (?:target_cpu=|CPU:)(?P<cpu>\d+))?.*"
)
_MIGRATE = re.compile(
    r"comm=(?P<comm>.*) pid=(?P<pid>\d+) prio=-?\d+ orig_cpu=\d+ dest_cpu=(?P<cpu>\d+).*"
)
_IDLE = re.compile(r"state=(?P<state>\d+) cpu_id=(?P<cpu>\d+).*")

_SLEEPER = re.compile(r"hrtimer=(?P<timer>\S+) .*function=hrtimer_wakeup\b.*")

WAKES = ("sched_waking", "sched_wakeup", "sched_wakeup_new")
SLEEPERS = ("hrtimer_start", "hrtimer_expire_entry")

# Events in pairs that bracket an interrupt, and what they end with. arch/x86/include/asm/trace/irq_vectors.h,
# include/trace/events/irq.h, include/trace/events/ipi.h
_VECTORS = (
    "local_timer", "spurious_apic", "error_apic", "x86_platform_ipi", "irq_work", "reschedule",
    "call_function", "call_function_single", "threshold_apic", "deferred_error_apic", "thermal_apic",
)
HARD_ENTRIES = frozenset(["irq_handler_entry", "ipi_entry", *(f"{name}_entry" for name in _VECTORS)])
HARD_EXITS = frozenset(["irq_handler_exit", "ipi_exit", *(f"{name}_exit" for name in _VECTORS)])

IDLE_EXIT = 4294967295
"""The state with which `cpu_idle` tells that the CPU is out of idle."""


class Switch(NamedTuple):
    prev: int
    prev_comm: str
    is_runnable: bool
    is_preempted: bool
    """It is runnable, and had not called the scheduler."""
    is_dead: bool
    next: int
    next_comm: str


class Wake(NamedTuple):
    pid: int
    comm: str
    queue: tuple[int, ...]
    """The CPU that it is to run on; empty where that is not told."""


def switch(rest: str) -> Optional[Switch]:
    found = _SWITCH.fullmatch(rest) or _SWITCH_SHORT.fullmatch(rest)
    if not found:
        return None
    state = found["state"]
    return Switch(int(found["prev"]), found["prev_comm"], _is_runnable(state), _is_preempted(state),
                  _is_dead(state), int(found["next"]), found["next_comm"])


def wake(rest: str) -> Optional[Wake]:
    """Of `sched_waking`, `sched_wakeup` and `sched_wakeup_new`; `None` where nothing was woken."""
    found = _WAKE.fullmatch(rest)
    # Kernels before 2.6.39 also told of wakeups that found the task running: success=0.
    if not found or found["success"] == "0":
        return None
    return Wake(int(found["pid"]), found["comm"], (int(found["cpu"]),) if found["cpu"] else ())


def migrate(rest: str) -> Optional[Wake]:
    found = _MIGRATE.fullmatch(rest)
    return Wake(int(found["pid"]), found["comm"], (int(found["cpu"]),)) if found else None


def sleeper(rest: str) -> Optional[str]:
    """The address of the timer, where it is one on which a thread sleeps."""
    found = _SLEEPER.fullmatch(rest)
    return found["timer"] if found else None


def idle(rest: str) -> Optional[tuple[int, int]]:
    """CPU and state."""
    found = _IDLE.fullmatch(rest)
    return (int(found["cpu"]), int(found["state"])) if found else None


def _is_runnable(state: str) -> bool:
    # As a number, the low byte holds what a task waits in. Being preempted is told by a single bit above
    # it, which has moved with the kernels: 256, 1024, 2048, 4096.
    if state.isdigit():
        return int(state) & 0xFF == 0
    return state.startswith("R")


def _is_preempted(state: str) -> bool:
    if state.isdigit():
        return _is_runnable(state) and int(state) > 0xFF
    return state.startswith("R+")


def _is_dead(state: str) -> bool:
    # 16 and 32 are EXIT_DEAD and EXIT_ZOMBIE (they changed places in 4.1), 64 was TASK_DEAD before it
    # became TASK_PARKED in 4.14; a parked task is woken like any other, so it is not taken for dead.
    if state.isdigit():
        return int(state) & 0x30 != 0
    return state[0] in "XZx"
