"""The second reader itself: small traces whose truth can be seen, and a simulator that knows its own."""

from __future__ import annotations

import pytest

import lines
import scheduler
from machines import MACHINES, Options
from simulator import Simulator

SEEDS = range(12)
SKEW_NS = 6_000


def read(text: str) -> scheduler.Reading:
    return scheduler.read(lines.in_order(lines.parse(text.split("\n"))))


def trace(*events: str) -> str:
    """Each event as `CPU PID TIME-IN-MICROSECONDS EVENT`."""
    told = []
    for event in events:
        cpu, pid, time, rest = event.split(" ", 3)
        told.append(f"  t{pid}-{pid} [{int(cpu):03}] d..2. 1.{int(time):06}: {rest}")
    return "\n".join(told)


def switch(cpu: int, time: int, prev: str, to: int) -> str:
    """`prev` is the number and the state of who leaves."""
    pid, state = prev.split()
    return (f"{cpu} {pid} {time} sched_switch: prev_comm=t{pid} prev_pid={pid} prev_prio=120 "
            f"prev_state={state} ==> next_comm=t{to} next_pid={to} next_prio=120")


def wake(kind: str, cpu: int, pid: int, time: int, woken: int, target: int) -> str:
    return f"{cpu} {pid} {time} sched_{kind}: comm=t{woken} pid={woken} prio=120 target_cpu={target:03}"


def migrate(cpu: int, pid: int, time: int, moved: int, origin: int, to: int) -> str:
    return (f"{cpu} {pid} {time} sched_migrate_task: comm=t{moved} pid={moved} prio=120 "
            f"orig_cpu={origin} dest_cpu={to}")


