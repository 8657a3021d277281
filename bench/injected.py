"""What an injector's threads saw of themselves, and how tardy's account is held against it.

The truth is made of two records that know nothing of each other: a victim's own of when it should have
been back and when it was, and a culprit's own of when it ran, held the lock or was kept from running.
What of a victim's delay a culprit covers is what it truly delayed it by.
"""

import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass, field

# What counts as a delay where nothing else is asked for.
TRULY_NS = 200_000
# A culprit that began so near to the victim's call may have kept it from waiting at all.
NEAR_CALL_NS = 30_000
# A busy loop that is away for longer was not kept by an interrupt: time that the hypervisor took.
STOLEN_NS = 100_000
# Of what a culprit had of a delay, so much it is asleep where its delay shows in which function it sleeps.
ASLEEP_SHARE_MIN = 0.75


@dataclass(frozen=True)
class Injection:
    """How to read an injection's record, and who is to be named."""

    name: str
    # Lines of the culprit's that are its stretches, and how long those are at least.
    stretches: tuple
    # Words of which a culprit's name must hold all; {group} is the control group's.
    named: tuple
    # Causes that say as much of why, by the victim's policy.
    causes: dict
    stretch_min_ns: int = 0
    # Whether the culprit is in its functions only while it sleeps, which it writes down.
    sleeps: bool = False
    # Whether a gap in the culprit's loop is stolen time: nobody else could have run.
    gaps_are_stolen: bool = False
    # Functions of the kernel: of a stack of the culprit's, one of them is to be in it. For victims at SCHED_FIFO alone:
    # who waits among equals has none taken. Of a culprit that waits they are there where it slept for most of the delay.
    functions: tuple = ()
    # What is later than this has a stack recorded; a page of a fast disk is there within 50 µs.
    stacks: str = "50us"
    # Whether only real delays by it exist at all, or few, so that a short run may have none.
    rare: bool = False

    def has_functions(self, policy):
        return bool(self.functions) and policy == "fifo"


def both(*causes):
    return {"fifo": causes, "ordinary": causes}


KERNEL = {"fifo": ("not_preemptible",), "ordinary": ("higher_priority",)}
INTERRUPTS = both("interrupts", "irq_delay")

# Taking memory away, and touching all of it first.
UNMAPPING = ("unmap_vmas", "free_pgtables", "tlb_finish_mmu", "populate_vma_page_range", "faultin_page_range")
FAULTS = ("filemap_fault",)
SLEEPS = ("hrtimer_nanosleep", "do_nanosleep")

INJECTIONS = [
    Injection("spin", ("ran",), ("inj-spin",), both("higher_priority"), gaps_are_stolen=True),
    Injection("deadline", ("ran",), ("inj-deadline",), both("higher_priority"), gaps_are_stolen=True),
    Injection("contend", ("ran",), ("inj-contend",), both("cpu_contention")),
    Injection("budget", ("away",), ("deadline", "v-budget"), both("throttled"), 1_000_000),
    # Away for so long of a period of 40 ms: no other thread's turn is that long.
    Injection("quota", ("away",), ("{group}",), both("throttled"), 15_000_000),
    Injection("munmap", ("munmap", "populate"), ("inj-munmap",), KERNEL, functions=UNMAPPING, stacks="20us"),
    Injection("call", ("call",), ("inj-call",), KERNEL),
    Injection("membarrier", ("storm",), ("inj-membarrier",), KERNEL),
    Injection("tlb", ("storm",), ("inj-tlb",), KERNEL),
    Injection("membarrier-remote", ("storm",), ("inj-membarrier",), INTERRUPTS, rare=True),
    Injection("tlb-remote", ("storm",), ("inj-tlb",), INTERRUPTS, rare=True),
    Injection("pi", ("held",), ("inj-owner",), both("lock")),
    Injection("plain", ("held",), ("inj-owner",), both("lock")),
    Injection("fault", ("held",), ("inj-owner",), both("lock"), sleeps=True, functions=FAULTS, stacks="10us"),
    Injection("asleep", ("held",), ("inj-owner",), both("lock"), sleeps=True, functions=SLEEPS),
    Injection("asleep-plain", ("held",), ("inj-owner",), both("lock"), sleeps=True, functions=SLEEPS),
]


class Stretches:
    """Stretches of time, in order, none over another."""

    def __init__(self, pairs):
        self.pairs = sorted(pairs)
        self.begins = [begin for begin, _ in self.pairs]

    def within(self, begin_ns, end_ns):
        """Those that overlap a time, cut to it."""
        at = max(0, bisect.bisect_right(self.begins, begin_ns) - 1)
        found = []
        while at < len(self.pairs) and self.pairs[at][0] < end_ns:
            begin, end = max(begin_ns, self.pairs[at][0]), min(end_ns, self.pairs[at][1])
            if begin < end:
                found.append((begin, end))
            at += 1
        return found


