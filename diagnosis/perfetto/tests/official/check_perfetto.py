"""Holds tardy's part of Perfetto's schema, and a trace that it exported, against Perfetto's own classes.

    check_perfetto.py SCHEMA TRACE

SCHEMA is what the example `schema` of tardy-perfetto prints, TRACE what the example `perfetto_sample` of
tardy-export writes. Says what is wrong, a line each, and fails.
"""

import sys

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as official

TYPES = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}

# Text is read as bytes, because what the kernel calls a task is in no encoding; enumerations as numbers.
SAME = {"string": "bytes", "enum": "int32"}


def descriptor(name: str) -> Descriptor:
    at = official
    for part in name.split("."):
        at = getattr(at, part)
    return at.DESCRIPTOR


def encoding(field: FieldDescriptor) -> str:
    kind = SAME.get(TYPES[field.type], TYPES[field.type])
    kind = 'bytes = "vec"' if kind == "bytes" else kind
    if not field.is_repeated:
        return f"{kind}, optional"
    if field.type in (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        return f"{kind}, repeated"
    return f'{kind}, repeated, packed = "{str(field.is_packed).lower()}"'


def wrong_fields(schema: str) -> list[str]:
    wrong = []
    lines = [line.split("\t") for line in schema.splitlines()]
    for message, number, name, ours, inner in lines:
        field = descriptor(message).fields_by_number.get(int(number))
        if field is None:
            wrong.append(f"{message} has no field {number}")
            continue
        package = descriptor(message).file.package + "."
        theirs = encoding(field)
        their_inner = field.message_type.full_name.removeprefix(package) if field.message_type else ""
        if (field.name, theirs, their_inner) != (name, ours, inner):
            wrong.append(
                f"{message}.{number} is {name}: {ours} {inner}, "
                f"and in Perfetto {field.name}: {theirs} {their_inner}"
            )
    # What can be wrong only if there is something.
    if len(lines) < 200:
        wrong.append(f"only {len(lines)} fields were listed")
    return wrong


def unknown_fields(message: Message, path: str = "Trace") -> list[str]:
    unknown = [f"{path} has an unknown field {field.field_number}" for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                unknown += unknown_fields(inner, f"{path}.{field.name}")
    return unknown


def wrong_trace(data: bytes) -> list[str]:
    trace = official.Trace()
    trace.ParseFromString(data)
    wrong = unknown_fields(trace)

    kinds = {field.name for packet in trace.packet for field, _ in packet.ListFields()}
    for needed in (
        "clock_snapshot",
        "system_info",
        "process_tree",
        "ftrace_events",
        "track_descriptor",
        "track_event",
        "interned_data",
    ):
        if needed not in kinds:
            wrong.append(f"the trace has no {needed}")

    # Slices end where they begin, on their own track, and arrows lead somewhere.
    open_slices: dict[int, int] = {}
    begun: set[int] = set()
    ended: set[int] = set()
    tracks = {p.track_descriptor.uuid for p in trace.packet if p.HasField("track_descriptor")}
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        if event.track_uuid not in tracks:
            wrong.append(f"an event is on track {event.track_uuid}, which is not there")
        if event.type == official.TrackEvent.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid] = open_slices.get(event.track_uuid, 0) + 1
        elif event.type == official.TrackEvent.TYPE_SLICE_END:
            open_slices[event.track_uuid] = open_slices.get(event.track_uuid, 0) - 1
            if open_slices[event.track_uuid] < 0:
                wrong.append(f"a slice ends on track {event.track_uuid} that did not begin")
        begun |= set(event.flow_ids)
        ended |= set(event.terminating_flow_ids)
    wrong += [f"{count} slices on track {uuid} do not end" for uuid, count in open_slices.items() if count]
    if begun != ended or not begun:
        wrong.append(f"{len(begun)} arrows begin and {len(ended)} end")
    return wrong


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as schema, open(sys.argv[2], "rb") as trace:
        wrong = wrong_fields(schema.read()) + wrong_trace(trace.read())
    for line in wrong:
        print(f"check_perfetto: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
