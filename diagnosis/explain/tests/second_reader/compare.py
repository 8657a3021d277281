"""Holds what `tardy explain --json` says against what the trace's own events say."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, Optional

from lines import UNKNOWN_PID
from scheduler import Reading, Wait
from timelines import Cpu

SORTS = {
    "missing": "a wakeup that the events show and tardy does not tell",
    "extra": "a wakeup that tardy tells and the events do not show",
    "latency": "it begins or ends at another time",
    "cpu": "it came to run on another CPU",
    "name": "the victim or a culprit has another name",
    "innocent": "a task or idle state is blamed for time in which it did not run where the victim waited",
    "interrupted": "a task or idle state is blamed for time in which an interrupt ran on top of it, or an "
    "interrupt where none did",
    "unproven": "a task or idle state is blamed although nothing tells where the victim waited",
    "balance": "segments do not follow each other or do not sum",
}

# Their accounts are not of waiting for a CPU: calls that wait for locks, and threads that a mark alone tells.
_OTHER_KINDS = ("lock", "mark_only")
# Culprits that run on a CPU as tasks do.
_RUNNERS = ("task", "kernel_task", "tardy", "idle_state")
# By so many wakeups clocks are aligned.
_ALIGNED_MAX = 500
_INTERRUPTS = ("irq", "softirq")
# Not time of a CPU: who held a lock; a thread that asked for a time that had passed; who ended the wait for a page; who made
# a stopped thread go on.
_CAUSES_ELSEWHERE = ("lock", "armed_late", "page_fault", "stopped")

Place = tuple[int, int, tuple[int, ...]]
"""From when to when, and whose CPU's time it was; several where nothing tells which."""


@dataclass
class Disagreement:
    sort: str
    text: str
    lines: tuple[int, ...] = ()
    """Lines of the trace that show it: the waking, and the switch to the thread."""
    ns: int = 0
    """How much time is told wrongly, or without proof."""
    end: tuple[int, int] = (-1, -1)
    """The thread, and when its wakeup ended by tardy's account; of those that it alone tells."""

    def __str__(self) -> str:
        where = f" [lines {', '.join(map(str, self.lines))}]" if self.lines else ""
        return f"{self.sort}: {self.text}{where}"


@dataclass
class Comparison:
    events: int = 0
    wakeups: int = 0
    preemptions: int = 0
    claims: int = 0
    """Wakeups that tardy tells, those that are not compared aside."""
    optional: int = 0
    lateness_ns: int = 0
    unexplained_ns: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)

    def count(self, sort: str) -> int:
        return sum(one.sort == sort for one in self.disagreements)

    @property
    def unexplained_share(self) -> float:
        return self.unexplained_ns / self.lateness_ns if self.lateness_ns else 0.0


def compare(reading: Reading, document: dict[str, Any]) -> Comparison:
    return _Judge(reading).judge(document)


def align(reading: Reading, document: dict[str, Any]) -> None:
    """Moves the document's times onto the trace's own clock, where tardy moved them all by one amount.

    The amount is what most wakeups agree on: by which the end of one differs from the end of any of its
    thread's.
    """
    ends: dict[int, list[int]] = defaultdict(list)
    for wait in reading.waits:
        ends[wait.pid].append(wait.end_ns)
    agreed: Counter[int] = Counter()
    for claim in document["wakeups"][:_ALIGNED_MAX]:
        agreed.update(claim["expiry_ns"] + claim["lateness_ns"] - end_ns for end_ns in ends[claim["pid"]])
    for shift_ns, _ in agreed.most_common(1):
        for claim in document["wakeups"]:
            claim["expiry_ns"] -= shift_ns
            for segment in claim["segments"]:
                segment["start_ns"] -= shift_ns


