#!/usr/bin/env python3
"""tardy's measurement of a PI lock beside the same program in C: blocks in random order, tests.

    bench/pi.py [--blocks 16] [--rounds 200000] [--load 1001] [--cpu LAST] [--seed 1]

The program is that of "ARMv7 futex latency spike" (linux-rt-users, 2015): High, Busy and Low as `tardy
measure pi --laptop` has them (laboratory/lab/examples/pi.rs runs the same code), and as bench/pi-peer.c has
them in C. Each block runs each of these once, in random order:

    tardy      its loads calibrated, which is the default
    C          the peer, its loads calibrated in the same way
    C again    the same once more: how far two runs of one program differ here
    tardy raw  loads end at the first reading of the clock past their length, as the thread's program
    C raw      had them: each round is longer by what two such loads take too long

Per contender: medians over the blocks of their quantiles of the time to lock and of the round less its
loads, in ns, the maximum of all n rounds, Low's rounds by High's, and the share of lock calls of 1 µs or
more. Then tests of both figures, of tardy and C again against C, and of tardy raw against C raw. Rounds of one run resemble each other, so what is exchanged
is a block, not a round: under the hypothesis that both are the same, a block's two runs could as well have
been the other way round.

    KS       the largest distance of the two distribution functions over all rounds (Kolmogorov and
             Smirnov's D), its p from 10,000 random exchanges within blocks
    p50 ...  the mean over blocks of the difference of that quantile, ns, and its p from the same exchanges
    holm     the least p of the row, corrected for all that are in it (Holm): above 0.05 no difference could
             be shown, which is not to say that there is none

Quantiles of tardy are those of its histogram, to the ns up to 2 µs and within 0.1 % above; the peer's
numbers are put into the same classes. Run it alone on the machine: while others keep Low from its CPU,
nobody contends. Needs root and a C compiler; prints, never asserts.
"""

import argparse
import bisect
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from programs import ROOT, TARGET, need_root, shown

EXAMPLE = TARGET / "release/examples/pi"

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
FIGURES = {"time to lock": "to_lock", "round less loads": "jitter"}
EXCHANGES = 10_000
# Points of the distribution functions that are compared: at these, D is within 1/2000 of itself.
POINTS = 2_000
SLOW_NS = 1_000
# tardy's classes: exact up to 2047, then eleven significant bits (HdrHistogram, three digits).
BITS = 11


TESTS = [("tardy", "C"), ("tardy raw", "C raw"), ("C again", "C")]


def class_of(ns):
    """The highest value of the class that a value is in, as tardy counts it."""
    shift = max(0, ns.bit_length() - BITS)
    return ((ns >> shift) + 1 << shift) - 1


class Run:
    """What one run of a contender measured: per figure values (ns, ascending) and how many up to each."""

    def __init__(self, counts, most, low_rounds):
        self.most, self.low_rounds = most, low_rounds
        self.values, self.upto = {}, {}
        for figure, count in counts.items():
            values = sorted(count)
            total, upto = 0, []
            for value in values:
                total += count[value]
                upto.append(total)
            self.values[figure], self.upto[figure] = values, upto

    def n(self):
        return self.upto["jitter"][-1]

    def quantile(self, figure, q):
        at = bisect.bisect_left(self.upto[figure], q * self.n())
        return self.values[figure][min(at, len(self.values[figure]) - 1)]

    def share_upto(self, figure, ns):
        at = bisect.bisect_right(self.values[figure], ns)
        return self.upto[figure][at - 1] / self.n() if at else 0.0


def said_by(program, args, how):
    command = [program, args.cpu, args.training, args.rounds, args.load, how]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\nfailed:\n{done.stderr.strip()}")
    return done.stdout.splitlines()


def tardy(args, how):
    counts = {figure: {} for figure in FIGURES.values()}
    most, low_rounds = {}, 0
    for line in said_by(EXAMPLE, args, how):
        match line.split():
            case ["low_rounds", number]:
                low_rounds = int(number)
            case ["max", figure, ns]:
                most[figure] = int(ns)
            case [figure, ns, count]:
                counts[figure][int(ns)] = int(count)
    return Run(counts, most, low_rounds)


def peer(args, how):
    head, *lines = said_by(args.peer, args, how)
    counts = {figure: {} for figure in FIGURES.values()}
    most = dict.fromkeys(counts, 0)
    for line in lines:
        for figure, word in zip(("to_lock", "jitter"), line.split()):
            ns = int(word)
            most[figure] = max(most[figure], ns)
            ns = class_of(max(ns, 1))
            counts[figure][ns] = counts[figure].get(ns, 0) + 1
    return Run(counts, most, int(head.split()[2]))


CONTENDERS = {
    "tardy": lambda args: tardy(args, "calibrated"),
    "C": lambda args: peer(args, "calibrated"),
    "C again": lambda args: peer(args, "calibrated"),
    "tardy raw": lambda args: tardy(args, "raw"),
    "C raw": lambda args: peer(args, "raw"),
}


