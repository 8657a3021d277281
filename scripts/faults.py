#!/usr/bin/env python3
"""Lets the system calls of tardy fail, one per run, and holds what then happens to what is promised.

    scripts/faults.py [--tardy PATH] [--places N] [--calls NAME,NAME…] [--kills N] [--seed N] [explain] [record]
                      [experiment]

A verb runs once under strace, which counts its calls. Then it runs again for each kind of call, each error that
the call can give, and at most --places of the places where a thread makes it: strace lets this one call fail.
After that it is killed --kills times at a random moment. Held each time: it ends, by itself, with a code that is
documented and without a panic; who fails says why; a trace that is read stays as it was; a recording that was
left with a manifest is opened, an experiment goes on where it was; and the system is as it was before, by the next
tardy at the latest: its settings, the kernel's threads, what of programs and trace instances the kernel holds.
What a killed recording has lost is told: the time from its last event to the kill.
Needs strace; `record` and `experiment` need root. Exits with 1 if anything did not hold.
"""

import argparse
import collections
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import struct
import sys
import tempfile
import time

import system_state

# Seconds after which a run counts as hung; only what never ends takes so long.
HUNG_AFTER = 300
CODES = {0, 1, 2, 3, 4}

# What a recording that is killed may lose, in nanoseconds, on a machine that lets its threads run. Where the kill
# itself comes late, the machine stood still for so long, and that is not counted.
LOST_NS_MAX = 100_000_000

FILES = ("EIO", "EINTR", "EMFILE", "ENOMEM", "ENOSPC")
# The errors of the kernel that a call can give. Calls that are not here (futex, munmap, exit) fail for nobody
# but by a broken kernel; brk answers with a place, never with an error.
ERRORS = {
    "open": FILES, "openat": FILES, "openat2": FILES,
    "read": ("EIO", "EINTR"), "pread64": ("EIO", "EINTR"), "readlink": ("EIO", "ENOMEM"),
    "readlinkat": ("EIO", "ENOMEM"), "getdents64": ("EIO", "ENOMEM"), "lseek": ("EIO",),
    "fstat": ("EIO", "ENOMEM"), "newfstatat": ("EIO", "ENOMEM"), "statx": ("EIO", "ENOMEM"),
    "write": ("EIO", "ENOSPC", "EINTR"), "writev": ("EIO", "ENOSPC", "EINTR"),
    "pwrite64": ("EIO", "ENOSPC", "EINTR"), "ftruncate": ("EIO", "ENOSPC"), "fallocate": ("EIO", "ENOSPC"),
    "fsync": ("EIO", "ENOSPC"), "fdatasync": ("EIO", "ENOSPC"),
    "mkdir": ("EIO", "ENOSPC"), "mkdirat": ("EIO", "ENOSPC"), "linkat": ("EIO", "ENOSPC"),
    "rename": ("EIO", "ENOSPC"), "renameat": ("EIO", "ENOSPC"), "renameat2": ("EIO", "ENOSPC"),
    "unlink": ("EIO",), "unlinkat": ("EIO",), "fchmod": ("EIO",), "fchown": ("EIO",), "flock": ("EINTR", "ENOMEM"),
    "clone": ("ENOMEM",), "clone3": ("ENOMEM",), "pipe2": ("EMFILE",), "dup": ("EMFILE",),
    "eventfd2": ("EMFILE", "ENOMEM"), "epoll_create1": ("EMFILE", "ENOMEM"), "epoll_ctl": ("ENOMEM", "ENOSPC"),
    "epoll_wait": ("EINTR",), "epoll_pwait": ("EINTR",), "poll": ("EINTR",), "ppoll": ("EINTR",),
    "clock_nanosleep": ("EINTR",), "wait4": ("EINTR",), "waitid": ("EINTR",),
    "memfd_create": ("EMFILE", "ENOMEM"), "pidfd_open": ("EMFILE", "ENOMEM"),
    "bpf": ("EMFILE", "ENOMEM", "ENOSPC"), "perf_event_open": ("EMFILE", "ENOMEM"),
    "mmap": ("ENOMEM",), "mremap": ("ENOMEM",),
}
# A Rust program whose allocation fails says so and aborts, and one whose runtime gets no stack for signals panics
# before it is the program: there is no other way to end then.
ALLOCATES = {"mmap", "mremap"}
OUT_OF_MEMORY = ("memory allocation of", "failed to allocate an alternative stack")

# An experiment of two short blocks that changes a kernel thread, with a load.
EXPERIMENT = """
name = "short"
title = "Short"
question = "Does it go on?"
table = "min-avg-max"
measure = { kind = "cyclic", interval = "1ms", threads = 1 }
default = { rounds = 2, block-ms = 100, warm-up-ms = 10 }
full = { rounds = 2, block-ms = 100, warm-up-ms = 10 }
kernel-threads = { ksoftirqd = "batch" }
[[condition]]
name = "idle"
[[condition]]
name = "storm"
load = "storm:2"
"""
BLOCKS = 4

TRACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../diagnosis/explain/tests/cases/traces/deadline_budget_busy.txt")


