#!/usr/bin/env python3
"""Lets `tardy watch` run for long under loads, and looks at what it takes: memory, descriptors, threads.

    scripts/soak.py [--tardy PATH] [--hours H] [--every SECONDS] [--loads LOAD+LOAD…] [--over TIME] [--out DIR]
    scripts/soak.py --guest MIPS …         in a guest, whose hours are counted instructions: see below
    scripts/soak.py --samples DIR          judges once more what a guest's run left in its --out DIR

The watch looks at real-time threads of a load and keeps recordings of the late ones, while storm:40 and hackbench
keep the machine busy. Every so often the memory, descriptors and threads of the watch and of the processes that it
started are counted. In the end there is a table, a slope of each with its 95 % interval (a line through means of
blocks, as neighbours are alike; the first tenth, in which tables fill, is left out), and what the watch says of
events that were lost and of threads that it missed; and each recording is explained anew, and must have the wakeup that
it was kept for, as late. Exits with 1 where that is not so, where something grows: at the lower end of its interval it
would be a tenth more after a day, or where the watch did not last.
Needs root.

In a guest (`tardy vm run`) an hour is as many instructions as a machine of so many million a second executes in one, so
that hours of a slow machine pass in fewer here. No other program disturbs it, and root is not needed. Every look is
written out at once; a run that is stopped (Ctrl-C, or --limit) is judged as far as it came.
"""

import argparse
import glob
import json
import math
import os
import shlex
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


def from_guest(text):
    """What was counted in a guest, as `sample` does; what else a line says; and with what the watch ended."""
    counted = {"rss KiB": "rss", "anonymous KiB": "anonymous", "descriptors": "descriptors", "threads": "threads"}
    samples, beside, ended = [], [], None
    for words in map(str.split, text.splitlines()):
        if words[:1] == ["ended"] and len(words) == 2:
            ended = int(words[1])
        # The last line of a guest that was stopped may be a part.
        elif len(words) == 12 and int(words[7]) > 0:
            line = dict(zip(words[::2], map(float, words[1::2])))
            samples.append((line["seconds"], {name: int(line[of]) for name, of in counted.items()}))
            beside.append(line)
    return samples, beside, ended


def lost(out):
    """Events lost in the recordings that were kept, and how many those are."""
    manifests = [json.loads(read(path)) for path in glob.glob(os.path.join(out, "*", "manifest.json"))]
    return sum((one.get("totals") or {}).get("lost", 0) for one in manifests), len(manifests)


def right(tardy, out):
    """How many of the recordings that were kept have the wakeup that they were kept for, explained anew, as late."""
    found = 0
    for path in glob.glob(os.path.join(out, "*", "manifest.json")):
        why = json.loads(read(path))["trigger"]
        words = [tardy, "explain", "--no-write", "--json", "--worst", "all", os.path.dirname(path)]
        explained = subprocess.run(words, stdout=subprocess.PIPE)
        if explained.returncode == 0:
            late = [(one["expiry_ns"], one["lateness_ns"]) for one in json.loads(explained.stdout)["wakeups"]]
            found += (why["expiry_ns"], why["lateness_ns"]) in late
    return found


def told(said):
    """What the watch counted, as it says."""
    return (f"{said.get('watched_s', 0) / 3600:.2f} h watched, {said.get('over_count', 0)} wakeups over "
            f"{said.get('over_ns', 0) / 1000:g} us, {said.get('late', 0)} looked at, {said.get('false_triggers', 0)} of "
            f"them not late after all, {said.get('missed', 0)} missed, {len(said.get('kept', []))} kept, "
            f"{said.get('let_go', 0)} let go for worse ones")


def end(child):
    """Lets it end in good order; its code."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    try:
        return child.wait(60)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def run_guest(asked, tardy, out):
    """The guest's command until it ends or is ended; tells every tenth minute of the guest how far it is."""
    values = {"loads": asked.loads, "watched": asked.watched, "over": asked.over, "buffer": asked.buffer or "256",
              "duration": f"{asked.hours * 3600:.0f}s", "every": f"{asked.every:g}"}
    script = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    script += read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak-guest.sh"))
    guest = subprocess.Popen([
        tardy, "vm", "run", "--no-record", "--kernel", asked.kernel, "--mips", asked.guest, "--memory", "1536",
        "--with", "busybox", "--limit", asked.limit, "--silence-limit", "30m", "--boot-limit", "10m", "-o", out,
        "--", "busybox", "sh", "-c", script,
    ])
    begun, told = time.monotonic(), 0
    try:
        while guest.poll() is None:
            time.sleep(5)
            try:
                samples, _, _ = from_guest(read(os.path.join(out, "samples.txt")))
            except OSError:
                continue
            if samples and samples[-1][0] >= told:
                at, counts = samples[-1]
                words = ", ".join(f"{name} {count}" for name, count in counts.items())
                print(f"{at / 60:6.0f} min of the guest, {(time.monotonic() - begun) / 60:.0f} here: {words}", flush=True)
                told = at + 600
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        end(guest)


