#!/usr/bin/env python3
"""Three jobs of a new user, each in two commands: what they print, and whether it is right.

    bench/jobs.py audio [--groups 10] [--seconds 10]
    bench/jobs.py outlier [--minutes 10] [--over 300us] [--vm debian-rt]

audio    A player makes a block of 5.33 ms of sound in time, or there is a dropout, while hackbench runs. `tardy run -p`
         must name hackbench first, with its share, and advise a change; the command that it gives is run, and the
         dropouts before and after are counted. Aim: 90 % of them are gone.
outlier  A control loop of SCHED_FIFO 80 sleeps to a grid of 10 ms. Once, at a random time, a thread `injector` of
         SCHED_FIFO 90 holds the loop's CPU for 500 µs; twenty times the loop asks for a time that passed 400 µs before,
         which looks as late and is nobody's fault. `tardy watch` must keep the one, count the others as false, and
         `tardy explain` must name the injector (outlier.c). Other lateness of a busy machine is kept too, and may crowd
         the one out; `--vm` runs all of it in a guest with counted time, which has no other lateness.

The third job, a gate in CI, is bench/compare.py: 200 comparisons of equal pairs, and pairs that are 30 µs later at
p99.9. It prints, it does not judge.
"""

import argparse
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from programs import ROOT, TARDY, build, need_root

LIBC = ctypes.CDLL(None, use_errno=True)
CLOCK_MONOTONIC, TIMER_ABSTIME, PR_SET_NAME = 1, 1, 15
SECOND_NS = 1_000_000_000

# A block of 256 samples at 48 kHz, and the work for it.
BLOCK_NS = 256 * SECOND_NS // 48_000
WORK_NS = 500_000


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def sleep_until(time_ns):
    until = Timespec(time_ns // SECOND_NS, time_ns % SECOND_NS)
    LIBC.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(until), None)


def spin_until(time_ns):
    while time.monotonic_ns() < time_ns:
        pass


def called(name):
    LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def player(_):
    """Counts blocks and dropouts; SIGUSR1 prints both and begins anew."""
    called("player")
    counts = [0, 0]

    def tell(*_):
        print(*counts, flush=True)
        counts[:] = [0, 0]

    signal.signal(signal.SIGUSR1, tell)
    print("ready", flush=True)
    due_ns = time.monotonic_ns()
    while True:
        due_ns += BLOCK_NS
        sleep_until(due_ns)
        spin_until(time.monotonic_ns() + WORK_NS)
        late = time.monotonic_ns() > due_ns + BLOCK_NS
        counts[0] += 1
        counts[1] += late
        if late:
            due_ns = time.monotonic_ns()


def start(*arguments, **options):
    return subprocess.Popen([sys.executable, __file__, *map(str, arguments)], **options)


def show(command):
    """Runs a command as a user would, and prints both, and how long it took."""
    print("$", " ".join(map(str, command)), flush=True)
    begun = time.monotonic()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    print(done.stdout + done.stderr, end="", flush=True)
    print(f"[{time.monotonic() - begun:.1f} s]", flush=True)
    return done.stdout


def dropouts(player, seconds):
    """Blocks and dropouts of a player in so many seconds."""
    player.send_signal(signal.SIGUSR1)
    player.stdout.readline()
    time.sleep(seconds)
    player.send_signal(signal.SIGUSR1)
    return tuple(map(int, player.stdout.readline().split()))


def audio(arguments):
    hackbench = ["hackbench", "-g", str(arguments.groups), "-l", "100000000"]
    with tempfile.TemporaryDirectory() as folder:
        # A group, to end it; no session of its own, as that would give it no more CPU time than tardy alone gets,
        # where the kernel shares CPU time among sessions (autogroups).
        load = subprocess.Popen(hackbench, stdout=subprocess.DEVNULL, process_group=0)
        victim = start("player", stdout=subprocess.PIPE, text=True)
        try:
            victim.stdout.readline()
            time.sleep(1)
            before = dropouts(victim, arguments.seconds)
            run = [arguments.tardy, "run", "-p", victim.pid, "-D", f"{arguments.seconds}s"]
            screen = show([*run, "-o", f"{folder}/run"])
            first = re.search(r"hackbench \(.*?\)", screen)
            advice = re.search(r"^ +(chrt .*)$", screen, re.M)
            after = None
            if advice:
                print("$", advice[1])
                subprocess.run(advice[1], shell=True, check=True, stdout=subprocess.DEVNULL)
                after = dropouts(victim, arguments.seconds)
        finally:
            victim.kill()
            os.killpg(load.pid, signal.SIGKILL)
            load.wait()
    print(f"\nbefore: {before[1]} dropouts of {before[0]} blocks")
    if after:
        print(f"after:  {after[1]} dropouts of {after[0]} blocks")
        gone = 1 - after[1] / max(after[0], 1) / max(before[1] / max(before[0], 1), 1e-9)
        print(f"gone:   {gone:.1%}; named: {first[0] if first else 'not hackbench'}")


def outlier(arguments):
    seconds = int(arguments.minutes * 60)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        program = f"{folder}/outlier"
        source = ROOT / "bench/outlier.c"
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, source], check=True)
        watch = ["watch", "--over", arguments.over, "--comm", "loop", "-D", f"{seconds + 5}s"]
        night = f"{folder}/night"
        beside = [seconds, arguments.seed]
        if arguments.vm:
            guest = [arguments.tardy, "vm", "run", "--no-record", "--kernel", arguments.vm]
            guest += ["--limit", f"{20 * seconds + 600}s", "-o", f"{folder}/vm", "--"]
            show([*guest, program, *beside, "tardy", *watch, "-o", "night"])
            night = f"{folder}/vm/night"
        else:
            show([program, *beside, arguments.tardy, *watch, "-o", night])
        show([arguments.tardy, "explain", night])
        listed = [arguments.tardy, "list", "--json", night]
        kept = json.loads(subprocess.check_output(listed, text=True))["recordings"]
        found = [one["kept_for"] for one in kept if one["kept_for"]["culprit"].startswith("injector")]
        print(f"\nkept: {len(kept)}; by the injector: {len(found)}")
        for one in found:
            print(f"  {one['lateness_ns'] / 1000:.1f} us, {one['cause']} by {one['culprit']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    jobs = parser.add_subparsers(dest="job", required=True)
    audio_flags = jobs.add_parser("audio")
    audio_flags.add_argument("--groups", type=int, default=10)
    audio_flags.add_argument("--seconds", type=int, default=10)
    outlier_flags = jobs.add_parser("outlier")
    outlier_flags.add_argument("--minutes", type=float, default=10)
    outlier_flags.add_argument("--over", default="300us")
    outlier_flags.add_argument("--seed", type=int, default=1)
    outlier_flags.add_argument("--vm", metavar="KERNEL", help="in a guest with counted time")
    for flags in (audio_flags, outlier_flags):
        flags.add_argument("--tardy", help="this program, instead of one that is built now")
    # As what this file starts itself.
    jobs.add_parser("player")
    arguments = parser.parse_args()
    if arguments.job in ("audio", "outlier"):
        # Whoever ends this with `kill` or `timeout` ends its loads too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
        need_root("as it records and changes a priority")
        if not arguments.tardy:
            build("tardy")
            arguments.tardy = TARDY
    globals()[arguments.job](arguments)


if __name__ == "__main__":
    main()
