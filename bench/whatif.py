#!/usr/bin/env python3
"""What `tardy whatif` predicts, and what comes of it when it is done.

    bench/whatif.py [--blocks 4] [--seconds 5] [--only NAME,...] [--csv FILE] [--keep DIR [--again]]

Each case is a system as it is and the same system with one change. Both are recorded in blocks, in random order.
From each recording of the system as it is the change is predicted; what is measured is all recordings with it
together, so that a block in which the machine did something else weighs as much as any.

  slack      an ordinary thread, timer slack 50 µs      slack(victim)=1ns
  storm      a FIFO thread beside storm:10              more(storm)=30
  fewer      a FIFO thread beside storm:40              remove(storm)
  spinner    a FIFO thread below one that spins         affinity(spinner)=0
  below      the same                                   prio(spinner)=other
  hackbench  an ordinary thread beside hackbench:1      prio(victim)=fifo:50
  idle       a FIFO thread, idle states as they are     idle-latency=0us

What a hypervisor took is left out of all figures: no change alters it, and it is another in each block. So are wakeups
near which events are missing, as tardy leaves them out: nobody knows what delayed them.

Columns: the figure; as recorded, predicted (the range that is to hold it in 90 of 100), and measured; how far the
prediction is off, and how many of the ranges of this case hold what was measured. In the end, how many do, of the ranges
of 90 % and of 95 %, and how many of the latter do or are within 5 % (mean), 15 % (p99) or 25 % (p99.9). Predictions that tardy refuses are
counted with the reason. `--csv` adds a line for each figure of each prediction, in the form of
`diagnosis/whatif/src/experience.csv`.

It prints, it does not judge. Needs root and eBPF. Whatever else the machine does is in both halves of a case alike,
and in what is measured: run it alone.
"""

import argparse
import collections
import contextlib
import csv
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from programs import TARDY, build, chosen, need_root

FIGURES = ["mean", "p50", "p99", "p999", "worst_percent", "max"]
# How far one may be off to be called close.
CLOSE = {"mean": 0.05, "p99": 0.15, "p999": 0.25}
VICTIM_CPU, OTHER_CPU = 1, 0

# A thread above the victim that runs for 1 to 3 ms and sleeps for 4 to 8.
SPINNER = """
import ctypes, os, random, time
ctypes.CDLL(None).prctl(15, b"spinner", 0, 0, 0)
while os.getppid() == PARENT:
    until = time.monotonic() + random.uniform(0.001, 0.003)
    while time.monotonic() < until:
        pass
    time.sleep(random.uniform(0.004, 0.008))
"""


@dataclass(frozen=True)
class Case:
    """A system, the change, and the same system with it."""

    name: str
    change: str
    before: tuple
    after: tuple
    # Where a spinner runs, and how it is scheduled, before and after.
    spinner: tuple = (None, None)


FIFO = ("--policy", "fifo", "-P", "80")
OTHER = ("--policy", "other", "--slack", "50us")
ABOVE = ("chrt", "-f", "90")

CASES = [
    Case("slack", "slack(victim)=1ns", (*OTHER,), ("--policy", "other", "--slack", "1ns")),
    Case("storm", "more(storm)=30", (*FIFO, "--load", "storm:10"), (*FIFO, "--load", "storm:40")),
    Case("fewer", "remove(storm)", (*FIFO, "--load", "storm:40"), FIFO),
    Case(
        "spinner",
        f"affinity(spinner)={OTHER_CPU}",
        FIFO,
        FIFO,
        ((*ABOVE, "taskset", "-c", str(VICTIM_CPU)), (*ABOVE, "taskset", "-c", str(OTHER_CPU))),
    ),
    Case(
        "below",
        "prio(spinner)=other",
        FIFO,
        FIFO,
        ((*ABOVE, "taskset", "-c", str(VICTIM_CPU)), ("taskset", "-c", str(VICTIM_CPU))),
    ),
    Case(
        "hackbench",
        "prio(victim)=fifo:50",
        (*OTHER, "--load", "hackbench:1"),
        ("--policy", "fifo", "-P", "50", "--load", "hackbench:1"),
    ),
    Case("idle", "idle-latency=0us", (*FIFO, "--laptop"), FIFO),
]


