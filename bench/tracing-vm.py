#!/usr/bin/env python3
"""What recording costs the thread that is measured, on a real PREEMPT_RT kernel in counted time.

    bench/tracing-vm.py [--kernel small] [--loops 3000] [--load storm:10] [--only WORD] [--seeds 10]

Each row is a guest of its own (`tardy vm run`), in which a load runs (10 threads that sleep for random
0-1 ms) and `cyclictest -N -p98 -i1000` measures, while a tracer runs beside, or nothing. Time is a count
of instructions, 2 ns each: no cache, no noise, so a difference of a row to "nothing" is what the tracer's
instructions cost, and of the phases in which its own wakeups fall. A seed shifts the phases, so a row is
the mean over several (of max: the largest of all n).

Columns: n wakeups of cyclictest; mean, p50, p99 and max in ns; what is added to each beside "nothing",
to mean and p99 with the half width of its interval of 95 % (Student's, over the seeds' differences)
(p50 is mostly of a wakeup on an idle CPU with nothing else to do, and hardly depends on the seed);
events recorded, and how many instructions more than with "nothing" the CPU executed for each,
whoever executed them (the probes, the tracer's own process). rtla's timerlat measures by itself, in
the kernel: its figures stand beside, nothing is added to them.

With --stacks=100ns each wakeup is late enough for stacks: what one costs where it is taken. Beside `--load cpu:1` a
program runs whenever cyclictest's timer comes; of the idle loop none is taken.

Needs `make vm` (or QEMU, `tardy vm build`, `tardy vm fetch tools-x86_64`); no root. A row whose
tracer does not run on this kernel is left out, with what it said. It prints, it does not judge.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import TARDY, build

INSTRUCTION_NS = 2
# Tracers load their programs and symbols; nothing is measured meanwhile.
SETTLE_SECONDS = 4
HISTOGRAM_NS = 100_000

FIGURES = ("mean", "p50", "p99", "max")

# Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 on; the last for all above.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)

TRACEFS = "/sys/kernel/tracing"
GROUPS = "timer sched irq irq_vectors"

# How a tracer begins (which must return), and how it ends and tells how many events it had.
TARDY_ENDS = "kill -INT $T; wait $T; grep -o '[0-9]* events' /tmp/said"
CONDITIONS = {
    "nothing": (":", ":"),
    "tardy record": ("tardy record --quiet -o /tmp/rec >/tmp/said & T=$!", TARDY_ENDS),
    "tardy record --stacks": (
        "tardy record --stacks --quiet -o /tmp/rec >/tmp/said & T=$!",
        TARDY_ENDS,
    ),
    "tardy record --stacks=100ns": (
        "tardy record --stacks=100ns --quiet -o /tmp/rec >/tmp/said & T=$!",
        TARDY_ENDS,
    ),
    "tardy watch": (
        "tardy watch --over 10ms --quiet -o /tmp/rec >/tmp/said & T=$!",
        "kill -INT $T; wait $T",
    ),
    "tardy watch --no-stacks": (
        "tardy watch --no-stacks --over 10ms --quiet -o /tmp/rec >/tmp/said & T=$!",
        "kill -INT $T; wait $T",
    ),
    "tardy record, tracefs": (
        "tardy record --source tracefs --quiet -o /tmp/rec >/tmp/said & T=$!",
        TARDY_ENDS,
    ),
    "ftrace events on": (
        f"for g in {GROUPS}; do echo 1 >{TRACEFS}/events/$g/enable; done",
        f"echo 0 >{TRACEFS}/tracing_on; "
        f"sed -n 's/^\\(entries\\|overrun\\): //p' {TRACEFS}/per_cpu/cpu0/stats |"
        " { read a; read b; echo $((a+b)) events; }",
    ),
    "trace-cmd record": (
        "trace-cmd record -q "
        + " ".join(f"-e {group}" for group in GROUPS.split())
        + " -o /tmp/trace.dat >/tmp/said 2>&1 & T=$!",
        "kill -INT $T; wait $T; cat /tmp/said",
    ),
    "perf sched record": (
        "perf sched record -q -o /tmp/perf.data -- busybox sleep 1000 >/tmp/said 2>&1 & T=$!",
        "kill -INT $T; wait $T; cat /tmp/said",
    ),
    "bpftrace": (
        "bpftrace -e 'tracepoint:sched:sched_waking { @w[args->pid] = nsecs; } "
        "tracepoint:sched:sched_switch /@w[args->next_pid]/ "
        "{ @us = hist((nsecs - @w[args->next_pid]) / 1000); delete(@w[args->next_pid]); }' "
        ">/tmp/said 2>&1 & T=$!",
        "kill -INT $T; wait $T; tail -n 3 /tmp/said",
    ),
}
RTLA = "rtla timerlat top -q -c 0 -p 1000 -P f:98 -d {seconds}s"

SCRIPT = """
tardy load {load} --quiet & L=$!
sleep 1
{begin}
sleep {settle}
if [ -n "$T" ] && ! kill -0 $T 2>/dev/null; then cat /tmp/said; echo 'it did not stay'; exit 1; fi
read up idle0 rest </proc/uptime; set -- $idle0; before="$up $idle0"
cyclictest -q -N -p98 -i1000 -l{loops} -t1 -h{histogram} --histfile=/out/hist >/dev/null || exit 1
read up idle1 rest </proc/uptime
echo "idle $before $up $idle1"
{end}
kill -INT $L; wait
"""


def guest(args, seed, script, folder):
    command = [TARDY, "vm", "run", "--no-record", "--quiet", "--kernel", args.kernel]
    command += ["--seed", seed, "--memory", 2048, "-o", folder]
    for program in "busybox cyclictest trace-cmd perf bpftrace rtla".split():
        if program in script:
            command += ["--with", program]
    command += ["--", "busybox", "sh", "-c", script]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def figures(folder):
    """n, mean, p50, p99 and max of cyclictest's histogram of ns."""
    bins = []
    for line in (folder / "hist").read_text().splitlines():
        found = re.match(r"(\d+)\s+(\d+)$", line)
        if found and int(found[2]):
            bins.append((int(found[1]), int(found[2])))
    n = sum(count for _, count in bins)
    mean = sum(ns * count for ns, count in bins) / n

    def quantile(share):
        below = 0
        for ns, count in bins:
            below += count
            if below >= share * n:
                return ns

    p50, p99 = quantile(0.5), quantile(0.99)
    return {"n": n, "mean": mean, "p50": p50, "p99": p99, "max": bins[-1][0]}


