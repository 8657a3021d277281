#!/usr/bin/env python3
"""How fast traces of other tools are read, on one core, beside how fast those tools read their own.

    bench/import.py [--seconds 3] [--load storm:40] [--rounds 5] [--cpu 1] [--perfetto FILE]

Records the same seconds twice at once, under a load: with `trace-cmd record` (clock mono; sched,
timer, irq, irq_vectors, raw_syscalls) and with `perf record -a` (the same events without
irq_vectors; a write of perf's own to its file is no event of its own trace). What they print of it
is kept as text. Then, in rounds that go there and back, each program reads its file in a process of
its own bound to one CPU, the file in the page cache, what it prints thrown away:

  trace.dat, ftrace text, perf script text   tardy's importer alone, to events in memory
  Perfetto               the same of FILE, or of what `tardy export` makes of the recording
  import                 `tardy import`: to a recording on disk
  explain                `tardy explain --no-write --json --all` of that recording
  explain trace.dat      the same of the file itself
  trace-cmd report       the whole text of trace.dat
  perf script            the whole text of perf's file
  perf sched timehist    perf's own table of who waited how long

Columns: n rounds; events of the file, as tardy counts them (perf's: lines that it prints); MB of
the file (a recording's is 32 bytes an event); wall, the median of whole processes; CPU, the least
and the median of their CPU seconds, kernel and user, which other programs on the machine disturb
less; MB and millions of events per CPU second, by the least. What is compressed (trace.dat) has few
MB and is to be read by its events. What this machine does not allow is left out and named.

Aim: ftrace text 200 MB/s; trace.dat and explain 10 million events a second. Needs root, trace-cmd
and perf. It prints, it does not judge.
"""

import argparse
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import ROOT, TARDY, TARGET, beside, build, need_root, run_json

SPEED = TARGET / "release/examples/speed"
APART = ROOT / "diagnosis/sources/import/tests/data/record-apart.sh"
GROUPS = ["sched", "timer", "irq", "irq_vectors", "raw_syscalls"]
# perf's own, in a mount namespace where tracefs is: the machine's mounts stay as they are.
PERF_APART = (
    "mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; "
    'exec perf record -q -a -k CLOCK_MONOTONIC -m 4096 -o "$0" "$@"'
)


def record(folder, args):
    """Records with both, to trace.dat and perf.data; what could not be done, by name."""
    left_out = {}
    load = [TARDY, "load", args.load, "-D", f"{args.seconds}s", "--json", "--quiet"]
    with contextlib.ExitStack() as running:
        if shutil.which("perf"):
            command = ["unshare", "--mount", "--propagation", "private", "--"]
            command += ["sh", "-c", PERF_APART, folder / "perf.data"]
            groups = [group for group in GROUPS if group != "irq_vectors"]
            command += [word for group in groups for word in ("-e", f"{group}:*")]
            running.enter_context(beside(command, (folder / "perf.data").exists))
            time.sleep(0.5)
        else:
            left_out["perf"] = "it is not installed"
        if shutil.which("trace-cmd"):
            # It ends with the load, and the instance and the mounts of the script with it.
            command = ["sh", APART, "-q", "-C", "mono", "-b", "16384", "-o", folder / "trace.dat"]
            command += [word for group in GROUPS for word in ("-e", group)] + load
        else:
            left_out["trace-cmd"] = "it is not installed"
            command = load
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}\nfailed:\n{done.stderr.strip()}")
    return left_out


def text_of(command, path):
    with path.open("wb") as out:
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)


