"""The timer service: what is called, when, and what is not."""

import gc
import os
import select
import subprocess
import sys
import threading
import time

import pytest

import tardy

HOUR = 3600.0


@pytest.fixture
def service():
    with tardy.TimerService(timers=8, spin_ns=0) as service:
        yield service


def test_a_callback_is_called_once_and_not_early(service):
    called, done = [], threading.Event()
    due = service.now_ns() + 1_000_000

    def callback():
        called.append((time.monotonic_ns(), threading.get_native_id()))
        done.set()

    timer = service.arm(callback, at_ns=due, level=2)
    assert timer.level == 2
    done.wait()
    assert [at for at, _ in called if at >= due] == [called[0][0]]
    assert called[0][1] != threading.get_native_id()
    assert timer.cancel() is False
    assert timer.rearm(after=1.0) is False


def test_callbacks_of_a_level_come_in_order(service):
    order, done = [], threading.Event()
    start = service.now_ns() + 5_000_000
    for number in (3, 1, 4, 0, 2):
        service.arm(lambda number=number: order.append(number), at_ns=start + number)
    service.arm(done.set, at_ns=start + 5)
    done.wait()
    assert order == [0, 1, 2, 3, 4]


def test_a_cancelled_timer_does_not_fire(service):
    called, done = [], threading.Event()
    timer = service.arm(lambda: called.append(1), after=0.002, precise=False)
    # Where this was too slow it has fired, and says so.
    too_late = 0 if timer.cancel() else 1
    assert timer.cancel() is False
    service.arm(done.set, after=0.004, level=0)
    done.wait()
    assert len(called) == too_late
    assert service.report(0).fired == 1 + too_late


def test_a_timer_is_moved(service):
    done = threading.Event()
    timer = service.arm(done.set, after=HOUR)
    due = service.now_ns() + 1_000_000
    assert timer.rearm(at_ns=due, slack_ns=1000) is True
    done.wait()
    assert time.monotonic_ns() >= due


def test_an_eventfd_becomes_readable(service):
    eventfd = tardy.EventFd()
    assert eventfd.take() == 0
    due = service.now_ns() + 1_000_000
    service.arm_fd(eventfd, at_ns=due)
    service.arm_fd(eventfd, at_ns=due, level=3)
    fired = 0
    while fired < 2:
        assert select.select([eventfd], [], [])[0] == [eventfd]
        fired += eventfd.take()
        assert time.monotonic_ns() >= due
    assert fired == 2


def test_the_level_is_inherited(service):
    policy = os.sched_getscheduler(0)
    timer = service.arm(lambda: None, after=HOUR, level=None)
    if policy == os.SCHED_OTHER:
        assert timer.level == 0
    assert timer.cancel()


def test_what_a_callback_raises_is_reported_and_the_service_goes_on(service, monkeypatch):
    raised, done = [], threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", lambda report: raised.append(report.exc_value))

    def fail():
        raise KeyError("mine")

    now = service.now_ns()
    service.arm(fail, at_ns=now)
    service.arm(done.set, at_ns=now + 1_000_000)
    done.wait()
    assert [type(value) for value in raised] == [KeyError]


def test_there_is_no_room_for_more(service):
    timers = [service.arm(lambda: None, after=HOUR) for _ in range(8)]
    with pytest.raises(tardy.FullError):
        service.arm(lambda: None, after=HOUR)
    assert service.report(0).refused == 1
    service.arm(lambda: None, after=HOUR, level=1)
    assert timers[0].cancel()
    service.arm(lambda: None, after=HOUR)


def test_callbacks_are_let_go():
    class Callback:
        gone = threading.Event()

        def __call__(self):
            pass

        def __del__(self):
            self.gone.set()

    service = tardy.TimerService()
    timer = service.arm(Callback(), after=HOUR)
    assert timer.cancel()
    assert Callback.gone.wait(60)
    Callback.gone.clear()
    service.arm(Callback(), after=HOUR)
    service.stop()
    tardy.now_ns()
    assert Callback.gone.wait(60)


def test_nothing_fires_once_it_is_stopped():
    service = tardy.TimerService()
    timer = service.arm(lambda: None, after=HOUR)
    service.stop()
    service.stop()
    assert timer.cancel() is False
    with pytest.raises(tardy.StoppedError):
        service.arm(lambda: None, after=1.0)
    assert issubclass(tardy.StoppedError, tardy.TimerError)


def test_a_callback_may_stop_the_service():
    service = tardy.TimerService()
    done = threading.Event()

    def stop():
        service.stop()
        done.set()

    service.arm(stop, after=0.0)
    done.wait()
    with pytest.raises(tardy.StoppedError):
        service.arm(lambda: None, after=1.0)


def test_stopping_waits_for_what_runs_without_keeping_the_interpreter():
    service = tardy.TimerService()
    begun, ended = threading.Event(), []

    def callback():
        begun.set()
        time.sleep(0.05)
        ended.append(True)

    service.arm(callback, after=0.0)
    begun.wait()
    service.stop()
    assert ended == [True]


def test_dropping_it_stops_it():
    before = len(os.listdir("/proc/self/task"))
    service = tardy.TimerService()
    assert len(os.listdir("/proc/self/task")) == before + 4
    del service
    gc.collect()
    # A thread that was waited for is gone from here a moment later.
    while len(os.listdir("/proc/self/task")) > before:
        time.sleep(0.001)


def test_notes_say_what_the_threads_were_given(service):
    assert len(service.notes) >= 4
    assert all("timer level" in note for note in service.notes)


def test_wrong_arguments(service):
    with pytest.raises(TypeError, match="callable"):
        service.arm(1, after=1.0)
    with pytest.raises(TypeError):
        service.arm_fd(1, after=1.0)
    for wrong in ({}, {"after": 1.0, "at_ns": 1}):
        with pytest.raises(ValueError, match="one of at_ns and after"):
            service.arm(print, **wrong)
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="after"):
            service.arm(print, after=wrong)
    with pytest.raises(ValueError, match="at_ns"):
        service.arm(print, at_ns=-1)
    with pytest.raises(ValueError, match="level"):
        service.arm(print, after=1.0, level=4)
    with pytest.raises(ValueError, match="level"):
        service.report(4)
    for wrong in (
        {"timers": 0},
        {"timers": 2**60},
        {"clock": "wall"},
        {"priorities": (1, 2, 3, 100)},
        {"priorities": (1, 2, 3)},
    ):
        with pytest.raises(ValueError):
            tardy.TimerService(**wrong)


def test_another_clock():
    with tardy.TimerService(clock="boottime") as service:
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        assert before <= service.now_ns() <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_a_forked_child_is_told(service):
    timer = service.arm(lambda: None, after=HOUR)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (timer.cancel, lambda: service.arm(print, after=1.0)):
                try:
                    use()
                except tardy.ForkedError:
                    code -= 1
            service.stop()
            code = 0 if code == -1 else 3
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert timer.cancel()


@pytest.mark.parametrize(
    "program",
    [
        "service.arm(lambda: None, after=3600.0)",
        "service.arm(lambda: time.sleep(0.05), after=0.0); time.sleep(0.01)",
        "[service.arm(print, after=0.0001 * n) for n in range(200)]",
    ],
)
def test_the_interpreter_ends_with_a_service_that_runs(program):
    program = f"import tardy, time\nservice = tardy.TimerService()\n{program}"
    assert subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL).returncode == 0
