#!/usr/bin/env python3
"""tardy's hackbench load beside rt-tests' hackbench: alternating rounds, one table.

    bench/loads.py [--rounds 7] [--groups 4] [--fds 20] [--size 100] [--loops 2000]

Both send groups × fds² × loops messages, once as processes and once as threads, once over socket pairs
and once over pipes: `tardy load hackbench:GROUPS,loops=N…` and `hackbench -g GROUPS -l N…`. Either
times itself from when all senders and receivers may begin until the last one has done its work, and
hackbench until its last process is gone as well, which more loops make matter less. The order of the two
changes from round to round, so that whatever else the machine does meets both alike.

best, median: 1000 messages a second, of the fastest round and of the median one. ratio: ours by
theirs, of the best, and the median of the rounds' own ratios; 1 is equal, more is faster. low, high:
the lowest and highest ratio of a round. The aim is 0.9 to 1.1. CPU: microseconds of CPU time for a
message, ours and theirs, each less what the same takes with one loop, medians; where others use the
CPUs too, this is what still compares. `without end` is the load as it runs
beside a measurement, counted over some seconds, by their median: it should send as fast. The load
average at the beginning says how alone this was. Needs rt-tests; prints, never asserts.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys

from programs import TARDY, build, run_json

WAYS = [(mode, way) for mode in ("processes", "threads") for way in ("socket", "pipe")]


def with_cpu_us(measure, args, mode, way):
    """Messages a second, and microseconds of CPU time for one: of all loops less that of one."""
    before = cpu_seconds()
    figure = measure(args, mode, way, args.loops)
    between = cpu_seconds()
    measure(args, mode, way, 1)
    seconds = (between - before) - (cpu_seconds() - between)
    return figure, 1e6 * seconds / (args.groups * args.fds**2 * (args.loops - 1))


def cpu_seconds():
    """CPU time of all that ran and ended beneath this script."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ours(args, mode, way, loops):
    """Messages a second of a run with an end."""
    load = spec(args, mode, way) + f",loops={loops}"
    return rate(run_json(TARDY, "load", load, "--json"))


def spec(args, mode, way):
    return f"hackbench:{args.groups},fds={args.fds},size={args.size},{way},{mode}"


def rate(document):
    (done,) = document["work"][0]["done"]
    return done["count"] / document["seconds"]


def without_end(args, mode, way):
    """Messages a second of the load for some seconds."""
    load = spec(args, mode, way)
    return rate(run_json(TARDY, "load", load, "--json", "-D", f"{args.seconds}s"))


def theirs(args, mode, way, loops):
    numbers = {"-g": args.groups, "-f": args.fds, "-s": args.size, "-l": loops}
    flags = [str(word) for pair in numbers.items() for word in pair]
    flags += ["--threads"] if mode == "threads" else ["--process"]
    flags += ["--pipe"] if way == "pipe" else []
    done = subprocess.run(["hackbench", *flags], capture_output=True, text=True)
    took = re.search(r"^Time: ([\d.]+)", done.stdout, re.MULTILINE)
    if done.returncode or not took:
        sys.exit(f"hackbench {' '.join(flags)} failed:\n{done.stdout}{done.stderr}")
    return args.groups * args.fds**2 * loops / max(float(took[1]), 0.001)


def compare(args, mode, way):
    """(ours, theirs, endless) of each round; the first two with CPU time."""
    rounds = []
    for number in range(args.rounds):
        both = [ours, theirs] if number % 2 == 0 else [theirs, ours]
        figures = {measure: with_cpu_us(measure, args, mode, way) for measure in both}
        rounds.append((figures[ours], figures[theirs], without_end(args, mode, way)))
    return rounds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--fds", type=int, default=20)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--loops", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=1, help="of the load without end")
    args = parser.parse_args()
    build("tardy")
    if subprocess.run(["which", "hackbench"], capture_output=True).returncode:
        sys.exit("loads.py: needs hackbench, which is part of rt-tests: apt install rt-tests")

    messages = args.groups * args.fds**2 * args.loops
    print(
        f"{messages} messages of {args.size} bytes, {args.groups} groups of {args.fds} + {args.fds}, "
        f"{args.rounds} rounds, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}"
    )
    print(
        f"{'':18} {'tardy':>15} {'hackbench':>15} {'without':>8}   {'ratio':>11} {'CPU, us':>28}\n"
        f"{'':18} {'best':>7} {'median':>7} {'best':>7} {'median':>7} {'end':>8}   "
        f"{'best':>5} {'median':>6} {'low':>6} {'high':>6}   {'tardy':>5} {'theirs':>6}"
    )
    for mode, way in WAYS:
        rounds = compare(args, mode, way)
        both = [[*one, *two, endless] for one, two, endless in rounds]
        own, own_cpu, other, other_cpu, endless = zip(*both)
        ratios = [one / two for one, two in zip(own, other)]
        figures = [max(own), statistics.median(own), max(other), statistics.median(other)]
        cells = " ".join(f"{figure / 1000:7.0f}" for figure in figures)
        print(
            f"{mode + ', ' + way:18} {cells} {statistics.median(endless) / 1000:8.0f}   "
            f"{max(own) / max(other):5.2f} {statistics.median(ratios):6.2f} "
            f"{min(ratios):6.2f} {max(ratios):6.2f}   "
            f"{statistics.median(own_cpu):5.2f} {statistics.median(other_cpu):6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
