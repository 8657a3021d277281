"""Perfetto's messages as lines: one event as a message, the same as columns."""

from __future__ import annotations

import zlib

import pytest

import perfetto
import scheduler


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def message(**fields: int | str | bytes) -> bytes:
    return b"".join(field(int(name[1:]), value) for name, value in fields.items())


def packet(*bundles: bytes) -> bytes:
    return b"".join(field(1, field(1, bundle)) for bundle in bundles)


WAKING = message(_1=1000, _2=7, _20=message(_1="late", _2=9, _3=120, _5=1))
SWITCH = message(_1=4000, _2=0, _4=message(_1="swapper", _2=0, _3=120, _4=0, _5="late", _6=9, _7=120))
EVENTS = packet(message(_1=0, _2=WAKING), message(_1=1, _2=SWITCH))

# The same in columns: two switches on CPU 1, of which the first tells who leaves with the second.
COLUMNS = packet(
    message(_1=0, _4=message(_5="late", _7=varint(1000), _8=varint(9), _9=varint(1), _10=varint(120), _11=varint(0))),
    message(_1=1, _4=field(5, "swapper") + field(5, "late") + message(
        _1=varint(500) + varint(3500), _2=varint(1) + varint(0), _3=varint(0) + varint(9),
        _4=varint(120) + varint(-1), _6=varint(0) + varint(1))),
)


@pytest.mark.parametrize("content", [EVENTS, COLUMNS, EVENTS + EVENTS, field(1, field(50, zlib.compress(EVENTS)))])
def test_a_wakeup(content: bytes) -> None:
    reading = scheduler.read(perfetto.parse(content))
    (wait,) = [wait for wait in reading.waits if not wait.is_preempted]
    assert (wait.pid, wait.comm, wait.start_ns, wait.end_ns, wait.cpu) == (9, "late", 1000, 4000, 1)


def test_names_may_hold_what_separates() -> None:
    odd = "a next_pid=1 b"
    columns = packet(message(_1=1, _4=field(5, odd) + message(
        _1=varint(500), _2=varint(1), _3=varint(9), _4=varint(120), _6=varint(0))))
    (line,) = perfetto.parse(columns)
    assert f"next_comm={odd} next_pid=9 " in line.rest


def test_losses_are_lines() -> None:
    lost = perfetto.parse(packet(message(_1=1, _2=SWITCH, _3=1)))
    assert [line.event for line in lost] == ["LOST", "sched_switch"]


@pytest.mark.parametrize("content", [b"\x0a\x05ab", b"\x0b", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(perfetto.NotPerfetto):
        perfetto.parse(content)
