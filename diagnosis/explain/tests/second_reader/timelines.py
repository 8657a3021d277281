"""What each CPU ran when, as intervals that can be asked for sums."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Optional

from lines import UNKNOWN_PID


@dataclass
class Steps:
    """A value that changes at known times; before the first of them it is `UNKNOWN_PID`."""

    times: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)

    def set(self, time_ns: int, value: int) -> None:
        self.times.append(time_ns)
        self.values.append(value)

    def at(self, time_ns: int) -> int:
        index = bisect_right(self.times, time_ns) - 1
        return self.values[index] if index >= 0 else UNKNOWN_PID

    def pieces(self, start_ns: int, end_ns: int) -> list[tuple[int, int, int]]:
        """Start, end and value of all that lies within, gaps included."""
        found = []
        index = bisect_right(self.times, start_ns)
        value = self.values[index - 1] if index else UNKNOWN_PID
        at = start_ns
        while at < end_ns:
            until = min(self.times[index], end_ns) if index < len(self.times) else end_ns
            if until > at:
                found.append((at, until, value))
            at = until
            if index < len(self.times):
                value = self.values[index]
            index += 1
        return found


@dataclass
class Intervals:
    """Times in which something was so. They come in order and do not overlap."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, start_ns: int, end_ns: int) -> None:
        if self.ends and start_ns < self.ends[-1]:
            start_ns = self.ends[-1]
        if end_ns > start_ns:
            self.starts.append(start_ns)
            self.ends.append(end_ns)

    def within(self, start_ns: int, end_ns: int) -> int:
        """How much of the time between is covered."""
        sum_ns = 0
        index = max(bisect_right(self.starts, start_ns) - 1, 0)
        while index < len(self.starts) and self.starts[index] < end_ns:
            sum_ns += max(0, min(self.ends[index], end_ns) - max(self.starts[index], start_ns))
            index += 1
        return sum_ns


@dataclass
class Cpu:
    """What one CPU did. `current` holds thread numbers, 0 for its idle task."""

    current: Steps = field(default_factory=Steps)
    interrupted: Intervals = field(default_factory=Intervals)
    lagging: dict[int, Intervals] = field(default_factory=dict)
    """Times in which a task was still current that was switched away from already."""
    _lag: Optional[tuple[int, int]] = None

    def lag(self, pid: int, seen_ns: int, time_ns: int) -> None:
        """`pid` is still current now. It has been since the event before, and is until the next."""
        self.lagging.setdefault(pid, Intervals()).add(seen_ns, time_ns)
        self._lag = (pid, time_ns)

    def tell_lag(self, time_ns: int) -> None:
        """The next event has come."""
        if self._lag:
            pid, since_ns = self._lag
            self.lagging[pid].add(since_ns, time_ns)
            self._lag = None

    def ran(self, pid: int, start_ns: int, end_ns: int) -> int:
        """For how long the task itself ran: current, and no interrupt on top of it."""
        return self._lagged(pid, start_ns, end_ns) + sum(
            until - at - self.interrupted.within(at, until)
            for at, until, who in self.current.pieces(start_ns, end_ns) if who == pid
        )

    def was_current(self, pid: int, start_ns: int, end_ns: int) -> int:
        """As `ran`, time of interrupts included."""
        return self._lagged(pid, start_ns, end_ns) + sum(
            until - at for at, until, who in self.current.pieces(start_ns, end_ns) if who == pid
        )

    def _lagged(self, pid: int, start_ns: int, end_ns: int) -> int:
        lagging = self.lagging.get(pid)
        return lagging.within(start_ns, end_ns) if lagging else 0
