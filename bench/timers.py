#!/usr/bin/env python3
"""Timer queues side by side: tardy's, Rust's, Go's, Java's, libuv's.

    bench/timers.py [--sizes 10,1e3,1e5] [--workloads hold-exponential,rearm,...] [--rounds 2]
                    [--ops 100000] [--turns 3] [--peers binary-heap,go,...] [--full]
                    [--json FILE] [--csv FILE]

For each workload and size a file of operations is made once, and every queue runs it, a process each,
in rounds of random order: it is filled, untimed, and then timed. Small ones are run before it counts,
so that compilers that work at run time have done so. Nobody is timed who did not pass a check against
a sorted list; a queue that goes wrong later is named and left out. There are at least three operations
per timer: who puts work off, as lazy deletion does, has to do it by then.

Workloads: `hold-*` take the first, insert one, by four kinds of increments; `rearm` moves random timers
later, one of a hundred fires; `cancel` inserts and cancels, one of ten fires; `storm` moves one timer
among 40 that keep firing; `bursts` are 10,000 due at once. Timeouts are a million ticks in the mean.
A tick is a microsecond for queues that count nanoseconds, and a millisecond for those that count
milliseconds, whose timers so never round.

Tables: a row per queue, tardy's first; a column per number of timers; nanoseconds per operation,
where inserting, moving, cancelling and firing a timer are one each: the median of the rounds, the
least in brackets, `*` the best of the column. The last row is the best peer's median over tardy's
best. Then bytes per timer, at 1e5 and more: what a filled queue holds, with all its tables, without
its user's ids.

`rt` marks queues that run in real time only: nothing fires there, what would have is cancelled, and
the hold model, bursts and storm are not for them. What they do on other threads is not in their
times; queues in Rust and libuv run on one CPU.

Minutes as it is; --full: all workloads, to 1e7 timers, more rounds and operations; hours. It prints, it does not
judge.
"""

import argparse
import csv
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import ROOT, TARGET, run_json

FOLDER = ROOT / "bench/timers"
BUILT = TARGET / "bench-timers"
BENCH = TARGET / "release/tardy-bench-timers"
BYTES = TARGET / "release/tardy-bench-timers-bytes"

# hierarchical_hash_wheel_timer's rust-version.
HASH_WHEEL_RUST = (1, 94, 1)

SHORT = {
    "sizes": [10, 1000, 100_000],
    "workloads": ["hold-exponential", "rearm", "cancel", "storm", "bursts"],
    "rounds": 2,
    "ops": 100_000,
}
FULL = {
    "sizes": [*SHORT["sizes"], 1_000_000, 10_000_000],
    "workloads": None,
    "rounds": 3,
    "ops": 1_000_000,
}

# What cannot fire in virtual time can still be armed and taken back.
REAL_TIME_WORKLOADS = ("rearm", "cancel")

BYTES_SIZE_MIN = 100_000
# Up to here a script is run before it counts: by a compiled program once, by the JVM more often.
WARM_UP_SIZE_MAX = 100_000
WARM_UPS, JVM_WARM_UPS = 1, 8

# A run that takes longer has lost its way; it is named and left out.
RUN_SECONDS_MAX = 600


class Queue:
    def __init__(self, name, about, time, weigh=None, ours=False, real_time=False, warm_ups=WARM_UPS):
        self.name, self.about, self.ours, self.real_time = name, about, ours, real_time
        self.warm_ups = warm_ups
        # Commands, of a file and of how often to run it before it counts. Without `weigh`, `time`
        # tells the bytes too.
        self.time, self.weigh = time, weigh
        self.broken = None

    def runs(self, workload):
        return not self.broken and (not self.real_time or workload in REAL_TIME_WORKLOADS)

    def run(self, command, cpu):
        """What the command prints; None where it fails, and the queue is left out from then on."""
        pin = None if self.real_time else lambda: os.sched_setaffinity(0, {cpu})
        try:
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                timeout=RUN_SECONDS_MAX,
                preexec_fn=pin,
            )
        except subprocess.TimeoutExpired:
            self.broken = f"took more than {RUN_SECONDS_MAX} s"
            return None
        if done.returncode:
            words = done.stderr.strip().splitlines()
            self.broken = words[-1] if words else f"ended with {done.returncode}"
            return None
        return json.loads(done.stdout)


def rust_version():
    words = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in words.split()[1].split("-")[0].split("."))


def rust_queues(notes):
    command = ["cargo", "build", "--quiet", "--release", "-p", "tardy-bench-timers", "--bins"]
    if rust_version() >= HASH_WHEEL_RUST:
        command += ["--features", "hash-wheel"]
    else:
        notes.append(f"hash-wheel: not here: needs Rust {'.'.join(map(str, HASH_WHEEL_RUST))}")
    subprocess.run(command, cwd=ROOT, check=True)
    listed = run_json(BENCH, "list")
    queues = [
        Queue(
            queue["name"],
            queue["about"],
            lambda file, warm_ups, name=queue["name"]: [BENCH, "time", name, file, "--warm-up", warm_ups],
            weigh=lambda file, name=queue["name"]: [BYTES, name, file],
            ours=queue["ours"],
        )
        for queue in listed["queues"]
    ]
    for queue in queues:
        queue.run([BENCH, "check", queue.name], min(os.sched_getaffinity(0)))
    return queues, listed["workloads"]