def judge_guest(tardy, out):
    """Says what a guest's run came to; the code to exit with."""
    samples, beside, ended = from_guest(read(os.path.join(out, "samples.txt")))
    if len(samples) < 4 * BLOCKS:
        print(f"so short a run has no slope: {len(samples)} looks, {4 * BLOCKS} are the least", file=sys.stderr)
        return 1
    grows = judge(samples)
    said = {}
    for name in ("said.json", "so-far.json"):
        try:
            said = json.loads(read(os.path.join(out, name)))
            break
        except (OSError, ValueError):
            pass
    wrong = False
    hours = (samples[-1][0] - samples[0][0]) / 3600
    switches = beside[-1]["switches"] - beside[0]["switches"]
    print(f"\n{hours:.2f} h of the guest, {switches:.0f} context switches ({switches / hours / 3600:.0f} a second): {told(said)}")
    if os.path.isdir(kept := os.path.join(out, "kept")):
        events, recordings = lost(kept)
        as_kept = right(tardy, kept)
        print(f"{recordings} recordings copied out, {as_kept} explained as they were kept, {events} events lost in them")
        wrong = as_kept < recordings
    print("the watch was stopped with its guest" if ended is None else f"the watch ended with {ended}")
    if grows:
        print(f"what grows: {', '.join(grows)}")
    return 1 if grows or wrong or ended not in (None, 0, 3) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tardy", default="target/release/tardy")
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--every", type=float, help="seconds from one look to the next [default: 10, in a guest 60]")
    parser.add_argument("--loads", help="what keeps the machine busy [default: storm:40+hackbench:2, in a guest "
                        "storm:40+hackbench:2,threads, which begins sooner]")
    parser.add_argument("--watched", help="the load whose threads are watched [default: storm:5,fifo=20, in a guest, which "
                        "is slow, timers:5,max=100ms,fifo=20]")
    parser.add_argument("--over", default="200us", help="from how much on they count as late")
    parser.add_argument("--out", help="where the watch keeps its recordings, or a guest its files [default: a folder that "
                        "is removed]")
    parser.add_argument("--guest", metavar="MIPS", help="in a guest of that speed, in its time")
    parser.add_argument("--kernel", default="small", help="the guest's, as of `tardy vm list`")
    parser.add_argument("--buffer", metavar="KIB", help="the watch's, per CPU [default: its own, in a guest 256]")
    parser.add_argument("--limit", default="24h", help="how long the guest may take, in this machine's time")
    parser.add_argument("--samples", metavar="DIR", help="judge what a guest's run left in its --out")
    asked = parser.parse_args()
    asked.every = asked.every or (60 if asked.guest else 10)
    asked.watched = asked.watched or ("timers:5,max=100ms,fifo=20" if asked.guest else "storm:5,fifo=20")
    asked.loads = asked.loads or "storm:40+hackbench:2" + (",threads" if asked.guest else "")
    if asked.samples:
        sys.exit(judge_guest(os.path.abspath(asked.tardy), asked.samples))
    if os.geteuid() != 0 and not asked.guest:
        sys.exit("soak.py needs root: it watches real-time threads")
    if asked.hours * 3600 / asked.every < 4 * BLOCKS:
        sys.exit(f"so short a run has no slope: take at least {4 * BLOCKS} looks (--every)")
    tardy, folder = os.path.abspath(asked.tardy), tempfile.TemporaryDirectory()
    out = asked.out or os.path.join(folder.name, "watch")
    # Ended from outside, it ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if asked.guest:
        out = asked.out or os.path.join(folder.name, "guest")
        run_guest(asked, tardy, out)
        sys.exit(judge_guest(tardy, out))
    children, samples = [], []
    begun = time.monotonic()
    try:
        for load in (asked.loads, asked.watched):
            children.append(subprocess.Popen([tardy, "load", load, "-q"], stdout=subprocess.DEVNULL))
        time.sleep(2)
        said = open(os.path.join(folder.name, "said"), "w+")
        watching = [tardy, "watch", "-q", "--json", "--over", asked.over, "-o", out]
        watching += ["--buffer", asked.buffer] if asked.buffer else []
        watch = subprocess.Popen(watching, stdout=said)
        children.append(watch)
        while (now := time.monotonic() - begun) < asked.hours * 3600 and watch.poll() is None:
            time.sleep(asked.every)
            samples.append((now, sample(watch.pid)))
            if len(samples) % max(1, int(600 / asked.every)) == 1:
                counts = ", ".join(f"{name} {count}" for name, count in samples[-1][1].items())
                print(f"{now / 60:6.0f} min: {counts}", flush=True)
        lasted = watch.poll() is None
        ended = end(watch)
        said.seek(0)
        words = told(json.loads(said.read() or "{}"))
    finally:
        for child in reversed(children):
            end(child)
    if not lasted or len(samples) < 4 * BLOCKS:
        sys.exit(f"the watch ended after {(time.monotonic() - begun) / 60:.0f} min with {ended}")
    grows = judge(samples)
    events, kept = lost(out)
    as_kept = right(tardy, out)
    print(f"\nunder {asked.loads}, {asked.watched} watched: {words}; {kept} recordings, {as_kept} explained as they "
          f"were kept, {events} events lost in them; ended with {ended}")
    if grows:
        print(f"what grows: {', '.join(grows)}")
    # 3: there were late ones.
    sys.exit(1 if grows or as_kept < kept or ended not in (0, 3) else 0)


if __name__ == "__main__":
    main()
