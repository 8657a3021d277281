#!/usr/bin/env python3
"""Is who really delayed a thread the one that tardy names? Culprits and victims that both know.

    bench/inject.py [--seconds 10] [--only spin,munmap] [--failures 0] [--truly 200] [--json]
        [--source ebpf] [--unwatched] [--keep DIR] [--tardy FILE]

Each injection runs bench/inject/ under `tardy record`: victims that wait in five ways (clock_nanosleep,
ppoll, timerfd, epoll_pwait2, a POSIX timer), one of each at SCHED_FIFO 40 and one ordinary, all on one CPU,
and a culprit that delays them at random phases and writes down when it ran, held a lock or was kept from
running. Injections of locks and of a deadline budget have victims of their own. Then `tardy explain` says of
every wakeup who took most of it.

    n          delays of --truly µs or more that are the culprit's by its own record, more than half of each
    named      of those, where the culprit is the one that tardy's balance gives most time to
    cause      of those, where the cause is the one that this injection has, too
    func.      of named, where it was in a function of this injection's by its own record for nearly all of the
               delay: where that function is named
    ratio      the median of what the balance gives the culprit by what it truly had
    instead    who was named in place of it

The other way round, "innocent" are wakeups as late as that whose balance gives most to the culprit although it
truly had less than half of that time.

Left out and counted below: delays of which others had more, or the hypervisor (seen as a gap in a busy
loop); those whose victim was perhaps not waiting yet; and those that lost events touch. Storms of interrupts
from another CPU (-remote) delay nobody for 200 µs by themselves: n counts what fell together with one, and
who is named then is for the reader.

Needs root, a C compiler and two CPUs; `quota` needs a control group with a CPU quota. What cannot be had is
said. Run it alone on the machine. Prints, never asserts.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from injected import INJECTIONS, TRULY_NS, Judge, Record
from programs import PATIENCE_SECONDS, ROOT, TARDY, beside, build, chosen, median, need_root, shown

SOURCES = ROOT / "bench/inject"
GROUP = "tardy-inject"
QUOTA_US, PERIOD_US = 10_000, 40_000
BUFFER_KIB = 32_768


class Skipped(Exception):
    pass


def compiled(folder):
    program = Path(folder) / "inject"
    command = ["cc", "-O2", "-pthread", "-o", program, *sorted(SOURCES.glob("*.c"))]
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        raise Skipped("there is no C compiler") from None
    return program


def hierarchies():
    """Where control groups can have a CPU quota, and how it is written there, in v2 and in v1. With the
    highest weight, so that who is in it waits for its quota and not for others' turns."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, at, kind, options, *_ = line.split()
        at = Path(at)
        if kind == "cgroup2" and "cpu" in (at / "cgroup.controllers").read_text().split():
            yield at, {"cpu.max": f"{QUOTA_US} {PERIOD_US}", "cpu.weight": 10_000}
        if kind == "cgroup" and "cpu" in options.split(","):
            quota = {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": QUOTA_US}
            yield at, {**quota, "cpu.shares": 262_144}


def remove_group(at):
    """Who was in it has ended; the kernel may need a moment to notice."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while at.exists():
        try:
            at.rmdir()
        except OSError as error:
            if time.monotonic() > give_up:
                raise SystemExit(f"{at} is left behind: {error}") from None
            time.sleep(0.05)


@contextlib.contextmanager
def control_group():
    """A control group with a quota: the file by which a process enters it. It is gone afterwards."""
    for root, quota in hierarchies():
        for stale in root.glob(f"{GROUP}-*"):
            if not Path("/proc", stale.name.removeprefix(f"{GROUP}-")).exists():
                remove_group(stale)
        at, enabled = root / f"{GROUP}-{os.getpid()}", root / "cgroup.subtree_control"
        enables = enabled.exists() and "cpu" not in enabled.read_text().split()
        try:
            try:
                if enables:
                    enabled.write_text("+cpu")
                at.mkdir()
                for name, value in quota.items():
                    (at / name).write_text(str(value))
            except OSError as error:
                raise Skipped(f"no control group with a CPU quota: {error}") from None
            yield at / "cgroup.procs"
            return
        finally:
            remove_group(at)
            if enables:
                with contextlib.suppress(OSError):
                    enabled.write_text("-cpu")
    raise Skipped("no control group with a CPU quota is mounted")


def injected(injection, program, folder, args):
    """Runs an injection while tardy records, and returns its record and tardy's account."""
    recording, record = folder / injection.name, folder / f"{injection.name}.txt"
    with contextlib.ExitStack() as stack:
        command = [program, injection.name, args.cpu, args.other_cpu, args.seconds, record]
        if injection.name == "quota":
            command.append(stack.enter_context(control_group()))
        recorder = [args.tardy, "record", "--quiet", "--json", "--buffer", BUFFER_KIB]
        recorder += [f"--stacks={injection.stacks}"] if args.source != "tracefs" else []
        recorder += ["--source", args.source] if args.source else []
        recorder += ["-o", recording]
        if args.unwatched:
            stack.enter_context(beside(recorder, (recording / "manifest.json").exists))
        else:
            command = [*recorder, "--", *command]
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True)
    if "cannot have" in done.stderr:
        raise Skipped(done.stderr.strip().splitlines()[-1])
    if done.returncode or not record.exists():
        raise SystemExit(f"{' '.join(words)}\nfailed:\n{done.stderr.strip()}")
    seen = Record(record.read_text().splitlines(), injection, args.truly * 1000)
    victims = sorted({delay.name for delay in seen.delays})
    comms = [word for name in victims for word in ("--comm", name)]
    command = [args.tardy, "explain", recording, *comms, "--json", "--worst", "all", "--no-write", "--quiet"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    explained = json.loads(done.stdout)
    if args.keep:
        (folder / f"{injection.name}.json").write_text(done.stdout)
    return seen, explained


class Row:
    """What came of one injection for victims of one policy."""

    def __init__(self, injection, policy, verdicts):
        self.injection, self.policy = injection, policy
        self.n = len(verdicts)
        self.named = sum(verdict.named for verdict in verdicts)
        causes = injection.causes[policy]
        self.cause = sum(verdict.named and verdict.cause in causes for verdict in verdicts)
        instead = (f"{v.first} ({v.cause})" for v in verdicts if not v.named)
        self.instead = Counter(instead)
        self.stacks = Counter(verdict.stack[:1] for verdict in verdicts if verdict.named)
        self.causes = Counter(verdict.cause for verdict in verdicts if verdict.named)
        in_function = [verdict for verdict in verdicts if verdict.in_function]
        self.in_function = len(in_function) if injection.has_functions(policy) else None
        self.function = sum(not set(injection.functions).isdisjoint(verdict.stack) for verdict in in_function)
        self.ratio = median([verdict.ratio for verdict in verdicts if verdict.named])

    def document(self):
        return {
            "injection": self.injection.name,
            "victims": self.policy,
            "n": self.n,
            "named": self.named,
            "cause": self.cause,
            "function": self.function,
            "in_function": self.in_function,
            "innermost": {" ".join(stack): n for stack, n in self.stacks.most_common(8)},
            "ratio": self.ratio,
            "instead": dict(self.instead.most_common()),
            "causes": dict(self.causes.most_common()),
        }

    def line(self):
        share = f"{100 * self.named / self.n:7.2f}" if self.n else "      -"
        cause = f"{100 * self.cause / self.n:7.2f}" if self.n else "      -"
        instead = ", ".join(f"{count} {name}" for name, count in self.instead.most_common(4))
        others = {name: n for name, n in self.causes.items() if name not in self.injection.causes[self.policy]}
        if others:
            instead += "; causes " + ", ".join(f"{n} {name}" for name, n in others.items())
        function = f"{100 * self.function / self.in_function:7.2f}" if self.in_function else "      -"
        counts = f"{self.injection.name:18} {self.policy:8} {self.n:6} {self.named:6}"
        return f"{counts} {share} {cause} {function} {shown(self.ratio, '6.3f')}  {instead}"


def tell_failure(verdict):
    delay = verdict.delay
    print(f"\n{delay.name} {delay.tid} cpu {delay.cpu} due {delay.due_ns} back +{delay.back_ns - delay.due_ns}")
    for begin, end in delay.covered[:6]:
        print(f"    culprit  {begin - delay.due_ns:+12} {end - delay.due_ns:+12}")
    wakeup = verdict.wakeup
    if wakeup is None:
        print("    tardy has no wakeup of it over that time")
        return
    tell_wakeup(wakeup, delay.due_ns)


def tell_wakeup(wakeup, from_ns):
    print(f"    tardy: {wakeup['kind']} at {wakeup['expiry_ns'] - from_ns:+} {wakeup['lateness_ns']} ns")
    for segment in wakeup["segments"]:
        names = ", ".join(f"{culprit['name']} {culprit['ns']}" for culprit in segment["culprits"])
        begin = segment["start_ns"] - from_ns
        print(f"    {segment['cause']:18} {begin:+12} {segment['ns']:10}  {names}")


def judge(injection, program, folder, args):
    """An injection's rows, by policy and by way to wait, and what was left out."""
    seen, explained = injected(injection, program, folder, args)
    judge = Judge(injection, seen, explained, GROUP)
    verdicts = list(judge.verdicts())
    rows, ways = [], []
    for policy in ("fifo", "ordinary"):
        of_policy = [verdict for verdict in verdicts if verdict.delay.policy == policy]
        there = any(delay.policy == policy for delay in seen.delays)
        if there and not (seen.remote and policy == "ordinary"):
            rows.append(Row(injection, policy, of_policy))
    for name in sorted({verdict.delay.name for verdict in verdicts}):
        of_name = [verdict for verdict in verdicts if verdict.delay.name == name]
        ways.append((name, Row(injection, of_name[0].delay.policy, of_name)))
    if seen.missed:
        judge.left_out["no room in the record"] += seen.missed
    failures = [verdict for verdict in verdicts if not verdict.named]
    blamed, innocent = judge.innocent()
    if not args.json:
        for row in rows:
            print(row.line(), flush=True)
        if innocent:
            print(f"    innocent: {len(innocent)} of {blamed} wakeups where it is named first")
        for wakeup in innocent[: args.failures]:
            print(f"    innocent of {wakeup['task']} at {wakeup['expiry_ns']}:")
            tell_wakeup(wakeup, wakeup["expiry_ns"])
        for verdict in failures[: args.failures]:
            tell_failure(verdict)
    interrupts = judge.interrupts().most_common(5) if injection.rare else []
    if interrupts and not args.json:
        total = sum(ns for _, ns in interrupts)
        print("    interrupts told: " + ", ".join(f"{100 * ns / total:.0f} % {name}" for name, ns in interrupts))
    return {
        "rare": injection.rare,
        "rows": [row.document() for row in rows],
        "interrupts": dict(interrupts),
        "blamed": blamed,
        "innocent": len(innocent),
        "ways": [{"victim": name, "n": row.n, "named": row.named} for name, row in ways],
        "left_out": dict(judge.left_out),
        "lost": explained["lost"],
    }


def tell_ways(document):
    """The same by way to wait, over all injections that delay by what they do on the CPU."""
    n, named = Counter(), Counter()
    for found in document["injections"].values():
        if not found["rare"]:
            for way in found["ways"]:
                n[way["victim"]] += way["n"]
                named[way["victim"]] += way["named"]
    print("\nvictim                n  named   named %")
    for name in sorted(n):
        print(f"{name:16} {n[name]:6} {named[name]:6} {100 * named[name] / n[name]:9.2f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cpus = sorted(os.sched_getaffinity(0))
    parser.add_argument("--seconds", type=float, default=10, help="of each injection")
    parser.add_argument("--only", default="", help="these injections, with commas between")
    parser.add_argument("--cpu", type=int, default=cpus[-1], help="where the victims are")
    parser.add_argument("--truly", type=int, default=TRULY_NS // 1000, help="µs that count as a delay")
    parser.add_argument("--failures", type=int, default=0, help="tell so many of each injection in full")
    parser.add_argument("--unwatched", action="store_true", help="record no system calls of theirs")
    parser.add_argument("--source", choices=["ebpf", "tracefs"], help="[default: the best]")
    parser.add_argument("--tardy", type=Path, help="this program [default: built in release]")
    parser.add_argument("--keep", type=Path, help="keep recordings and records in this folder")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    need_root("for priorities and to record")
    if len(cpus) < 2:
        sys.exit("inject.py: needs two CPUs")
    args.other_cpu = next(cpu for cpu in cpus if cpu != args.cpu)
    known = {injection.name: injection for injection in INJECTIONS}
    wanted = chosen(parser, args.only, known, "injection") or list(known)
    if args.tardy is None:
        build("tardy")
        args.tardy = TARDY
    document = {"schema": "tardy.bench.inject/1", "injections": {}, "skipped": {}}
    with tempfile.TemporaryDirectory(prefix="tardy-inject-") as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            parser.error(f"{folder} is not empty: name a new folder")
        if not args.json:
            print("injection          victims       n  named   named %  cause %  func. %  ratio  instead")
        try:
            program = compiled(temporary)
        except Skipped as why:
            document["skipped"] = {name: str(why) for name in wanted}
            wanted = []
        for name in wanted:
            try:
                document["injections"][name] = judge(known[name], program, folder, args)
            except Skipped as why:
                document["skipped"][name] = str(why)
    if args.json:
        print(json.dumps(document))
        return
    tell_ways(document)
    print("\nleft out")
    for name, found in document["injections"].items():
        words = [f"{count} {why}" for why, count in found["left_out"].items()]
        print(f"{name:18} {', '.join(words) or 'nothing'}; {found['lost']} events lost")
    for name, why in document["skipped"].items():
        print(f"{name:18} skipped: {why}")


if __name__ == "__main__":
    main()