class Verb:
    """A command line, made anew in a folder for each run, and what must hold after it."""

    def __init__(self, name, tardy):
        self.name, self.tardy = name, tardy

    def command(self, folder, to_kill=False):
        if self.name == "explain":
            shutil.copy(TRACE, os.path.join(folder, "trace.txt"))
            return [self.tardy, "explain", "--all", "trace.txt", "-o", "result.txt"]
        if self.name == "experiment":
            with open(os.path.join(folder, "short.toml"), "w") as file:
                file.write(EXPERIMENT)
            return [self.tardy, "experiment", "-q", "short.toml", "-o", "results"]
        # It ticks, so that there always are events.
        what = ": > begun; while :; do sleep 0.002; done" if to_kill else "sleep 0.3"
        return [self.tardy, "record", "-o", "recording", "--", "sh", "-c", what]

    def broken(self, folder):
        """What does not hold of the files that a run left, or None."""
        if self.name == "explain":
            same = digest(os.path.join(folder, "trace.txt")) == digest(TRACE)
            return None if same else "the trace was changed"
        if self.name == "experiment":
            return self.does_not_go_on(os.path.join(folder, "results"), folder)
        if not os.path.exists(os.path.join(folder, "recording", "manifest.json")):
            return None
        code, said = run([self.tardy, "explain", "--all", "recording"], folder)
        return None if code in (0, 3) else f"the recording does not open ({code}): {last(said)}"

    def does_not_go_on(self, results, folder):
        """Why an experiment does not go on where it was, or None. It was none before it had written what it is."""
        if not os.path.exists(os.path.join(results, "run.json")):
            # Whichever verb comes next takes back what was changed.
            run([self.tardy, "explain", TRACE], folder)
            return None
        before = blocks(results)
        code, said = run([self.tardy, "experiment", "-q", "--resume", "results"], folder)
        if code != 0:
            return f"the experiment does not go on ({code}): {last(said)}"
        after = blocks(results)
        if after[:len(before)] != before:
            return "a block that was there has changed"
        return None if len(after) == BLOCKS else f"there are {len(after)} blocks in the end, not {BLOCKS}"

    def lost_ns(self, folder, killed_ns):
        """The time from a killed recording's last event to the kill, since its command had begun at most; None where
        that had not."""
        try:
            begun_ns = os.stat(os.path.join(folder, "begun")).st_mtime_ns
        except FileNotFoundError:
            return None
        # As the clock of events is now.
        begun_ns -= time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return killed_ns - max([begun_ns, *map(last_event, segments(folder))])


