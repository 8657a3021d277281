#!/usr/bin/env python3
"""Faults of a PREEMPT_RT kernel in counted time, each handed to one `tardy fix` in a guest: what makes it late is the kernel
and the fault alone, and every figure comes out the same again.

    bench/fixes-guests.py [--only ktimers,irq] [--kernel debian-rt] [--tardy FILE] [--keep DIR]

ktimers    a thread of SCHED_FIFO 80 waits for a timer that expires in the softirq of ktimers, and one of SCHED_FIFO 50
           that works 1 ms of 3.1 comes before that
ksoftirqd  the same, where only the priority of ksoftirqd may be changed, which has no part in it: a placebo
irq        the thread of an interrupt, of SCHED_FIFO 50, below a thread of SCHED_FIFO 60 that makes its device interrupt and
           then works 1 ms of 3.1
isolate    a thread of SCHED_FIFO 10 that may run on one of two CPUs, and one of SCHED_FIFO 50 that may run on both and
           works 1 ms of 3.1; only an isolated partition may be tried. Needs a kernel of `tardy vm build` from 6.2 on.
rt         a thread of SCHED_FIFO 10 that never sleeps, on one of two CPUs: the kernel takes the CPU from it, and from the
           victim of SCHED_FIFO 80, for ordinary tasks that would starve. RCU's threads stand above it, or no eBPF program
           could ever be attached. The same kernels

The lines are those of bench/fixes.py. It prints, it does not judge. Needs what `make vm` installs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fixes import tell
from programs import ROOT, TARDY, build, chosen

# As short as a trial can be: only the kernel's own noise is in it.
TRIAL = "-D 2s --rounds 12 --block 200ms"

ABOVE = "$faults sleepers above 50 {cpu} 1 3100 1000 & sleep 0.1"
TIMERFD = ABOVE.format(cpu=0) + "; $faults timerfd victim 80 0 1000 & victim=$!"
WRITES = "$faults writes above 60 0 3100 1000 /dev/ttyS0 &"
BOTH = (
    "mount -t cgroup2 none /sys/fs/cgroup; "
    + ABOVE.format(cpu="any")
    + "; $faults sleepers busy other 0 1 1000 2000 & sleep 0.1"
    + "; $faults sleepers victim 10 1 1 1000 20 & victim=$!"
)

# Ordinary tasks that starve get their time once a second.
SECONDS = "-D 6s --rounds 12 --block 1s"

STARVES = (
    "mount -t debugfs none /sys/kernel/debug; "
    "$faults sleepers ordinary other 1 1 1000 2000 & $faults sleepers never-sleeps 10 1 1 1000 2000 & sleep 0.1; "
    "$faults sleepers victim 80 1 1 1000 20 & victim=$!"
)

# RCU's threads stand above who never sleeps, or no eBPF program could ever be attached.
ABOVE_ALL = ["--append", "rcutree.kthread_prio=90"]

# How it is made, whose lateness it is, how long it is tried, how many CPUs, what else the guest is given, and causes that
# say what it is.
FAULTS = {
    "ktimers": (TIMERFD, "-p $victim", TRIAL, 1, [], {"softirq_wait"}),
    "ksoftirqd": (TIMERFD, "-p $victim --only 'prio(ksoftirqd/*)=fifo:51'", TRIAL, 1, [], {"softirq_wait"}),
    "irq": (WRITES, "--comm irq/4-ttyS0", TRIAL, 1, [], {"higher_priority"}),
    "rt": (STARVES, "-p $victim", SECONDS, 2, ABOVE_ALL, {"throttled", "higher_priority"}),
    "isolate": (BOTH, "-p $victim --only isolate=1", TRIAL, 2, [], {"higher_priority"}),
}


def guest(tardy, options, program, name, folder):
    """What one `tardy fix` says in a guest, and how long that took there."""
    fault, whom, trial, cpus, more, _ = FAULTS[name]
    script = f"""
        faults={program}
        {{ {fault}
        }} > /dev/null
        sleep 0.5
        read begun rest < /proc/uptime
        tardy fix {whom} --yes --json {trial} > fix.json 2> fix.err || {{ cat fix.err >&2; exit 1; }}
        read ended rest < /proc/uptime
        echo $begun $ended > times
        tardy undo > undo"""
    out = folder / name
    command = [tardy, "vm", "run", "--quiet", "--kernel", options.kernel, "--cpus", cpus, "--no-record"]
    command += more + ["--boot-limit", "10m", "--with", "busybox", "--with", program, "-o", out, "--", "sh", "-ec", script]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()
    begun, ended = map(float, (out / "times").read_text().split())
    return json.loads((out / "fix.json").read_text()), ended - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="these faults, with commas between")
    parser.add_argument("--kernel", default="debian-rt", help="a kernel of `tardy vm list` with PREEMPT_RT")
    parser.add_argument("--tardy", type=Path, help="this program, instead of one that is built now")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep recordings and documents there")
    options = parser.parse_args()
    names = chosen(parser, options.only, FAULTS, "fault") or list(FAULTS)
    tardy = options.tardy.resolve() if options.tardy else TARDY
    if not options.tardy:
        build("tardy")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        program = Path(temporary) / "faults"
        cc = ["cc", "-O2", "-static", "-pthread", "-o", program, ROOT / "bench/faults.c"]
        subprocess.run(cc, check=True)
        for name in names:
            begun = time.monotonic()
            document, told = guest(tardy, options, program, name, folder)
            if document is None:
                print(f"\n{name}: the guest failed:\n{told}", flush=True)
                continue
            tell(name, document, FAULTS[name][-1], told)
            print(f"    {time.monotonic() - begun:.0f} s of this machine", flush=True)


if __name__ == "__main__":
    main()
