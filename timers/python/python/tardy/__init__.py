"""Sleeps that keep their word at microseconds, intervals without drift, and a timer service.

    import tardy

    tardy.sleep(0.0005)
    for tick in tardy.Interval(0.001):
        work(tick.lateness_ns, tick.missed)

Times are seconds of time.monotonic(), or, where a name ends in _ns, nanoseconds of
time.monotonic_ns(). Nothing here returns or fires before its time. Who waits lets the interpreter go.

Sleeps of asyncio tasks are in tardy.asyncio.
"""

from __future__ import annotations

from ._interval import Interval
from ._tardy import (
    EventFd,
    ForkedError,
    FullError,
    Report,
    Sleeper,
    Slept,
    StoppedError,
    Tick,
    Timer,
    TimerError,
    TimerService,
    now_ns,
    sleep,
    sleep_until,
    sleep_until_ns,
)

__all__ = [
    "EventFd",
    "ForkedError",
    "FullError",
    "Interval",
    "Report",
    "Sleeper",
    "Slept",
    "StoppedError",
    "Tick",
    "Timer",
    "TimerError",
    "TimerService",
    "now_ns",
    "sleep",
    "sleep_until",
    "sleep_until_ns",
]
