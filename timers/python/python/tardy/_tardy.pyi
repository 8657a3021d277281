# What is written in Rust (timers/python/src). The docstrings are there.

from types import TracebackType
from typing import Callable, Literal, Optional, Tuple, Type, TypeVar, Union, final

from typing_extensions import disjoint_base

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
    "deadline_ns",
    "duration_ns",
    "now_ns",
    "sleep",
    "sleep_until",
    "sleep_until_ns",
]

_Interval = TypeVar("_Interval", bound="Interval")

_Precision = Union[Literal["cpu", "balanced", "exact"], float]

def now_ns() -> int: ...
def deadline_ns(deadline: float) -> int: ...
def duration_ns(seconds: float) -> int: ...
def sleep_until_ns(deadline_ns: int) -> Slept: ...
def sleep_until(deadline: float) -> Slept: ...
def sleep(seconds: float) -> Slept: ...
@final
class Slept:
    @property
    def lateness_ns(self) -> int: ...
    @property
    def spun_ns(self) -> int: ...
    @property
    def native_ns(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Sleeper:
    def __new__(cls, precision: Optional[_Precision] = None) -> Sleeper: ...
    def sleep_until_ns(self, deadline_ns: int) -> Slept: ...
    def sleep_until(self, deadline: float) -> Slept: ...
    def sleep(self, seconds: float) -> Slept: ...

@final
class Tick:
    @property
    def scheduled_ns(self) -> int: ...
    @property
    def lateness_ns(self) -> int: ...
    @property
    def missed(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@disjoint_base
class Interval:
    def __new__(
        cls: Type[_Interval],
        period: Optional[float] = None,
        *,
        period_ns: Optional[int] = None,
        precision: Optional[_Precision] = None,
        start_ns: Optional[int] = None,
        behind_max: int = 0,
    ) -> _Interval: ...
    def tick(self) -> Tick: ...
    def __iter__(self: _Interval) -> _Interval: ...
    def __next__(self) -> Tick: ...
    @property
    def next_ns(self) -> int: ...
    @property
    def period_ns(self) -> int: ...
    @property
    def missed_total(self) -> int: ...

@final
class EventFd:
    def __new__(cls) -> EventFd: ...
    def fileno(self) -> int: ...
    def take(self) -> int: ...

class TimerError(RuntimeError): ...
class FullError(TimerError): ...
class StoppedError(TimerError): ...
class ForkedError(TimerError): ...

@final
class Timer:
    def cancel(self) -> bool: ...
    def rearm(
        self, *, at_ns: Optional[int] = None, after: Optional[float] = None, slack_ns: int = 0
    ) -> bool: ...
    @property
    def level(self) -> int: ...

@final
class Report:
    @property
    def fired(self) -> int: ...  # timers
    @property
    def refused(self) -> int: ...  # timers for which there was no room
    @property
    def slow(self) -> int: ...  # callbacks
    @property
    def longest_ns(self) -> int: ...  # the longest callback; 0 where there was none
    @property
    def longest_tag(self) -> int: ...  # its timer's tag
    @property
    def undelivered(self) -> int: ...  # timers whose eventfd could not be written to
    @property
    def woken(self) -> int: ...  # times that somebody woke the level's thread

@final
class TimerService:
    def __new__(
        cls,
        *,
        timers: int = 4096,
        priorities: Tuple[int, int, int, int] = ...,
        spin_ns: int = 50000,
        slow_ns: int = 100000,
        clock: Literal["monotonic", "boottime"] = "monotonic",
    ) -> TimerService: ...
    def arm(
        self,
        callback: Callable[[], object],
        *,
        at_ns: Optional[int] = None,
        after: Optional[float] = None,
        level: Optional[int] = 0,
        precise: bool = True,
        slack_ns: int = 0,
        tag: int = 0,
    ) -> Timer: ...
    def arm_fd(
        self,
        eventfd: EventFd,
        *,
        at_ns: Optional[int] = None,
        after: Optional[float] = None,
        level: Optional[int] = 0,
        precise: bool = True,
        slack_ns: int = 0,
        tag: int = 0,
    ) -> Timer: ...
    def stop(self) -> None: ...
    def report(self, level: int) -> Report: ...
    def now_ns(self) -> int: ...
    @property
    def notes(self) -> list[str]: ...
    def __enter__(self) -> TimerService: ...
    def __exit__(
        self,
        exception_type: Optional[Type[BaseException]] = None,
        exception: Optional[BaseException] = None,
        traceback: Optional[TracebackType] = None,
        /,
    ) -> None: ...
