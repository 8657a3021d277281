"""A period, kept: by a thread or by an asyncio task."""

from __future__ import annotations

from . import _tardy


class Interval(_tardy.Interval):
    """Ticks at start + k * period for k = 1, 2, ...: a late tick does not move those after it.

    Interval(period, *, precision="balanced", start_ns=now, behind_max=0), the period in seconds, or
    Interval(period_ns=...). Iterate it with for, or with async for in an asyncio task.

    precision is a Sleeper's. behind_max: how many ticks whose time has passed are delivered at once,
    one after the other; those beyond are left out and counted in missed.

    It belongs to the thread that made it, whose timer slack it holds at 1 ns for as long as it lives;
    another's use of it raises RuntimeError.
    """

    def __aiter__(self) -> Interval:
        return self

    async def __anext__(self) -> _tardy.Tick:
        from . import asyncio  # only who needs it waits for it to be imported

        await asyncio.sleep_until_ns(self.next_ns)
        return self.tick()
