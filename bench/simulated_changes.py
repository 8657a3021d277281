"""Systems of `tardy sim` as dictionaries: how they are written, and what a change of `tardy whatif` makes of them.

A change is made here in the system's own file. What `tardy whatif` predicts of it comes from a recording alone.
"""

import copy
import json
import re

# The kernel's timer slack of an ordinary thread (init/init_task.c), which a real-time thread has again when it
# becomes ordinary.
DEFAULT_SLACK = "50us"

# The line of the first simulated device; the others follow.
FIRST_LINE = 24

POLL = {"name": "POLL", "exit": "0ns", "latency": "0ns", "polls": True}


class NotMade(Exception):
    """That is not how such a change is made in a system's file."""


def value(it):
    """A value as TOML."""
    if isinstance(it, dict):
        return "{ " + ", ".join(f"{key} = {value(one)}" for key, one in it.items()) + " }"
    if isinstance(it, list):
        return "[" + ", ".join(value(one) for one in it) + "]"
    return json.dumps(it)


def written(system, span, seed):
    """A system as a file."""
    lines = [f'title = {value(system["name"])}', f'span = "{span}ms"', f"seed = {seed}"]
    lines.append(f"policies = [{value(system.get('timers', 'hardirq'))}]")
    for table in ("machine", "kernel"):
        lines += ["", f"[{table}]"]
        lines += [f"{key} = {value(one)}" for key, one in system[table].items()]
    for table in ("thread", "device", "group"):
        for entry in system.get(table, []):
            lines += ["", f"[[{table}]]"]
            lines += [f"{key} = {value(one)}" for key, one in entry.items()]
    return "\n".join(lines) + "\n"


def thread(name, program, **more):
    return {"name": name, "program": program, **{key.replace("_", "-"): one for key, one in more.items()}}


def scaled(cost, times):
    """A cost that is so many times as large."""
    number = re.compile(r"(?<![\w])(\d+(?:\.\d+)?)(ns|us|ms|s)\b")
    return number.sub(lambda found: f"{float(found[1]) * times:g}{found[2]}", cost)


def is_named(one, name):
    return one["name"] == name or f"{name}-" == one["name"][: len(name) + 1]


def meant(system, whom):
    """The threads that a change is for."""
    if whom == "victim":
        found = [one for one in system["thread"] if one.get("watched")]
    else:
        found = [one for one in system["thread"] if is_named(one, whom)]
    if not found:
        raise NotMade(f"no thread {whom}")
    return found


def wakes(one):
    """Whom a thread wakes."""
    return [step["wake"] for step in one["program"] if isinstance(step, dict) and "wake" in step]


def device(system, line):
    at = int(line) - FIRST_LINE
    devices = system.get("device", [])
    if not 0 <= at < len(devices):
        raise NotMade(f"no device of line {line}")
    return devices[at]


def cpu_list(text):
    cpus = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def is_realtime(policy):
    return not policy.startswith("other")


def set_policy(one, policy):
    was = one.get("policy", "other")
    one["policy"] = policy
    if is_realtime(was) and not is_realtime(policy):
        one["slack"] = DEFAULT_SLACK


def sleeps_scaled(program, times):
    for step in program:
        if isinstance(step, dict):
            for name, one in step.items():
                if name == "sleep":
                    step[name] = scaled(one, times)
                elif name == "sleep-grid":
                    step[name] = {key: scaled(part, times) for key, part in one.items()}


def make_one(system, change):
    name, whom, to = re.fullmatch(r"([a-z-]+)(?:\(([^)]*)\))?(?:=(.*))?", change).groups()
    line = whom.removeprefix("irq ") if whom and whom.startswith("irq ") else None
    cpus = system["machine"].get("cpus", 1)
    if name == "slack":
        for one in meant(system, whom):
            one["slack"] = to
    elif name == "prio":
        for one in meant(system, whom):
            set_policy(one, to)
    elif name == "remove" and line:
        # Those behind it keep their lines.
        device(system, line)["every"] = "1000s"
    elif name == "remove":
        gone = meant(system, whom)
        if any(is_named(one, woken) for one in gone for other in system["thread"] for woken in wakes(other)):
            raise NotMade("others wake it")
        if any(wakes(one) for one in gone):
            raise NotMade("it wakes others")
        system["thread"] = [one for one in system["thread"] if one not in gone]
    elif name == "affinity" and line:
        device(system, line)["cpu"] = cpu_list(to)[0]
    elif name == "affinity":
        for one in meant(system, whom):
            one.pop("per-cpu", None)
            one["cpus"] = cpu_list(to)
    elif name == "isolate":
        isolated = cpu_list(to)
        others = [cpu for cpu in range(cpus) if cpu not in isolated]
        for one in system["thread"]:
            if one.get("per-cpu") and not one.get("watched"):
                raise NotMade("one of each CPU would have to move")
            left = [cpu for cpu in one.get("cpus", range(cpus)) if cpu not in isolated]
            one["cpus"] = isolated if one.get("watched") else left or others
        for one in system.get("device", []):
            if one.get("cpu", 0) in isolated:
                one["cpu"] = others[0]
    elif name == "idle-latency":
        limit = nanoseconds(to)
        states = system["machine"].get("idle-states")
        if not states:
            raise NotMade("no idle states of its own")
        left = [one for one in states if one.get("polls") or nanoseconds(one["latency"]) <= limit]
        system["machine"]["idle-states"] = left or [POLL]
    elif name == "timers":
        system["timers"] = to
    elif name == "more":
        one = meant(system, whom)[0]
        one["count"] = one.get("count", 1) + int(to)
    elif name == "slower" and line:
        one = device(system, line)
        one["every"] = scaled(one["every"], float(to))
    elif name == "slower":
        for one in meant(system, whom):
            sleeps_scaled(one["program"], float(to))
    elif name == "rt-runtime":
        for key in ("rt-runtime", "rt-period"):
            system["kernel"].pop(key, None)
        if to != "off":
            system["kernel"]["rt-runtime"], system["kernel"]["rt-period"] = to.split("/")
    elif name == "cpu-max" and to == "off":
        for one in meant(system, whom):
            if not one.pop("group", None):
                raise NotMade("it has no group")
    elif name == "cpu-max":
        quota, period = to.split("/")
        system.setdefault("group", []).append({"name": "changed", "quota": quota, "period": period})
        for one in meant(system, whom):
            one["group"] = "changed"
    elif name == "cpu-weight":
        names = [whom] if whom.startswith("/") else [one.get("group") for one in meant(system, whom)]
        groups = [group for group in system.get("group", []) if group["name"] in names]
        if not groups:
            raise NotMade("it has no group")
        for group in groups:
            group["weight"] = int(to)
    elif name == "device":
        system["machine"]["program"] = to
    elif name == "no-theft":
        system["machine"]["theft"] = {"every": "1000s", "length": "1ns"}
    elif name == "preempt":
        system["kernel"]["preemption"] = to
    else:
        raise NotMade(change)


def nanoseconds(time):
    number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms|s)?", time).groups()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, None: 1}[unit]


def made(system, changes):
    """The system with changes, one or several joined by " + "."""
    system = copy.deepcopy(system)
    for change in changes.split(" + "):
        make_one(system, change)
    return system