class _Judge:
    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.found = Comparison(events=reading.events)
        self.by_end: dict[tuple[int, int], list[Wait]] = defaultdict(list)
        self.by_start: dict[tuple[int, int], list[Wait]] = defaultdict(list)
        self.by_pid: dict[int, list[Wait]] = defaultdict(list)
        for wait in reading.waits:
            self.by_end[wait.pid, wait.end_ns].append(wait)
            self.by_start[wait.pid, wait.start_ns].append(wait)
            self.by_pid[wait.pid].append(wait)
        self.told: set[int] = set()

    def judge(self, document: dict[str, Any]) -> Comparison:
        found = self.found
        tells_preemptions = False
        for claim in document["wakeups"]:
            for segment in claim["segments"]:
                found.lateness_ns += segment["ns"]
                if segment["cause"] == "unexplained":
                    found.unexplained_ns += segment["ns"]
            self._balance(claim)
            if claim["kind"] in _OTHER_KINDS:
                continue
            found.claims += 1
            tells_preemptions |= claim["kind"] == "preempted"
            self._claim(claim)
        for wait in self.reading.waits:
            if wait.is_preempted:
                found.preemptions += 1
            else:
                found.wakeups += 1
                found.optional += wait.is_optional
            is_asked = not wait.is_optional and (tells_preemptions or not wait.is_preempted)
            if is_asked and id(wait) not in self.told:
                what = "preempted" if wait.is_preempted else "woken"
                self._add("missing", f"{_who(wait)} {what} at {_s(wait.start_ns)}, "
                          f"ran {_us(wait.lateness_ns)} later on CPU {wait.cpu}", wait, wait.lateness_ns)
        return found

    def _claim(self, claim: dict[str, Any]) -> None:
        wait = self._match(claim)
        if wait is None:
            end_ns = claim["expiry_ns"] + claim["lateness_ns"]
            preempted = next((one for one in self.by_end[claim["pid"], end_ns] if one.is_preempted), None)
            why = "; it was preempted, not asleep" if preempted else ""
            self._add("extra", _words(claim) + why, preempted, claim["lateness_ns"])
            self.found.disagreements[-1].end = (claim["pid"], end_ns)
            return
        self.told.add(id(wait))
        end_ns = claim["expiry_ns"] + claim["lateness_ns"]
        is_timed = claim["kind"] == "timer"
        if wait.is_inverted:
            pass  # which of the two times counts is anybody's choice
        elif end_ns != wait.end_ns:
            self._add("latency", f"{_words(claim)} ends {_us(end_ns - wait.end_ns)} after "
                      f"the switch to it at {_s(wait.end_ns)}", wait, abs(end_ns - wait.end_ns))
        elif not is_timed and claim["expiry_ns"] not in (wait.start_ns, wait.slept_ns):
            self._add("latency", f"{_words(claim)}: woken at {_s(wait.start_ns)}, {_us(wait.lateness_ns)} before",
                      wait, abs(claim["expiry_ns"] - wait.start_ns))
        if claim["cpu"] != wait.cpu:
            self._add("cpu", f"{_words(claim)} ran on CPU {wait.cpu}", wait)
        # A trace may leave names out; then tardy may know one from elsewhere.
        names = {wait.end_comm, wait.comm}
        if claim["task"] not in names and "" not in names:
            self._add("name", f"{_words(claim)} is {wait.end_comm or wait.comm!r}", wait)
        is_the_same = end_ns >= wait.end_ns if is_timed else claim["expiry_ns"] in (wait.start_ns, wait.slept_ns)
        if is_the_same and not wait.is_inverted:
            for segment in claim["segments"]:
                if segment["cause"] not in _CAUSES_ELSEWHERE:
                    self._blame(claim, segment, wait)

    def _match(self, claim: dict[str, Any]) -> Optional[Wait]:
        pid, start_ns = claim["pid"], claim["expiry_ns"]
        end_ns = start_ns + claim["lateness_ns"]
        is_preempted = claim["kind"] == "preempted"
        fitting = self.by_end[pid, end_ns]
        if claim["kind"] != "timer":
            fitting = fitting + self.by_start[pid, start_ns]
        else:
            # Its end may be told late: then it is the first wakeup after the expiry.
            fitting = fitting + [wait for wait in self.by_pid[pid] if start_ns <= wait.end_ns <= end_ns
                                 and not wait.is_preempted][:1]
        free = [wait for wait in fitting
                if id(wait) not in self.told and wait.is_preempted == is_preempted]
        exact = [wait for wait in free if start_ns in (wait.start_ns, wait.slept_ns)]
        return next(iter(exact or free), None)

    def _blame(self, claim: dict[str, Any], segment: dict[str, Any], wait: Wait) -> None:
        start_ns = segment["start_ns"]
        # What is told beyond the switch to it is a disagreement already, and nobody's time to be judged here.
        beyond_ns = max(0, start_ns + segment["ns"] - max(start_ns, wait.end_ns))
        places = _places(wait, start_ns, start_ns + segment["ns"] - beyond_ns)
        for culprit in segment["culprits"]:
            if culprit["kind"] in _INTERRUPTS and segment["cause"] == "interrupts":
                self._blame_interrupt(claim, culprit, culprit["ns"] - beyond_ns, wait, places)
            if culprit["kind"] not in _RUNNERS:
                continue
            is_idle = culprit["kind"] == "idle_state"
            pid = 0 if is_idle else culprit["pid"]
            names = self.reading.names.get(pid, {""})
            # What a thread does besides may follow its name: "irq/130-eth0 (NET_RX)".
            known = is_idle or "" in names or any(
                culprit["name"] == name or culprit["name"].startswith(f"{name} (") for name in names)
            words = (f"{_words(claim)}: {segment['cause']} {_us(culprit['ns'])} of "
                     f"{culprit['name']}-{culprit['pid']} from {_s(start_ns)}")
            if not known or pid is None:
                self._add("name", f"{words}, which is {'/'.join(sorted(names))}", wait, culprit["ns"])
                continue
            sort, why, wrong_ns = self._verdict(pid, culprit["ns"] - beyond_ns, places)
            if sort:
                self._add(sort, f"{words}; {why}", wait, wrong_ns)

    def _blame_interrupt(self, claim: dict[str, Any], culprit: dict[str, Any], ns: int, wait: Wait,
                         places: list[Place]) -> None:
        there_ns = sum(self.reading.cpus.get(number, Cpu()).interrupted.within(start_ns, end_ns)
                       for start_ns, end_ns, cpus in places for number in cpus)
        if ns > there_ns:
            self._add("interrupted", f"{_words(claim)}: interrupts {_us(ns)} of {culprit['name']}; all "
                      f"that there were took {_us(there_ns)}", wait, ns - there_ns)

    def _verdict(self, pid: int, ns: int, places: list[Place]) -> tuple[str, str, int]:
        """What is wrong with `pid` being blamed for `ns` of that time, and for how much of it; an empty sort
        where nothing is."""
        sure = current = possible = unseen = 0
        for start_ns, end_ns, cpus in places:
            for number in cpus:
                cpu = self.reading.cpus.get(number, Cpu())
                was_current = cpu.was_current(pid, start_ns, end_ns)
                unseen += cpu.was_current(UNKNOWN_PID, start_ns, end_ns)
                possible += was_current
            if not cpus:
                unseen += end_ns - start_ns
            for start_ns, end_ns, busy in self._busy(start_ns, end_ns, cpus):
                if len(busy) == 1:
                    cpu = self.reading.cpus.get(busy[0], Cpu())
                    sure += cpu.ran(pid, start_ns, end_ns)
                    current += cpu.was_current(pid, start_ns, end_ns)
        where = " then ".join("/".join(map(str, cpus)) or "?" for _, _, cpus in places)
        if ns <= sure:
            return "", "", 0
        if ns <= current:
            return "interrupted", f"{_us(ns - sure)} of that were interrupts on CPU {where}", ns - sure
        if ns <= possible:
            return "unproven", f"{_us(ns - sure)} on CPU {where}, whichever it was", ns - sure
        if ns <= possible + unseen:
            return "unproven", f"nothing tells who ran on CPU {where} for {_us(unseen)}", ns - sure
        return "innocent", f"it had {_us(possible)} on CPU {where}", ns - possible

    def _busy(self, start_ns: int, end_ns: int, cpus: tuple[int, ...]) -> list[Place]:
        """Those of several CPUs in whose queue somebody can have waited: a CPU idles where nobody does."""
        if len(cpus) < 2:
            return [(start_ns, end_ns, cpus)]
        timelines = [self.reading.cpus.get(number, Cpu()).current for number in cpus]
        times = sorted({start_ns, end_ns, *(at for one in timelines for at, _, _ in one.pieces(start_ns, end_ns))})
        found = []
        for at, until in zip(times, times[1:]):
            busy = tuple(number for number, one in zip(cpus, timelines) if one.at(at) != 0)
            found.append((at, until, busy or cpus))
        return found

    def _balance(self, claim: dict[str, Any]) -> None:
        at = claim["expiry_ns"]
        for segment in claim["segments"]:
            if segment["start_ns"] != at or sum(one["ns"] for one in segment["culprits"]) > segment["ns"]:
                break
            at += segment["ns"]
        else:
            if at == claim["expiry_ns"] + claim["lateness_ns"]:
                return
        self._add("balance", _words(claim), None)

    def _add(self, sort: str, text: str, wait: Optional[Wait], ns: int = 0) -> None:
        lines = (wait.line, wait.end_line) if wait else ()
        self.found.disagreements.append(Disagreement(sort, text, lines, ns))


