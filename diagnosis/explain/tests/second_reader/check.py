#!/usr/bin/env python3
"""Holds tardy's account of traces against a second reader that shares nothing with it.

    check.py [--list N] [--tardy PROGRAM] FILE|FOLDER...

Prints a table: per file its events, its wakeups, disagreements by sort, and which share of all lateness is
unexplained. The exit status is 1 where there is any disagreement. `--list N` tells the first N of each sort
and file, with the lines of the trace that show them.

Reads text traces, systrace pages, both also compressed, Perfetto traces (lines are then numbers of events in
order of time), and `trace.dat` through `trace-cmd report`. Of other files it says that it cannot read them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, Iterable, Optional

import lines
import perfetto
import scheduler
from compare import SORTS, Comparison, align, compare

ROOT = Path(__file__).resolve().parents[4]
TARDY_SECONDS_MAX = 600
TRACE_DAT = b"\x17\x08Dtracing"
PERFETTO_ENDINGS = (".pftrace", ".perfetto-trace")
ATRACE_COMPRESSED = b"TRACE:\n"
"""What atrace -z puts before the compressed text."""


class NotReadable(Exception):
    """Why a file cannot be held against anything."""


def find_tardy() -> Optional[Path]:
    """`TARDY_BIN`, else what cargo built last."""
    named = os.environ.get("TARDY_BIN")
    if named:
        return Path(named).resolve()
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    built = [path for path in (target / "release/tardy", target / "debug/tardy") if path.is_file()]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


def text_of(path: Path) -> list[str]:
    with path.open("rb") as file:
        head = file.read(len(TRACE_DAT))
    if head == TRACE_DAT:
        if not shutil.which("trace-cmd"):
            raise NotReadable("trace-cmd, which would read it, is not installed")
        # Without -t, times would be rounded.
        report = subprocess.run(["trace-cmd", "report", "-t", "-i", path], capture_output=True, check=False)
        if report.returncode:
            raise NotReadable(f"trace-cmd report: {report.stderr.decode(errors='replace').strip()[:100]}")
        return report.stdout.decode(errors="replace").splitlines()
    content = path.read_bytes()
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        elif content.startswith(ATRACE_COMPRESSED):
            content = zlib.decompress(content[len(ATRACE_COMPRESSED):])
    except (OSError, EOFError, zlib.error) as why:
        raise NotReadable(f"cannot be unpacked: {why}") from why
    return content.decode(errors="replace").split("\n")


def is_perfetto(path: Path) -> bool:
    # Any text may begin as packets do, with the key of field 1: a newline.
    return path.suffix in PERFETTO_ENDINGS


def read(path: Path) -> scheduler.Reading:
    if not is_perfetto(path):
        return scheduler.read(lines.in_order(lines.parse(text_of(path))))
    try:
        return scheduler.read(perfetto.parse(path.read_bytes()))
    except (perfetto.NotPerfetto, zlib.error) as why:
        raise NotReadable(str(why)) from why


def explain(tardy: Path, path: Path) -> dict[str, Any]:
    done = subprocess.run([tardy, "explain", path, "--all", "--worst", "all", "--json"],
                          capture_output=True, check=False, timeout=TARDY_SECONDS_MAX)
    if done.returncode:
        raise NotReadable("tardy: " + done.stderr.decode(errors="replace").strip().replace("\n", " ")[:160])
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def check(tardy: Path, path: Path) -> Comparison:
    reading = read(path)
    if not reading.events:
        raise NotReadable("no events that the reader knows")
    document = explain(tardy, path)
    if is_perfetto(path):
        align(reading, document)
    return compare(reading, document)


def files_in(paths: Iterable[Path]) -> list[Path]:
    found = []
    for path in paths:
        found += sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    return found


HEADINGS = ["file", "events", "wakeups", "told", "preempted", *SORTS, "unexplained"]


def row(path: Path, found: Comparison) -> list[str]:
    counts = [str(found.count(sort) or ".") for sort in SORTS]
    optional = f" (+{found.optional})" if found.optional else ""
    return [path.name, str(found.events), f"{found.wakeups - found.optional}{optional}", str(found.claims),
            str(found.preemptions), *counts, f"{found.unexplained_share:.2%}"]


def table(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width)
                  for at, (cell, width) in enumerate(zip(one, widths))) for one in rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE|FOLDER")
    parser.add_argument("--tardy", type=Path, default=find_tardy())
    parser.add_argument("--list", type=int, default=0, metavar="N")
    given = parser.parse_args()
    if given.tardy is None:
        parser.error("there is no tardy: build it with cargo build -p tardy, or name it in TARDY_BIN")
    rows, unread, listed, total = [HEADINGS], [], [], 0
    for path in files_in(given.paths):
        try:
            found = check(given.tardy, path)
        except (NotReadable, OSError, ValueError, subprocess.TimeoutExpired) as why:
            unread.append(f"{path.name}: not compared: {why}")
            continue
        rows.append(row(path, found))
        total += len(found.disagreements)
        for sort in SORTS:
            some = [one for one in found.disagreements if one.sort == sort]
            listed += [f"{path.name}: {one}" for one in some[:given.list]]
    print("\n".join([table(rows), "", *unread, *listed]))
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