def length_ns(pairs):
    return sum(end - begin for begin, end in pairs)


@dataclass
class Delay:
    """One time that a victim waited: called, should have been back, was back."""

    tid: int
    name: str
    cpu: int
    called_ns: int
    due_ns: int
    back_ns: int
    # When the culprit had it.
    covered: list = field(default_factory=list)

    @property
    def policy(self):
        return "ordinary" if self.name.endswith("-ts") else "fifo"


class Record:
    """An injector's record: threads, victims' delays, culprits' stretches by CPU."""

    def __init__(self, lines, injection, truly_ns):
        self.truly_ns = truly_ns
        self.names, self.missed = {}, 0
        self.delays = []
        stretches, gaps, all_stretches, slept = defaultdict(list), [], [], []
        own = injection.name == "budget"
        for line in lines:
            word, tid, *rest = line.split()
            tid = int(tid)
            if word == "thread":
                self.names[tid] = rest[0]
                continue
            if word == "missed":
                self.missed += int(rest[0])
                continue
            cpu, one, two, three = map(int, rest)
            if word in ("wait", "lock"):
                self.delays.append(Delay(tid, self.names[tid], cpu, one, two, three))
            elif word in injection.stretches:
                all_stretches.append((one, two))
                if two - one < injection.stretch_min_ns:
                    continue
                stretches[cpu].append((one, two))
                if own:
                    # It is the victim as well.
                    self.delays.append(Delay(tid, self.names[tid], cpu, one, one, two))
            elif word == "slept":
                slept.append((one, two))
            elif word in ("away", "stopped") and two - one >= STOLEN_NS:
                gaps.append((one, two))
        # A lock is held wherever its owner is, and a group is throttled as a whole.
        self.anywhere = injection.stretches[0] in ("held", "away")
        self.gaps = Stretches(gaps)
        self.slept = Stretches(slept)
        # Short ones too, and wherever.
        self.ever = Stretches(all_stretches)
        everywhere = [pair for pairs in stretches.values() for pair in pairs]
        self.everywhere = Stretches(everywhere)
        self.by_cpu = {cpu: Stretches(pairs) for cpu, pairs in stretches.items()}
        self.remote = injection.name.endswith("-remote")

    def of_cpu(self, cpu):
        if self.anywhere or self.remote:
            return self.everywhere
        return self.by_cpu.get(cpu, Stretches([]))

    def was_asleep(self, delay):
        """Whether the culprit slept for nearly all that it had of a delay."""
        slept_ns = sum(length_ns(self.slept.within(*pair)) for pair in delay.covered)
        return slept_ns >= ASLEEP_SHARE_MIN * length_ns(delay.covered)

    def truly_delayed(self, injection, left_out):
        """Delays of which the culprit had most and enough; why others are left out is counted."""
        for delay in self.delays:
            if self.remote and delay.policy == "ordinary":
                # Who contends for the CPU meanwhile is no matter of the storm's.
                continue
            stretches = self.of_cpu(delay.cpu)
            delay.covered = stretches.within(delay.due_ns, delay.back_ns)
            covered_ns = length_ns(delay.covered)
            if covered_ns < self.truly_ns:
                continue
            near = (delay.called_ns - NEAR_CALL_NS, delay.called_ns + NEAR_CALL_NS)
            if delay.called_ns >= delay.due_ns and not self.anywhere:
                left_out["called too late"] += 1
            elif not self.anywhere and stretches.within(*near):
                left_out["culprit came with the call"] += 1
            elif injection.gaps_are_stolen and self.gaps.within(delay.due_ns, delay.back_ns):
                left_out["stolen time"] += 1
            elif 2 * covered_ns <= delay.back_ns - delay.due_ns:
                left_out["others took more"] += 1
            else:
                yield delay


@dataclass
class Verdict:
    """What tardy says of one delay."""

    delay: Delay
    wakeup: dict | None
    first: str
    cause: str
    named: bool
    # What it says the culprit took, by what the culprit truly had of the delay.
    ratio: float | None = None
    # The functions that it names beside the culprit, the innermost first.
    stack: tuple = ()
    # Whether one of the injection's is to be among them.
    in_function: bool = False


def first_of(wakeup):
    """Who took most of a wakeup, for how long, and the cause that says so."""
    by_culprit = Counter()
    by_cause = defaultdict(Counter)
    for segment in wakeup["segments"]:
        for culprit in segment["culprits"]:
            by_culprit[culprit["name"]] += culprit["ns"]
            by_cause[culprit["name"]][segment["cause"]] += culprit["ns"]
    if not by_culprit:
        return "nobody", 0, "none"
    first, ns = by_culprit.most_common(1)[0]
    return first, ns, by_cause[first].most_common(1)[0][0]


