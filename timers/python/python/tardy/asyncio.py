"""Sleeps of asyncio tasks, exact to what an event loop needs to wake up.

    import tardy.asyncio

    await tardy.asyncio.sleep(0.0005)

asyncio's own sleeps wait in epoll, which counts in milliseconds and is subject to the timer slack.
These are timers of a service in a thread of its own, which makes a file descriptor readable that the
loop watches. Any loop with add_reader will do.

There is one timer and one descriptor for each loop, however many tasks sleep.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
import weakref
from typing import List, Optional

from . import _tardy

__all__ = ["SPIN_MAX_NS", "sleep", "sleep_until", "sleep_until_ns"]

# The longest that a task may hold up its loop to be on time.
SPIN_MAX_NS = 1_000_000

# So many sleepers that have been cancelled stay in a heap; with more, and more than half of it, it is
# rebuilt.
_CANCELLED_MAX = 64

# Timers for each level of the service: one for each loop, and those that fire for nothing.
_TIMERS = 1024


async def sleep_until_ns(deadline_ns: int, *, spin_ns: int = 0) -> int:
    """Sleeps until deadline_ns, nanoseconds of time.monotonic_ns(); never returns earlier.

    Returns how much later it is, nanoseconds. The last spin_ns of it the task keeps its loop from
    anything else, which saves the loop's own lateness: 0 to SPIN_MAX_NS.
    """
    if not 0 <= spin_ns <= SPIN_MAX_NS:
        raise ValueError(f"spin_ns must be from 0 to {SPIN_MAX_NS}, not {spin_ns}")
    if not 0 <= deadline_ns < 1 << 64:
        raise ValueError(f"deadline_ns must be from 0 to 2**64 - 1, not {deadline_ns}")
    wake_ns = max(0, deadline_ns - spin_ns)
    if wake_ns > _tardy.now_ns():
        await _waiters().wait(wake_ns)
    else:
        # As asyncio.sleep(0) does: others get their turn.
        await asyncio.sleep(0)
    if spin_ns:
        return _tardy.sleep_until_ns(deadline_ns).lateness_ns
    return _tardy.now_ns() - deadline_ns


async def sleep_until(deadline: float, *, spin_ns: int = 0) -> int:
    """Sleeps until deadline, seconds of time.monotonic(); else as sleep_until_ns."""
    return await sleep_until_ns(_tardy.deadline_ns(deadline), spin_ns=spin_ns)


async def sleep(seconds: float, *, spin_ns: int = 0) -> int:
    """Sleeps for a number of seconds from now; else as sleep_until_ns."""
    now_ns = _tardy.now_ns()
    return await sleep_until_ns(now_ns + _tardy.duration_ns(seconds), spin_ns=spin_ns)


class _Waiter:
    """A task that sleeps. Ordered by time, then by who came first."""

    __slots__ = ("deadline_ns", "future", "number")

    def __init__(self, deadline_ns: int, number: int, future: asyncio.Future[None]) -> None:
        self.deadline_ns = deadline_ns
        self.number = number
        # None once it does not wait any more: a future holds its loop.
        self.future: Optional[asyncio.Future[None]] = future

    def __lt__(self, other: _Waiter) -> bool:
        return (self.deadline_ns, self.number) < (other.deadline_ns, other.number)


class _Waiters:
    """The tasks of a loop that sleep."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._heap: List[_Waiter] = []
        self._numbers = itertools.count()
        self._cancelled = 0
        self._timer: Optional[_tardy.Timer] = None
        self._timer_ns = 0
        self._eventfd = _tardy.EventFd()
        loop.add_reader(self._eventfd.fileno(), self._fired)

    async def wait(self, deadline_ns: int) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(deadline_ns, next(self._numbers), future)
        heapq.heappush(self._heap, waiter)
        try:
            self._program()
            await future
        finally:
            if waiter.future is not None:
                waiter.future = None
                self._forget_one()

    def _fired(self) -> None:
        self._eventfd.take()
        self._timer = None
        now_ns = _tardy.now_ns()
        while self._heap and self._heap[0].deadline_ns <= now_ns:
            waiter = heapq.heappop(self._heap)
            if waiter.future is None:
                self._cancelled -= 1
            else:
                if not waiter.future.done():
                    waiter.future.set_result(None)
                waiter.future = None
        self._program()

    def _program(self) -> None:
        """Sees to it that the timer fires no later than the first who sleeps wants."""
        while self._heap and self._heap[0].future is None:
            heapq.heappop(self._heap)
            self._cancelled -= 1
        if not self._heap:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            return
        first_ns = self._heap[0].deadline_ns
        if self._timer is not None and self._timer_ns <= first_ns:
            return
        if self._timer is None or not self._timer.rearm(at_ns=first_ns):
            self._timer = _running_service().arm_fd(self._eventfd, at_ns=first_ns)
        self._timer_ns = first_ns

    def _forget_one(self) -> None:
        self._cancelled += 1
        if self._cancelled > _CANCELLED_MAX and self._cancelled > len(self._heap) // 2:
            self._heap = [waiter for waiter in self._heap if waiter.future is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0
        self._program()


_all_waiters: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiters] = (
    weakref.WeakKeyDictionary()
)
_service: Optional[_tardy.TimerService] = None


def _waiters() -> _Waiters:
    loop = asyncio.get_running_loop()
    waiters = _all_waiters.get(loop)
    if waiters is None:
        waiters = _all_waiters[loop] = _Waiters(loop)
    return waiters


def _running_service() -> _tardy.TimerService:
    global _service
    if _service is None:
        _service = _tardy.TimerService(timers=_TIMERS)
    return _service


def _forked() -> None:
    global _service
    # The threads are in the parent.
    _service = None
    _all_waiters.clear()


os.register_at_fork(after_in_child=_forked)
