#!/usr/bin/env python3
"""What `tardy whatif` predicts of simulated systems from their recordings, and what is true of them.

    bench/whatif-sims.py [--seed N] [--only NAME,...] [--seconds 3] [--quick] [--through FORMAT] [--json FILE]

Each family of `bench/simulated_systems.py` is a system of `tardy sim`, whose numbers the seed chooses. It is simulated
and recorded; `tardy whatif` predicts from that recording what changes would do, those that it offers itself and those
that the family asks for. The truth is the changed file, simulated with the same seed: each thread draws the same
numbers, so that nothing but the change is different. What would come of it at another time is the same file with other
seeds.

A line for each change: the mean, p99, p99.9, the worst 1 %, the maximum and the mean of all other threads (of which only
the change is predicted) as they are, predicted and true, how far the prediction is off, and * where the truth is outside
the stated range. Below that, at which place the change that truly
helps most was ranked: what helps within 3 % as much counts as the same.

In the end, per figure: how many predictions are within 5 % (mean) or 15 % of the truth, and how many ranges hold the
truth, of the same seed and of others. What ranges are widened by is known from these very families, with other numbers;
so they are counted once more as they would be widened without the family's own lines. `--truths DIR` keeps truths for the next time, `--jobs` judges several families
at once, `--through text` predicts from the recording as another tool's trace. `--csv` adds a line for each figure of
each prediction, in the form of `diagnosis/whatif/src/experience.csv`; `--json` writes all of it. It prints, it does not
judge.
"""

import argparse
import array
import collections
import csv
import hashlib
import json
import math
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import ROOT, TARDY, build, chosen
from simulated_changes import NotMade, made, written
from simulated_systems import FAMILIES

FIGURES = ["mean", "p50", "p99", "p999", "worst_percent", "max", "others"]

# With so many other seeds.
OTHERS = 2

# Wakeups that what-if counts.
KINDS = {"timer", "task", "irq", "softirq"}

# Nearer than this two changes are equally good, and what helps less helps nobody.
EQUAL, HELPS = 0.03, 0.06

# So many wakeups are needed for p99.9 to count in the ranking.
P999_MIN = 1000

QUICK = ["packets", "chain", "irqs_off", "nice"]


# What ranges are widened by, and how (`diagnosis/whatif/src/experience.rs`).
EXPERIENCE = ROOT / "diagnosis/whatif/src/experience.csv"
KIND_MIN = 8
COVERAGE = 0.9
NEAREST = {"mean": 1.05, "others": 1.05, "p50": 1.05, "p99": 1.1, "p999": 1.1, "worst_percent": 1.1}


def kind_of(change):
    return change.partition("(")[0].partition("=")[0]


def experience():
    """What is known of simulated machines: by figure, lines of kind of change, family, and how far the truth was below
    the lower end and above the upper one, as logarithms."""
    found = collections.defaultdict(list)
    with EXPERIENCE.open() as lines:
        for row in csv.DictReader(lines):
            if row["machine"] == "simulated":
                low, high, truth = (math.log(max(1, int(row[name]))) for name in ("low_ns", "high_ns", "measured_ns"))
                found[row["figure"]].append((row["change"], row["where"], low - truth, truth - high))
    return found


def quantile_of(scores):
    ordered = sorted(scores)
    if not ordered:
        return 0.0
    rank = math.ceil((len(ordered) + 1) * (1 + COVERAGE) / 2)
    return max(0.0, ordered[min(rank, len(ordered)) - 1])


def without_family(row, known):
    """A range as it would be if nothing were known of the family that it is of."""
    others = [line for line in known[row["figure"]] if line[1] != row["family"]]
    alike = [line for line in others if line[0] == kind_of(row["change"])]
    chosen = alike if len(alike) >= KIND_MIN else others
    below, above = (math.exp(quantile_of(line[at] for line in chosen)) for at in (2, 3))
    predicted, nearest = row["predicted_ns"], NEAREST[row["figure"]]
    low = min(row["narrow_low_ns"] / below, predicted / nearest)
    return low, max(row["narrow_high_ns"] * above, predicted * nearest)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr.strip()


