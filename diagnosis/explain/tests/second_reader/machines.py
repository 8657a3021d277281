"""The machines that the simulator plays, and what their traces record."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """What the trace records, and how the machine is."""

    cpus: int = 3
    threads: int = 9
    span_ns: int = 60_000_000
    wakings: bool = True
    wakeups: bool = True
    migrations: bool = True
    syscalls: bool = False
    interrupts: bool = True
    timers: bool = True
    nanoseconds: bool = False
    dialect: str = "kernel"
    skew_ns: int = 0


MACHINES = {
    "everything": Options(),
    "no-wakeups": Options(wakeups=False),
    "no-wakings": Options(wakings=False),
    "no-migrations": Options(migrations=False),
    "wakings-alone": Options(wakeups=False, migrations=False),
    "wakeups-alone": Options(wakings=False, migrations=False),
    "syscalls": Options(syscalls=True, nanoseconds=True),
    "scheduler-alone": Options(interrupts=False, timers=False),
    "no-interrupts": Options(interrupts=False, syscalls=True),
    "perf": Options(dialect="perf"),
    "report": Options(dialect="report", nanoseconds=True),
    "tgid": Options(dialect="tgid"),
    "one-cpu": Options(cpus=1, threads=5),
    "eight-cpus": Options(cpus=8, threads=30),
}
"""What tests try."""
