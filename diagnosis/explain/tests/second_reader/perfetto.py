"""Perfetto traces as lines, as if the kernel had printed their events.

The numbers of fields are those of Perfetto's `trace_packet.proto`, `ftrace_event_bundle.proto`,
`ftrace_event.proto` and `sched.proto`.
"""

from __future__ import annotations

import zlib
from typing import Iterator, NamedTuple, Union

from lines import LOST, UNKNOWN_PID, Line

Value = Union[int, bytes]

_PACKET, _BUNDLE, _COMPRESSED = 1, 1, 50
_CPU, _EVENT, _LOST_EVENTS, _COMPACT = 1, 2, 3, 4
_TIME, _PID = 1, 2
_NAMES = {
    4: "sched_switch", 13: "cpu_idle", 17: "sched_wakeup", 20: "sched_waking", 21: "ipi_entry", 22: "ipi_exit",
    24: "softirq_entry", 25: "softirq_exit", 36: "irq_handler_entry", 37: "irq_handler_exit",
    114: "sched_wakeup_new",
}
_INTERNED = 5
_SWITCH_COLUMNS = {"time": 1, "state": 2, "pid": 3, "prio": 4, "comm": 6}
_WAKING_COLUMNS = {"time": 7, "pid": 8, "cpu": 9, "prio": 10, "comm": 11}


class NotPerfetto(Exception):
    """The bytes are no messages of that form."""


class _Told(NamedTuple):
    """An event, before it is known who was current."""

    time_ns: int
    cpu: int
    pid: int
    event: str
    rest: str


def parse(content: bytes) -> list[Line]:
    """All events in order of time; what several data sources recorded alike stands there once."""
    told: dict[_Told, None] = {}
    for packet in _packets(content):
        for number, bundle in _fields(packet):
            if number == _BUNDLE and isinstance(bundle, bytes):
                told.update(dict.fromkeys(_bundle(bundle)))
    return list(_with_current(sorted(told, key=lambda one: one.time_ns)))


def _packets(content: bytes) -> Iterator[bytes]:
    for number, packet in _fields(content):
        if number != _PACKET or not isinstance(packet, bytes):
            raise NotPerfetto("it holds other things than packets")
        compressed = [value for field, value in _fields(packet) if field == _COMPRESSED]
        if not compressed:
            yield packet
        for part in compressed:
            if isinstance(part, bytes):
                yield from _packets(zlib.decompress(part))


def _bundle(bundle: bytes) -> Iterator[_Told]:
    fields = _fields(bundle)
    cpu = next((int(value) for number, value in fields if number == _CPU), 0)
    first_ns = None
    has_losses = any(number == _LOST_EVENTS and value for number, value in fields)
    told = []
    for number, value in fields:
        if number == _EVENT and isinstance(value, bytes):
            told += list(_event(value, cpu))
        elif number == _COMPACT and isinstance(value, bytes):
            told += list(_compact(value, cpu))
    if has_losses and told:
        first_ns = min(one.time_ns for one in told)
        yield _Told(first_ns - 1, cpu, UNKNOWN_PID, LOST, "")
    yield from told


def _event(event: bytes, cpu: int) -> Iterator[_Told]:
    fields = dict(_fields(event))
    time_ns, pid = int(fields.get(_TIME, 0)), int(fields.get(_PID, 0))
    for number, value in fields.items():
        name = _NAMES.get(number)
        if name and isinstance(value, bytes):
            yield _Told(time_ns, cpu, pid, name, _words(name, dict(_fields(value))))


def _words(name: str, of: dict[int, Value]) -> str:
    if name == "sched_switch":
        return (f"prev_comm={_text(of, 1)} prev_pid={_int(of, 2)} prev_prio={_int(of, 3)} "
                f"prev_state={_int(of, 4)} next_comm={_text(of, 5)} next_pid={_int(of, 6)} next_prio={_int(of, 7)}")
    if name.startswith("sched_"):
        return f"comm={_text(of, 1)} pid={_int(of, 2)} prio={_int(of, 3)} target_cpu={_int(of, 5)}"
    if name == "cpu_idle":
        return f"state={_int(of, 1) & 0xFFFFFFFF} cpu_id={_int(of, 2)}"
    return ""


def _compact(compact: bytes, cpu: int) -> Iterator[_Told]:
    """Columns instead of events: times as differences, names as indices, nothing of who leaves but its state."""
    fields = _fields(compact)
    names = [value.decode(errors="replace") for number, value in fields
             if number == _INTERNED and isinstance(value, bytes)]
    for event, columns in (("sched_switch", _SWITCH_COLUMNS), ("sched_waking", _WAKING_COLUMNS)):
        values = {name: _column(fields, number) for name, number in columns.items()}
        if len({len(column) for column in values.values()}) != 1:
            raise NotPerfetto("columns of different lengths")
        time_ns = 0
        for at in range(len(values["time"])):
            of = {name: column[at] for name, column in values.items()}
            time_ns += of["time"]
            if event == "sched_switch":
                rest = (f"{_signed(of['state'])} next_comm={names[of['comm']]} next_pid={of['pid']} "
                        f"next_prio={_signed(of['prio'])}")
            else:
                rest = (f"comm={names[of['comm']]} pid={of['pid']} prio={_signed(of['prio'])} "
                        f"target_cpu={of['cpu']}")
            yield _Told(time_ns, cpu, UNKNOWN_PID, event, rest)


def _with_current(told: list[_Told]) -> Iterator[Line]:
    """Puts in who was current where that was left out."""
    current: dict[int, tuple[int, str]] = {}
    for number, one in enumerate(told, 1):
        pid, comm = current.get(one.cpu, (UNKNOWN_PID, ""))
        rest = one.rest
        if one.event == LOST:
            current.pop(one.cpu, None)
        elif one.event == "sched_switch":
            if one.pid == UNKNOWN_PID:
                rest = f"prev_comm={comm} prev_pid={pid} prev_prio=0 prev_state={rest}"
            comm_of_next, _, numbers = rest.split(" next_comm=", 1)[1].rpartition(" next_pid=")
            current[one.cpu] = (int(numbers.split()[0]), comm_of_next)
        yield Line(number, one.time_ns, one.cpu, pid if one.pid == UNKNOWN_PID else one.pid, comm, one.event, rest)


def _column(fields: list[tuple[int, Value]], wanted: int) -> list[int]:
    found = []
    for number, value in fields:
        if number != wanted:
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = _varint(value, at)
            found.append(one)
    return found


def _fields(message: bytes) -> list[tuple[int, Value]]:
    found: list[tuple[int, Value]] = []
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(message, at)
            found.append((number, value))
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise NotPerfetto(f"a field of wire type {kind}")
        if at + size > len(message):
            raise NotPerfetto("it ends within a field")
        found.append((number, message[at:at + size]))
        at += size
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise NotPerfetto("a number without its end")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _int(of: dict[int, Value], number: int) -> int:
    value = of.get(number, 0)
    return _signed(value) if isinstance(value, int) else 0


def _text(of: dict[int, Value], number: int) -> str:
    value = of.get(number, b"")
    return value.decode(errors="replace") if isinstance(value, bytes) else ""