def built(command, **options):
    """Whether it could be built; why not, otherwise."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    return None if done.returncode == 0 else f"does not build: {done.stderr.strip().splitlines()[-1]}"


def libuv(notes):
    if not shutil.which("gcc") or not shutil.which("pkg-config"):
        return notes.append("libuv: not here: needs gcc and pkg-config")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libuv"], capture_output=True, text=True
    )
    if flags.returncode:
        return notes.append("libuv: not here: needs libuv1-dev")
    version = subprocess.check_output(["pkg-config", "--modversion", "libuv"], text=True).strip()
    program = BUILT / "libuv"
    source = FOLDER / "peers/c/libuv.c"
    wrong = built(["gcc", "-O2", "-Wall", "-o", program, source, *flags.stdout.split()])
    if wrong:
        return notes.append(f"libuv: {wrong}")
    return Queue(
        "libuv", f"libuv {version} uv_timer", lambda file, warm_ups: [program, file, warm_ups]
    )


def go(notes):
    if not shutil.which("go"):
        return notes.append("go: not here: needs go")
    program = BUILT / "go-timers"
    # Nothing is to be fetched: neither another Go nor a module.
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "-mod=mod"}
    wrong = built(["go", "build", "-o", program, "."], cwd=FOLDER / "peers/go", env=env)
    if wrong:
        return notes.append(f"go: {wrong}")
    version = subprocess.check_output(["go", "env", "GOVERSION"], text=True, env=env).strip()
    return Queue(
        "go",
        f"time.AfterFunc, {version}",
        lambda file, warm_ups: [program, file, warm_ups],
        real_time=True,
    )


def java(notes):
    if not shutil.which("javac"):
        notes.append("java-executor, netty-wheel: not here: need a JDK")
        return []
    source, classes = FOLDER / "peers/java", BUILT / "java"
    jars = sorted(BUILT.glob("netty-common-*.jar"))
    files = sorted(source.glob("*.java"))
    if not jars:
        notes.append("netty-wheel: not here: needs Netty (bench/timers/setup.sh)")
        files.remove(source / "NettyWheel.java")
    path = ":".join(map(str, [classes, *jars[-1:]]))
    wrong = built(["javac", "-d", classes, "-cp", path, *files])
    if wrong:
        notes.append(f"java-executor, netty-wheel: {wrong}")
        return []
    version = subprocess.run(["javac", "-version"], capture_output=True, text=True).stdout.split()[-1]

    def queue(name, about, kind):
        return Queue(
            name,
            about,
            lambda file, warm_ups: ["java", "-XX:MaxRAMPercentage=60", "-cp", path, "Replay", kind, file, warm_ups],
            real_time=True,
            warm_ups=JVM_WARM_UPS,
        )

    found = [queue("java-executor", f"ScheduledThreadPoolExecutor, Java {version}", "executor")]
    if jars:
        found.append(queue("netty-wheel", f"HashedWheelTimer, {jars[-1].stem}", "netty"))
    return found


def all_queues(notes):
    BUILT.mkdir(parents=True, exist_ok=True)
    queues, workloads = rust_queues(notes)
    queues += [queue for queue in (libuv(notes), go(notes)) if queue] + java(notes)
    return queues, workloads


def measure(queues, workload, size, args, file):
    """Runs one file on all queues; rows of (queue, ns per operation of each round, bytes per timer)."""
    ops = max(args.ops, args.turns * size)
    made = run_json(BENCH, "make", workload, size, file, "--ops", ops, "--seed", args.seed)
    size = made["size"]
    times, weights = {}, {}
    takes_part = [queue for queue in queues if queue.runs(workload)]
    for number in range(args.rounds):
        random.shuffle(takes_part)
        for queue in takes_part:
            if queue.broken:
                continue
            warm_ups = queue.warm_ups if size <= WARM_UP_SIZE_MAX else 0
            found = queue.run(queue.time(file, warm_ups), args.cpu)
            if found:
                times.setdefault(queue.name, []).append(found["ns"] / found["operations"])
                weights[queue.name] = found.get("bytes")
    if size >= BYTES_SIZE_MIN:
        for queue in takes_part:
            if queue.weigh and not queue.broken:
                found = queue.run(queue.weigh(file), args.cpu)
                weights[queue.name] = found and found["bytes"]
    return [
        {
            "workload": workload,
            "size": size,
            "operations": made["operations"],
            "queue": queue.name,
            "ours": queue.ours,
            "ns_median": statistics.median(times[queue.name]),
            "ns_min": min(times[queue.name]),
            "rounds": len(times[queue.name]),
            "bytes_per_timer": weights[queue.name] / size
            if size >= BYTES_SIZE_MIN and weights.get(queue.name)
            else None,
        }
        for queue in queues
        if queue.name in times and not queue.broken
    ]


def short_number(number):
    power = len(str(number)) - 1
    return f"1e{power}" if number >= 1000 and number == 10**power else str(number)


def table(title, queues, rows, cell, value, ratio):
    """Prints a table of `value`, the least of each column marked, and the peers' best over ours."""
    sizes = sorted({row["size"] for row in rows})
    by_place = {(row["queue"], row["size"]): row for row in rows}
    best = {size: min(value(row) for row in rows if row["size"] == size) for size in sizes}
    names = [queue.name for queue in queues if any(row["queue"] == queue.name for row in rows)]
    real_time = {queue.name for queue in queues if queue.real_time}
    print(f"\n{title}")
    print(f"{'':18}" + "".join(f"{short_number(size):>20}" for size in sizes))
    for name in names:
        line = f"{name + (' rt' if name in real_time else ''):18}"
        for size in sizes:
            row = by_place.get((name, size))
            mark = "*" if row and value(row) == best[size] else " "
            line += f"{cell(row) if row else '-':>19}{mark}"
        print(line)
    if not ratio:
        return
    line = f"{'best peer / ours':18}"
    for size in sizes:
        least = {
            ours: min(
                (value(row) for row in rows if row["size"] == size and row["ours"] == ours),
                default=None,
            )
            for ours in (True, False)
        }
        told = all(least.values())
        line += f"{f'{least[False] / least[True]:.2f}' if told else '-':>19} "
    print(line)


