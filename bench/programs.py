"""What the benchmarks share: tardy built once, programs that run beside a measurement, medians."""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TARDY = TARGET / "release/tardy"

# A program that has not begun, or not ended, by then never will.
PATIENCE_SECONDS = 60


def build(*packages):
    names = [word for package in packages for word in ("-p", package)]
    subprocess.run(["cargo", "build", "--quiet", "--release", *names], cwd=ROOT, check=True)


def chosen(parser, text, known, what):
    """The names in `text`, separated by commas; a name that is not `known` is an error of whoever called."""
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no {what} {', '.join(unknown)}: there are {', '.join(known)}")
    return names


def need_root(why):
    if os.geteuid() != 0:
        sys.exit(f"{Path(sys.argv[0]).name}: needs root, {why}: sudo {' '.join(sys.argv)}")


def run_json(*command):
    """What a program that has to succeed prints, as JSON."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\nfailed:\n{done.stderr.strip()}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def beside(command, has_begun, cwd=None):
    """Runs a program from when `has_begun()` to the end of the block, then asks it to end as Ctrl-C
    does. Yields a dictionary that holds its `stdout` and `stderr` after the block."""
    command = [str(word) for word in command]
    # A process group of its own: whatever it leaves behind can be ended with it, and nothing else.
    process = subprocess.Popen(
        command,
        cwd=cwd,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    said = {}
    try:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not has_begun():
            if process.poll() is not None or time.monotonic() > give_up:
                raise SystemExit(f"{' '.join(command)}\ndid not begin:\n{process.stderr.read()}")
            time.sleep(0.02)
        yield said
        process.send_signal(signal.SIGINT)
        said["stdout"], said["stderr"] = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def tardy_record(folder, *flags):
    """A recording by tardy beside the block, to `folder`; yields what will hold its JSON."""
    command = [TARDY, "record", "--quiet", "--json", "-o", folder, *flags]
    # The manifest is written once events are being recorded.
    with beside(command, (Path(folder) / "manifest.json").exists) as said:
        yield said
    said.update(json.loads(said["stdout"]))


def lost_events(lost):
    """A count of lost events, as (those that were counted, losses of unknown size). A source that
    cannot tell how many were lost in a gap counts 2^32 - 1."""
    unknown, counted = divmod(lost, 2**32 - 1)
    return counted, unknown


def median(values):
    """The median of those that there are; None where there are none."""
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def shown(value, form):
    """A number in a table: a dash where there is none."""
    if value is None:
        return "-".rjust(int(re.search(r"\d+", form)[0]))
    return format(value, form)
