"""Lines of text traces as records: when, on which CPU, above whom, what.

Reads what the kernel writes (`trace`, also inside a systrace page), `trace-cmd report` and `perf script`.
Nothing here knows what an event means.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, NamedTuple

UNKNOWN_PID = -1
LOST = "LOST"
"""The event of a line that says that events of its CPU are missing before it."""

_TIME = r"(?P<sec>\d+)\.(?P<frac>\d{6}|\d{9}):"
_KERNEL = re.compile(
    r"\s*(?P<comm>\S.*?)-(?P<pid>\d+)\s+(?:\(\s*[-\d]+\)\s+)?\[(?P<cpu>\d+)\]\s+"
    r"(?:[^\s\d]\S*\s+)?" + _TIME + r"\s+(?P<event>\w+):\s*(?P<rest>.*)"
)
_LATENCY = re.compile(  # trace-cmd report -l: the CPU stands before the flags
    r"\s*(?P<comm>\S.*?)-(?P<pid>\d+)\s+(?P<cpu>\d+)[^\s\d]\S*\s+"
    + _TIME + r"\s+(?P<event>\w+):\s*(?P<rest>.*)"
)
_PERF = re.compile(
    r"\s*(?P<comm>\S.*?)\s+(?:\d+/)?(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?:[^\s\d]\S*\s+)?"
    + _TIME + r"\s+(?:\d+\s+)?\w+:(?P<event>\w+):\s*(?P<rest>.*)"
)
_DIALECTS = (_KERNEL, _LATENCY, _PERF)
# A mail program may have put several events into one line: here another begins, if an event ends before it.
_JOINT = re.compile(r"\s(?=\S+-\d+\s+\[\d+\]\s+(?:[^\s\d]\S*\s+)?\d+\.\d{6,9}:\s)")
_LOSSES = (
    re.compile(r"\s*CPU:\s*(?P<cpu>\d+) \[(?:LOST )?\d* ?EVENTS(?: DROPPED)?\]"),
    # What this CPU did before is overwritten, while other CPUs' events of that time are there.
    re.compile(r"#+ CPU (?P<cpu>\d+) buffer started #+"),
)
# A line longer than this is a page's script, not an event.
_LINE_CHARS_MAX = 4096


class Line(NamedTuple):
    """One event. `pid` was current on `cpu`; `number` counts the file's lines from 1."""

    number: int
    time_ns: int
    cpu: int
    pid: int
    comm: str
    event: str
    rest: str


def parse(text: Iterable[str]) -> Iterator[Line]:
    """Yields the events among the lines of a file, in the file's order."""
    dialects = list(_DIALECTS)
    time_ns = 0
    for number, raw in enumerate(text, 1):
        if len(raw) > _LINE_CHARS_MAX:
            continue
        # A page of an older systrace holds the trace as one JavaScript string.
        line = raw.rstrip("\r\n").removesuffix("\\n\\").rstrip()
        for one in _apart(line):
            for at, dialect in enumerate(dialects):
                found = dialect.fullmatch(one)
                if found:
                    break
            else:
                for loss in _LOSSES:
                    lost = loss.match(one)
                    if lost:
                        cpu = int(lost["cpu"])
                        yield Line(number, time_ns, cpu, UNKNOWN_PID, "", LOST, "")
                continue
            if at:
                # A file keeps to its dialect, so that the next line is recognised at once.
                dialects.insert(0, dialects.pop(at))
            time_ns = int(found["sec"]) * 1_000_000_000 + int(found["frac"].ljust(9, "0"))
            yield Line(number, time_ns, int(found["cpu"]), int(found["pid"]), found["comm"],
                       found["event"], found["rest"])


def _apart(line: str) -> Iterator[str]:
    """The events of a line, which mostly is one."""
    begin = 0
    for joint in _JOINT.finditer(line):
        if _KERNEL.fullmatch(line, begin, joint.start()):
            yield line[begin:joint.start()]
            begin = joint.end()
    yield line[begin:]


def in_order(lines: Iterable[Line]) -> list[Line]:
    """By time; events of one time stay as the file has them, which knows finer than it prints."""
    return sorted(lines, key=lambda line: line.time_ns)