def points(runs, figure):
    """Values at which distribution functions are compared: all there are, or evenly many of them."""
    values = sorted({value for run in runs for value in run.values[figure]})
    step = max(1, len(values) // POINTS)
    return values[::step] + [values[-1]]


def exchanged(differences, statistic, chance):
    """The p of `statistic` of per-block differences: exchanging a block's runs turns its difference."""
    seen = abs(statistic(differences, [1] * len(differences)))
    at_least = 1
    for _ in range(EXCHANGES):
        signs = [chance.choice((-1, 1)) for _ in differences]
        at_least += abs(statistic(differences, signs)) >= seen * (1 - 1e-12)
    return seen, at_least / (EXCHANGES + 1)


def mean(differences, signs):
    return sum(sign * one for sign, one in zip(signs, differences)) / len(differences)


def holm(ps):
    """The least p, corrected: what Holm's procedure compares with the level first."""
    return min(1.0, min(ps) * len(ps))


def ks(one, two, figure, chance):
    at = points(one + two, figure)
    rows = [
        [a.share_upto(figure, value) - b.share_upto(figure, value) for value in at]
        for a, b in zip(one, two)
    ]
    # By exchanges of blocks: few of the points matter, those where some block differs at all.
    columns = [column for column in zip(*rows) if any(column)] or [(0.0,) * len(rows)]
    step = max(1, len(columns) // 100)
    thin = columns[::step]
    exact = max(abs(sum(column)) for column in columns) / len(rows)
    seen = max(abs(sum(column)) for column in thin)
    at_least = 1
    for _ in range(EXCHANGES):
        signs = [chance.choice((-1, 1)) for _ in rows]
        most = max(abs(sum(s * v for s, v in zip(signs, column))) for column in thin)
        at_least += most >= seen * (1 - 1e-12)
    return exact, at_least / (EXCHANGES + 1)


def report(results, chance, args):
    for name, figure in FIGURES.items():
        print(f"\n{name}, ns")
        print(
            f"{'':9} {'n':>9} {'p50':>7} {'p90':>7} {'p99':>8} {'p99.9':>8} {'max':>10}"
            f" {'1 µs+ %':>8} {'Low/High':>8}"
        )
        for contender, runs in results.items():
            quantiles = [
                statistics.median(run.quantile(figure, q) for run in runs)
                for q in QUANTILES.values()
            ]
            n = sum(run.n() for run in runs)
            slow = statistics.mean(1 - run.share_upto("to_lock", SLOW_NS) for run in runs)
            low = sum(run.low_rounds for run in runs) / n
            most = max(run.most[figure] for run in runs)
            widths = ("7.0f", "7.0f", "8.0f", "8.0f")
            cells = " ".join(shown(value, form) for value, form in zip(quantiles, widths))
            print(f"{contender:9} {n:9} {cells} {most:10} {100 * slow:8.2f} {low:8.3f}")
    print(f"\ntests, by {args.blocks} blocks of {args.rounds} rounds each")
    heads = " ".join(f"{name:>9} {'p':>6}" for name in QUANTILES)
    print(f"{'':9} {'':16} {'KS':>6} {'p':>6} {heads} {'holm':>6}")
    for contender, other in TESTS:
        one, two = results[contender], results[other]
        for name, figure in FIGURES.items():
            distance, p = ks(one, two, figure, chance)
            ps, cells = [p], []
            for q in QUANTILES.values():
                differences = [a.quantile(figure, q) - b.quantile(figure, q) for a, b in zip(one, two)]
                _, p_q = exchanged(differences, mean, chance)
                ps.append(p_q)
                cells.append(f"{statistics.mean(differences):+9.1f} {p_q:6.3f}")
            print(
                f"{contender:9} {name:16} {distance:6.4f} {p:6.3f} {' '.join(cells)}"
                f" {holm(ps):6.3f}"
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=200_000)
    parser.add_argument("--training", type=int, default=50)
    parser.add_argument("--load", type=int, default=1001, help="ns, with the lock and without")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    need_root("for real-time priorities")
    command = ["cargo", "build", "--quiet", "--release", "-p", "tardy-lab", "--example", "pi"]
    subprocess.run(command, cwd=ROOT, check=True)
    chance = random.Random(args.seed)
    results = {contender: [] for contender in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        args.peer = Path(folder) / "pi-peer"
        compiler = ["cc", "-O2", "-pthread", "-o", args.peer, ROOT / "bench/pi-peer.c"]
        subprocess.run(compiler, check=True)
        for _ in range(args.blocks):
            order = list(CONTENDERS)
            chance.shuffle(order)
            for contender in order:
                results[contender].append(CONTENDERS[contender](args))
    report(results, chance, args)


if __name__ == "__main__":
    main()
