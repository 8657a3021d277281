#!/usr/bin/env python3
"""Tests what soak.py makes of a guest's looks. Starts no guest, needs no rights."""

import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import soak  # noqa: E402

SAID = {"watched_s": 21600, "over_ns": 300000, "over_count": 70, "late": 50, "missed": 2, "kept": [{}, {}], "let_go": 48}


def looks(count, anonymous):
    """Lines as a guest writes them, one a minute; `anonymous` gives KiB for a look's number."""
    return "".join(
        f"seconds {60 * at} rss {anonymous(at) + 9000} anonymous {anonymous(at)} descriptors 46 threads 2 "
        f"switches {1000 * at}\n" for at in range(count)
    )


def judged(text, **files):
    """The code and the words for a folder with these looks and files."""
    with tempfile.TemporaryDirectory() as out:
        for name, content in {"samples.txt": text, **files}.items():
            with open(os.path.join(out, name.replace("_", ".")), "w") as file:
                file.write(content)
        with contextlib.redirect_stdout(io.StringIO()) as words, contextlib.redirect_stderr(words):
            return soak.judge_guest("no-tardy", out), words.getvalue()


class Judged(unittest.TestCase):
    def test_what_stays_is_fine(self):
        noise = random.Random(1)
        text = looks(360, lambda _: 30_000 + noise.randrange(500)) + "ended 3\n"
        code, words = judged(text, said_json=json.dumps(SAID))
        self.assertEqual(code, 0, words)
        self.assertIn("5.98 h of the guest, 359000 context switches (17 a second)", words)
        self.assertIn("70 wakeups over 300 us, 50 looked at, 0 of them not late after all, 2 missed, 2 kept, 48 let go", words)
        self.assertIn("the watch ended with 3", words)

    def test_what_grows_is_named(self):
        noise = random.Random(2)
        # Half of it more in six hours.
        text = looks(360, lambda at: 30_000 + 42 * at + noise.randrange(500)) + "ended 0\n"
        code, words = judged(text, said_json=json.dumps(SAID))
        self.assertEqual(code, 1)
        self.assertRegex(words, "what grows: rss KiB, anonymous KiB\n")

    def test_a_watch_that_failed_is_not_fine(self):
        code, words = judged(looks(360, lambda _: 30_000) + "ended 1\n", said_json="")
        self.assertEqual(code, 1)
        self.assertIn("the watch ended with 1", words)

    def test_a_guest_that_was_stopped_is_judged_as_far_as_it_came(self):
        # The last line is a part, and what the watch said last is what it had written.
        text = looks(100, lambda _: 30_000) + "seconds 6000 rss 39000 anonymous 3"
        code, words = judged(text, **{"so-far_json": json.dumps(SAID | {"watched_s": 5400})})
        self.assertEqual(code, 0, words)
        self.assertIn("1.65 h of the guest", words)
        self.assertIn("1.50 h watched", words)
        self.assertIn("the watch was stopped with its guest", words)

    def test_a_short_run_says_so(self):
        code, words = judged(looks(20, lambda _: 30_000))
        self.assertEqual(code, 1)
        self.assertIn("20 looks, 40 are the least", words)


class Guest(unittest.TestCase):
    def test_its_looks_are_as_they_are_read(self):
        script = soak.read(os.path.join(HERE, "soak-guest.sh"))
        functions = "".join(re.findall(r"^(?:family|look)\(\) \{\n.*?^\}\n", script, re.M | re.S))
        # The shell, one child of its own, and what that has as a child.
        shell = "sh -c 'sleep 30 & wait' & child=$!; watch=$$; sleep 0.3; look; family $watch; kill $(family $child)"
        said = subprocess.run(["sh", "-c", functions + shell], capture_output=True, text=True, timeout=30, check=True)
        line, family = said.stdout.splitlines()
        (sample,), (beside,), ended = soak.from_guest(line)
        self.assertIsNone(ended)
        self.assertGreaterEqual(len(family.split()), 3)
        counts = sample[1]
        self.assertGreater(counts["rss KiB"], counts["anonymous KiB"])
        self.assertGreater(counts["anonymous KiB"], 0)
        self.assertGreaterEqual(counts["threads"], 3)
        self.assertGreaterEqual(counts["descriptors"], 6)
        self.assertGreater(beside["switches"], 0)

    def test_its_script_is_one(self):
        subprocess.run(["sh", "-n", os.path.join(HERE, "soak-guest.sh")], check=True)


if __name__ == "__main__":
    unittest.main()
