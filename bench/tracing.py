#!/usr/bin/env python3
"""What recording costs the threads that are measured, beside what trace-cmd costs them.

    bench/tracing.py [--loads storm:10,storm:40] [--blocks 6] [--seconds 5] [--prio 80] [--interval 1000]

Measures with `tardy measure cyclic -P 80 -i 1000 --load LOAD`, one pinned SCHED_FIFO thread per
CPU, while a process of its own records the same kernel events, or nothing: tardy by eBPF, tardy by
tracefs, and `trace-cmd record` in a trace instance, with the same clock (mono) and the same buffer
per CPU. A block has each condition once, in random order, and the blocks of the loads alternate: a
machine that changes meets all alike.

Columns: n blocks; samples, of all blocks and threads; mean, the median over blocks of the mean over
all samples; p99, likewise of the threads' p99 weighted by their samples; added, the median over
blocks of the difference to "nothing" in the same block, with half of what the middle half of the
blocks spans; ratio, the median over blocks of mean or p99 by that of "nothing"; events a second and
bytes an event as they were recorded (for trace-cmd before it compresses); events lost, of all
blocks, and after a + how many gaps there were of unknown size. Conditions that this machine does not allow are left out, with the reason.

trace-cmd runs with -d -k: on a locked-down kernel it cannot go on otherwise, because it clears the
function tracer's filters, used or not. Needs root; trace-cmd is a package of that name. It prints,
it does not judge.
"""

import argparse
import contextlib
import random
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from programs import (
    TARDY,
    beside,
    build,
    lost_events,
    median,
    need_root,
    run_json,
    shown,
    tardy_record,
)

