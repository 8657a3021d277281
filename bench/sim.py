#!/usr/bin/env python3
"""tardy's simulator beside SimSo's, on what both can express: periodic tasks of fixed priority on one CPU
without any cost.

    bench/sim.py [--tasks 5,20,80] [--span 20] [--rounds 3] [--seed 1]

For each number of tasks, a set with periods of 1 to 100 ms and 70 % of the CPU in all, the shorter period the higher
priority, all first released together. Both simulate it, in alternating rounds; SimSo (PyPI, version in
sim/requirements.txt) in an environment of its own below target/, which the first run makes.

same: jobs that end at the same nanosecond in both schedules, of all that end in both. jobs/s: jobs that end
per second of the simulation, the best of the rounds; of SimSo by its own clock around the simulation, of tardy for the
whole process, and so too little. ratio: ours by theirs. tardy simulates more than is asked here: interrupts, timers, ticks,
system calls and the scheduler's steps, all of which take no time. Prints, never asserts.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import ROOT, TARDY, TARGET, build

HERE = Path(__file__).resolve().parent / "sim"
# A simulated system begins with the threads' first calls; all are released after that.
FIRST_NS = 1_000_000_000
SWITCH = re.compile(r"^\s*(?:\S+)-(\d+)\s.*?(\d+)\.(\d{9}): sched_switch: .*prev_state=S ")
FIRST_PID = 1000
HIGHEST = 98


def environment():
    """A Python that has SimSo."""
    folder = TARGET / "bench-sim"
    python = folder / "bin/python"
    stamp = folder / "made-of"
    wanted = (HERE / "requirements.txt").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", HERE / "requirements.txt"], check=True)
        stamp.write_text(wanted)
    return python


def task_set(number, rng):
    """Tasks with different periods, the shorter the more urgent."""
    periods_us = sorted(rng.sample(range(1_000, 100_000), number))
    shares = [rng.uniform(0.5, 1.5) for _ in range(number)]
    scale = 0.7 / sum(shares)
    return [
        {
            "name": f"t{at}",
            "period_ms": period_us / 1000,
            # To the nanosecond, so that hardly any job ends just when another is released: whose turn is it then?
            "run_ms": max(1, round(1000 * period_us * share * scale)) / 1_000_000,
            "priority": HIGHEST - at,
        }
        for at, (period_us, share) in enumerate(zip(periods_us, shares, strict=True))
    ]


def as_system(tasks, span_ms):
    """The same as a file of tardy's; a period's first release is one period after its thread's first call."""
    threads = "".join(
        f"""
[[thread]]
name = "{task["name"]}"
policy = "fifo:{task["priority"]}"
watched = true
program = [{{ sleep-grid = {{ period = "{round(task["period_ms"] * 1000)}us", from = "1ms" }} }}, \
{{ run = "{round(task["run_ms"] * 1_000_000)}ns" }}]
"""
        for task in tasks
    )
    return f"""title = "periodic tasks without costs"
span = "{span_ms + 1}ms"
policies = ["hardirq"]

[machine]
cpus = 1

[kernel]
preemption = "full"
softirqs = "irq-tail"
{threads}"""


def ours(path):
    begin = time.perf_counter()
    done = subprocess.run([TARDY, "sim", path, "--quiet", "--json", "--jobs", "1"], capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"tardy sim failed: {done.stderr.strip()}")
    return seconds


def our_ends(path, tasks, folder):
    """When each job of each task ended, after the first release."""
    recording, text = folder / "recording", folder / "events.txt"
    quiet = {"check": True, "capture_output": True}
    subprocess.run([TARDY, "sim", path, "--quiet", "-o", recording], **quiet)
    subprocess.run([TARDY, "export", recording, "--format", "text", "-o", text], **quiet)
    ends = {task["name"]: [] for task in tasks}
    with text.open() as lines:
        for line in lines:
            found = SWITCH.match(line)
            if found:
                pid, seconds, nanoseconds = map(int, found.groups())
                at_ns = seconds * 1_000_000_000 + nanoseconds - FIRST_NS - 1_000_000
                if at_ns > 0:
                    ends[f"t{pid - FIRST_PID}"].append(at_ns)
    return ends


def theirs(python, asked):
    done = subprocess.run([python, HERE / "peer.py"], input=json.dumps(asked), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"SimSo failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def compared(number, args, python, folder):
    tasks = task_set(number, random.Random(f"{args.seed} {number}"))
    span_ms = args.span * 1000
    path = folder / f"{number}.toml"
    path.write_text(as_system(tasks, span_ms))
    asked = {"span_ms": span_ms, "tasks": tasks}
    our_seconds, their_seconds = [], []
    for _ in range(args.rounds):
        our_seconds.append(ours(path))
        found = theirs(python, asked)
        their_seconds.append(found["seconds"])
    rows = [
        (mine, other)
        for name, mines in our_ends(path, tasks, folder).items()
        for mine, other in zip(mines, found["ends_ns"][name])
    ]
    same = sum(mine == other for mine, other in rows)
    our_rate, their_rate = len(rows) / min(our_seconds), len(rows) / min(their_seconds)
    print(
        f"{number:>5}  {len(rows):>8,}  {same:>8,}  {our_rate:>12,.0f}  {their_rate:>12,.0f}  {our_rate / their_rate:>6,.0f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="5,20,80", help="numbers of tasks, 98 at most")
    parser.add_argument("--span", type=int, default=20, help="seconds of the system's time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    build("tardy")
    python = environment()
    print("tasks      jobs      same  tardy jobs/s  SimSo jobs/s   ratio")
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        for number in map(int, args.tasks.split(",")):
            here = Path(folder) / str(number)
            here.mkdir()
            compared(number, args, python, here)


main()