def report(queues, workloads, rows):
    ours = any(queue.ours for queue in queues)
    for workload in workloads:
        those = [row for row in rows if row["workload"] == workload["name"]]
        if those:
            table(
                f"{workload['name']}: {workload['about']}; ns per operation",
                queues,
                those,
                lambda row: f"{row['ns_median']:.1f} ({row['ns_min']:.1f})",
                lambda row: row["ns_median"],
                ours,
            )
    # What a filled queue takes does not depend on what is done to it next: any workload tells it,
    # and `rearm` tells it of all.
    weighed = [row for row in rows if row["bytes_per_timer"]]
    names = [row["workload"] for row in weighed]
    if names:
        chosen = "rearm" if "rearm" in names else names[0]
        table(
            f"bytes per timer, filled for {chosen}",
            queues,
            [row for row in weighed if row["workload"] == chosen],
            lambda row: f"{row['bytes_per_timer']:.0f}",
            lambda row: row["bytes_per_timer"],
            ours,
        )


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


def numbers(text):
    return [int(float(word)) for word in text.split(",")]


def names(text):
    return text.split(",")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=numbers, help="how many timers, with commas between")
    parser.add_argument("--workloads", type=names)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--ops", type=lambda text: int(float(text)), help="operations per run, at least")
    parser.add_argument("--turns", type=int, default=3, help="operations per timer, at least [3]")
    parser.add_argument("--peers", type=names, help="only these, and tardy's queues")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--folder", help="where 16 bytes per timer and operation have room")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    parser.add_argument("--csv", type=Path, help="the same as a table")
    args = parser.parse_args()
    for name, value in (FULL if args.full else SHORT).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def known(asked, there, what):
    unknown = set(asked) - set(there)
    if unknown:
        sys.exit(f"timers.py: no such {what}: {', '.join(sorted(unknown))}; there are {', '.join(there)}")


def main():
    args = arguments()
    notes = []
    queues, workloads = all_queues(notes)
    if args.peers:
        known(args.peers, [queue.name for queue in queues], "queue here")
        queues = [queue for queue in queues if queue.ours or queue.name in args.peers]
    if args.workloads:
        known(args.workloads, [workload["name"] for workload in workloads], "workload")
        workloads = [workload for workload in workloads if workload["name"] in args.workloads]
    random.seed(args.seed)

    rows = []
    with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
        for workload in workloads:
            for size in [workload["size"]] if workload["size"] else args.sizes:
                progress(f"{workload['name']} {short_number(size)}")
                rows += measure(queues, workload["name"], size, args, Path(folder) / "script")
    progress("")

    print(f"{args.rounds} rounds of {args.ops:,} operations or more; seed {args.seed}; CPU {args.cpu}")
    for queue in queues:
        print(f"  {queue.name:16} {queue.about}{'; BROKEN: ' + queue.broken if queue.broken else ''}")
    for note in notes:
        print(f"  {note}")
    report(queues, workloads, rows)
    if args.json:
        args.json.write_text(json.dumps({"schema": "tardy.bench.timers/1", "rows": rows}, indent=1) + "\n")
    if args.csv:
        with args.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys() if rows else [])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
