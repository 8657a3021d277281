#!/usr/bin/env python3
"""tardy's cyclic measurement beside cyclictest: alternating rounds, one table.

    bench/cyclictest.py [--rounds 6] [--seconds 10] [--interval 1000] [--prio 80] [--load storm:40]

Both run one thread per CPU, pinned, SCHED_FIFO, memory locked, /dev/cpu_dma_latency at 0, the same
interval, no distance: cyclictest as `-q -N -m -a -t -p PRIO -i US -D S -h 1000000` (-h makes -d 0). With -N
its bins are 1 ns wide, so its p99 is exact; ours comes from a histogram within 0.1 %. Both are taken
over the samples of all threads together. The order of the two changes from round to round, so that
whatever else the machine does meets both alike.

The last columns say how much of the CPUs others took meanwhile: a round in which that differs compares
two different systems. The medians are over the quiet rounds, with others below QUIET_PERCENT beside
both, where there are at least three; under --load over all.

The ratio that counts is that of the medians over rounds; the mean of the rounds' own ratios with
its standard error says how far to trust it. Where the load is given it runs in a process of its
own beside either. Needs root and rt-tests; prints, never asserts.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "target/release/examples/cyclic"
BINS_NS = 1_000_000
QUIET_PERCENT = 15


def with_others(measure, args):
    """The figures, and the share of all CPU time (%) that others than the measured process took."""
    busy, own, start = busy_seconds(), own_seconds(), time.monotonic()
    figures = measure(args)
    others = busy_seconds() - busy - (own_seconds() - own)
    return *figures, max(0, 100 * others / ((time.monotonic() - start) * os.cpu_count()))


def busy_seconds():
    """CPU seconds of the whole system, of all CPUs, that were not idle."""
    ticks = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9])
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """CPU seconds of this script, which reads long histograms, and of what it ran."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def ours(args):
    command = [EXAMPLE, "-D", str(args.seconds), "-i", str(args.interval), "-p", str(args.prio)]
    command += args.ours.split()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    everything = json.loads(done.stdout.splitlines()[-1])
    return everything["mean_ns"], everything["p99_ns"], everything["samples"]


def theirs(args):
    with tempfile.NamedTemporaryFile("r") as histogram:
        command = ["cyclictest", "-q", "-N", "-m", "-a", "-t", "-p", str(args.prio)]
        command += ["-i", str(args.interval), "-D", str(args.seconds), "-h", str(BINS_NS)]
        command += [f"--histfile={histogram.name}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return read_histogram(histogram)


def read_histogram(lines):
    """(mean, p99, samples) in ns over all threads of a cyclictest histogram file."""
    bins, averages, overflows, counts = {}, [], [], []
    for line in lines:
        if line.startswith("#"):
            title, _, values = line[1:].partition(":")
            values = values.split()
            if title.strip() == "Avg Latencies":
                averages = [int(value) for value in values]
            elif title.strip() == "Histogram Overflows":
                overflows = [int(value) for value in values]
            elif title.strip() == "Total":
                counts = [int(value) for value in values]
        elif fields := line.split():
            if count := sum(int(value) for value in fields[1:]):
                bins[int(fields[0])] = count
    counts = [inside + above for inside, above in zip(counts, overflows)]
    samples = sum(counts)
    mean = sum(average * count for average, count in zip(averages, counts)) / samples
    due = math.ceil(samples * 0.99)
    for ns, count in sorted(bins.items()):
        due -= count
        if due <= 0:
            return mean, ns, samples
    return mean, float("inf"), samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--interval", type=int, default=1000, help="µs")
    parser.add_argument("--prio", type=int, default=80)
    parser.add_argument("--load", help="a load beside both, as tardy writes it: storm:40")
    parser.add_argument("--ours", default="", help="further arguments for ours alone")
    args = parser.parse_args()
    build = ["cargo", "build", "--quiet", "--release", "-p", "tardy-lab", "--examples"]
    subprocess.run(build, cwd=ROOT, check=True)

    load = None
    if args.load:
        command = [EXAMPLE.with_name("load"), args.load]
        load = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        rows = []
        print("round   mean ns: cyclictest  tardy  ratio   p99 ns: cyclictest   tardy  ratio  others %")
        for number in range(args.rounds):
            if number % 2:
                us, them = with_others(ours, args), with_others(theirs, args)
            else:
                them, us = with_others(theirs, args), with_others(ours, args)
            rows.append((them, us))
            print(f"{number + 1:5} {line(them, us)}", flush=True)
        quiet = [row for row in rows if max(side[3] for side in row) < QUIET_PERCENT]
        if len(quiet) >= 3 and not args.load:
            print(f"of {len(rows)} rounds {len(quiet)} were quiet; of these:")
            rows = quiet
        median = [
            [statistics.median(row[side][figure] for row in rows) for figure in range(4)]
            for side in (0, 1)
        ]
        print(f"{'med':>5} {line(*median)}")
        for name, figure in (("mean", 0), ("p99", 1)):
            ratios = [us[figure] / them[figure] for them, us in rows]
            error = statistics.stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0
            print(f"ratio of {name}, mean of rounds: {statistics.mean(ratios):.3f} ± {error:.3f}")
        samples = [sum(row[side][2] for row in rows) for side in (0, 1)]
        print(f"samples: cyclictest {samples[0]}, tardy {samples[1]}")
    finally:
        if load:
            load.stdin.close()
            load.wait()


def line(them, us):
    return (
        f"{them[0]:20.0f} {us[0]:6.0f} {us[0] / them[0]:6.3f}"
        f"{them[1]:21.0f} {us[1]:7.0f} {us[1] / them[1]:6.3f}"
        f"{them[3]:9.0f} {us[3]:3.0f}"
    )


if __name__ == "__main__":
    main()
