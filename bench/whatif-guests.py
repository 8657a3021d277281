#!/usr/bin/env python3
"""What `tardy whatif` predicts of a kernel in counted time, and what is measured when it is done.

    bench/whatif-guests.py [--kernel debian-rt|policies] [--seconds 6] [--keep DIR] [--csv FILE]

A FIFO thread in a guest with one CPU of 500 MIPS, beside storms of sleeping threads. The timers of real-time threads
expire in hard interrupt context there, those of ordinary threads in a softirq. With `--kernel policies`, five of them
beside 20 sleeping threads, and where timers expire is what is changed (`timers=POLICY`), by the kernel's switches. Each
condition is recorded once; each change leads from one condition to another, whose recording is the truth. Nothing but the recording itself is noise:
the same guest with the same command does the same. `--csv` adds a line for each figure of each prediction, in the form of
`diagnosis/whatif/src/experience.csv`.

It prints, it does not judge. Needs what `make vm` installs.
"""

import argparse
import csv
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import TARDY, build
from whatif import FIGURES, as_made, between, figures, has_range, in_range, lateness, predict, us

# A condition, and its load.
CONDITIONS = {
    "idle": "none",
    "hard-5": "storm:5,fifo=1",
    "hard-10": "storm:10,fifo=1",
    "hard-20": "storm:20,fifo=1",
    "deferred-5": "storm:5",
    "deferred-10": "storm:10",
    "deferred-20": "storm:20",
}

# The same for the kernel `policies`: what its switches are turned to, and what the measuring threads get beside.
POLICIES = {
    "today": ({}, []),
    "hard-irq": ({"defer_nonrt": "0"}, []),
    "levels": ({"levels": "1"}, ["--timer-levels", "2,2,2,2,2"]),
    "inherit": ({"order": "inherit"}, []),
    "batch": ({"order": "batch"}, []),
    "one-thread": ({"defer_rt": "1"}, []),
}

# From where, the change, to where.
CHANGES = [
    ("hard-5", "more(storm)=15", "hard-20"),
    ("deferred-5", "more(storm)=15", "deferred-20"),
    ("hard-5", "prio(storm)=other", "deferred-5"),
    ("deferred-5", "prio(storm)=fifo:1", "hard-5"),
    ("hard-20", "prio(storm)=other", "deferred-20"),
    ("deferred-20", "prio(storm)=fifo:1", "hard-20"),
    ("hard-5", "remove(storm)", "idle"),
    ("hard-20", "remove(storm)", "idle"),
    ("deferred-20", "remove(storm)", "idle"),
    ("hard-10", "more(storm)=10", "hard-20"),
    ("deferred-10", "more(storm)=10", "deferred-20"),
    ("hard-5", "more(storm)=5", "hard-10"),
    ("deferred-5", "more(storm)=5", "deferred-10"),
    ("hard-10", "prio(storm)=other", "deferred-10"),
    ("deferred-10", "prio(storm)=fifo:1", "hard-10"),
    ("hard-10", "remove(storm)", "idle"),
    ("deferred-10", "remove(storm)", "idle"),
]

POLICY_CHANGES = [
    ("today", "timers=hardirq", "hard-irq"),
    ("hard-irq", "timers=deferred", "today"),
    ("today", "timers=levels", "levels"),
    ("today", "timers=inherit", "inherit"),
    ("today", "timers=batch", "batch"),
    ("today", "timers=ksoftirqd", "one-thread"),
]


def boot(options, folder, flags, command):
    """Boots a guest that records."""
    guest = [TARDY, "vm", "run", "-q", "--kernel", options.kernel, "--boot-limit", "600", *flags, "-o", folder, "--"]
    done = subprocess.run([str(word) for word in [*guest, *command]], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the guest for {folder.name} failed:\n{done.stderr.strip()}")


def record(load, options, folder):
    if folder.exists():
        return folder
    measure = ["tardy", "measure", "cyclic", "-t1", "-P98", "-i", "1ms", "-D", f"{options.seconds}s", "--load", load]
    boot(options, folder, [], measure)
    return folder


def record_policy(policy, options, folder):
    """The measurement's own recording is a folder in the guest's."""
    recording = folder / "rec"
    if recording.exists():
        return recording
    switches, flags = policy
    turns = [f"echo {to} > /sys/kernel/timer_policy/{name} || exit" for name, to in switches.items()]
    measure = ["tardy", "measure", "staircase", "-D", f"{options.seconds}s", "--load", "storm:20", "--record", "rec"]
    boot(options, folder, ["--no-record"], ["sh", "-c", "\n".join([*turns, shlex.join([*measure, *flags])])])
    return recording


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="debian-rt", help="a kernel of `tardy vm list` with PREEMPT_RT")
    parser.add_argument("--seconds", type=int, default=6, help="of the guest's time")
    parser.add_argument("--keep", type=Path, help="keep the recordings in this folder, and use those that are there")
    parser.add_argument("--csv", type=Path, help="add the predictions to this file")
    options = parser.parse_args()
    build("tardy")
    held = count = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        is_policies = options.kernel.startswith("policies")
        conditions, changes = (POLICIES, POLICY_CHANGES) if is_policies else (CONDITIONS, CHANGES)
        recordings = {
            name: (record_policy if is_policies else record)(condition, options, folder / name)
            for name, condition in conditions.items()
        }
        samples = {name: figures(lateness(recording)) for name, recording in recordings.items()}
        for before, change, after in changes:
            print(f"\n{before}: {change}, measured in {after}")
            prediction, refusal = predict(recordings[before], change)
            if refusal:
                print(f"  refused: {refusal}")
                continue
            print(f"  {'µs':14} {'recorded':>8} {'predicted':>9} {'range':>12} {'measured':>8} {'off':>6}")
            for name in FIGURES:
                one, truth = prediction[name], samples[after][name]
                off = one["predicted_ns"] / truth - 1
                print(
                    f"  {name:14} {us(samples[before][name]):>8} {us(one['predicted_ns']):>9} {between(one):>12}"
                    f" {us(truth):>8} {off:>+6.0%}"
                )
                if options.csv and name != "max":
                    row = ("counted", change.split("(")[0], "counted", name, *as_made(one), round(truth))
                    with options.csv.open("a", newline="") as file:
                        csv.writer(file, lineterminator="\n").writerow(row)
                if has_range(one):
                    count += 1
                    held += in_range(one, truth)
    if count:
        print(f"\nOf {count} ranges {held} ({held / count:.0%}) hold what was measured; 90 % are to.")


if __name__ == "__main__":
    main()