def record(system, span, seed, folder):
    """Simulates a system and keeps the recording."""
    shutil.rmtree(folder, ignore_errors=True)
    file = folder.with_suffix(".toml")
    file.write_text(written(system, span, seed))
    code, _, error = run(TARDY, "sim", file, "-q", "--jobs", "1", "-o", folder)
    if code:
        sys.exit(f"{file}: {error}")


def latenesses(system, options, seed, folder):
    """Of the wakeups of a system's victims, and the mean of all others'; from where they were kept, where they were."""
    text = written(system, options.span, seed)
    kept = options.truths / hashlib.sha256(text.encode()).hexdigest()[:24] if options.truths else None
    found = array.array("Q")
    if kept and kept.exists():
        found.frombytes(kept.read_bytes())
        return found, float(kept.with_suffix(".others").read_text())
    record(system, options.span, seed, folder)
    explain = [TARDY, "explain", folder, "-q", "--json", "--no-whatif", "--no-write", "--worst", "all"]
    code, out, error = run(*explain)
    if not code:
        found.extend(one["lateness_ns"] for one in json.loads(out)["wakeups"] if one["kind"] in KINDS)
        code, out, error = run(*explain, "--all")
    if code:
        sys.exit(f"{folder}: {error}")
    victims = {one["name"] for one in system["thread"] if one.get("watched")}
    whole = (one for one in json.loads(out)["wakeups"] if one["kind"] in KINDS)
    others = [one["lateness_ns"] for one in whole if re.sub("-[0-9]+$", "", one["task"]) not in victims]
    others_ns = statistics.fmean(others) if others else 0.0
    shutil.rmtree(folder)
    if kept:
        kept.write_bytes(found.tobytes())
        kept.with_suffix(".others").write_text(str(others_ns))
    return found, others_ns