def waits(text: str) -> list[tuple[int, int, int, int]]:
    """Thread, from when to when in microseconds of the second, and where it ran, of all wakeups."""
    return [(wait.pid, wait.start_ns // 1000 - 1_000_000, wait.end_ns // 1000 - 1_000_000, wait.cpu)
            for wait in read(text).waits if not wait.is_preempted]


def queues(text: str) -> list[tuple[int, tuple[int, ...]]]:
    """From when in which queues, of the last wait."""
    return [(since // 1000 - 1_000_000, cpus) for since, cpus in read(text).waits[-1].queues]


def test_a_wakeup_is_from_waking_to_the_switch() -> None:
    text = trace(wake("waking", 0, 7, 10, 9, 1), wake("wakeup", 0, 7, 12, 9, 1), switch(1, 30, "0 R", 9))
    assert waits(text) == [(9, 10, 30, 1)]
    assert queues(text) == [(10, (1,))]


def test_what_chose_another_queue_is_the_wakeup() -> None:
    text = trace(wake("waking", 0, 7, 10, 9, 1), wake("wakeup", 0, 7, 12, 9, 2), switch(2, 30, "0 R", 9))
    assert queues(text) == [(10, (2,))]


def test_a_migration_is_a_step() -> None:
    text = trace(wake("waking", 0, 7, 10, 9, 1), migrate(0, 7, 11, 9, 1, 2), migrate(3, 0, 20, 9, 2, 3),
                 switch(3, 30, "0 R", 9))
    assert queues(text) == [(10, (2,)), (20, (3,))]


def test_a_migration_that_is_not_told_leaves_two_queues() -> None:
    text = trace(wake("waking", 0, 7, 10, 9, 1), switch(2, 30, "0 R", 9))
    assert queues(text) == [(10, (1, 2))]


def test_a_running_thread_is_not_woken() -> None:
    text = trace(switch(1, 5, "0 R", 9), wake("waking", 1, 9, 10, 9, 1), wake("wakeup", 1, 9, 11, 9, 1),
                 switch(1, 20, "9 S", 0), switch(1, 30, "0 R", 9))
    assert waits(text) == []


def test_a_thread_that_is_shown_runnable_and_is_woken_has_slept() -> None:
    shown = [switch(1, 5, "9 R", 0), wake("waking", 0, 7, 20, 9, 1), switch(1, 30, "0 R", 9)]
    assert waits(trace(*shown)) == [], "nothing tells who was preempted"
    assert waits(trace(switch(2, 1, "6 R+", 0), *shown)) == [(9, 20, 30, 1)]


def test_a_thread_that_is_shown_runnable_may_have_been_woken_on_its_way_to_sleep() -> None:
    def shown(to: int) -> list[str]:
        return [switch(1, 1, "0 R", 9), wake("waking", 0, 7, 10, 9, 1), switch(1, 20, "9 R", to)]

    after = switch(1, 40, "8 S", 9)
    assert waits(trace(*shown(0), switch(1, 40, "0 R", 9))) == [(9, 10, 40, 1)], "to idle: it sleeps"
    assert waits(trace(*shown(8), after)) == []
    assert waits(trace(*shown(8), wake("wakeup", 1, 8, 25, 9, 1), after)) == [(9, 10, 40, 1)]
    taken_back = [*shown(8)[:2], wake("wakeup", 0, 7, 12, 9, 1), shown(8)[2], after]
    assert waits(trace(*taken_back)) == [], "it has lost the CPU"


def test_a_preempted_thread_is_not_woken_but_waits() -> None:
    text = trace(switch(1, 5, "9 R+", 8), wake("waking", 0, 7, 10, 9, 1), wake("wakeup", 0, 7, 11, 9, 1),
                 switch(1, 20, "8 S", 9))
    assert waits(text) == []
    (wait,) = read(text).waits
    assert (wait.is_preempted, wait.lateness_ns, wait.queues[0][1]) == (True, 15_000, (1,))


def test_a_waker_may_be_quicker_than_the_switch() -> None:
    text = trace(switch(1, 5, "0 R", 9), wake("waking", 0, 7, 10, 9, 1), switch(1, 12, "9 S", 0),
                 wake("wakeup", 0, 7, 14, 9, 1), switch(1, 30, "0 R", 9))
    assert waits(text) == [(9, 10, 30, 1)]
    (wait,) = read(text).waits
    assert (wait.slept_ns, wait.slept_on, wait.is_optional) == (1_000_012_000, 1, False)


def test_a_clock_behind_makes_a_wakeup_optional() -> None:
    text = trace(switch(1, 5, "9 S", 0), switch(1, 29, "0 R", 9), wake("waking", 0, 7, 31, 9, 1))
    (wait,) = read(text).waits
    assert (wait.is_inverted, wait.is_optional, wait.end_ns) == (True, True, 1_000_029_000)


def test_a_new_thread_waits_from_its_fork() -> None:
    text = trace(wake("wakeup_new", 0, 7, 10, 9, 0), switch(0, 15, "7 R", 9))
    assert waits(text) == [(9, 10, 15, 0)]


def test_losses_make_what_is_open_optional() -> None:
    text = trace(wake("waking", 0, 7, 10, 9, 1), switch(1, 30, "0 R", 9)).replace(
        "\n", "\nCPU:1 [LOST 12 EVENTS]\n")
    reading = read(text)
    assert reading.has_losses and reading.waits[0].is_optional


def test_interrupts_are_nobody_s_time() -> None:
    text = trace(switch(1, 5, "0 R", 9), "1 9 10 irq_handler_entry: irq=3 name=x",
                 "1 9 14 irq_handler_exit: irq=3 ret=handled", "1 9 14 softirq_entry: vec=1 [action=TIMER]",
                 "1 9 16 softirq_exit: vec=1 [action=TIMER]", switch(1, 20, "9 S", 0))
    cpu = read(text).cpus[1]
    assert cpu.ran(9, 1_000_000_000, 1_000_030_000) == 9_000
    assert cpu.was_current(9, 1_000_000_000, 1_000_030_000) == 15_000


def test_the_spellings_of_one_event() -> None:
    spellings = [
        "  a b-9   [001] d..2. 12.000345: sched_waking: comm=x pid=7 prio=1 target_cpu=001",
        "  a b-9   (   12) [001] ...1 12.000345: sched_waking: comm=x pid=7 prio=1 target_cpu=001",
        "  a b-9   [001] 12.000345: sched_waking:         comm=x pid=7 prio=1 target_cpu=001",
        "  a b-9   1d.h1. 12.000345000: sched_waking:     comm=x pid=7 prio=1 target_cpu=001",
        "  a b     9 [001] 12.000345: sched:sched_waking: comm=x pid=7 prio=1 target_cpu=001",
        "  a b     3/9 [001] 12.000345:     1 sched:sched_waking: comm=x pid=7 prio=1 target_cpu=001",
        "  a b-9   [001] d..2. 12.000345: sched_waking: comm=x pid=7 prio=1 target_cpu=001\\n\\",
    ]
    for line in lines.parse(spellings):
        assert line[1:] == (12_000_345_000, 1, 9, "a b", "sched_waking",
                            "comm=x pid=7 prio=1 target_cpu=001"), spellings[line.number - 1]
    assert len(list(lines.parse(spellings))) == len(spellings)


@pytest.mark.parametrize("name", MACHINES)
def test_it_finds_what_the_simulator_did(name: str) -> None:
    for seed in SEEDS:
        simulator = Simulator(seed, MACHINES[name])
        found = {(wait.pid, wait.start_ns, wait.end_ns, wait.cpu)
                 for wait in read(simulator.text()).waits if not wait.is_preempted}
        assert found == {(one.pid, one.start_ns, one.end_ns, one.cpu) for one in simulator.truths}, seed


@pytest.mark.parametrize("told", [(True, True), (True, False), (False, True)])
def test_with_skew_it_is_sure_of_nothing_wrong(told: tuple[bool, bool]) -> None:
    for seed in SEEDS:
        simulator = Simulator(seed, Options(skew_ns=SKEW_NS, wakings=told[0], wakeups=told[1]))
        found = {(wait.pid, wait.start_ns, wait.end_ns, wait.cpu) for wait in read(simulator.text()).waits
                 if not wait.is_preempted and not wait.is_optional}
        assert found <= {(one.pid, one.start_ns, one.end_ns, one.cpu) for one in simulator.truths}, seed


def test_events_that_a_mail_program_joined_come_apart() -> None:
    text = trace(wake("waking", 0, 7, 10, 9, 1), switch(1, 30, "0 R", 9)).replace("\n", " ")
    assert len(text.splitlines()) == 1 and waits(text) == [(9, 10, 30, 1)]
    # A name may have blanks, and may look like the end of an event's head.
    alone = "  Web Content-7 [000] d..2. 1.000010: sched_waking: comm=a b-9 [001] pid=9 prio=120 target_cpu=001"
    assert [line.comm for line in lines.parse([alone])] == ["Web Content"]