def _places(wait: Wait, start_ns: int, end_ns: int) -> list[Place]:
    """Whose CPU's time it was: where the timer's interrupt ran, then where the thread was queued."""
    steps: list[tuple[int, tuple[int, ...]]] = []  # until then
    if wait.fired is not None:
        # The callback sends it to the CPU that tells of the wakeup.
        fired_ns, fired_on = wait.fired
        steps.append((fired_ns, (fired_on,)))
    steps.append((wait.start_ns, (wait.told_on,)))
    if wait.slept_ns is not None:
        steps.append((wait.slept_ns, (wait.slept_on,)))
    ends = [*(since for since, _ in wait.queues[1:]), wait.end_ns]
    steps += [(until, cpus) for until, (_, cpus) in zip(ends, wait.queues)]
    places = []
    at = start_ns
    for until, cpus in steps:
        if at < min(until, end_ns):
            places.append((at, min(until, end_ns), cpus))
            at = min(until, end_ns)
    return places


def _who(wait: Wait) -> str:
    return f"{wait.end_comm or wait.comm}-{wait.pid}"


def _words(claim: dict[str, Any]) -> str:
    return (f"{claim['kind']} wakeup of {claim['task']}-{claim['pid']} on CPU {claim['cpu']} at "
            f"{_s(claim['expiry_ns'])}, late by {_us(claim['lateness_ns'])}")


def _s(ns: int) -> str:
    return f"{ns // 1_000_000_000}.{ns % 1_000_000_000:09}"


def _us(ns: int) -> str:
    return f"{ns / 1000:.3f} µs"
