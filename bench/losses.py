#!/usr/bin/env python3
"""At which rate of events a recording begins to lose some, and how many wakeups that touches.

    bench/losses.py [--storms 50,100,200,400] [--buffers 256,1024,4096] [--seconds 3] [--rounds 3]

Records (`tardy record --buffer KIB`) while `tardy load storm:N` runs: N threads that sleep up to a
millisecond and wake up again, under the default policy, where they share the CPUs with the
recorder, and under SCHED_FIFO, where they come before it. Then `tardy explain --all` says how many
wakeups a loss may have touched. The rounds' settings come in random order.

Columns: n rounds; wakeups, thousands a second that the load counted itself, median, as all that
follow; events, millions a second that there were, recorded or lost; lost, the share of those; the
most of any round, with a + where a gap was of unknown size, which is in no share (--source
tracefs); touched, the share of the wakeups explained that a loss may have touched. Wakeups of which
no event was recorded are in no share.

Needs root. It prints, it does not judge.
"""

import argparse
import itertools
import random
import tempfile
from pathlib import Path

from programs import TARDY, build, lost_events, median, need_root, run_json, tardy_record


def one(storm, fifo, buffer, args):
    """(wakeups and events per second, share lost, gaps unknown, share of wakeups touched)"""
    with tempfile.TemporaryDirectory(prefix="tardy-bench-", dir=args.folder) as folder:
        folder = Path(folder) / "recording"
        flags = ["--buffer", buffer] + (["--source", args.source] if args.source else [])
        with tardy_record(folder, *flags):
            command = [TARDY, "load", f"storm:{storm}", "--json", "--quiet"]
            command += ["-D", f"{args.seconds}s"] + (["--fifo"] if fifo else [])
            load = run_json(*command)
        found = run_json(TARDY, "explain", folder, "--all", "--no-write", "--json", "--quiet")
    lost, unknown = lost_events(found["lost"])
    made = found["events"] + lost
    wakeups = found["lateness"]["wakeups"]
    touched = found["touched_by_loss"] / wakeups if wakeups else 0
    seconds = load["seconds"]
    return load["work"][0]["done"][0]["count"] / seconds, made / seconds, lost / made, unknown, touched


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--storms", type=numbers, default=[50, 100, 200, 400], help="threads")
    parser.add_argument("--buffers", type=numbers, default=[256, 1024, 4096], help="KiB per CPU")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--source", choices=["ebpf", "tracefs"], help="[default: the best]")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--folder", help="where recordings go meanwhile [default: temporary]")
    args = parser.parse_args()
    need_root("to record")
    build("tardy")

    settings = list(itertools.product((False, True), args.storms, args.buffers))
    rows = {setting: [] for setting in settings}
    order = random.Random(args.seed)
    for number in range(args.rounds):
        for fifo, storm, buffer in order.sample(settings, len(settings)):
            rows[fifo, storm, buffer].append(one(storm, fifo, buffer, args))
        print(f"round {number + 1} of {args.rounds}", flush=True)
    print("policy   threads  KiB/CPU  n  k wakeups/s  M events/s   lost %   most %  touched %")
    for (fifo, storm, buffer), found in rows.items():
        wakeups, events, lost, unknown, touched = zip(*found)
        print(
            f"{'fifo' if fifo else 'default':8} {storm:7} {buffer:8} {len(found):2} "
            f"{median(wakeups) / 1e3:12.0f} {median(events) / 1e6:11.3f} "
            f"{100 * median(lost):8.3f} {100 * max(lost):8.3f}{'+' if any(unknown) else ' '} "
            f"{100 * median(touched):9.3f}"
        )


if __name__ == "__main__":
    main()
