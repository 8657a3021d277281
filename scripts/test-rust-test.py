#!/usr/bin/env python3
"""Tests which tests test-rust.py gives a second try. Compiles nothing."""

import importlib.util
import os
import unittest

spec = importlib.util.spec_from_file_location(
    "test_rust", os.path.join(os.path.dirname(os.path.abspath(__file__)), "test-rust.py")
)
test_rust = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test_rust)


def failing(path, *names):
    """What a test program with these failures prints, with an output that looks like a list of names."""
    outputs = "".join(f"---- {name} stdout ----\n    like::a_name\n\n" for name in names)
    listed = "".join(f"    {name}\n" for name in names)
    return (
        f"     Running {path}.rs (target/debug/deps/{path}-0123)\n\nrunning 9 tests\n"
        f"failures:\n\n{outputs}failures:\n{listed}\ntest result: FAILED. 1 passed; {len(names)} failed\n"
    )


def ending(*targets):
    listed = "".join(f"    `{target}`\n" for target in targets)
    return f"error: {len(targets)} target{'s'[: len(targets) > 1]} failed:\n{listed}"


LIVE, PI = "-p tardy --test live", "-p tardy-lab --test pi"
NONE = ([], [])


def again(text):
    run = test_rust.Run()
    for line in text.splitlines(keepends=True):
        run.line(line)
    return run.again()


class Again(unittest.TestCase):
    def test_tests_of_the_live_machine_have_a_second_try(self):
        text = "test result: ok. 3 passed\n" + failing("live", "fix::a", "top::b") + ending(LIVE)
        self.assertEqual(again(text), (["live"], ["fix::a", "top::b"]))

    def test_those_of_several_programs_have_it_together(self):
        text = failing("live", "fix::a") + failing("pi", "b") + ending(LIVE, PI)
        self.assertEqual(again(text), (["live", "pi"], ["fix::a", "b"]))

    def test_beside_one_that_ended_by_itself_they_have_none(self):
        text = failing("live", "fix::a") + "     Running pi.rs (target/debug/deps/pi-0123)\nrunning 6 tests\n"
        self.assertEqual(again(text + ending(LIVE, PI)), NONE)

    def test_others_have_none(self):
        self.assertEqual(again(failing("cases", "a") + ending("-p tardy-explain --test cases")), NONE)

    def test_beside_others_they_have_none(self):
        text = failing("live", "fix::a") + failing("cases", "a")
        self.assertEqual(again(text + ending(LIVE, "-p tardy-explain --test cases")), NONE)

    def test_many_have_none(self):
        names = [f"fix::a{number}" for number in range(test_rust.AGAIN_MAX + 1)]
        self.assertEqual(again(failing("live", *names) + ending(LIVE)), NONE)

    def test_a_program_that_ended_by_itself_has_none(self):
        text = "     Running live.rs (target/debug/deps/live-0123)\nrunning 9 tests\n" + ending(LIVE)
        self.assertEqual(again(text), NONE)

    def test_what_did_not_compile_has_none(self):
        self.assertEqual(again("error: could not compile `tardy` (lib) due to 1 previous error\n"), NONE)


if __name__ == "__main__":
    unittest.main()
