#!/usr/bin/env python3
"""Faults that are known, one at a time, each handed to one `tardy fix` that is told nothing but the number of the late process,
or of the last one the name of the thread.

    bench/fixes.py [--only slack,storm] [--placebo TRIES] [--more '--rounds 32'] [--tardy FILE] [--keep DIR]

slack      an ordinary thread with the default timer slack of 50 µs
above      a thread of SCHED_FIFO 50 that works 1 ms of 3.1 on the CPU of one of SCHED_FIFO 10
equals     the same, with the same priority
hackbench  400 processes beside an ordinary thread
storm      200 threads whose timers expire in the same interrupts as the victim's, SCHED_FIFO 80
ipis       a program that interrupts the victim's CPU as fast as it can (membarrier)
packets    a flood of packets of a network namespace of its own, which the victim's CPU has to receive: interrupts from CPU
           to CPU, and the softirq NET_RX
rt         a thread of SCHED_FIFO 10 that never sleeps: the kernel takes the CPU from it, and from the victim of
           SCHED_FIFO 80, for ordinary tasks that would starve
cpu-max    a control group that may use 10 ms of 40
halt       an idle machine: its CPUs halt, or sleep deeply
lock       a lock that hands no priority on, with a thread of middle priority beside it

    expected   the cause that this fault has: whether the plan names it at all, and where
    predicted  of the remedy that was kept: the share of the worst 1 % that it is to take away, with its range; `at
               best` where nothing can be predicted
    measured   the outermost figure for which a gain is shown, without it and with it, the gain (95 %), and of how many wakeups each
    tried      remedies tried, the kept one included
    seconds    the whole command, recording and plan included

With --placebo a thread with the default timer slack is handed to `tardy fix` again and again that may change nothing but
how readily memory is swapped out, and how often each verdict came is printed: of 100 at most 5 are to be "helped".

Changes are undone after each fault. Needs root, a C compiler and two CPUs, `rt` debugfs as well, which is mounted for it
where it is not. What cannot be had is said. It prints, it does not judge.
"""

import argparse
import collections
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from inject import Skipped, hierarchies, remove_group
from programs import ROOT, TARDY, build, chosen, need_root

# Another CPU is free.
CPU, OTHER_CPU = 1, 0
VICTIM_US, WORK_US = 1_000, 20
QUOTA_US, PERIOD_US = 10_000, 40_000
DEBUGFS = Path("/sys/kernel/debug")


class Faults:
    """What is started for one fault; all of it ends with it."""

    def __init__(self, program, stack):
        self.program, self.stack = program, stack

    def start(self, *words, enter=None):
        """A program of faults.c, in a control group where one is named; its process number, once all its threads run."""

        def prepare():
            if enter:
                Path(enter).write_text(str(os.getpid()))

        command = [self.program, *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=prepare)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        if process.stdout.readline() != "ready\n":
            raise Skipped(f"{' '.join(command[1:])} did not begin")
        return process.pid

    def sleepers(self, name, policy, cpu, count, period_us, work_us, enter=None):
        return self.start("sleepers", name, policy, cpu, count, period_us, work_us, enter=enter)

    def victim(self, policy, cpu=CPU, enter=None):
        return self.sleepers("victim", policy, cpu, 1, VICTIM_US, WORK_US, enter)

    def slack(self):
        return self.victim("other", "any")

    def above(self):
        self.sleepers("above", 50, CPU, 1, 3_100, 1_000)
        return self.victim(10)

    def equals(self):
        self.sleepers("equal", 10, CPU, 1, 3_100, 1_000)
        return self.victim(10)

    def hackbench(self):
        command = ["hackbench", "-g", "10", "-l", "100000000"]
        try:
            load = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
        except FileNotFoundError:
            raise Skipped("there is no hackbench (rt-tests)") from None
        self.stack.callback(load.wait)
        self.stack.callback(os.killpg, load.pid, 9)
        time.sleep(1)
        return self.victim("other", "any")

    def storm(self):
        self.sleepers("storm", "other", CPU, 200, VICTIM_US, 0)
        return self.victim(80)

    def ipis(self):
        self.start("barriers", "barriers", CPU, OTHER_CPU)
        return self.victim(80)

    def packets(self):
        self.start("packets", "packets", CPU, OTHER_CPU)
        return self.victim(80)

    def rt(self):
        if not (DEBUGFS / "sched").exists():
            if subprocess.run(["mount", "-t", "debugfs", "none", DEBUGFS]).returncode:
                raise Skipped("debugfs cannot be mounted")
            self.stack.callback(subprocess.run, ["umount", DEBUGFS])
        # Nothing that is bound to this CPU would end otherwise.
        self.sleepers("ordinary", "other", CPU, 1, 1_000, 2_000)
        self.sleepers("never-sleeps", 10, CPU, 1, 1_000, 2_000)
        return self.victim(80)

    def cpu_max(self):
        for root, quota in hierarchies():
            at = root / f"tardy-fixes-{os.getpid()}"
            try:
                at.mkdir()
                self.stack.callback(remove_group, at)
                for name, value in quota.items():
                    (at / name).write_text(str(value))
            except OSError as error:
                raise Skipped(f"no control group with a CPU quota: {error}") from None
            self.sleepers("busy", "other", CPU, 1, 1_000, 2_000, enter=at / "cgroup.procs")
            return self.victim("other", enter=at / "cgroup.procs")
        raise Skipped("no control group with a CPU quota is mounted")

    def halt(self):
        if not Path("/sys/devices/system/cpu/cpu0/cpuidle").exists():
            raise Skipped("this machine's CPUs have no idle states to choose from")
        return self.victim(80)

    def lock(self):
        self.start("lock", "victim", CPU)
        # Of the process, the thread that is late.
        return "victim"


