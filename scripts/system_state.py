"""What of a system a program could leave changed: settings, kernel threads, and what the kernel holds for a process.

`Settings` are values under names; `left(before)` tells which differ from an earlier look. What other processes do at
the same time shows too: so nothing is said of what a living process holds, and what differs is looked at again.
"""

import ctypes
import glob
import os
import re
import struct
import time

# Seconds for which what differs may take to go: the kernel takes programs apart after a grace period, and what a
# keeper ends has to be scheduled for it.
SETTLES_AFTER = 20

# Files that hold a setting. What counts or changes by itself is left out below.
FILES = (
    "/proc/sys/kernel/*", "/proc/sys/kernel/*/*", "/proc/sys/vm/*", "/proc/sys/fs/*", "/proc/sys/net/core/*",
    "/proc/irq/*/smp_affinity", "/proc/irq/default_smp_affinity", "/etc/sysctl.d/*",
    "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/cpu*/online",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable", "/sys/devices/system/cpu/cpuidle/current_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
    "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
    "/sys/devices/virtual/workqueue/cpumask", "/sys/devices/virtual/workqueue/*/cpumask",
    "/sys/module/haltpoll/parameters/*", "/sys/module/kvm/parameters/halt_poll_ns",
    "/sys/kernel/mm/transparent_hugepage/*", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/sys/kernel/mm/ksm/run", "/sys/kernel/debug/sched/preempt", "/sys/kernel/debug/sched/features",
    "/sys/kernel/tracing/tracing_on", "/sys/kernel/tracing/current_tracer", "/sys/kernel/tracing/trace_clock",
    "/sys/kernel/tracing/set_event", "/sys/kernel/tracing/kprobe_events", "/sys/kernel/tracing/uprobe_events",
    "/sys/fs/cgroup/**/cpu.max", "/sys/fs/cgroup/**/cpu.weight", "/sys/fs/cgroup/**/cpuset.cpus",
    "/sys/fs/cgroup/**/cpuset.cpus.partition",
)
CHANGES_BY_ITSELF = re.compile(
    r"/proc/sys/(kernel/(random|ns_last_pid|pty|keys|usermodehelper|seccomp)|fs/(\w+-state|\w+-nr|aio-nr|quota))"
)

# Of bpf(2). Maps go with the programs that use them.
BPF_PROG_GET_NEXT_ID, BPF_LINK_GET_NEXT_ID = 11, 31
SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read(1 << 16)
    except OSError:
        return None


def files():
    for pattern in FILES:
        for path in glob.iglob(pattern, recursive=True):
            if not CHANGES_BY_ITSELF.match(path) and os.path.isfile(path):
                text = read(path)
                if text is not None:
                    yield path, text.strip()


def kernel_threads():
    """Policy, priority, niceness and affinity of those that stay: workers come and go."""
    for path in glob.iglob("/proc/[0-9]*/stat"):
        head, _, rest = (read(path) or "").rpartition(") ")
        fields = rest.split()
        # Those of kthreadd, by proc_pid_stat(5): parent, nice, priority, policy.
        if len(fields) < 39 or fields[1] != "2" or "(kworker" in head:
            continue
        thread, name = head.split(" (", 1)
        try:
            cpus = sorted(os.sched_getaffinity(int(thread)))
        except OSError:
            continue
        yield f"thread {thread} {name}", f"nice {fields[16]} prio {fields[37]} policy {fields[38]} cpus {cpus}"


def latency():
    if is_open("/dev/cpu_dma_latency"):
        return
    try:
        file = os.open("/dev/cpu_dma_latency", os.O_RDONLY)
    except OSError:
        return
    value = os.read(file, 4)
    os.close(file)
    yield "/dev/cpu_dma_latency", str(struct.unpack("i", value)[0])


def is_open(device):
    """Whether a living process has it open, which is its own wish and goes with it."""
    for path in glob.iglob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(path) == device:
                return True
        except OSError:
            pass
    return False


def ids(command):
    """The ids of all BPF programs or links."""
    libc, attributes, found = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(128), []
    while SYS_BPF:
        if libc.syscall(SYS_BPF, command, attributes, 12) != 0:
            break
        found.append(struct.unpack_from("I", attributes.raw, 4)[0])
        struct.pack_into("I", attributes, 0, found[-1])
    return found


def held():
    """Those that a living process has open."""
    found = {"prog_id": set(), "link_id": set()}
    for path in glob.iglob("/proc/[0-9]*/fdinfo/*"):
        for name, number in re.findall(r"^(prog_id|link_id):\s*(\d+)", read(path) or "", re.M):
            found[name].add(int(number))
    return found


def kernel_objects():
    theirs = held()
    for name, command in (("prog_id", BPF_PROG_GET_NEXT_ID), ("link_id", BPF_LINK_GET_NEXT_ID)):
        for number in ids(command):
            if number not in theirs[name]:
                yield f"bpf {name} {number}", "is there and nobody has it open"
    for path in glob.iglob("/sys/kernel/tracing/instances/*"):
        maker = re.search(r"(\d+)", os.path.basename(path))
        if not (maker and os.path.exists(f"/proc/{maker[1]}")):
            yield path, "is there"
    for path in glob.iglob("/sys/class/net/*"):
        yield path, "is there"
    for line in (read("/proc/mounts") or "").splitlines():
        yield f"mount {line}", "is there"


def orphans():
    """Processes of tardy's that nobody waits for."""
    for path in glob.iglob("/proc/[0-9]*/stat"):
        head, _, rest = (read(path) or "").rpartition(") ")
        name, fields = head.partition("(")[2], rest.split()
        if name.startswith(("tardy", "storm-")) and fields[0] != "Z" and fields[1] == "1":
            yield f"process {head.split()[0]} {name}", "is an orphan"


def look():
    """All of it, by name."""
    state = {}
    for part in (files, kernel_threads, latency, kernel_objects, orphans):
        state.update(part())
    return state


def differences(before):
    now = look()
    # A kernel thread or a file that has gone is no setting; what is new may be.
    return [f"{name} was {before.get(name, 'not there')!r} and is {value!r}"[:300]
            for name, value in now.items() if before.get(name) != value and (name in before or is_new(name))]


def is_new(name):
    begins = ("bpf ", "mount ", "process ", "/sys/kernel/tracing/instances/", "/sys/class/net/", "/etc/sysctl.d/")
    return name.startswith(begins)


def left(before):
    """What differs from `before` and stays so."""
    until = time.monotonic() + SETTLES_AFTER
    while True:
        different = differences(before)
        if not different or time.monotonic() > until:
            return different
        time.sleep(0.2)
