"""tardy's accounts against the second reader's, over traces made at random, recorded ones, and any others.

`TARDY_BIN` names the program, else it is what cargo built last. `TARDY_TEST_TRACES` names more files or
folders of traces, with colons between.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import check
from compare import Comparison, compare
from machines import MACHINES, Options
from simulator import Simulator
from test_reader import SKEW_NS, read

RECORDED = check.ROOT / "diagnosis/sources/import/tests/data"
OTHERS = [Path(one) for one in os.environ.get("TARDY_TEST_TRACES", "").split(":") if one]
SEEDS = range(4)
LISTED_MAX = 20


@pytest.fixture(scope="module")
def tardy() -> Path:
    found = check.find_tardy()
    if found is None:
        pytest.skip("there is no tardy: build it with cargo build -p tardy, or name it in TARDY_BIN")
    return found


def explain(tardy: Path, folder: Path, text: str) -> dict[str, Any]:
    path = folder / "trace.txt"
    path.write_text(text)
    return check.explain(tardy, path)


def agree(found: Comparison) -> None:
    told = [str(one) for one in found.disagreements[:LISTED_MAX]]
    assert not told, f"{len(found.disagreements)} disagreements:\n" + "\n".join(told)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_simulated(tardy: Path, tmp_path: Path, seed: int, name: str) -> None:
    simulator = Simulator(seed, MACHINES[name])
    text = simulator.text()
    document = explain(tardy, tmp_path, text)
    agree(compare(read(text), document))
    # Of a timer that was armed before the trace begins nothing tells whose it is.
    expiries = {(one.pid, one.end_ns): one.expiry_ns for one in simulator.truths
                if f"softexpires={one.expiry_ns}" in text}
    for claim in document["wakeups"]:
        expiry_ns = expiries.get((claim["pid"], claim["expiry_ns"] + claim["lateness_ns"]))
        assert expiry_ns is None or (claim["kind"], claim["expiry_ns"]) == ("timer", expiry_ns), claim


@pytest.mark.parametrize("seed", SEEDS)
def test_simulated_with_skew(tardy: Path, tmp_path: Path, seed: int) -> None:
    simulator = Simulator(seed, Options(skew_ns=SKEW_NS))
    text = simulator.text()
    found = compare(read(text), explain(tardy, tmp_path, text))
    # tardy may see through clocks that differ and tell a wakeup that the reader cannot: a true one.
    ends = {(one.pid, one.end_ns) for one in simulator.truths}
    found.disagreements = [one for one in found.disagreements if one.sort != "extra" or one.end not in ends]
    agree(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_more_events_change_nothing(tardy: Path, tmp_path: Path, seed: int) -> None:
    """System calls are recorded or not: the wakeups are the same, and so is what they waited for."""
    accounts = []
    for syscalls in (False, True):
        document = explain(tardy, tmp_path, Simulator(seed, Options(syscalls=syscalls)).text())
        accounts.append([
            (one["pid"], one["cpu"], one["kind"], one["expiry_ns"], one["lateness_ns"],
             [(part["cause"], part["start_ns"], part["ns"]) for part in one["segments"]])
            for one in document["wakeups"] if one["kind"] != "lock"
        ])
    assert accounts[0] == accounts[1]


@pytest.mark.parametrize("path", check.files_in([RECORDED, *OTHERS]), ids=lambda path: path.name)
def test_recorded(tardy: Path, path: Path) -> None:
    try:
        found = check.check(tardy, path)
    except check.NotReadable as why:
        pytest.skip(f"{path.name}: {why}")
    agree(found)