@contextlib.contextmanager
def spinner(prefix):
    """Runs a spinner to the end of the block, where there is to be one."""
    if prefix is None:
        yield
        return
    program = SPINNER.replace("PARENT", str(os.getpid()))
    process = subprocess.Popen([*prefix, sys.executable, "-c", program])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def record(options, prefix, seconds, folder):
    shutil.rmtree(folder, ignore_errors=True)
    load = () if "--load" in options else ("--load", "none")
    command = [TARDY, "run", "-q", "-D", f"{seconds}s", "-t1", f"-a{VICTIM_CPU}", "-i", "1ms", *options, *load]
    with spinner(prefix):
        done = subprocess.run([*map(str, command), "-o", str(folder)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nfailed:\n{done.stderr.strip()}")


def lateness(folder):
    """Every known lateness of a recording's victims behind a timer, without what a hypervisor took, ns."""
    table = folder.with_name(f"{folder.name}.csv")
    subprocess.run([TARDY, "export", "-q", str(folder), "--format", "csv", "-o", str(table)], check=True)
    try:
        stolen = collections.Counter()
        with (table / "segments.csv").open() as lines:
            for row in csv.DictReader(lines):
                if row["cause"] == "hypervisor":
                    stolen[row["wakeup_id"]] += int(row["ns"])
        with (table / "wakeups.csv").open() as lines:
            rows = csv.DictReader(lines)
            rows = (row for row in rows if row["kind"] == "timer" and row["touched_by_loss"] == "false")
            return [int(row["lateness_ns"]) - stolen[row["id"]] for row in rows]
    finally:
        shutil.rmtree(table)


def figures(sample):
    """As tardy counts them."""
    ordered = sorted(sample)

    def quantile(share):
        return ordered[max(0, -(-int(len(ordered) * share * 1000) // 1000) - 1)]

    worst = ordered[-max(1, len(ordered) // 100) :]
    values = [statistics.fmean(ordered), quantile(0.5), quantile(0.99), quantile(0.999)]
    return dict(zip(FIGURES, [*values, statistics.fmean(worst), ordered[-1]]))


def predict(folder, change):
    """The figures of a prediction, or why there is none."""
    command = [TARDY, "whatif", str(folder), "--change", change, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no answer"
    [tried] = answer["changes"]
    if tried.get("refused"):
        return None, tried["refused"]
    moved = tried.get("figures_without_theft", tried["figures"])
    return {figure["figure"]: figure for figure in moved}, None


def as_made(figure):
    """A figure's range before tardy widened it: what its experience is made of."""
    return [round(figure[name]) for name in ("predicted_ns", "narrow_low_ns", "narrow_high_ns")]


def us(ns):
    return f"{ns / 1e3:.1f}"


def has_range(figure):
    """A maximum has none that could be relied on."""
    return figure["low_ns"] is not None


def in_range(figure, truth):
    return has_range(figure) and figure["low_ns"] <= truth <= figure["high_ns"]


def is_close(row):
    """Whether a prediction is as close to what was measured as one may ask of such a figure."""
    figure, predicted, measured = row[3], row[4], row[-1]
    return figure in CLOSE and abs(predicted / measured - 1) <= CLOSE[figure]


def between(figure):
    return f"{us(figure['low_ns'])}–{us(figure['high_ns'])}" if has_range(figure) else "none"


def try_case(case, options, folder, rng):
    """Prints a case's table. Yields a row for each figure of each prediction."""
    recorded, predictions, refusals, measured = [], [], [], []
    for block in range(options.blocks):
        halves = ["before", "after"]
        rng.shuffle(halves)
        for half in halves:
            recording = folder / f"{case.name}-{block}-{half}"
            if not options.again:
                record(getattr(case, half), case.spinner[half == "after"], options.seconds, recording)
            if half == "after":
                measured += lateness(recording)
                continue
            recorded += lateness(recording)
            prediction, refusal = predict(recording, case.change)
            (predictions if prediction else refusals).append(prediction or refusal)
    was, became = figures(recorded), figures(measured)
    print(f"\n{case.name}: {case.change}, {options.blocks} blocks, n = {len(recorded):,} and {len(measured):,}")
    for refusal in refusals:
        print(f"  refused: {refusal}")
    if not predictions:
        return []
    print(f"  {'µs':10} {'recorded':>10} {'predicted':>10} {'range':>21} {'measured':>10} {'off':>7}  held")
    rows = []
    for name in FIGURES:
        all_of_it = [prediction[name] for prediction in predictions]
        truth = became[name]
        keys = ("predicted_ns", "low_ns", "high_ns")
        values = {key: [one[key] for one in all_of_it if one[key] is not None] for key in keys}
        middle = {key: statistics.median(found) if found else None for key, found in values.items()}
        held = f"{sum(in_range(one, truth) for one in all_of_it)} of {len(all_of_it)}" if has_range(middle) else ""
        off = middle["predicted_ns"] / truth - 1
        print(
            f"  {name:10} {us(was[name]):>10} {us(middle['predicted_ns']):>10} {between(middle):>21} {us(truth):>10}"
            f" {off:>+7.0%}  {held}"
        )
        kind = case.change.partition("(")[0].partition("=")[0]
        # A maximum has no range that could be relied on.
        if name != "max":
            rows += [(["live", kind, case.name, name, *as_made(one), round(truth)], one) for one in all_of_it]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases, separated by commas")
    parser.add_argument("--seed", type=int, default=1, help="of the order of halves")
    parser.add_argument("--csv", type=Path, help="add the predictions to this file")
    parser.add_argument("--keep", type=Path, help="keep the recordings in this folder")
    parser.add_argument("--again", action="store_true", help="judge the recordings that --keep kept, record none")
    options = parser.parse_args()
    if options.again and not options.keep:
        parser.error("--again judges recordings that were kept: say where, by --keep")
    names = chosen(parser, options.only, [case.name for case in CASES], "case")
    need_root("to record by eBPF and to run real-time threads")
    build("tardy")
    rng = random.Random(options.seed)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for case in CASES:
            if names and case.name not in names:
                continue
            new = try_case(case, options, folder, rng)
            rows += new
            if options.csv:
                with options.csv.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(row for row, _ in new)
    if rows:
        held = sum(in_range(one, row[-1]) for row, one in rows)
        print(f"\nOf {len(rows)} ranges {held} ({held / len(rows):.0%}) hold what was measured; 90 % are to.")
        held = sum(one["low_95_ns"] <= row[-1] <= one["high_95_ns"] for row, one in rows)
        print(f"Of the ranges of 95 % {held} ({held / len(rows):.0%}) do.")
        held = sum(is_close(row) or one["low_95_ns"] <= row[-1] <= one["high_95_ns"] for row, one in rows)
        print(f"{held} ({held / len(rows):.0%}) are in the range of 95 %, or as close as one may ask.")


if __name__ == "__main__":
    main()
