#!/usr/bin/env python3
"""How fast a long recording is explained, on one core, and in how much memory.

    bench/explain.py [REC ...] [--events 50000000] [--rounds 3] [--cpu 0] [--folder DIR]

Takes recordings, or makes two (as root: `tardy run -D 3` under storm:40, and what `tardy import` makes
of three seconds of the same by trace-cmd, where that is there; otherwise one of made-up events, which
says so), and writes each again and again to one of 50 million events and one of a tenth of that, each
repetition later than the one before, definitions once. Then, in rounds, each in a process of its own
bound to one CPU, the file in the page cache: reading alone and reading and explaining in a process
that does nothing else (the library), and `tardy explain --json` (the command); for the threads that
the recording was to watch and for --all; without the tables and with --tables, for which whatever a
run wrote is removed before the next.

Columns: wakeups that were explained; n rounds; wall, the median of the process' own clock (of the
whole process for the command); CPU, the least of its CPU seconds, kernel and user and all threads,
which other programs on the machine disturb less; millions of events per CPU second; the highest
resident memory of any round (VmHWM or ru_maxrss), of the long recording and of the tenth: where the
two are alike, memory does not grow with the length.

Aim: watched 30 million events a second, --all 10, with tables 3; 200 MB. It prints, it does not judge.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import ROOT, TARDY, TARGET, build, run_json

BENCH = TARGET / "release/tardy-bench-explain"
EXPLAIN = [TARDY, "explain", "--json", "--quiet"]
# Stands for a folder in which the library writes its tables.
FOLDER = "FOLDER"
ROWS = {
    "read": [BENCH, "timed", "--read-only"],
    "library": [BENCH, "timed"],
    "library --all": [BENCH, "timed", "--all"],
    "  with tables": [BENCH, "timed", "--all", "--tables", FOLDER],
    "command": [*EXPLAIN, "--no-write"],
    "command --all": [*EXPLAIN, "--no-write", "--all"],
    "  with its page": [*EXPLAIN, "--all"],
    "  with --tables": [*EXPLAIN, "--all", "--tables"],
}
APART = ROOT / "diagnosis/sources/import/tests/data/record-apart.sh"
GROUPS = ["sched", "timer", "irq", "irq_vectors", "raw_syscalls"]
# The shorter recording, beside which memory is looked at.
SHORTER = 10


def short_recordings(folder):
    """Real recordings where that is allowed, by what they are."""
    if os.geteuid() != 0:
        print("not root: the recording is of made-up events (sudo, or name recordings)")
        run_json(BENCH, "synthetic", folder / "made-up")
        return {"made-up events": folder / "made-up"}
    short = folder / "run"
    command = [TARDY, "run", "-D", "3", "--load", "storm:40", "--quiet", "--json", "-o", short]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = {"tardy run": short}
    if shutil.which("trace-cmd"):
        trace, imported = folder / "trace.dat", folder / "imported"
        load = [TARDY, "load", "storm:40", "-D", "3s", "--json", "--quiet"]
        command = ["sh", APART, "-q", "-C", "mono", "-b", "16384", "-o", trace]
        command += [word for group in GROUPS for word in ("-e", group)] + load
        subprocess.run(command, check=True, capture_output=True)
        run_json(TARDY, "import", trace, "-o", imported, "--json", "--quiet")
        found["imported"] = imported
    else:
        print("left out: an imported recording: trace-cmd is not installed")
    return found


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
    tables = recording.parent / "tables"
    tables.mkdir(exist_ok=True)
    command = [tables if word == FOLDER else word for word in ROWS[name]]
    found, wall, busy, peak_kib = measured([*command, recording], cpu)
    for written in (*tables.iterdir(), *recording.glob("*.parquet"), *recording.glob("*.html")):
        written.unlink()
    if command[0] == TARDY:
        return found["events"], found["lateness"]["wakeups"], wall, busy, peak_kib * 1024 / 1e6
    peak_mb = found["peak_kib"] * 1024 / 1e6
    return found["events"], found["wakeups"], found["seconds"], found["cpu_seconds"], peak_mb


def compare(what, short, folder, args):
    """Makes a recording long, and prints a row for each way to read it."""
    long, shorter = folder / "long", folder / "shorter"
    made = run_json(BENCH, "lengthen", short, long, "--events", args.events)
    run_json(BENCH, "lengthen", short, shorter, "--events", args.events // SHORTER)
    print(
        f"{what}: {made['events']:,} events, {made['bytes'] / 1e6:,.0f} MB, "
        f"{made['repetitions']} repetitions of {short}; CPU {args.cpu}"
    )
    samples = {name: [] for name in ROWS}
    peaks = {name: 0 for name in ROWS}
    for number in range(args.rounds):
        # There and back again, so that whatever else the machine does meets all alike.
        for name in list(ROWS)[:: -1 if number % 2 else 1]:
            samples[name].append(sample(name, long, args.cpu))
            peaks[name] = max(peaks[name], sample(name, shorter, args.cpu)[4])
    print(f"{'':15} {'wakeups':>12}  n  wall s   CPU s  M events/CPU s  peak MB  of a tenth")
    for name, rows in samples.items():
        events, wakeups = rows[0][:2]
        wall = statistics.median(row[2] for row in rows)
        busy = min(row[3] for row in rows)
        peak = max(row[4] for row in rows)
        print(
            f"{name:15} {wakeups:12,} {len(rows):2} {wall:7.2f} {busy:7.2f} "
            f"{events / busy / 1e6:15.1f} {peak:8.1f} {peaks[name]:11.1f}"
        )
    shutil.rmtree(long)
    shutil.rmtree(shorter)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recordings", nargs="*", type=Path, help="recordings' folders")
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--folder", help="where 36 bytes per event have room [default: temporary]")
    args = parser.parse_args()
    build("tardy", "tardy-bench-explain")

    with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
        folder = Path(folder)
        named = {str(path): path for path in args.recordings}
        for what, short in (named or short_recordings(folder)).items():
            compare(what, short, folder, args)


if __name__ == "__main__":
    main()