def figures(sample):
    """As tardy counts them."""
    ordered = sorted(sample)
    if not ordered:
        return None

    def quantile(share):
        return ordered[max(0, -(-int(len(ordered) * share * 1000) // 1000) - 1)]

    worst = ordered[-max(1, len(ordered) // 100) :]
    quantiles = [quantile(share) for share in (0.5, 0.99, 0.999)]
    return dict(zip(FIGURES, [statistics.fmean(ordered), *quantiles, statistics.fmean(worst), ordered[-1]]))


def truth(system, options, folder):
    """Figures with the same seed, with other seeds together, and how many wakeups there are. `others` is the mean of
    all other threads."""
    sample, others_ns = latenesses(system, options, options.seed, folder)
    elsewhere, others_elsewhere_ns = array.array("Q"), []
    for at in range(OTHERS):
        more, mean_ns = latenesses(system, options, options.seed * 1000 + 500 + at, folder)
        elsewhere.extend(more)
        others_elsewhere_ns.append(mean_ns)
    found = figures(sample), figures(elsewhere)
    for one, mean_ns in zip(found, (others_ns, statistics.fmean(others_elsewhere_ns))):
        if one:
            one["others"] = mean_ns
    return *found, len(sample)


def others_moved(one, was):
    """What is said of all other threads, of whose mean only the share by which it changes is predicted."""
    moved = one.get("others_mean_change")
    if not moved or not was["others"]:
        return []
    names = {"predicted_ns": "share", **{f"{end}_ns": end for end in ("low", "high", "narrow_low", "narrow_high")}}
    return [{"figure": "others", **{name: was["others"] * (1 + moved[of]) for name, of in names.items()}}]


def as_imported(recording, system, to):
    """A recording as another tool's trace, and whom to explain: such a trace does not tell."""
    trace = recording.with_suffix(f".{to}")
    code, _, error = run(TARDY, "export", recording, "-q", "--format", to, "-o", trace)
    if code:
        sys.exit(f"{recording}: {error}")
    names = {one["name"] for one in system["thread"] if one.get("watched")}
    return [trace, *(word for name in sorted(names) for word in ("--comm", name))]


def predictions(recording, changes):
    """What is offered, in the order of the ranking; then what is asked for. Or why nothing is said."""
    found = {}
    code, out, error = run(TARDY, "whatif", *recording, "-q", "--json", "--full")
    if not out:
        return None, {}, error.splitlines()[-1] if error else "no answer"
    offered = json.loads(out)
    for one in offered["changes"]:
        found[one["change"]] = one
    asked = [change for change in changes if change not in found]
    if asked:
        words = [word for change in asked for word in ("--change", change)]
        _, out, error = run(TARDY, "whatif", *recording, "-q", "--json", "--each", *words)
        if not out:
            return offered, found, error
        for one in json.loads(out)["changes"]:
            found[one["change"]] = one
    return offered, found, None


def gain(was, becomes, wakeups):
    """As the ranking understands it."""
    falls = [1 - becomes[name] / was[name] if was[name] else 0.0 for name in ("p999", "worst_percent")]
    return statistics.fmean(falls) if wakeups >= P999_MIN else falls[1]


def us(ns):
    return f"{ns / 1e3:.1f}" if ns < 9.995e5 else f"{ns / 1e3:.0f}"


def compared(moved, becomes, elsewhere):
    """A figure's prediction beside what is true."""
    figure = moved["figure"]
    # A maximum has no range that could be relied on.
    held = [figure == "max" or moved["low_ns"] <= it[figure] <= moved["high_ns"] for it in (becomes, elsewhere)]
    keys = ("figure", "predicted_ns", "low_ns", "high_ns", "narrow_low_ns", "narrow_high_ns")
    return {
        **{key: moved[key] for key in keys},
        "truth": becomes[figure],
        "elsewhere": elsewhere[figure],
        "off": moved["predicted_ns"] / becomes[figure] - 1 if becomes[figure] else 0.0,
        "held": held[0],
        "held_elsewhere": held[1],
    }


def place_of_best(offered, gains):
    """At which place what truly helps most was ranked, or as much as that; `None` where nothing helps. And in words."""
    ranked = [one["change"] for one in offered if not one.get("refused") and one["change"] in gains]
    best = max((gains[change] for change in ranked), default=0.0)
    if best < HELPS:
        return None, "nothing that is offered helps"
    place = next(at for at, change in enumerate(ranked) if gains[change] >= best - EQUAL)
    truest = max(ranked, key=gains.get)
    behind = f" behind {', '.join(ranked[:place])}" if place else ""
    return place, f"what truly helps most: {truest} ({gains[truest]:.0%}), ranked {place + 1} of {len(ranked)}{behind}"


def judge(name, options, folder):
    """A family: its text, and what was found of it."""
    system, asked = FAMILIES[name](random.Random(f"{name} {options.seed}"))
    folder = folder / name
    folder.mkdir(exist_ok=True)
    recording = folder / "recording"
    record(system, options.span, options.seed, recording)
    asks = as_imported(recording, system, options.through) if options.through else [recording]
    offered, found, refusal = predictions(asks, asked)
    shutil.rmtree(recording)
    result = {"name": name, "rows": [], "refused": refusal, "place": None}
    lines = [f"{name}: {system['name']}"]
    if refusal:
        lines.append(f"  refused: {refusal}")
    if offered is None:
        return {**result, "text": "\n".join(lines)}
    base = offered["baseline"]
    error = ", ".join(f"{key} {base['error'][key]:.0%}" for key in ("mean", "p50", "p99", "p999"))
    lines.append(f"  {base['recorded']['n']} wakeups; baseline off by {error}")
    truly, _, wakeups = truth(system, options, folder / "truth")
    gains = {}
    for change, one in found.items():
        try:
            becomes, elsewhere, count = truth(made(system, change), options, folder / "truth")
        except NotMade as why:
            lines.append(f"  {change:26} not judged: {why}")
            continue
        # Who starves does not wake up, and its lateness is in no figure.
        starves = count * 2 < wakeups
        if not starves:
            gains[change] = gain(truly, becomes, wakeups)
        if one.get("refused"):
            lines.append(f"  {change:26} refused: {one['refused'][:90]}")
            continue
        if starves:
            lines.append(f"  {change:26} not judged: {count} wakeups are left of {wakeups}")
            continue
        moves = [*one["figures"], *others_moved(one, truly)]
        rows = [compared(moved, becomes, elsewhere) for moved in moves]
        cells = [
            f"{us(truly[row['figure']]):>7} {us(row['predicted_ns']):>7} {us(row['truth']):>7} {row['off']:>+5.0%}"
            f"{' ' if row['held'] else '*'}"
            for row in rows
            if row["figure"] != "p50"
        ]
        lines.append(f"  {change:26} {'  '.join(cells)}")
        result["rows"] += [{"family": name, "change": change, **row} for row in rows]
    result["place"], words = place_of_best(offered["changes"], gains)
    lines.append(f"  {words}")
    return {**result, "text": "\n".join(lines)}


def summary(results):
    rows = [row for result in results for row in result["rows"]]
    print(f"\n{len(results)} systems, {len({(row['family'], row['change']) for row in rows})} predictions")
    for figure in FIGURES:
        of_it = [row for row in rows if row["figure"] == figure]
        if not of_it:
            continue
        limit = 0.05 if figure in ("mean", "others") else 0.15
        near = sum(abs(row["off"]) <= limit for row in of_it)
        text = f"  {figure:14} within {limit:.0%} of the truth: {near} of {len(of_it)} ({near / len(of_it):.0%})"
        if figure != "max":
            held, elsewhere = (sum(row[key] for row in of_it) for key in ("held", "held_elsewhere"))
            text += f"; ranges that hold it: {held / len(of_it):.0%}, with other seeds {elsewhere / len(of_it):.0%}"
        print(text)
    ranged = [row for row in rows if row["figure"] != "max"]
    if ranged:
        held, elsewhere = (sum(row[key] for row in ranged) / len(ranged) for key in ("held", "held_elsewhere"))
        print(f"  of {len(ranged)} ranges {held:.1%} hold the truth, {elsewhere:.1%} that of other seeds; 90 % are to")
    known = experience()
    if ranged and known:
        ranges = [(row, without_family(row, known)) for row in ranged]
        held, elsewhere = (
            sum(low <= row[name] <= high for row, (low, high) in ranges) / len(ranges) for name in ("truth", "elsewhere")
        )
        print(f"  widened without what is known of the family itself: {held:.1%}, {elsewhere:.1%}")
        widths = {
            "as printed": [row["high_ns"] / max(1, row["low_ns"]) for row in ranged],
            "without the family": [high / max(1, low) for _, (low, high) in ranges],
        }
        for words, ratios in widths.items():
            print(f"  upper end by lower end, {words}: {statistics.median(ratios):.2f} in the median of the ranges")
    places = [result["place"] for result in results if result["place"] is not None]
    if places:
        count = collections.Counter(places)
        three = sum(count[at] for at in range(3))
        print(f"  what truly helps most: first in {count[0]} of {len(places)}, among the first three in {three}")
    for result in results:
        if result.get("refused"):
            print(f"  refused: {result['name']}: {result['refused']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="chooses the numbers of the systems")
    parser.add_argument("--seconds", type=float, default=3, help="of the system's time, each recording")
    parser.add_argument("--only", default="", help="families, separated by commas")
    parser.add_argument("--quick", action="store_true", help="a few families, 1 s each")
    parser.add_argument("--through", help="predict from the recording in this format: text, perfetto")
    parser.add_argument("--jobs", type=int, default=1, help="families at the same time")
    parser.add_argument("--csv", type=Path, help="add the predictions to this file")
    parser.add_argument("--json", type=Path, help="write all that was found to this file")
    parser.add_argument("--truths", type=Path, help="keep truths in this folder, and use those that are there")
    parser.add_argument("--built", action="store_true", help="do not build first")
    options = parser.parse_args()
    names = chosen(parser, options.only, FAMILIES, "family") or (QUICK if options.quick else list(FAMILIES))
    if not options.built:
        build("tardy")
    options.span = 1000 if options.quick else round(options.seconds * 1000)
    results = []
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(temporary)
        if options.truths:
            options.truths.mkdir(parents=True, exist_ok=True)
        print("µs, each figure as it is, predicted, and true: mean, p99, p99.9, worst 1 %, max, others' mean")
        for result in pool.map(lambda name: judge(name, options, folder), names):
            print(f"\n{result['text']}", flush=True)
            results.append(result)
    summary(results)
    if options.csv:
        with options.csv.open("a", newline="") as file:
            for row in (row for result in results for row in result["rows"]):
                if row["figure"] != "max":
                    made_of = [round(row[key]) for key in ("predicted_ns", "narrow_low_ns", "narrow_high_ns", "truth")]
                    csv.writer(file, lineterminator="\n").writerow(["simulated", kind_of(row["change"]), row["family"], row["figure"], *made_of])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
