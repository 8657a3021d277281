#!/usr/bin/env python3
"""How fast a long recording is explained, on one core, and in how much memory.

    bench/explain.py [REC] [--events 50000000] [--rounds 3] [--cpu 0] [--folder DIR]

Takes a recording, or makes one (as root: `tardy run -D 3` under storm:40; otherwise of made-up
events, which says so), and writes it again and again to one of 50 million events, each repetition
later than the one before, definitions once. Then, in rounds, each in a process of its own bound to
one CPU, the file in the page cache: reading alone and reading and explaining in a process that does
nothing else (the library), and `tardy explain --no-write --json` (the command); for the threads
that the recording was to watch and for --all.

Columns: wakeups that were explained; n rounds; wall, the median of the process' own clock (of the
whole process for the command); CPU, the least of its CPU seconds, kernel and user, which other
programs on the machine disturb less; millions of events per CPU second; the highest resident
memory of any round (VmHWM or ru_maxrss).

Aim: 5 million events a second, 200 MB. It prints, it does not judge.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import TARDY, TARGET, build, run_json

BENCH = TARGET / "release/tardy-bench-explain"
ROWS = {
    "read": [BENCH, "timed", "--read-only"],
    "library": [BENCH, "timed"],
    "library --all": [BENCH, "timed", "--all"],
    "command": [TARDY, "explain", "--no-write", "--json", "--quiet"],
    "command --all": [TARDY, "explain", "--no-write", "--json", "--quiet", "--all"],
}


def short_recording(folder):
    """A real recording where that is allowed."""
    short = folder / "short"
    if os.geteuid() == 0:
        command = [TARDY, "run", "-D", "3", "--load", "storm:40", "--quiet", "--json", "-o", short]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    else:
        print("not root: the recording is of made-up events (sudo, or name a recording)")
        run_json(BENCH, "synthetic", short)
    return short


def measured(command, cpu):
    """Runs it on one CPU; (its JSON, wall seconds, CPU seconds, peak KiB)."""
    start = time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    with process.stdout:
        text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} failed")
    wall = time.monotonic() - start
    return json.loads(text), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def sample(name, recording, cpu):
    """(events, wakeups, wall seconds, CPU seconds, peak MB)"""
    found, wall, busy, peak_kib = measured([*ROWS[name], recording], cpu)
    if name.startswith("command"):
        return found["events"], found["lateness"]["wakeups"], wall, busy, peak_kib * 1024 / 1e6
    peak_mb = found["peak_kib"] * 1024 / 1e6
    return found["events"], found["wakeups"], found["seconds"], found["cpu_seconds"], peak_mb


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recording", nargs="?", type=Path, help="a recording's folder")
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--folder", help="where 32 bytes per event have room [default: temporary]")
    args = parser.parse_args()
    build("tardy", "tardy-bench-explain")

    with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
        folder = Path(folder)
        short = args.recording or short_recording(folder)
        long = folder / "long"
        made = run_json(BENCH, "lengthen", short, long, "--events", args.events)
        print(
            f"{made['events']:,} events, {made['bytes'] / 1e6:,.0f} MB, {made['repetitions']} "
            f"repetitions of {short}; CPU {args.cpu}"
        )
        samples = {name: [] for name in ROWS}
        for number in range(args.rounds):
            # There and back again, so that whatever else the machine does meets all alike.
            for name in list(ROWS)[:: -1 if number % 2 else 1]:
                samples[name].append(sample(name, long, args.cpu))
        print(f"{'':14} {'wakeups':>12}  n  wall s   CPU s  M events/CPU s  peak MB")
        for name, rows in samples.items():
            events, wakeups = rows[0][:2]
            wall = statistics.median(row[2] for row in rows)
            busy = min(row[3] for row in rows)
            peak = max(row[4] for row in rows)
            print(
                f"{name:14} {wakeups:12,} {len(rows):2} {wall:7.2f} {busy:7.2f} "
                f"{events / busy / 1e6:15.1f} {peak:8.1f}"
            )


if __name__ == "__main__":
    main()