INSTANCE = "tardy-bench"
TRACEFS = [Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing")]

# What tardy records through tracefs: the tables in diagnosis/sources/tracefs/src/decode.
VECTORS = (
    "local_timer reschedule call_function call_function_single irq_work x86_platform_ipi "
    "thermal_apic threshold_apic deferred_error_apic error_apic spurious_apic"
).split()
EVENTS = (
    "timer:hrtimer_start timer:hrtimer_cancel timer:hrtimer_expire_entry timer:hrtimer_expire_exit "
    "timer:timer_start timer:timer_cancel timer:timer_expire_entry timer:timer_expire_exit "
    "irq:irq_handler_entry irq:irq_handler_exit irq:softirq_raise irq:softirq_entry "
    "irq:softirq_exit sched:sched_waking sched:sched_wakeup_new sched:sched_switch "
    "sched:sched_migrate_task sched:sched_pi_setprio sched:sched_process_exec "
    "sched:sched_process_exit task:task_newtask task:task_rename power:cpu_idle"
).split() + [f"irq_vectors:{vector}_{end}" for vector in VECTORS for end in ("entry", "exit")]


@contextlib.contextmanager
def nothing(_folder, _args):
    yield {}


@contextlib.contextmanager
def by_tardy(source, folder, args):
    with tardy_record(folder, "--source", source, "--buffer", args.buffer) as said:
        yield said


@contextlib.contextmanager
def by_trace_cmd(folder, args):
    tracefs = find_tracefs()
    there = [event for event in EVENTS if (tracefs / "events" / event.replace(":", "/")).is_dir()]
    instance = tracefs / "instances" / INSTANCE
    command = ["trace-cmd", "record", "-d", "-k", "-B", INSTANCE, "-C", "mono", "-b", args.buffer]
    command += [word for event in there for word in ("-e", event)] + ["-o", "trace.dat"]
    switch = instance / "events/sched/sched_switch/enable"
    folder.mkdir()

    def has_begun():
        # Events come after the readers, and this one is among the last.
        return switch.exists() and switch.read_text().startswith("1")

    try:
        with beside(command, has_begun, cwd=folder) as said:
            yield said
        said.update(trace_cmd_counts(instance, folder, said["stderr"]))
    finally:
        # Its own would not be removed with -k.
        with contextlib.suppress(FileNotFoundError):
            instance.rmdir()


def trace_cmd_counts(instance, folder, stderr):
    counts = {"events": 0, "lost": 0}
    for stats in instance.glob("per_cpu/cpu*/stats"):
        numbers = dict(re.findall(r"^([a-z ]+): (\d+)$", stats.read_text(), re.MULTILINE))
        counts["events"] += int(numbers["read events"])
        counts["lost"] += sum(int(numbers[name]) for name in ("overrun", "dropped events"))
    sizes = [int(size) for size in re.findall(r"\((\d+) uncompressed\)", stderr)]
    # Where it could not complete its file (kallsyms changed while it read them), the parts are left.
    parts = [part.stat().st_size for part in folder.glob("trace.dat.*cpu*")]
    return {**counts, "bytes": sum(sizes) or sum(parts)}


CONDITIONS = {
    "nothing": nothing,
    "tardy eBPF": lambda folder, args: by_tardy("ebpf", folder, args),
    "tardy tracefs": lambda folder, args: by_tardy("tracefs", folder, args),
    "trace-cmd": by_trace_cmd,
}


def find_tracefs():
    return next((path for path in TRACEFS if (path / "instances").is_dir()), None)


@contextlib.contextmanager
def mounted_tracefs():
    """trace-cmd wants tracefs at its usual place: there for as long as this runs."""
    ours = not find_tracefs() and not subprocess.call(
        ["mount", "-t", "tracefs", "tracefs", str(TRACEFS[0])]
    )
    try:
        yield
    finally:
        if ours:
            subprocess.call(["umount", str(TRACEFS[0])])


def allowed():
    """The conditions that this machine allows."""
    conditions = list(CONDITIONS)
    if not shutil.which("trace-cmd"):
        conditions.remove("trace-cmd")
        print("left out: trace-cmd, which is not installed (apt-get install trace-cmd)")
    elif not find_tracefs():
        conditions.remove("trace-cmd")
        print("left out: trace-cmd: tracefs cannot be mounted here")
    return conditions


def measure(load, args):
    """(mean ns, p99 ns, samples) over all threads."""
    command = [TARDY, "measure", "cyclic", "--json", "--quiet", "-D", args.seconds]
    threads = run_json(*command, "-P", args.prio, "-i", args.interval, "--load", load)["threads"]
    samples = sum(thread["samples"] for thread in threads)

    def weighted(name):
        return sum(thread[name] * thread["samples"] for thread in threads) / samples

    return weighted("mean_ns"), weighted("p99_ns"), samples


def one(condition, load, args):
    """One measurement with a recording beside it, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
        with CONDITIONS[condition](Path(folder) / "recording", args) as recorded:
            start = time.monotonic()
            mean, p99, samples = measure(load, args)
            seconds = time.monotonic() - start
    found = {"mean": mean, "p99": p99, "samples": samples, "seconds": seconds}
    for name in ("events", "lost", "bytes"):
        found[name] = recorded.get(name)
    return found


def spread(values):
    """Half of what the middle half spans."""
    values = sorted(values)
    quarter = len(values) // 4
    return (values[-1 - quarter] - values[quarter]) / 2


def told_loss(lost):
    if not lost:
        return "-"
    counted, unknown = map(sum, zip(*map(lost_events, lost)))
    return f"{counted:,}" + (f"+{unknown}" if unknown else "")


def print_rows(load, blocks, conditions):
    for condition in conditions:
        rows = [(block[condition], block["nothing"]) for block in blocks]
        own = [row for row, _ in rows]
        added = [row["mean"] - bare["mean"] for row, bare in rows]
        lost = [row["lost"] for row in own if row["lost"] is not None]
        rates = [row["events"] / row["seconds"] if row["events"] else None for row in own]
        sizes = [row["bytes"] / row["events"] if row["events"] else None for row in own]
        is_bare = condition == "nothing"
        cells = [
            f"{load:9} {condition:13} {len(own):2} {sum(row['samples'] for row in own):8,}",
            shown(median(row["mean"] for row in own), "8,.0f"),
            shown(median(row["p99"] for row in own), "9,.0f"),
            shown(None if is_bare else median(added), "+9,.0f"),
            shown(None if is_bare else spread(added), "7,.0f"),
            shown(median(row["mean"] / bare["mean"] for row, bare in rows), "6.3f"),
            shown(median(row["p99"] / bare["p99"] for row, bare in rows), "6.3f"),
            shown(median(rates), "10,.0f"),
            shown(median(sizes), "8.1f"),
            f"{told_loss(lost):>8}",
        ]
        print(" ".join(cells))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--loads", default="storm:10,storm:40", help="by commas")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--interval", type=int, default=1000, help="µs")
    parser.add_argument("--prio", type=int, default=80)
    parser.add_argument("--buffer", type=int, default=4096, help="KiB per CPU, of every recorder")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--folder", help="where recordings go meanwhile [default: temporary]")
    args = parser.parse_args()
    need_root("to record and for real-time threads")
    build("tardy")

    with mounted_tracefs():
        compare(args)


def compare(args):
    """Measures all blocks and prints the table."""
    conditions = allowed()
    order = random.Random(args.seed)
    loads = args.loads.split(",")
    blocks = {load: [] for load in loads}
    for number in range(args.blocks):
        for load in loads:
            shuffled = order.sample(conditions, len(conditions))
            block = {condition: one(condition, load, args) for condition in shuffled}
            blocks[load].append(block)
            told = ", ".join(f"{name} {block[name]['mean']:,.0f}" for name in conditions)
            print(f"block {number + 1} {load}: mean ns: {told}", flush=True)
    print(
        f"{'load':9} {'condition':13}  n  samples  mean ns    p99 ns  added ns       ±   mean    p99"
        "   events/s  B/event     lost"
    )
    for load in loads:
        print_rows(load, blocks[load], conditions)


if __name__ == "__main__":
    main()
