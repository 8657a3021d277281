#!/usr/bin/env python3
"""Lets the system calls of tardy fail, one per run, and holds what then happens to what is promised.

    scripts/faults.py [--tardy PATH] [--places N] [--calls NAME,NAME…] [--kills N] [--seed N] [explain] [record]

A verb runs once under strace, which counts its calls. Then it runs again for each kind of call, each error that
the call can give, and at most --places of the places where a thread makes it: strace lets this one call fail.
After that it is killed --kills times at a random moment. Held each time: it ends, by itself, with a code that is
documented and without a panic; who fails says why; a trace that is read stays as it was; a recording that was
left with a manifest is opened. Needs strace; `record` needs root. Exits with 1 if anything did not hold.
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
import sys
import tempfile

# Seconds after which a run counts as hung; only what never ends takes so long.
HUNG_AFTER = 300
CODES = {0, 1, 2, 3, 4}

FILES = ("EIO", "EINTR", "EMFILE", "ENOMEM", "ENOSPC")
# The errors of the kernel that a call can give. Calls that are not here (futex, munmap, exit) fail for nobody
# but by a broken kernel; mmap is left out because an allocation that fails ends every Rust program.
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
}

TRACE = os.path.join(os.path.dirname(__file__), "../diagnosis/explain/tests/cases/traces/deadline_budget_busy.txt")


class Verb:
    """A command line, made anew in a folder for each run, and what must hold after it."""

    def __init__(self, name, tardy):
        self.name, self.tardy = name, tardy

    def command(self, folder):
        if self.name == "explain":
            shutil.copy(TRACE, os.path.join(folder, "trace.txt"))
            return [self.tardy, "explain", "--all", "trace.txt", "-o", "result.txt"]
        return [self.tardy, "record", "-o", "recording", "--", "sleep", "0.3"]

    def broken(self, folder):
        """What does not hold of the files that a run left, or None."""
        if self.name == "explain":
            same = digest(os.path.join(folder, "trace.txt")) == digest(TRACE)
            return None if same else "the trace was changed"
        if not os.path.exists(os.path.join(folder, "recording", "manifest.json")):
            return None
        code, said = run([self.tardy, "explain", "--all", "recording"], folder)
        return None if code in (0, 3) else f"the recording does not open: {last(said)}"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def last(said):
    lines = said.strip().splitlines()
    return lines[-1] if lines else ""


def run(command, folder, kill_after=None):
    """The code with which it ended (None: hung) and what it said. It and its children are a group of their own."""
    with open(os.path.join(folder, "said"), "w+b") as said:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=said, start_new_session=True)
        code = None
        try:
            code = child.wait(kill_after if kill_after is not None else HUNG_AFTER)
        except subprocess.TimeoutExpired:
            if kill_after is not None:
                # tardy alone: its keepers have to end what it started.
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


def judge(verb, folder, code, said):
    """What of the promises does not hold, or None."""
    if code is None:
        return f"did not end in {HUNG_AFTER} s"
    if "panicked at" in said or code == 101:
        return "panic: " + " ".join(said.split())[:300]
    if code not in CODES:
        return f"ended with {code}: {last(said)}"
    if code in (1, 2) and not said.strip():
        return f"ended with {code} and did not say why"
    return verb.broken(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tardy", default="target/release/tardy")
    parser.add_argument("--places", type=int, default=3)
    parser.add_argument("--calls", default=",".join(ERRORS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("verbs", nargs="*", default=[])
    asked = parser.parse_args()
    unknown = set(asked.verbs) - {"explain", "record"}
    if unknown:
        parser.error(f"no such verb here: {', '.join(sorted(unknown))}; there are explain and record")
    unknown = set(asked.calls.split(",")) - ERRORS.keys()
    if unknown:
        parser.error(f"no such call here: {', '.join(sorted(unknown))}")
    if not shutil.which("strace"):
        sys.exit("faults.py needs strace (apt-get install strace)")
    tardy, failures = os.path.abspath(asked.tardy), 0
    random.seed(asked.seed)
    # Ended from outside, it ends the run that it waits for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for name in asked.verbs or ["explain", "record"]:
        if name == "record" and os.geteuid() != 0:
            print("skipped: record needs root")
            continue
        verb, runs, refused, wrong = Verb(name, tardy), 0, 0, 0
        for call, numbers in places(verb, asked.places).items():
            if call not in asked.calls.split(","):
                continue
            for error in ERRORS[call]:
                for number in numbers:
                    with tempfile.TemporaryDirectory() as folder:
                        inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
                                  "-e", f"inject={call}:error={error}:when={number}"]
                        code, said = run(inject + verb.command(folder), folder)
                        broken = judge(verb, folder, code, said)
                    runs, refused = runs + 1, refused + (code != 0)
                    if broken:
                        wrong += 1
                        print(f"{name}: {call} number {number} fails with {error}: {broken}", flush=True)
        if not runs:
            wrong += 1
            print(f"{name}: no call that could fail was seen, so nothing was tried")
        print(f"{name}: {runs} runs with one failed call, {refused} ended with an error, {wrong} broke a promise")
        kills, unopened = 0, 0
        for _ in range(asked.kills):
            with tempfile.TemporaryDirectory() as folder:
                moment = random.uniform(0, 1.0)
                code, _said = run(verb.command(folder), folder, kill_after=moment)
                broken = verb.broken(folder)
                kills += code == -signal.SIGKILL
                if broken:
                    unopened += 1
                    print(f"{name}: killed after {moment:.3f} s: {broken}", flush=True)
        print(f"{name}: {asked.kills} runs, {kills} killed before their end, {unopened} broke a promise", flush=True)
        failures += wrong + unopened
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
