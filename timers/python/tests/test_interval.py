"""Intervals: no drift, and what is missed is counted."""

import math
import threading
import time

import pytest

import tardy


def test_ticks_lie_on_the_grid_and_are_never_early():
    start = tardy.now_ns()
    interval = tardy.Interval(0.0005, start_ns=start)
    due = start
    for tick, _ in zip(interval, range(50)):
        now = time.monotonic_ns()
        due += 500_000
        assert tick.scheduled_ns == due
        assert now >= tick.scheduled_ns + tick.lateness_ns
        due += tick.missed * 500_000
        assert interval.next_ns == due + 500_000


def test_what_is_missed_is_left_out_and_counted():
    start = tardy.now_ns()
    interval = tardy.Interval(period_ns=1_000_000, start_ns=start)
    tardy.sleep_until_ns(start + 5_500_000)
    tick = interval.tick()
    assert tick.scheduled_ns == start + 1_000_000
    assert tick.lateness_ns >= 4_500_000
    assert tick.missed >= 4
    assert interval.missed_total == tick.missed
    assert interval.tick().scheduled_ns == start + 1_000_000 * (2 + tick.missed)


def test_what_is_missed_can_be_caught_up_with():
    start = tardy.now_ns()
    interval = tardy.Interval(period_ns=10_000_000, start_ns=start, behind_max=1_000_000)
    tardy.sleep_until_ns(start + 55_000_000)
    for number in range(1, 6):
        tick = interval.tick()
        assert (tick.scheduled_ns, tick.missed) == (start + number * 10_000_000, 0)
        assert interval.next_ns == start + (number + 1) * 10_000_000


def test_a_start_in_the_future_is_waited_for():
    start = tardy.now_ns() + 2_000_000
    tick = tardy.Interval(0.001, start_ns=start, precision="exact").tick()
    assert tick.scheduled_ns == start + 1_000_000
    assert time.monotonic_ns() >= tick.scheduled_ns


@pytest.mark.parametrize("period", [0.0, 1e-10, -1.0, math.nan, math.inf])
def test_periods_that_are_none(period):
    with pytest.raises(ValueError, match="period"):
        tardy.Interval(period)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="one of period and period_ns"):
        tardy.Interval()
    with pytest.raises(ValueError, match="one of period and period_ns"):
        tardy.Interval(1.0, period_ns=1)
    with pytest.raises(ValueError, match="start_ns"):
        tardy.Interval(1.0, start_ns=-1)
    with pytest.raises(ValueError, match="precision"):
        tardy.Interval(1.0, precision="quick")
    with pytest.raises(TypeError):
        tardy.Interval("1")
    with pytest.raises(OverflowError):
        tardy.Interval(1.0, behind_max=-1)


def test_a_period_in_seconds_is_rounded_to_the_nanosecond():
    for ns in (1, 300_000, 700_000, 999_999_999, 3_600_000_000_000):
        assert tardy.Interval(ns / 1e9).period_ns == ns


def test_an_interval_is_its_threads():
    interval = tardy.Interval(0.001)
    raised = []

    def use():
        try:
            next(interval)
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert raised and "thread" in raised[0]
