#!/usr/bin/env python3
"""How often a comparison cries wolf, and whether it finds what is there.

    bench/compare.py [--pairs 200] [--simulated 200] [--live 0] [--later 50] [--wakeups 20000] [--jobs 2]

Compares pairs of the same thing, and pairs of which one is later, with `tardy compare --fail-over +BOUND@p99.9`:

  alike, synthetic   two traces of one made-up thread: each wakeup waits for another task, for a time whose
                     neighbours resemble each other (memory 0.8) and whose tail is heavy (Pareto, index 3)
  alike, simulated   two recordings of `tardy sim storm` (the cyclic threads) that differ by their seed
  alike, live        two recordings of `tardy run` of this machine, one after the other; whatever else it does then
                     is a difference
  later, synthetic   the same as above, where in one trace a task `noise` takes 30 µs more of the latest 0.2 % of all
                     wakeups: 30 µs later at p99.9. The bound is 10 µs
  few, synthetic     that with a tenth of the wakeups, too few for p99.9 to have an interval

Columns: n pairs; differ, verdicts that there is a difference; of those in p99.9; then how the gate came out, and how
many undecided ones say how many values would decide it; sums, tables of what changed that sum to the change, of those
that were made. A gate of +0 fails one in forty of what is alike. Aim: of 200 alike no more than 10 differ or fail,
and 30 µs are found.

It prints, it does not judge.
"""

import argparse
import json
import math
import os
import random
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import TARDY, build, need_root

PERIOD_US = 1_000
LATER_US = 30
LATER_SHARE = 0.002
BOUND = "+10us@p99.9"
NONE = "+0@p99.9"


def lateness(rng, count):
    """Latenesses in µs: neighbours resemble each other, and a few are much later."""
    memory, state, found = 0.8, 0.0, []
    for _ in range(count):
        state = memory * state + math.sqrt(1 - memory * memory) * rng.gauss(0, 1)
        tail = rng.paretovariate(3) * 8 if rng.random() < 0.02 else 0
        found.append(max(1, round(20 + 4 * state + tail)))
    return found


def trace(path, late, noise):
    """An ftrace text in which `busy` keeps `victim` for its lateness, and `noise` for what comes on top."""
    time = lambda us: f"{us // 1_000_000 + 100}.{us % 1_000_000:06d}"
    task = {"victim": ("victim", 7, 9), "busy": ("busy", 100, 120), "noise": ("noise", 200, 5)}

    def switch(us, before, state, after):
        (a, a_pid, a_prio), (b, b_pid, b_prio) = task[before], task[after]
        return (
            f"{a:>16}-{a_pid:<7} [000] d..2. {time(us)}: sched_switch: prev_comm={a} prev_pid={a_pid} "
            f"prev_prio={a_prio} prev_state={state} ==> next_comm={b} next_pid={b_pid} next_prio={b_prio}\n"
        )

    lines = ["# tracer: nop\n"]
    for number, (us, more) in enumerate(zip(late, noise)):
        at = number * PERIOD_US
        lines.append(
            f"{'busy':>16}-{100:<7} [000] d..3. {time(at)}: sched_waking: comm=victim pid=7 prio=9 target_cpu=000\n"
        )
        if more:
            lines.append(switch(at + us, "busy", "R", "noise"))
            lines.append(switch(at + us + more, "noise", "S", "victim"))
        else:
            lines.append(switch(at + us, "busy", "R", "victim"))
        lines.append(switch(at + us + more + 5, "victim", "S", "busy"))
    Path(path).write_text("".join(lines))


def synthetic(folder, seed, wakeups, is_later=False):
    sides = []
    for side in (0, 1):
        late = lateness(random.Random(2 * seed + side), wakeups)
        noise = [0] * wakeups
        if is_later and side == 1:
            order = sorted(range(wakeups), key=lambda at: -late[at])
            for at in order[: round(wakeups * LATER_SHARE)]:
                noise[at] = LATER_US
        path = Path(folder) / f"{side}.txt"
        trace(path, late, noise)
        sides.append(path)
    return sides, ["--thread", "victim"]


