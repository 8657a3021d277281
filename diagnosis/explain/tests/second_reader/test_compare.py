"""That the comparison finds what is wrong, and nothing else: one wakeup, told rightly and in every wrong way."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from compare import SORTS, align, compare
from test_reader import read, switch, trace, wake

# 9 is woken by 7 on CPU 0 at 10 µs and queued on CPU 1, where 8 runs until 30 µs, an interrupt from 15 to 17.
TRACE = trace(
    switch(1, 5, "0 R", 8), wake("waking", 0, 7, 10, 9, 2), wake("wakeup", 0, 7, 12, 9, 1),
    "1 8 15 irq_handler_entry: irq=3 name=x", "1 8 17 irq_handler_exit: irq=3 ret=handled",
    switch(2, 20, "0 R", 6), switch(1, 30, "8 S", 9),
)
# The same with a move that is not told: it runs on CPU 2, where 6 ran, and 8 runs on.
MOVED = TRACE.replace(switch_line := trace(switch(1, 30, "8 S", 9)), trace(switch(2, 30, "6 S", 9)))
S = 1_000_000_000
assert switch_line in TRACE


def culprit(kind: str, pid: object, us: int) -> dict[str, Any]:
    names = {"task": f"t{pid}", "idle_state": "state 1", "irq": "x (irq 3)"}
    return {"kind": kind, "name": names[kind], "pid": pid, "ns": us * 1000}


def segment(cause: str, start_us: int, us: int, *culprits: dict[str, Any]) -> dict[str, Any]:
    return {"cause": cause, "start_ns": S + start_us * 1000, "ns": us * 1000, "culprits": list(culprits)}


def wakeup(*segments: dict[str, Any], **other: Any) -> dict[str, Any]:
    told = {"task": "t9", "pid": 9, "cpu": 1, "kind": "task", "expiry_ns": S + 10_000, "lateness_ns": 20_000,
            "segments": list(segments)}
    return {**told, **other}


RIGHT = wakeup(
    segment("cpu_contention", 10, 5, culprit("task", 8, 5)), segment("interrupts", 15, 2, culprit("irq", None, 2)),
    segment("cpu_contention", 17, 13, culprit("task", 8, 13)),
)


def sorts(text: str, *wakeups: dict[str, Any]) -> list[str]:
    found = compare(read(text), {"wakeups": copy.deepcopy(list(wakeups))})
    assert {one.sort for one in found.disagreements} <= set(SORTS)
    return [one.sort for one in found.disagreements]


def test_what_is_right() -> None:
    assert sorts(TRACE, RIGHT) == []


@pytest.mark.parametrize("told, wrong", [
    ((), ["missing"]),
    ((RIGHT, {**RIGHT, "pid": 5}), ["extra"]),
    (({**RIGHT, "cpu": 2},), ["cpu"]),
    (({**RIGHT, "task": "t8"},), ["name"]),
    ((wakeup(segment("x", 11, 19), expiry_ns=S + 11_000, lateness_ns=19_000),), ["latency"]),
    ((wakeup(segment("x", 10, 21), lateness_ns=21_000),), ["latency"]),
    ((wakeup(segment("x", 10, 19)),), ["balance"]),
    ((wakeup(segment("x", 10, 9), segment("x", 20, 10)),), ["balance"]),
    ((wakeup(segment("x", 10, 20, culprit("task", 8, 19))),), ["interrupted"]),
    ((wakeup(segment("interrupts", 10, 20, culprit("irq", None, 3))),), ["interrupted"]),
    # 6 ran on CPU 2 alone, where the waking was told to aim.
    ((wakeup(segment("x", 10, 20, culprit("task", 6, 10))),), ["innocent"]),
    ((wakeup(segment("x", 10, 20, culprit("idle_state", None, 1))),), ["innocent"]),
    ((wakeup(segment("x", 10, 20, {**culprit("task", 8, 1), "name": "t7"})),), ["name"]),
    ((wakeup(segment("x", 10, 20, {**culprit("task", 8, 1), "name": "t8 (NET_RX)"})),), []),
    # Nobody on a CPU is judged for these.
    ((wakeup(segment("lock", 10, 20, culprit("task", 7, 20))),), []),
], ids=str)
def test_what_is_wrong(told: tuple[dict[str, Any], ...], wrong: list[str]) -> None:
    assert sorts(TRACE, *told) == wrong


def test_nobody_is_blamed_for_the_unknown() -> None:
    # Until 20 µs CPU 2 idles, so it waits on CPU 1, behind 8; from then on it may be behind either.
    for told, wrong in [
        (segment("x", 10, 10, culprit("task", 8, 8)), []),
        (segment("x", 20, 10, culprit("task", 8, 1)), ["unproven"]),
        (segment("x", 20, 10, culprit("task", 6, 1)), ["unproven"]),
        (segment("x", 20, 10, culprit("task", 7, 1)), ["innocent"]),
    ]:
        rest = [segment("unexplained", 10, 10), segment("unexplained", 20, 10)]
        rest[told["start_ns"] > S + 10_000] = told
        idle = trace("2 0 4 cpu_idle: state=1 cpu_id=2")
        assert sorts(f"{idle}\n{MOVED}", wakeup(*rest, cpu=2)) == wrong, told


def test_a_timed_wakeup_is_judged_by_its_end() -> None:
    before = segment("irq_delay", 2, 8, culprit("task", 8, 8))
    after = RIGHT["segments"]
    timed = wakeup(before, *after, kind="timer", expiry_ns=S + 2_000, lateness_ns=28_000)
    # 8 ran on CPU 1; the timer's interrupt was on CPU 0, where 7 ran.
    assert sorts(trace(switch(0, 1, "0 R", 7)) + "\n" + TRACE, timed) == ["innocent"]
    before["culprits"] = []
    assert sorts(TRACE, timed) == []
    late = wakeup(segment("x", 2, 30), kind="timer", expiry_ns=S + 2_000, lateness_ns=30_000)
    assert sorts(TRACE, late) == ["latency"]


def test_clocks_are_aligned() -> None:
    document = {"wakeups": [copy.deepcopy(RIGHT)]}
    document["wakeups"][0]["expiry_ns"] += 77
    for part in document["wakeups"][0]["segments"]:
        part["start_ns"] += 77
    reading = read(TRACE)
    align(reading, document)
    assert compare(reading, document).disagreements == []