# Its name, how it is made, and causes that say what it is.
FAULTS = [
    ("slack", Faults.slack, {"slack"}),
    ("above", Faults.above, {"higher_priority"}),
    ("equals", Faults.equals, {"cpu_contention"}),
    ("hackbench", Faults.hackbench, {"cpu_contention"}),
    ("storm", Faults.storm, {"stacked_timers"}),
    ("ipis", Faults.ipis, {"interrupts", "irq_delay"}),
    ("packets", Faults.packets, {"interrupts", "irq_delay", "not_preemptible", "softirq_work"}),
    ("rt", Faults.rt, {"throttled"}),
    ("cpu-max", Faults.cpu_max, {"throttled"}),
    ("halt", Faults.halt, {"idle_exit", "irq_delay"}),
    ("lock", Faults.lock, {"lock"}),
]


def us(ns):
    return f"{ns / 1000:.1f}"


def predicted(plan):
    share = f"{100 * plan['worst_gain']:.0f} %"
    if not plan["range"]:
        return f"{share} {plan['how']}"
    low, high = plan["range"]
    return f"{share} ({100 * low:.0f} to {100 * high:.0f})"


def measured(tried):
    shown = [figure for figure in tried["figures"] if figure["shown"]]
    if not shown:
        return "no gain is shown"
    last = shown[-1]
    gain = last["gain_ns"]
    change = f"{us(last['without_ns'])} to {us(last['with_ns'])} us"
    n = "n {} and {}".format(*tried["wakeups"])
    return f"{last['figure']} {change}, {us(gain['value'])} ({us(gain['low'])} to {us(gain['high'])}), {n}"


def expected(document, causes):
    """Where the fault's cause is in the plan, or among the advice that no remedy does."""
    for at, plan in enumerate(document["plan"], 1):
        if plan["cause"] in causes:
            return f"{plan['cause']}, no. {at}"
    for advice in document["advice"]:
        if advice["cause"] in causes:
            return f"{advice['cause']}, advice"
    return "not found"


def tell(name, document, causes, seconds):
    print(f"\n{name}: {expected(document, causes)}, {seconds:.0f} s, {len(document['tried'])} tried")
    plans = {plan["change"]: plan for plan in document["plan"]}
    for tried in document["tried"]:
        plan = plans[tried["change"]]
        print(f"    {tried['change']}: {tried['verdict']}")
        print(f"        against   {plan['cause']}")
        print(f"        predicted {predicted(plan)}")
        print(f"        measured  {measured(tried)}")
        if tried["verdict"] == "helped":
            print(f"        price     {plan['price']}")
    for plan in document["plan"]:
        if plan["not_here"]:
            print(f"    {plan['change']}: not here: {plan['not_here']}")
    for advice in document["advice"]:
        print(f"    advice: {advice['text']}")
    sys.stdout.flush()


def fix(tardy, more, whom, keep):
    """What one `tardy fix` says, and how long it took; nothing stays changed."""
    command = [tardy, "fix", "--comm" if whom == "victim" else "-p", whom, "--yes", "--json", *more]
    begun = time.monotonic()
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=keep)
        seconds = time.monotonic() - begun
        if done.returncode:
            raise Skipped(f"tardy fix failed: {done.stderr.strip().splitlines()[-1]}")
        return json.loads(done.stdout), seconds
    finally:
        subprocess.run([tardy, "undo"], stdout=subprocess.DEVNULL, check=True)


def placebo(tardy, more, victim, tries, keep):
    """How often a change that does nothing was taken for one that helps."""
    now = int(Path("/proc/sys/vm/swappiness").read_text())
    change = f"swappiness={now - 1 if now > 1 else now + 1}"
    verdicts = collections.Counter()
    for seed in range(tries):
        document, _ = fix(tardy, [*more, "--only", change, "--seed", seed], victim, keep)
        verdicts.update(tried["verdict"] for tried in document["tried"])
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"\nplacebo: {change}, {tries} tries: {told}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="these faults, with commas between")
    parser.add_argument("--placebo", type=int, metavar="TRIES", help="try one that does nothing so often, and nothing else")
    parser.add_argument("--more", default="", help="flags for tardy fix")
    parser.add_argument("--tardy", type=Path, help="this program, instead of one that is built now")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep recordings and documents there")
    arguments = parser.parse_args()
    need_root("as it records and changes policies")
    if (os.cpu_count() or 1) < 2:
        sys.exit("needs two CPUs")
    known = [name for name, *_ in FAULTS]
    names = chosen(parser, arguments.only, known, "fault") or known
    tardy = arguments.tardy.resolve() if arguments.tardy else TARDY
    if not arguments.tardy:
        build("tardy")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        keep = arguments.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        program = f"{folder}/faults"
        try:
            subprocess.run(["cc", "-O2", "-pthread", "-o", program, ROOT / "bench/faults.c"], check=True)
        except FileNotFoundError:
            sys.exit("there is no C compiler")
        if arguments.placebo:
            with contextlib.ExitStack() as stack:
                victim = Faults(program, stack).slack()
                placebo(tardy, shlex.split(arguments.more), victim, arguments.placebo, keep)
            return
        for name, make, causes in FAULTS:
            if name not in names:
                continue
            try:
                with contextlib.ExitStack() as stack:
                    whom = make(Faults(program, stack))
                    document, seconds = fix(tardy, shlex.split(arguments.more), whom, keep)
                (keep / f"{name}.json").write_text(json.dumps(document, indent=1))
                tell(name, document, causes, seconds)
            except Skipped as why:
                print(f"\n{name}: skipped: {why}", flush=True)


if __name__ == "__main__":
    main()