def blocks(results):
    """The blocks that are whole: the last line of who is killed may not be."""
    try:
        with open(os.path.join(results, "blocks.jsonl")) as file:
            return [line for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def segments(folder):
    events = os.path.join(folder, "recording", "events")
    return [os.path.join(events, name) for name in os.listdir(events)] if os.path.isdir(events) else []


def last_event(path):
    """The latest time in a segment, by docs/reference/recording.md; what is not whole does not count."""
    with open(path, "rb") as file:
        data = file.read()
    at, latest = 20, 0
    while at + 24 <= len(data):
        kind, encoding, payload = struct.unpack_from("<4xBBxxI", data, at)
        at += 24
        if at + payload > len(data):
            break
        if kind == 3 and encoding == 0:
            times = struct.unpack_from("<" + "Q24x" * (payload // 32), data, at)
            latest = max(latest, max(times, default=0))
        at += payload
    return latest


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def last(said):
    lines = said.strip().splitlines()
    return lines[-1] if lines else ""


def run(command, folder, kill_after=None, killed=None):
    """The code with which it ended (None: hung) and what it said. It and its children are a group of their own.
    When it was killed, and how much later than asked for, goes to `killed`."""
    begun_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with open(os.path.join(folder, "said"), "w+b") as said:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=said, start_new_session=True)
        code = None
        try:
            code = child.wait(kill_after if kill_after is not None else HUNG_AFTER)
        except subprocess.TimeoutExpired:
            if kill_after is not None:
                # tardy alone: its keepers have to end what it started.
                if killed is not None:
                    now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                    killed += now_ns, now_ns - begun_ns - int(kill_after * 1e9)
                child.kill()
                code = child.wait()
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        said.seek(0)
        return code, said.read().decode(errors="replace")


def places(verb, most):
    """Call -> at which of its occurrences in a thread it is to fail: the first, the last, and some between."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        code, said = run(["strace", "-f", "-qq", "-o", log] + verb.command(folder), folder)
        if code != 0:
            sys.exit(f"{verb.name} does not run under strace ({code}): {last(said)}")
        counts, skipped, started, main = collections.defaultdict(collections.Counter), collections.Counter(), False, None
        with open(log, errors="replace") as lines:
            for line in lines:
                found = re.match(r"(\d+) +(\w+)\(", line)
                if not found:
                    continue
                thread, call = found.groups()
                main = main or thread
                # Rust's runtime begins with this call; what was before it is the loader's.
                started = started or call == "poll"
                counts[call][thread] += 1
                if not started:
                    skipped[call] += 1
    result = {}
    for call in sorted(ERRORS.keys() & counts.keys()):
        end, begin = max(counts[call].values()), skipped[call] + 1
        if begin <= end:
            step = max(1, -(-(end - begin) // max(1, most - 1)))
            result[call] = sorted({*range(begin, end, step), end})
    return result


def judge(verb, folder, call, code, said):
    """What of the promises does not hold, or None."""
    if code is None:
        return f"did not end in {HUNG_AFTER} s"
    if call in ALLOCATES and code in (-signal.SIGABRT, 101) and any(words in said for words in OUT_OF_MEMORY):
        return verb.broken(folder)
    if "panicked at" in said or code == 101:
        return "panic: " + " ".join(said.split())[:300]
    if code not in CODES:
        return f"ended with {code}: {last(said)}"
    # strace counts for each thread by itself: where writing fails, so may the saying of it in another thread.
    if code in (1, 2) and not said.strip() and call not in ("write", "writev"):
        return f"ended with {code} and did not say why"
    return verb.broken(folder)


def fail(verb, asked, before):
    """Lets one call fail per run; how many runs broke a promise."""
    runs, refused, wrong = 0, 0, 0
    for call, numbers in places(verb, asked.places).items():
        if call not in asked.calls.split(","):
            continue
        for error in ERRORS[call]:
            for number in numbers:
                with tempfile.TemporaryDirectory() as folder:
                    inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                              "-e", f"inject={call}:error={error}:when={number}"]
                    code, said = run(inject + verb.command(folder), folder)
                    broken = [judge(verb, folder, call, code, said), *system_state.left(before)]
                runs, refused = runs + 1, refused + (code != 0)
                broken = [what for what in broken if what]
                wrong += bool(broken)
                for what in broken:
                    print(f"{verb.name}: {call} number {number} fails with {error}: {what}", flush=True)
                # What is changed stays said once.
                before.update(system_state.look() if broken else {})
    if not runs:
        wrong += 1
        print(f"{verb.name}: no call that could fail was seen, so nothing was tried")
    print(f"{verb.name}: {runs} runs with one failed call, {refused} ended with an error, {wrong} broke a promise",
          flush=True)
    return wrong


def kill(verb, asked, before):
    """Kills it at random moments; how many runs broke a promise."""
    kills, wrong, lost, empty = 0, 0, [], 0
    for number in range(asked.kills):
        if number and number % 100 == 0:
            print(f"{verb.name}: {number} of {asked.kills} runs to be killed", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            moment, killed = random.uniform(0, asked.within), []
            code, _said = run(verb.command(folder, to_kill=True), folder, kill_after=moment, killed=killed)
            kills += code == -signal.SIGKILL
            broken = [verb.broken(folder), *system_state.left(before)]
            if verb.name == "record" and killed:
                lost_ns = verb.lost_ns(folder, killed[0])
                if lost_ns is None:
                    empty += 1
                else:
                    lost.append(lost_ns)
                    if lost_ns > LOST_NS_MAX + killed[1]:
                        late = f"the kill was {killed[1] / 1e6:.1f} ms late"
                        broken.append(f"the last {lost_ns / 1e6:.1f} ms are lost; {late}")
        broken = [what for what in broken if what]
        wrong += bool(broken)
        for what in broken:
            print(f"{verb.name}: killed after {moment:.3f} s: {what}", flush=True)
        before.update(system_state.look() if broken else {})
    print(f"{verb.name}: {asked.kills} runs, {kills} killed before their end, {wrong} broke a promise", flush=True)
    if lost:
        lost = sorted(ns / 1e6 for ns in lost)
        print(f"{verb.name}: of {len(lost)} killed recordings the last {lost[len(lost) // 2]:.1f} ms are lost in the "
              f"median, {lost[int(0.99 * len(lost))]:.1f} ms in 99 of 100, {lost[-1]:.1f} ms at most; "
              f"{empty} had not begun", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tardy", default="target/release/tardy")
    parser.add_argument("--places", type=int, default=3)
    parser.add_argument("--calls", default=",".join(ERRORS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--within", type=float, default=1.0, help="seconds in which the moment of a kill is")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("verbs", nargs="*", default=[])
    asked = parser.parse_args()
    verbs = ["explain", "record", "experiment"]
    unknown = set(asked.verbs) - set(verbs)
    if unknown:
        parser.error(f"no such verb here: {', '.join(sorted(unknown))}; there are {', '.join(verbs)}")
    unknown = set(asked.calls.split(",")) - ERRORS.keys()
    if unknown:
        parser.error(f"no such call here: {', '.join(sorted(unknown))}")
    if asked.places and not shutil.which("strace"):
        sys.exit("faults.py needs strace (apt-get install strace)")
    tardy, failures = os.path.abspath(asked.tardy), 0
    random.seed(asked.seed)
    # Ended from outside, it ends the run that it waits for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for name in asked.verbs or verbs:
        if name != "explain" and os.geteuid() != 0:
            print(f"skipped: {name} needs root")
            continue
        verb, before = Verb(name, tardy), system_state.look()
        if asked.places:
            failures += fail(verb, asked, before)
        failures += kill(verb, asked, before)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