def stack_of(wakeup, name):
    """The functions beside the longest segment of a culprit's that has some."""
    stacks = [
        (culprit["ns"], culprit["stack"])
        for segment in wakeup["segments"]
        for culprit in segment["culprits"]
        if culprit["name"] == name and culprit.get("stack")
    ]
    return tuple(max(stacks)[1]) if stacks else ()


class Judge:
    """Holds an explanation against a record."""

    def __init__(self, injection, record, explained, group):
        self.injection, self.record = injection, record
        self.words = tuple(word.format(group=group) for word in injection.named)
        self.by_tid = defaultdict(list)
        for wakeup in explained["wakeups"]:
            self.by_tid[wakeup["pid"]].append(wakeup)
        for wakeups in self.by_tid.values():
            wakeups.sort(key=lambda wakeup: wakeup["expiry_ns"])
        self.begins = {
            tid: [wakeup["expiry_ns"] for wakeup in wakeups] for tid, wakeups in self.by_tid.items()
        }
        self.left_out = Counter()

    def verdicts(self):
        for delay in self.record.truly_delayed(self.injection, self.left_out):
            wakeup, ns = self.wakeup_of(delay)
            if wakeup is not None and wakeup["touched_by_loss"]:
                self.left_out["touched by loss"] += 1
                continue
            if wakeup is None or 2 * ns < length_ns(delay.covered):
                yield Verdict(delay, wakeup, "no wakeup there", "none", False)
                continue
            first, told_ns, cause = first_of(wakeup)
            ratio = told_ns / length_ns(delay.covered)
            stack = stack_of(wakeup, first)
            named = self.is_named(first)
            in_function = named and self.is_in_function(delay)
            yield Verdict(delay, wakeup, first, cause, named, ratio, stack, in_function)

    def is_in_function(self, delay):
        has_functions = self.injection.has_functions(delay.policy)
        return has_functions and (not self.injection.sleeps or self.record.was_asleep(delay))

    def is_named(self, name):
        return all(word in name for word in self.words)

    def innocent(self):
        """Wakeups as late as what counts whose balance gives most to the culprit, and those of them in
        which it truly had less than half of that: (number, the wakeups)."""
        named, innocent = 0, []
        if self.injection.stretch_min_ns:
            # Bandwidth was missing at other times as well, which only the victims felt.
            return named, innocent
        for wakeups in self.by_tid.values():
            for wakeup in wakeups:
                if wakeup["touched_by_loss"] or wakeup["lateness_ns"] < self.record.truly_ns:
                    continue
                first, told_ns, cause = first_of(wakeup)
                # A CPU that takes no interrupt while the culprit is on it may not run at all: no record tells.
                if not self.is_named(first) or cause == "irq_delay":
                    continue
                named += 1
                end_ns = wakeup["expiry_ns"] + wakeup["lateness_ns"]
                over = (wakeup["expiry_ns"], end_ns)
                if self.injection.gaps_are_stolen and self.record.gaps.within(*over):
                    continue
                had = self.record.ever.within(*over)
                if 2 * length_ns(had) < told_ns:
                    innocent.append(wakeup)
        return named, innocent

    def interrupts(self):
        """Who is told to have interrupted victims during stretches of the culprit's, ns by name."""
        told = Counter()
        for wakeups in self.by_tid.values():
            for wakeup in wakeups:
                end_ns = wakeup["expiry_ns"] + wakeup["lateness_ns"]
                if not self.record.everywhere.within(wakeup["expiry_ns"], end_ns):
                    continue
                for segment in wakeup["segments"]:
                    if segment["cause"] in ("interrupts", "irq_delay"):
                        for culprit in segment["culprits"]:
                            told[culprit["name"]] += culprit["ns"]
        return told

    def wakeup_of(self, delay):
        """The wakeup that is over most of what the culprit had of the delay, and how much that is."""
        wakeups = self.by_tid.get(delay.tid, [])
        # One that began long before can still be over it: a few are enough, they follow each other.
        at = bisect.bisect_left(self.begins.get(delay.tid, []), delay.back_ns)
        best, most_ns = None, 0
        for wakeup in wakeups[max(0, at - 16) : at]:
            end_ns = wakeup["expiry_ns"] + wakeup["lateness_ns"]
            own = Stretches([(wakeup["expiry_ns"], end_ns)])
            ns = sum(length_ns(own.within(*pair)) for pair in delay.covered)
            if ns > most_ns:
                best, most_ns = wakeup, ns
        return best, most_ns