def simulated(folder, seed):
    sides = [Path(folder) / str(side) for side in (0, 1)]
    for number, side in enumerate(sides):
        run("sim", "storm", "-D", "1s", "--runs", "1", "--policies", "hardirq", "--jobs", "1",
            "--seed", 2 * seed + number + 1, "-o", side, "-q")
    return sides, ["--merge"]


def live(folder, _seed):
    sides = [Path(folder) / str(side) for side in (0, 1)]
    for side in sides:
        run("run", "-D", "5s", "--load", "storm:10", "-t", "1", "-o", side, "-q", "--json")
    return sides, ["--thread", "cyclic-0"]


def run(*words, fine=(0,)):
    done = subprocess.run([args.tardy, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in fine:
        raise SystemExit(f"tardy {words[0]}: {done.stderr.strip()}")
    return done.stdout


def one(make, gate, seed):
    with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
        (a, b), whose = make(folder, seed)
        said = run("compare", "--json", "-q", *whose, f"before={a}", f"after={b}",
                   "--fail-over", gate, "--seed", seed + 1, fine=(0, 3, 4))
    document = json.loads(said)
    (subject,) = document["subjects"]
    differs = subject["comparisons"][0]["differs"]
    gate = document["gates"][0]
    change = document["changes"][0]
    sums = None
    if change["total"]:
        sums = all(
            sum(row[column] for row in change[table]) == change["total"][column]
            for column in ("mean_ns", "worst_ns")
            for table in ("causes", "culprits")
        )
    return {
        "differ": subject["comparisons"][0]["verdict"] == "differ",
        "at_p999": "p99.9" in differs["quantiles"],
        "verdict": gate["verdict"],
        "needed": gate["needed"] is not None,
        "sums": sums,
    }


def row(name, make, gate, pairs):
    if not pairs:
        return
    with ThreadPoolExecutor(args.jobs) as pool:
        found = list(pool.map(lambda seed: one(make, gate, seed), range(pairs)))
    count = lambda of: sum(1 for one in found if of(one))
    verdict = lambda word: count(lambda one: one["verdict"] == word)
    made = count(lambda one: one["sums"] is not None)
    print(
        f"{name:<18} {pairs:>4} {count(lambda one: one['differ']):>7} {count(lambda one: one['at_p999']):>9}"
        f"  {gate:<12} {verdict('failed'):>6} {verdict('undecided'):>9} {verdict('passed'):>6}"
        f" {count(lambda one: one['verdict'] == 'undecided' and one['needed']):>9}"
        f"  {count(lambda one: one['sums']):>4} of {made}",
        flush=True,
    )


def main():
    global args
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200, help="alike, synthetic")
    parser.add_argument("--simulated", type=int, default=200, help="alike, simulated")
    parser.add_argument("--live", type=int, default=0, help="alike, of this machine; as root")
    parser.add_argument("--later", type=int, default=50, help="of which one is later, and as many with few values")
    parser.add_argument("--wakeups", type=int, default=20_000, help="of a synthetic side")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="comparisons at a time; one where live")
    parser.add_argument("--tardy", help="the program [default: the one that is built]")
    parser.add_argument("--folder", help="where traces go meanwhile [default: temporary]")
    args = parser.parse_args()
    if args.live:
        need_root("to record")
        args.jobs = 1
    if not args.tardy:
        build("tardy")
        args.tardy = TARDY
    print("what                  n  differ  at p99.9  gate         failed undecided passed told need  sums")
    many = lambda folder, seed: synthetic(folder, seed, args.wakeups)
    later = lambda folder, seed: synthetic(folder, seed, args.wakeups, True)
    few = lambda folder, seed: synthetic(folder, seed, args.wakeups // 10, True)
    row("alike, synthetic", many, NONE, args.pairs)
    row("later, synthetic", later, BOUND, args.later)
    row("few, synthetic", few, BOUND, args.later)
    row("alike, simulated", simulated, NONE, args.simulated)
    row("alike, live", live, NONE, args.live)


if __name__ == "__main__":
    main()
