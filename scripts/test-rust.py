#!/usr/bin/env python3
"""Runs all Rust tests; tests of the live machine that failed are run once more, alone.

    scripts/test-rust.py [arguments for cargo test]

Tests under command/tests/live and most of those of laboratory/lab/tests measure the machine that they run on. What
else runs there, or the host of a virtual machine, can make one of them fail; a fault makes it fail twice. All other
tests have one try, and so have those of the live machine where more than a few failed. Says which tests needed their
second try. The exit code is cargo's, or 0 where all that failed passed alone.
"""

import re
import subprocess
import sys

# Tests of the live machine: the names of their targets, as cargo tells them.
LIVE = {
    "-p tardy --test live",
    *(f"-p tardy-lab --test {name}" for name in ("cost", "live", "loads", "pi", "rearm", "sleep")),
}

# As many failures are no accident.
AGAIN_MAX = 10


class Run:
    """What cargo said, read line by line."""

    def __init__(self):
        self.running = None
        self.failures = None
        self.failed = {}  # Path of a test program: its tests that failed.
        self.targets = []
        self.summary = False

    def line(self, line):
        line = line.rstrip("\n")
        if match := re.fullmatch(r"     Running \S.* \((\S+)\)", line):
            self.running, self.failures = match[1], None
        elif line == "failures:":
            # Its outputs come under one such line, its names under another: the last holds.
            self.failures = []
        elif line.startswith("test result: "):
            if line.startswith("test result: FAILED"):
                self.failed[self.running] = self.failures or []
            self.failures = None
        elif self.failures is not None and (match := re.fullmatch(r"    (\S+)", line)):
            self.failures.append(match[1])
        elif re.fullmatch(r"error: \d+ targets? failed:", line):
            self.summary = True
        elif self.summary and (match := re.fullmatch(r"    `(.+)`", line)):
            self.targets.append(match[1])

    def again(self):
        """The test programs and the tests in them that deserve a second try: none where anything else failed."""
        # One that ended by itself is among the targets alone: nobody knows which of its tests it was.
        if not LIVE.issuperset(self.targets) or len(self.failed) != len(self.targets):
            return [], []
        names = [name for names in self.failed.values() for name in names]
        if len(names) > AGAIN_MAX or not all(self.failed.values()):
            return [], []
        return [target.split()[-1] for target in self.targets], names


def cargo(arguments, run):
    command = ["cargo", "test", "--workspace", "--locked", *arguments]
    print("+", *command, flush=True)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        run.line(line.decode(errors="replace"))
    return process.wait()


def main(arguments):
    first = Run()
    code = cargo(["--no-fail-fast", *arguments, "--", "--show-output"], first)
    programs, names = first.again()
    if code == 0 or not names:
        return code
    print(f"\nFailed on the live machine, so each has a second try, alone: {', '.join(names)}", flush=True)
    tests = [word for program in programs for word in ("--test", program)]
    code = cargo([*tests, *arguments, "--", "--show-output", "--exact", *names], Run())
    if code == 0:
        print(f"\nFailed once and passed alone: {', '.join(names)}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
