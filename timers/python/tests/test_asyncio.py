"""Sleeps of asyncio tasks."""

import asyncio
import gc
import os
import time
import weakref

import pytest

import tardy
import tardy.asyncio


def test_a_task_is_never_early():
    async def main():
        for ns in (0, 1, 50_000, 300_000, 1_700_000):
            for _ in range(10):
                deadline = time.monotonic_ns() + ns
                lateness = await tardy.asyncio.sleep_until_ns(deadline)
                assert 0 <= lateness <= time.monotonic_ns() - deadline
        deadline = time.monotonic() + 0.0005
        await tardy.asyncio.sleep_until(deadline)
        assert time.monotonic() >= deadline
        before = time.monotonic_ns()
        await tardy.asyncio.sleep(0.0005, spin_ns=100_000)
        assert time.monotonic_ns() >= before + 500_000

    asyncio.run(main())


def test_tasks_wake_in_the_order_of_their_deadlines():
    async def woken_by(start):
        woken, slept_at = [], []

        async def sleeper(number):
            slept_at.append(tardy.now_ns())
            await tardy.asyncio.sleep_until_ns(start + number * 100_000)
            woken.append(number)

        numbers = [(number * 7) % 30 for number in range(30)]
        await asyncio.gather(*(sleeper(number) for number in numbers))
        return woken, max(slept_at)

    # Who comes when its time has passed does not wait for others, so all must have come before.
    lead_ns = 2_000_000
    while True:
        start = tardy.now_ns() + lead_ns
        woken, last_slept_at = asyncio.run(woken_by(start))
        if last_slept_at < start:
            break
        lead_ns *= 2
    assert woken == list(range(30))


def test_the_loop_goes_on_meanwhile():
    async def main():
        steps = 0
        sleeping = asyncio.create_task(tardy.asyncio.sleep(0.02))
        while not sleeping.done():
            steps += 1
            await asyncio.sleep(0)
        assert steps > 10

    asyncio.run(main())


def test_others_get_their_turn_where_the_time_has_passed():
    async def main():
        steps = 0

        async def other():
            nonlocal steps
            steps += 1

        task = asyncio.create_task(other())
        await tardy.asyncio.sleep_until_ns(0)
        assert steps == 1
        await task

    asyncio.run(main())


def test_a_cancelled_sleep_leaves_nothing_behind():
    async def main():
        tasks = [asyncio.create_task(tardy.asyncio.sleep(3600.0 + n)) for n in range(500)]
        await asyncio.sleep(0)
        waiters = tardy.asyncio._waiters()
        assert len(waiters._heap) == 500
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        assert len(waiters._heap) == 0
        assert waiters._timer is None
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(tardy.asyncio.sleep(3600.0), 0.001)

    asyncio.run(main())


def test_an_earlier_sleep_overtakes_a_later_one():
    async def main():
        late = asyncio.create_task(tardy.asyncio.sleep(3600.0))
        await asyncio.sleep(0)
        await tardy.asyncio.sleep(0.001)
        assert not late.done()
        late.cancel()

    asyncio.run(main())


def test_a_loop_is_not_kept():
    async def main():
        task = asyncio.create_task(tardy.asyncio.sleep(3600.0))
        await tardy.asyncio.sleep(0.0001)
        del task
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(main())
    gc.collect()
    assert loop() is None


def test_an_interval_ticks_for_a_task():
    async def main():
        start = tardy.now_ns()
        due = start + 1_000_000
        ticks = 0
        async for tick in tardy.Interval(0.001, start_ns=start):
            assert tick.scheduled_ns == due
            assert time.monotonic_ns() >= due
            due += (1 + tick.missed) * 1_000_000
            ticks += 1
            if ticks == 20:
                break

    asyncio.run(main())


def test_wrong_arguments():
    async def main():
        for spin_ns in (-1, tardy.asyncio.SPIN_MAX_NS + 1):
            with pytest.raises(ValueError, match="spin_ns"):
                await tardy.asyncio.sleep(0.0, spin_ns=spin_ns)
        for deadline_ns in (-1, 1 << 64):
            with pytest.raises(ValueError, match="deadline_ns"):
                await tardy.asyncio.sleep_until_ns(deadline_ns)
        for seconds in (-1.0, float("nan")):
            with pytest.raises(ValueError):
                await tardy.asyncio.sleep(seconds)
            with pytest.raises(ValueError):
                await tardy.asyncio.sleep_until(seconds)
        with pytest.raises(TypeError):
            await tardy.asyncio.sleep("1")

    asyncio.run(main())


def test_a_forked_child_sleeps_too():
    asyncio.run(tardy.asyncio.sleep(0.0001))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = time.monotonic_ns()
            asyncio.run(tardy.asyncio.sleep(0.001))
            code = 0 if time.monotonic_ns() >= before + 1_000_000 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
