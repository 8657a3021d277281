#!/usr/bin/env python3
"""Is time that a hypervisor took put where the CPU really stood still?

    bench/stolen.py [--seconds 60] [--rounds 1] [--cpu 1] [--least 200]

A thread at SCHED_FIFO, alone on one CPU, reads the clock without a pause and writes down every jump of --least µs
or more, beside `tardy record`. It trusts neither the kernel's steal clock nor tardy. Jumps in which the CPU
recorded an interrupt or a switch more than 20 µs before the jump's end are left out, and whatever tardy says of
that time: the thread did not look. (The interrupt that was due comes right when the CPU is back.)

    n         rounds
    stolen    what the recording says was stolen from this CPU, ms; of that unsure, and unplaced, per cent
    clock     the same by /proc/stat, which counts in ticks of 1/100 s
    jumps     how many, and their sum in ms
    counted   of that, in jumps after which the steal clock had risen by half of them or more: of the others the
              steal clock tells nothing (perhaps the host handled a page, or an exit), and no recording knows of them
    found     of the counted jumps' time, the part that lies in stretches that tardy calls the hypervisor's
    right     of the time of those stretches of --least µs or more that are sure, the part that lies in jumps

Needs root, a guest whose host tells what it takes, and a host that is short of CPUs: where nothing is stolen there
is nothing to see, and it says so. Prints, never asserts.
"""

import argparse
import bisect
import os
import tempfile
from pathlib import Path

from programs import TARGET, build, need_root, run_json, tardy_record

PROGRAM = TARGET / "release/tardy-bench-stolen"
# What comes when the CPU is back, before the spinner's next reading.
BACK_NS = 20_000
# The steal clock is looked at with each tick, which may be that of 100 Hz.
TOLD_NS = 12_000_000


def overlap(ranges, others):
    """How long both lists of (from, to) cover; each in order, without overlaps of its own."""
    total, at = 0, 0
    for start, stop in ranges:
        while at < len(others) and others[at][1] <= start:
            at += 1
        for other_start, other_stop in others[at:]:
            if other_start >= stop:
                break
            total += max(0, min(stop, other_stop) - max(start, other_start))
    return total


def without(ranges, others):
    """What of the first the others do not cover; each in order."""
    left = []
    for start, stop in ranges:
        for other_start, other_stop in others:
            if other_stop <= start or other_start >= stop:
                continue
            if other_start > start:
                left.append((start, other_start))
            start = max(start, other_stop)
        if start < stop:
            left.append((start, stop))
    return left


def is_counted(jump, told):
    """Whether the steal clock had risen by so much when it was next looked at."""
    # The interrupt that was due tells it before the thread reads again.
    at = bisect.bisect_left(told, [jump[0], 0])
    rises = (ns for time_ns, ns in told[at:] if time_ns <= jump[1] + TOLD_NS)
    return 2 * max(rises, default=0) >= jump[1] - jump[0]


def ticks_stolen(cpu):
    """What /proc/stat has of a CPU, in ms."""
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} "))
    return int(line.split()[8]) * 1000 / os.sysconf("SC_CLK_TCK")


def length(ranges):
    return sum(stop - start for start, stop in ranges)


def is_silent(jump, busy):
    at = bisect.bisect_right(busy, jump[0])
    return at == len(busy) or busy[at] >= jump[1] - BACK_NS


def one(args, folder):
    folder = Path(folder) / "recording"
    with tardy_record(folder):
        spin = ["--cpu", args.cpu, "--seconds", args.seconds, "--least-ns", args.least * 1000]
        before = ticks_stolen(args.cpu)
        seen = run_json(PROGRAM, "spin", *spin)
        clock = ticks_stolen(args.cpu) - before
    found = run_json(PROGRAM, "stretches", folder, "--cpu", args.cpu)
    away = [jump for jump in seen["jumps"] if not is_silent(jump, found["busy"])]
    looked = without([seen["looked"]], away)
    found["jumps"] = [jump for jump in seen["jumps"] if is_silent(jump, found["busy"])]
    # What lies partly where nobody looked cannot be judged.
    found["stretches"] = [one for one in found["stretches"] if overlap([one[:2]], looked) == one[1] - one[0]]
    found["clock"] = clock
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="of a round")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cpu", type=int, default=1)
    parser.add_argument("--least", type=int, default=200, help="of a jump, µs")
    parser.add_argument("--folder", help="where recordings go meanwhile [default: temporary]")
    args = parser.parse_args()
    need_root("to record")
    build("tardy", "tardy-bench-stolen")

    stolen = unsure = unplaced = clock = jumped = counted = found = placed = right = count = 0
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
            said = one(args, folder)
        stolen += said["stolen_ns"]
        unsure += said["unsure_ns"]
        unplaced += said["unplaced_ns"]
        clock += said["clock"]
        jumps = said["jumps"]
        told = [jump for jump in jumps if is_counted(jump, said["told"])]
        stretches = [(start, stop) for start, stop, _ in said["stretches"]]
        sure = [(start, stop) for start, stop, is_sure in said["stretches"] if is_sure]
        long = [one for one in sure if one[1] - one[0] >= args.least * 1000]
        count += len(jumps)
        jumped += length(jumps)
        counted += length(told)
        found += overlap(told, stretches)
        placed += length(long)
        right += overlap(long, jumps)

    def share(part, whole):
        return f"{100 * part / whole:.2f} %" if whole else "-"

    print("  n  stolen ms  clock ms    unsure  unplaced  jumps  jumps ms   counted     found     right")
    print(
        f"{args.rounds:3} {stolen / 1e6:10.2f} {clock:9.0f} {share(unsure, stolen):>9} {share(unplaced, stolen):>9} "
        f"{count:6} {jumped / 1e6:9.2f} {share(counted, jumped):>9} {share(found, counted):>9} {share(right, placed):>9}"
    )
    if not count:
        print(f"No jump of {args.least} µs: the host took nothing from CPU {args.cpu} meanwhile.")


if __name__ == "__main__":
    main()