def files(folder):
    """The rows that there are files for: name, command, file."""
    rows = {}
    dat, perf = folder / "trace.dat", folder / "perf.data"
    if dat.exists():
        report = folder / "report.txt"
        text_of(["trace-cmd", "report", "-t", "-i", dat], report)
        recording = folder / "recording"
        run_json(TARDY, "import", dat, "-o", recording, "--json", "--quiet")
        run_json(TARDY, "export", recording, "-o", folder / "ours.pftrace", "--json", "--quiet")
        explain = [TARDY, "explain", "--no-write", "--json", "--quiet", "--all"]
        rows["trace.dat"] = ([SPEED, dat, "1"], dat)
        rows["ftrace text"] = ([SPEED, report, "1"], report)
        rows["import"] = ([TARDY, "import", "--quiet", dat, "-o"], dat)
        rows["explain"] = ([*explain, recording], recording)
        rows["explain trace.dat"] = ([*explain, dat], dat)
        rows["trace-cmd report"] = (["trace-cmd", "report", "-t", "-i", dat], dat)
    if perf.exists():
        script = folder / "script.txt"
        text_of(["perf", "script", "--ns", "-i", perf], script)
        rows["perf script text"] = ([SPEED, script, "1"], script)
        rows["perf script"] = (["perf", "script", "--ns", "-i", perf], perf)
        rows["perf sched timehist"] = (["perf", "sched", "timehist", "-i", perf], perf)
    for perfetto in (folder / "trace.pftrace", folder / "ours.pftrace"):
        if perfetto.exists():
            rows.setdefault("Perfetto", ([SPEED, perfetto, "1"], perfetto))
    return rows


def size(path):
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*.seg"))
    return path.stat().st_size


def events(folder, rows):
    """How many events each row's file has."""
    counts = {}
    for name, (command, _) in rows.items():
        if command[0] == SPEED:
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            counts[name] = int(re.search(r"(\d+) events: ", said)[1])
    for name in ("import", "explain", "explain trace.dat", "trace-cmd report"):
        counts[name] = counts.get("trace.dat")
    for name in ("perf script", "perf sched timehist"):
        if name in rows:
            with (folder / "script.txt").open("rb") as script:
                counts[name] = sum(1 for _ in script)
    return counts


def measured(command, cpu):
    """Wall and CPU seconds of a process on one CPU."""
    with tempfile.TemporaryDirectory(prefix="tardy-bench-") as folder:
        words = [str(word) for word in command]
        if words[-1] == "-o":
            words.append(f"{folder}/recording")
        begin = time.monotonic()
        process = subprocess.Popen(
            words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} failed")
    return wall, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--load", default="storm:40")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--perfetto", type=Path, help="a trace of Perfetto's, to be read as well")
    parser.add_argument("--folder", help="where the files go meanwhile [default: temporary]")
    args = parser.parse_args()
    need_root("to record")
    build("tardy")
    command = ["cargo", "build", "--quiet", "--release", "-p", "tardy-import", "--example", "speed"]
    subprocess.run(command, cwd=ROOT, check=True)

    with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
        folder = Path(folder)
        left_out = record(folder, args)
        if args.perfetto:
            shutil.copyfile(args.perfetto, folder / "trace.pftrace")
        rows = files(folder)
        counts = events(folder, rows)
        samples = {name: [] for name in rows}
        for number in range(args.rounds):
            # There and back again, so that whatever else the machine does meets all alike.
            for name in list(rows)[:: -1 if number % 2 else 1]:
                samples[name].append(measured(rows[name][0], args.cpu))
        print(f"{args.seconds} s of {args.load}; CPU {args.cpu}")
        print(f"{'':20}  n       events       MB   wall s  CPU s least, median  MB/CPU s  M events/CPU s")
        for name, found in samples.items():
            walls, busy = zip(*found)
            least, megabytes = min(busy), size(rows[name][1]) / 1e6
            print(
                f"{name:20} {len(found):2} {counts[name]:12,} {megabytes:8.1f} "
                f"{statistics.median(walls):8.3f} {least:11.3f} {statistics.median(busy):7.3f} "
                f"{megabytes / least:9.1f} {counts[name] / least / 1e6:15.2f}"
            )
        for name, why in left_out.items():
            print(f"left out: {name}: {why}")


if __name__ == "__main__":
    main()
