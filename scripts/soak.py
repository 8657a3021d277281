#!/usr/bin/env python3
"""Lets `tardy watch` run for long under loads, and looks at what it takes: memory, descriptors, threads.

    scripts/soak.py [--tardy PATH] [--hours H] [--every SECONDS] [--loads LOAD+LOAD…] [--over TIME] [--out DIR]

The watch looks at real-time threads of a load and keeps recordings of the late ones, while storm:40 and hackbench
keep the machine busy. Every so often the memory, descriptors and threads of the watch and of the processes that it
started are counted. In the end there is a table, a slope of each with its 95 % interval (a line through means of
blocks, as neighbours are alike; the first tenth, in which tables fill, is left out), and what the watch says of
events that were lost and of threads that it missed. Exits with 1 where something grows: where at the lower end of
its interval it would be a tenth more after a day, or where the watch did not last.
Needs root.
"""

import argparse
import glob
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

BLOCKS = 10
# Of Student's distribution at 97.5 %, for BLOCKS - 2 degrees of freedom.
QUANTILE = 2.306
WARM_UP = 0.1
# What may be more after a day, as a share, at the lower end of the interval.
GROWTH_MAX = 0.1
DAY_S = 24 * 3600


def read(path):
    with open(path) as file:
        return file.read()


def tree(pid):
    """A process and all that it started."""
    found = [pid]
    for parent in found:
        try:
            for tasks in glob.glob(f"/proc/{parent}/task/*/children"):
                found += map(int, read(tasks).split())
        except OSError:
            pass
    return found


def sample(pid):
    """Memory in KiB (all, and what is no file's), descriptors, threads, of all of its processes."""
    rss = anon = files = threads = 0
    for one in tree(pid):
        try:
            status = dict(line.split(":", 1) for line in read(f"/proc/{one}/status").splitlines())
            files += len(os.listdir(f"/proc/{one}/fd"))
        except OSError:
            continue
        number = lambda name: int(status.get(name, "0").split()[0])
        rss, anon, threads = rss + number("VmRSS"), anon + number("RssAnon"), threads + number("Threads")
    return {"rss KiB": rss, "anonymous KiB": anon, "descriptors": files, "threads": threads}


def slope(times, values):
    """How much more per hour, and by how much that may be off (95 %), from the means of blocks."""
    size = len(times) / BLOCKS
    blocks = [range(int(number * size), int((number + 1) * size)) for number in range(BLOCKS)]
    mean = lambda of, block: sum(of[at] for at in block) / len(block)
    x = [mean(times, block) / 3600 for block in blocks]
    y = [mean(values, block) for block in blocks]
    middle_x, middle_y = sum(x) / BLOCKS, sum(y) / BLOCKS
    spread = sum((one - middle_x) ** 2 for one in x)
    rise = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y)) / spread
    rest = sum((b - middle_y - rise * (a - middle_x)) ** 2 for a, b in zip(x, y))
    return rise, QUANTILE * math.sqrt(rest / (BLOCKS - 2) / spread)


def judge(samples):
    """Prints a line for each thing that was counted; those that grow."""
    grows = []
    first = int(len(samples) * WARM_UP)
    times = [at for at, _ in samples[first:]]
    print(f"\n{'':14} {'first':>9} {'median':>9} {'last':>9} {'most':>9}   per hour (95 %)")
    for name in samples[0][1]:
        values = [counts[name] for _, counts in samples[first:]]
        rise, off = slope(times, values)
        median = sorted(values)[len(values) // 2]
        print(f"{name:14} {values[0]:9} {median:9} {values[-1]:9} {max(values):9}   {rise:+.1f} ± {off:.1f}")
        if (rise - off) * DAY_S / 3600 > GROWTH_MAX * max(median, 1):
            grows.append(name)
    return grows


def lost(out):
    """Events lost in the recordings that were kept, and how many those are."""
    manifests = [json.loads(read(path)) for path in glob.glob(os.path.join(out, "*", "manifest.json"))]
    return sum((one.get("totals") or {}).get("lost", 0) for one in manifests), len(manifests)


def end(child):
    """Lets it end in good order; its code."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    try:
        return child.wait(60)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tardy", default="target/release/tardy")
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--every", type=float, default=10, help="seconds from one look to the next")
    parser.add_argument("--loads", default="storm:40+hackbench:2", help="what keeps the machine busy")
    parser.add_argument("--watched", default="storm:5,fifo=20", help="the load whose threads are watched")
    parser.add_argument("--over", default="200us", help="from how much on they count as late")
    parser.add_argument("--out", help="where the watch keeps its recordings [default: a folder that is removed]")
    asked = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("soak.py needs root: it watches real-time threads")
    if asked.hours * 3600 / asked.every < 4 * BLOCKS:
        sys.exit(f"so short a run has no slope: take at least {4 * BLOCKS} looks (--every)")
    tardy, folder = os.path.abspath(asked.tardy), tempfile.TemporaryDirectory()
    out = asked.out or os.path.join(folder.name, "watch")
    # Ended from outside, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    children, samples = [], []
    begun = time.monotonic()
    try:
        for load in (asked.loads, asked.watched):
            children.append(subprocess.Popen([tardy, "load", load, "-q"], stdout=subprocess.DEVNULL))
        time.sleep(2)
        said = open(os.path.join(folder.name, "said"), "w+")
        watch = subprocess.Popen([tardy, "watch", "-q", "--json", "--over", asked.over, "-o", out], stdout=said)
        children.append(watch)
        while (now := time.monotonic() - begun) < asked.hours * 3600 and watch.poll() is None:
            time.sleep(asked.every)
            samples.append((now, sample(watch.pid)))
            if len(samples) % max(1, int(600 / asked.every)) == 1:
                told = ", ".join(f"{name} {count}" for name, count in samples[-1][1].items())
                print(f"{now / 60:6.0f} min: {told}", flush=True)
        lasted = watch.poll() is None
        ended = end(watch)
        said.seek(0)
        told = json.loads(said.read() or "{}")
    finally:
        for child in reversed(children):
            end(child)
    if not lasted or len(samples) < 4 * BLOCKS:
        sys.exit(f"the watch ended after {(time.monotonic() - begun) / 60:.0f} min with {ended}")
    grows = judge(samples)
    events, kept = lost(out)
    print(f"\n{told.get('watched_s', 0) / 3600:.2f} h under {asked.loads}: {told.get('over_count', 0)} wakeups of "
          f"{asked.watched} over {asked.over}, {told.get('late', 0)} looked at, {told.get('let_go', 0)} let go for worse "
          f"ones, {told.get('missed', 0)} missed; {kept} recordings kept, {events} events lost in them; ended with {ended}")
    if grows:
        print(f"what grows: {', '.join(grows)}")
    # 3: there were late ones.
    sys.exit(1 if grows or ended not in (0, 3) else 0)


if __name__ == "__main__":
    main()