def one(name, args, seed):
    begin, end = CONDITIONS[name]
    script = SCRIPT.format(
        load=args.load,
        begin=begin,
        end=end,
        settle=SETTLE_SECONDS,
        loops=args.loops,
        histogram=HISTOGRAM_NS,
    )
    folder = Path(tempfile.mkdtemp(prefix="tardy-bench-"))
    try:
        status, out, err = guest(args, seed, script, folder / "out")
        if status or not (folder / "out/hist").exists():
            said = " ".join((out + err).split())[-200:]
            return {"left out": said or f"status {status}"}
        times = [float(word) for word in re.search(r"^idle (.*)$", out, re.M)[1].split()]
        busy = (times[2] - times[0]) - (times[3] - times[1])
        events = re.findall(r"(\d+) events", out)
        return {
            **figures(folder / "out"),
            "busy": busy,
            "events": int(events[-1]) if events else None,
        }
    finally:
        shutil.rmtree(folder)


def rtla(args, seed):
    script = RTLA.format(seconds=args.loops // 1000)
    script = f"tardy load {args.load} --quiet & L=$!; sleep 1; {script}; kill -INT $L; wait"
    with tempfile.TemporaryDirectory(prefix="tardy-bench-") as folder:
        status, out, err = guest(args, seed, script, Path(folder) / "out")
    # CPU 0: its count; of the interrupt, then of the thread: the last one, min, avg, max.
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    found = re.search(r"^\s+0 #(\d+)\s+\|[\d\s]+\|\s+\d+\s+\d+\s+(\d+)\s+(\d+)", plain, re.M)
    if status or not found:
        return {"left out": " ".join((out + err).split())[-200:] or f"status {status}"}
    return {"count": int(found[1]), "avg": int(found[2]), "max": int(found[3])}


def half_width(differences):
    """Of the interval of 95 % around their mean."""
    degrees = len(differences) - 1
    if not degrees:
        return None
    t = STUDENT[min(degrees, len(STUDENT)) - 1]
    return t * statistics.stdev(differences) / len(differences) ** 0.5


def added(row, bare, name):
    """What a row has more than the bare one, as text."""
    text = f" {row[name] - bare[name]:+7,.0f}"
    if name not in ("mean", "p99"):
        return text
    pairs = zip(row["each"], bare["each"], strict=True)
    error = half_width([one[name] - other[name] for one, other in pairs])
    return text + (f" {'':6}" if error is None else f" ±{error:5,.0f}")


def merged(rows):
    bad = next((row for row in rows if "left out" in row), None)
    if bad:
        return bad
    mean = lambda name: sum(row[name] for row in rows) / len(rows)
    events = [row["events"] for row in rows]
    return {
        "n": sum(row["n"] for row in rows),
        **{name: mean(name) for name in ("mean", "p50", "p99")},
        "max": max(row["max"] for row in rows),
        "each": rows,
        "busy": mean("busy"),
        "events": sum(events) / len(rows) if None not in events else None,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernel", default="small")
    parser.add_argument("--loops", type=int, default=3000)
    parser.add_argument("--load", default="storm:10", help="what runs beside")
    parser.add_argument("--only", default="", help="rows whose name has this, and nothing")
    parser.add_argument("--seeds", type=int, default=10, help="how many, from 1 on")
    args = parser.parse_args()
    if args.seeds < 1:
        parser.error("--seeds is at least 1")
    seeds = [str(seed) for seed in range(1, args.seeds + 1)]
    build("tardy")

    print(
        f"{'tracer':22} {'n':>6} {'mean ns':>8} {'p50 ns':>8} {'p99 ns':>8} {'max ns':>8}"
        f" {'+mean':>7} {'':6} {'+p50':>7} {'+p99':>7} {'':6} {'+max':>7}"
        f" {'events':>9} {'instr/event':>11}"
    )
    bare = None
    # Counted time does not mind what else this machine does.
    pool = ThreadPoolExecutor(os.cpu_count())
    for name in CONDITIONS:
        if bare and args.only not in name:
            continue
        row = merged(list(pool.map(lambda seed: one(name, args, seed), seeds)))
        if "left out" in row:
            print(f"{name:22} left out: {row['left out']}", flush=True)
            continue
        bare = bare or row
        cells = f"{name:22} {row['n']:6,}" + "".join(f" {row[it]:8,.0f}" for it in FIGURES)
        if row is not bare:
            cells += "".join(added(row, bare, it) for it in FIGURES)
            if row["events"]:
                each = (row["busy"] - bare["busy"]) * 1e9 / INSTRUCTION_NS / row["events"]
                # The tracer's seconds before the measurement hold events too.
                share = args.loops / 1000 / (args.loops / 1000 + SETTLE_SECONDS)
                cells += f" {row['events']:9,.0f} {each / share:11,.0f}"
        print(cells, flush=True)
    if args.only in "rtla timerlat":
        row = rtla(args, seeds[0])
        if "left out" in row:
            print(f"{'rtla timerlat':22} left out: {row['left out']}")
        else:
            print(
                f"{'rtla timerlat':22} {row['count']:6,} {row['avg'] * 1000:8,} {'':8} {'':8}"
                f" {row['max'] * 1000:8,} in whole µs, by itself"
            )


if __name__ == "__main__":
    main()
