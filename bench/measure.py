#!/usr/bin/env python3
"""What a sample costs the thread that takes it: tardy's cyclic measurement and cyclictest's.

    bench/measure.py [--rounds 3] [--seconds 3] [--interval 1000] [--cycles 10000]

First table, the whole loop of the measuring thread, from one call of clock_nanosleep to the next:
- instructions: of user space, per cycle, by valgrind's callgrind. Each is run with 1,000 cycles and with
  CYCLES more; the difference of the measuring thread's totals, by the cycles, so that what comes before
  and after falls out. Under valgrind a reading of the clock is a system call, and counts as a few
  instructions, for both.
- CPU ns: CPU time of the measuring thread per cycle, kernel included, by its /proc/.../schedstat, over
  SECONDS at the interval; the least and the median of ROUNDS, which take turns. Most of it is the
  kernel's way into sleep and out of it, the same for both.

Second table, tardy's record path alone: from the clock reading that is the wakeup until the sample is
stored and the clock can be read again; so with one reading of the clock. In a row with warm caches, and
after sleeps of 50 µs each. Its instructions are of one turn of that loop, which reads the clock twice
more. The aim is 200 ns at most.

Needs root, rt-tests and valgrind; what is not there is left out and named. Prints, never asserts.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/examples"
FEW = 1_000
# Under valgrind a cycle takes longer; it must still be in time for the next.
INTERVAL_CALLGRIND_US = 500
SAMPLES = 50_000
# Longer than any run: the number of loops ends them.
FOREVER_S = 3600

OURS = [EXAMPLES / "cyclic", "-t", "1", "-p", "80"]
THEIRS = ["cyclictest", "-q", "-m", "-a", "-t", "1", "-p", "80"]
LOOPS = {
    "tardy": (OURS, lambda tool: tool + ["-D", str(FOREVER_S)]),
    "tardy, marks": (OURS + ["--marks"], lambda tool: tool + ["-D", str(FOREVER_S)]),
    "tardy, histogram": (OURS + ["--bins", "1000"], lambda tool: tool + ["-D", str(FOREVER_S)]),
    "cyclictest": (THEIRS, lambda tool: tool),
    "cyclictest -h 1000": (THEIRS + ["-h", "1000"], lambda tool: tool),
}
PATHS = {"tardy": [], "tardy, marks": ["--marks"], "tardy, histogram": ["--histogram", "1000"]}


def callgrind(command, more=()):
    """Instructions by thread: {1: …, 2: …}."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        full = ["valgrind", "--tool=callgrind", "--separate-threads=yes", *more]
        full += [f"--callgrind-out-file={out}", *map(str, command)]
        subprocess.run(full, check=True, capture_output=True)
        counts = {}
        for path in Path(folder).glob("out-*"):
            if total := re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE):
                counts[int(path.name.rpartition("-")[2])] = int(total[1])
        return counts


def instructions_per_cycle(tool, cycles):
    # Ours sorts what it calibrates before it measures: never twice the same number of instructions.
    more = ["--toggle-collect=*Cycles*measure*"] if tool[0] == OURS[0] else []

    def measuring(loops):
        # The main thread is 1; the one measuring thread is 2.
        return callgrind(tool + ["-l", str(loops), "-i", str(INTERVAL_CALLGRIND_US)], more)[2]

    return (measuring(FEW + cycles) - measuring(FEW)) / cycles


def schedstat(tid):
    """CPU time in ns, and how often it was put on a CPU."""
    ran, _waited, slices = Path("/proc", str(tid), "schedstat").read_text().split()
    return int(ran), int(slices)


def cpu_per_cycle(tool, args):
    """CPU ns per cycle, over turns on the CPU: each cycle is one where nobody disturbs it."""
    loops = str(round((args.seconds + 2) * 1e6 / args.interval))
    command = [*map(str, tool), "-i", str(args.interval), "-l", loops]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        tids = [int(path.name) for path in Path("/proc", str(running.pid), "task").iterdir()]
        tid = max(tid for tid in tids if tid != running.pid)
        before = schedstat(tid)
        time.sleep(args.seconds)
        after = schedstat(tid)
        return (after[0] - before[0]) / (after[1] - before[1])
    finally:
        running.kill()
        running.wait()


def record_path(options, args):
    """(least ns, median ns, median ns after a sleep) over all rounds."""
    costs = []
    for _ in range(args.rounds):
        command = [EXAMPLES / "record_path", str(SAMPLES), *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        costs.append(json.loads(done.stdout))
    medians = [
        statistics.median(cost[figure] for cost in costs)
        for figure in ("median_ns", "slept_median_ns")
    ]
    return min(cost["min_ns"] for cost in costs), *medians


def record_instructions(options):
    command = [EXAMPLES / "record_path", str(SAMPLES), *options]
    counts = callgrind(command, ["--toggle-collect=*own_cost*record_all*"])
    return sum(counts.values()) / SAMPLES


def shown(number):
    return "-" if number is None else f"{number:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of each round")
    parser.add_argument("--interval", type=int, default=1000, help="µs")
    parser.add_argument("--cycles", type=int, default=10_000, help="whose instructions are counted")
    args = parser.parse_args()
    # By the feature, the clock's address is asked of libc, which valgrind answers for.
    build = ["cargo", "build", "--quiet", "--release", "-p", "tardy-lab", "--examples"]
    build += ["--features", "rustix/use-libc-auxv"]
    subprocess.run(build, cwd=ROOT, check=True)

    has_valgrind = shutil.which("valgrind") is not None
    if not has_valgrind:
        print("no instructions: valgrind is not installed")
    loops = {name: loop for name, loop in LOOPS.items() if shutil.which(str(loop[0][0]))}
    for name in LOOPS.keys() - loops.keys():
        print(f"left out: {name} is not installed")

    print("loop of the measuring thread    instructions   CPU ns: least  median   rounds")
    cpu = {name: [] for name in loops}
    for number in range(args.rounds):
        order = list(loops) if number % 2 == 0 else list(reversed(loops))
        for name in order:
            tool, endless = loops[name]
            cpu[name].append(cpu_per_cycle(endless(tool), args))
    for name, (tool, endless) in loops.items():
        count = instructions_per_cycle(endless(tool), args.cycles) if has_valgrind else None
        least, median = min(cpu[name]), statistics.median(cpu[name])
        print(f"{name:30} {shown(count):>13} {least:15.0f} {median:7.0f} {len(cpu[name]):8}")
        sys.stdout.flush()

    print()
    print("record path alone               instructions       ns: least  median  samples  after sleep")
    for name, options in PATHS.items():
        least, median, slept = record_path(options, args)
        count = record_instructions(options) if has_valgrind else None
        samples = SAMPLES * args.rounds
        print(f"{name:30} {shown(count):>13} {least:15} {median:7.0f} {samples:8} {slept:12.0f}")


if __name__ == "__main__":
    main()
