"""Systems of `tardy sim`, each family with a reason of its own to be late: what `bench/whatif-sims.py` predicts for.

A family is a function of a random number generator, which chooses its numbers,
    and yields a system and the changes that
are asked for beside those that `tardy whatif` offers by itself.
"""

from simulated_changes import thread

GRID = {"sleep-grid": {"period": "1ms"}}


def grid(period, phase=None):
    one = {"period": period}
    if phase:
        one["phase"] = phase
    return {"sleep-grid": one}


def us(rng, low, high):
    return f"{rng.randint(low, high)}us"


def pick(rng, *of):
    return rng.choice(of)


HLT = {"name": "HLT", "exit": "lognormal 6us 0.4", "latency": "15us"}


def victim(policy="fifo:50", program=None, cpus=(0,), **more):
    program = program or [GRID, {"run": "20us"}]
    more = {"cpus": list(cpus), **more} if cpus else more
    return thread("victim", program, policy=policy, watched=True, **more)


def system(name, machine, kernel, threads, **more):
    machine = {"like": "x86-vm", "theft": {"every": "1000s", "length": "1ns"}, **machine}
    if machine["like"] == "x86-vm":
        machine.setdefault("idle-states", [HLT])
    else:
        machine.pop("theft")
    kernel = {"preemption": "full", "softirqs": "irq-tail", "hz": 250, **kernel}
    return {"name": name, "machine": machine, "kernel": kernel, "thread": threads, **more}


def storm(count, to="1ms", **more):
    return thread("storm", [{"sleep": f"0us..{to}"}, {"run": "500ns"}], count=count, **more)


def nice(rng):
    hogs = [
        thread(f"job{at}", [{"run": f"exponential {rng.randint(1, 4)}ms"},
                            {"sleep": f"exponential {rng.randint(3, 9)}ms"}],
               policy=f"other:{rng.choice([-10, -5, 0, 5, 10, 19])}", cpus=[0])
        for at in "abc"
    ]
    return system("nice", {"cpus": 2}, {}, [victim("other", slack="1ns"), *hogs]), [
        "prio(victim)=fifo:50", "prio(joba)=other:19", "remove(jobb)", "affinity(jobc)=1", "prio(victim)=other:-20",
    ]


def round_robin(rng):
    level = rng.randint(10, 60)
    equals = thread("equal", [{"run": us(rng, 200, 900)}, {"sleep": f"exponential {rng.randint(3, 6)}ms"}],
                    policy=f"rr:{level}", count=2, cpus=[0])
    return system("round robin", {"cpus": 2}, {"hz": 1000}, [victim(f"rr:{level}"), equals]), [
        f"prio(victim)=rr:{level + 1}", "remove(equal)", "affinity(equal)=1", f"prio(equal)=fifo:{level - 5}",
        "more(equal)=1", "slower(equal)=2",
    ]


def deadline(rng):
    frame = thread("frame", [grid(pick(rng, "4ms", "5ms", "7ms")), {"run": f"{rng.randint(300, 900)}us..1500us"}],
                   policy="deadline:2ms", cpus=[0])
    return system("deadline", {"cpus": 2}, {}, [victim("fifo:80"), frame, storm(8)]), [
        "remove(frame)", "affinity(frame)=1", "prio(frame)=fifo:10", "remove(storm)",
    ]


def lock(rng):
    hold = us(rng, 20, 150)
    program = [GRID, {"run": "5us"}, {"lock": "m"}, {"run": "5us"}, {"unlock": "m"}]
    holder = thread("holder", [{"sleep": us(rng, 300, 900)}, {"lock": "m"}, {"run": hold}, {"unlock": "m"}], cpus=[0])
    busy = thread("busy", [{"run": us(rng, 300, 900)}, {"sleep": us(rng, 800, 2000)}], policy="fifo:20", cpus=[0])
    return system("lock", {"cpus": 2}, {}, [victim("fifo:50", program), holder, busy]), [
        "remove(holder)", "affinity(holder)=1", "remove(busy)", "prio(holder)=fifo:40", "affinity(busy)=1",
    ]


def pi_lock(rng):
    hold = us(rng, 20, 150)
    program = [GRID, {"run": "5us"}, {"pi-lock": "m"}, {"run": "5us"}, {"pi-unlock": "m"}]
    low = thread("low", [{"sleep": us(rng, 300, 900)}, {"pi-lock": "m"}, {"run": hold}, {"pi-unlock": "m"}], cpus=[0])
    middle = thread("middle", [{"run": us(rng, 300, 900)}, {"sleep": us(rng, 800, 2000)}], policy="fifo:20", cpus=[0])
    above = thread("above", [grid("3ms"), {"run": us(rng, 50, 300)}], policy="fifo:60", cpus=[0])
    return system("pi lock", {"cpus": 2}, {"preemption": "rt", "softirqs": "ktimers"},
                  [victim("fifo:50", program), low, middle, above]), [
        "remove(above)", "affinity(above)=1", "remove(middle)", "remove(low)", "prio(above)=fifo:40",
    ]


def chain(rng):
    """Who wakes whom: a client wakes a server, which works for it and wakes it."""
    client = victim("other", [{"sleep": us(rng, 300, 900)}, {"run": "10us"}, {"wake": "server"}, "wait",
                              {"run": "5us"}],
                    slack="1us")
    server = thread("server", ["wait", {"run": us(rng, 20, 80)}, {"wake": "victim"}], cpus=[0])
    hog = thread("hog", [{"run": us(rng, 500, 2500)}, {"sleep": us(rng, 3000, 6000)}], cpus=[0])
    return system("chain", {"cpus": 2}, {}, [client, server, hog]), [
        "remove(hog)", "affinity(hog)=1", "prio(victim)=fifo:50", "prio(server)=fifo:40", "affinity(server)=1",
        "prio(hog)=idle",
    ]


def ring(rng):
    """Three threads that wake each other in turn, on two CPUs, beside a periodic one."""
    work = us(rng, 10, 60)
    ring = [
        thread("alpha", [{"run": work}, {"wake": "beta"}, "wait"], cpus=[0]),
        thread("beta", ["wait", {"run": work}, {"wake": "gamma"}], cpus=[1]),
        thread("gamma", ["wait", {"run": work}, {"sleep": us(rng, 20, 120)}, {"wake": "alpha"}], cpus=[0],
               slack="1us"),
    ]
    return system("ring", {"cpus": 2}, {}, [victim("other", slack="1ns"), *ring]), [
        "prio(victim)=fifo:50", "affinity(gamma)=1", "affinity(alpha)=1", "slack(gamma)=1ns",
    ]


def packets(rng):
    nic = {"name": "eth0", "cpu": 0, "every": f"exponential {rng.randint(60, 200)}us", "handler": "lognormal 3us 0.3",
           "softirq": f"lognormal {rng.randint(6, 25)}us 0.8"}
    return system("packets", {"cpus": 2}, {}, [victim("fifo:50"), storm(4)], device=[nic]), [
        "remove(irq 24)", "affinity(irq 24)=1", "slower(irq 24)=2", "remove(storm)",
    ]


def ksoftirqd(rng):
    nic = {"name": "eth0", "cpu": 0, "every": f"exponential {rng.randint(80, 250)}us", "handler": "lognormal 2us 0.3",
           "softirq": f"lognormal {rng.randint(10, 40)}us 0.6"}
    return system("ksoftirqd", {"cpus": 2}, {"preemption": "rt", "softirqs": "ksoftirqd"},
                  [victim("other", slack="1ns")], device=[nic]), [
        "remove(irq 24)", "affinity(irq 24)=1", "slower(irq 24)=3", "prio(victim)=fifo:50", "prio(ksoftirqd)=idle",
    ]


def ktimers(rng):
    many = rng.randint(8, 25)
    return system("ktimers", {"cpus": 2}, {"preemption": "rt", "softirqs": "ktimers"},
                  [victim("other", slack="1ns"), storm(many, cpus=[0]), thread("beat", [grid("700us"),
                                                                                        {"run": "15us"}],
                   policy="fifo:30", cpus=[0])], timers="softirq-expires-next-after"), [
        "prio(victim)=fifo:50", "prio(storm)=fifo:1", "remove(storm)", "more(storm)=10", "timers=hardirq",
            "remove(beat)",
    ]


def deep_idle(rng):
    states = [
        {"name": "C1", "exit": "lognormal 2us 0.2", "latency": "2us", "residency": "0ns"},
        {"name": "C3", "exit": f"lognormal {rng.randint(20, 40)}us 0.2", "latency": "50us", "residency": "100us"},
        {"name": "C6", "exit": f"lognormal {rng.randint(80, 160)}us 0.3", "latency": "200us", "residency": "600us"},
    ]
    period = pick(rng, "500us", "1ms", "2ms")
    other = thread("other", [{"sleep": f"exponential {rng.randint(1, 3)}ms"}, {"run": us(rng, 20, 200)}], cpus=[0])
    return system("deep idle", {"cpus": 2, "idle-states": states}, {},
                  [victim("fifo:50", [grid(period), {"run": "20us"}]), other]), [
        "idle-latency=60us", "idle-latency=10us", "idle-latency=0us", "remove(other)",
    ]


def bandwidth(rng):
    quota = rng.randint(20, 45)
    web = thread("web", [{"sleep": f"exponential {rng.randint(2, 5)}ms"},
                         {"run": f"exponential {rng.randint(1, 3)}ms"}],
                 count=2, group="web", cpus=[0])
    return system("bandwidth", {"cpus": 2}, {}, [victim("other", slack="1ns"), web],
                  group=[{"name": "web", "quota": f"{quota}ms", "period": "100ms"}]), [
        "cpu-max(web)=10ms/100ms", "remove(web)", "affinity(web)=1", "prio(victim)=fifo:50", "prio(web)=idle",
    ]


def own_bandwidth(rng):
    work = rng.randint(250, 400)
    return system("own bandwidth", {"cpus": 2}, {},
                  [victim("other", [GRID, {"run": f"{work}us"}], slack="1ns", group="app"),
                   thread("hog", [{"run": us(rng, 300, 900)}, {"sleep": us(rng, 2000, 4000)}], cpus=[0])],
                  group=[{"name": "app", "quota": f"{work * 9 // 100}ms", "period": "100ms"}]), [
        "cpu-max(victim)=off", "remove(hog)", "prio(victim)=fifo:50",
    ]


def sessions(rng):
    """An ordinary thread in a session of its own, beside a session with several that want all of the CPU."""
    work = rng.randint(50, 400)
    build = thread("build", [{"run": f"exponential {rng.randint(2, 12)}ms"}, {"sleep": us(rng, 50, 400)}],
                   count=rng.randint(2, 4), group="/build", cpus=[0])
    return system("sessions", {"cpus": 2}, {},
                  [victim("other", [GRID, {"run": f"{work}us"}], slack="1ns", group="/app"), build],
                  group=[{"name": "/app"}, {"name": "/build"}]), [
        "prio(victim)=fifo:50", "cpu-weight(victim)=1000", "cpu-weight(/build)=10", "remove(build)",
        "prio(build)=idle", "affinity(build)=1",
    ]


def services(rng):
    """The thread's group has a thread that wants all of the CPU, too; other groups are in another one, by weight."""
    groups = [{"name": "/system"}, {"name": "/system/db", "within": "/system", "weight": rng.choice([50, 100, 400])},
              {"name": "/system/web", "within": "/system"}, {"name": "/app", "weight": rng.choice([100, 200])}]
    worker = [{"run": f"exponential {rng.randint(1, 6)}ms"}, {"sleep": us(rng, 200, 3000)}]
    return system("services", {"cpus": 2}, {},
                  [victim("other", [grid(pick(rng, "1ms", "2ms")), {"run": us(rng, 50, 300)}], slack="1ns",
                          group="/app", cpus=None),
                   thread("job", worker, group="/app"),
                   thread("db", worker, count=2, group="/system/db"),
                   thread("web", worker, count=3, group="/system/web")], group=groups), [
        "prio(victim)=fifo:50", "cpu-weight(/app)=1000", "cpu-weight(/system)=20", "remove(web)", "remove(db)",
        "remove(job)", "prio(job)=other:19",
    ]


def throttling(rng):
    spin = thread("spinner", [{"run": f"{rng.randint(5, 20)}ms"}, {"sleep": us(rng, 200, 800)}], policy="fifo:40",
                  cpus=[0])
    return system("rt throttling", {"cpus": 2}, {"rt-runtime": "95ms", "rt-period": "100ms"},
                  [victim("fifo:50"), spin]), [
        "rt-runtime=off", "remove(spinner)", "affinity(spinner)=1", "prio(spinner)=other",
    ]


def theft(rng):
    stolen = {"every": f"exponential {rng.randint(5, 20)}ms", "length": f"lognormal {rng.randint(100, 400)}us 0.8"}
    hog = thread("hog", [{"run": us(rng, 200, 900)}, {"sleep": us(rng, 2000, 5000)}], policy="fifo:60", cpus=[0])
    return system("theft", {"cpus": 2, "theft": stolen}, {}, [victim("fifo:50"), hog, storm(5)]), [
        "no-theft", "remove(hog)", "affinity(hog)=1", "remove(storm)",
    ]


def slacks(rng):
    storms = [thread(f"sleeper{at}", [{"sleep": f"0us..{rng.randint(1, 3)}ms"}, {"run": "2us"}], slack=slack, count=5)
              for at, slack in (("x", "1ns"), ("y", "50us"), ("z", us(rng, 200, 900)))]
    return system("slacks", {"cpus": 2}, {}, [victim("other", slack=us(rng, 30, 200)), *storms]), [
        "slack(victim)=1ns", "slack(sleeperz)=1ns", "slack(sleeperx)=1ms", "remove(sleepery)", "prio(victim)=fifo:50",
    ]


def slow_device(rng):
    return system("slow device", {"cpus": 1, "program": f"lognormal {rng.randint(4, 12)}us 0.2"}, {},
                  [victim("fifo:50"), storm(rng.randint(5, 15))]), [
        "more(storm)=10", "remove(storm)", "slower(storm)=2", "device=500ns",
    ]


def irq_storm(rng):
    noisy = {"name": "uart", "cpu": 0, "every": f"exponential {rng.randint(20, 50)}us",
             "handler": f"lognormal {rng.randint(3, 9)}us 0.4"}
    disk = {"name": "nvme", "cpu": 0, "every": "exponential 900us", "handler": f"lognormal {rng.randint(10, 25)}us 0.3"}
    return system("irq storm", {"cpus": 4}, {}, [victim("fifo:90")], device=[noisy, disk]), [
        "remove(irq 24)", "affinity(irq 24)=3", "slower(irq 24)=4", "remove(irq 25)", "affinity(irq 25)=2",
    ]


def several(rng):
    many = [thread("victim", [grid(period, "0us..5ms"), {"run": us(rng, 20, 60)}], policy="fifo:70", watched=True,
                   cpus=[cpu])
            for period, cpu in (("1ms", 0), ("1500us", 0), ("2ms", 1), ("700us", 1))]
    for at, one in enumerate(many):
        one["name"] = f"victim-{at}"
    hogs = [thread(f"hog{at}", [{"run": us(rng, 200, 800)}, {"sleep": us(rng, 2000, 5000)}], policy="fifo:80",
                   cpus=[cpu])
            for at, cpu in (("a", 0), ("b", 1))]
    return system("several victims", {"cpus": 4}, {}, [*many, *hogs]), [
        "remove(hoga)", "affinity(hogb)=3", "affinity(hoga)=2-3", "prio(hogb)=other",
    ]


def ticks(rng):
    hz = pick(rng, 100, 300, 1000)
    return system("ticks", {"cpus": 2, "tick": f"lognormal {rng.randint(5, 25)}us 0.5"}, {"hz": hz},
                  [victim("fifo:50", [grid(pick(rng, "900us", "1100us")), {"run": "20us"}]), storm(6),
                   thread("busy", [{"run": "100s"}], cpus=[0])]), [
        "remove(busy)", "remove(storm)", "affinity(busy)=1", "more(storm)=6",
    ]


def eight_cpus(rng):
    work = thread("work", [{"sleep": f"exponential {rng.randint(1, 3)}ms"},
                           {"run": f"exponential {rng.randint(1, 2)}ms"}],
                  count=rng.randint(9, 13))
    return system("eight CPUs", {"cpus": 8}, {}, [victim("other", cpus=None, slack="1ns"), work]), [
        "prio(victim)=fifo:50", "more(work)=8", "remove(work)", "isolate=7", "affinity(work)=0-6",
    ]


def celeron(rng):
    return system("celeron", {"like": "piii-celeron-333", "cpus": 1}, {"hz": 1000},
                  [victim("fifo:50", [grid("2ms"), {"run": us(rng, 50, 200)}]), storm(rng.randint(5, 12), "4ms"),
                   thread("above", [grid("5ms"), {"run": us(rng, 200, 800)}], policy="fifo:60")]), [
        "remove(storm)", "remove(above)", "prio(above)=fifo:40", "more(storm)=8", "slower(above)=2",
    ]


def zynq(rng):
    many = rng.randint(6, 20)
    return system("zynq", {"like": "zynq-7020", "cpus": 2}, {"preemption": "rt", "softirqs": "ktimers"},
                  [victim("fifo:98", [grid("500us"), {"run": "10us"}], cpus=[1]), storm(many, policy="fifo:1")],
                  timers="softirq-expires-next-after"), [
        "prio(storm)=other", "remove(storm)", "more(storm)=10", "timers=hardirq", "slower(storm)=2", "isolate=1",
    ]


def armv7(rng):
    many = rng.randint(5, 20)
    return system("armv7", {"like": "counted-armv7"}, {"preemption": "rt", "softirqs": "ktimers"},
                  [victim("fifo:98"), storm(many)], timers="softirq-expires-next-after"), [
        "prio(storm)=fifo:1", "remove(storm)", "more(storm)=10", "timers=hardirq",
    ]


def no_preemption(rng):
    model = pick(rng, "none", "voluntary", "lazy")
    work = thread("syscalls", [{"run": us(rng, 50, 200)}, {"kernel": us(rng, 100, 700)}, {"sleep": us(rng, 300,
                                                                                                      900)}],
                  cpus=[0])
    return system("no preemption", {"cpus": 2}, {"preemption": model}, [victim("fifo:50"), work]), [
        "remove(syscalls)", "affinity(syscalls)=1", "slower(syscalls)=2", "preempt=full",
    ]


def irqs_off(rng):
    driver = thread("driver", [{"run": us(rng, 100, 300)}, {"irqs-off": us(rng, 30, 200)}, {"sleep": us(rng, 500,
                                                                                                        1500)}],
                    cpus=[0])
    return system("irqs off", {"cpus": 2}, {"tells-sections": False}, [victim("fifo:50"), driver]), [
        "remove(driver)", "affinity(driver)=1", "slower(driver)=2", "prio(driver)=idle",
    ]


def preempt_off(rng):
    reader = thread("reader", [{"run": us(rng, 100, 300)}, {"preempt-off": us(rng, 30, 200)}, {"sleep": us(rng,
                                                                                                           500,
                                                                                                               1500)}],
                    cpus=[0], count=2)
    return system("preempt off", {"cpus": 2}, {}, [victim("fifo:50"), reader]), [
        "remove(reader)", "affinity(reader)=1", "slower(reader)=2", "more(reader)=2",
    ]


def aligned(rng):
    """Periodic threads that begin together: their timers expire in one interrupt, every time."""
    period = pick(rng, "2ms", "5ms")
    beat = thread("beat", [grid(period), {"run": us(rng, 5, 40)}], policy="fifo:60", count=rng.randint(4, 9),
                  cpus=[0])
    return system("aligned", {"cpus": 2}, {}, [victim("fifo:50"), beat]), [
        "remove(beat)", "affinity(beat)=1", "prio(beat)=fifo:40", "prio(victim)=fifo:61", "slower(beat)=2",
    ]


def rate_monotonic(rng):
    tasks = [thread(f"task{at}", [grid(period, "0us..3ms"), {"run": us(rng, low, high)}], policy=f"fifo:{prio}",
                    cpus=[0])
             for at, period, low, high, prio in (("a", "1700us", 50, 250, 80), ("b", "3100us", 200, 500, 70),
                                                 ("c", "9700us", 500, 1500, 60))]
    return system("rate monotonic", {"cpus": 2}, {}, [victim("fifo:50"), *tasks]), [
        "prio(victim)=fifo:75", "remove(taska)", "remove(taskc)", "affinity(taskb)=1", "prio(taskc)=fifo:40",
    ]


def bursts(rng):
    """What hardly ever happens: a job every few hundred ms, which runs for long."""
    job = thread("cron", [{"sleep": f"exponential {rng.randint(80, 200)}ms"},
                          {"run": f"exponential {rng.randint(3, 8)}ms"}],
                 policy="fifo:60", cpus=[0])
    return system("bursts", {"cpus": 2}, {}, [victim("fifo:50"), job, storm(6)]), [
        "remove(cron)", "affinity(cron)=1", "prio(cron)=other", "slower(cron)=2",
    ]


def far_wakes(rng):
    """A thread on one CPU wakes the victim on another: interrupts between them."""
    source = thread("source", [{"sleep": f"exponential {rng.randint(300, 900)}us"}, {"run": "5us"},
                               {"wake": "victim"}],
                    policy="fifo:40", cpus=[1])
    hog = thread("hog", [{"run": us(rng, 200, 900)}, {"sleep": us(rng, 1000, 4000)}], policy="fifo:60", cpus=[0])
    return system("far wakes", {"cpus": 2, "ipi": "lognormal 4us 0.3", "ipi-send": us(rng, 1, 3)}, {},
                  [victim("fifo:50", ["wait", {"run": "20us"}]), source, hog]), [
        "remove(hog)", "affinity(hog)=1", "prio(hog)=other", "slower(source)=2",
    ]


def rearming(rng):
    mover = thread("mover", [{"rearm": "300us"}, {"run": us(rng, 15, 40)}], cpus=[0])
    return system("rearming", {"cpus": 2, "program": "lognormal 2us 0.2"}, {}, [victim("other", slack="1ns"),
                                                                                mover]), [
        "remove(mover)", "affinity(mover)=1", "prio(victim)=fifo:50", "prio(mover)=other:19",
    ]


def everything(rng):
    nic = {"name": "eth0", "cpu": 0, "every": "exponential 300us", "handler": "lognormal 3us 0.3",
           "softirq": f"lognormal {rng.randint(5, 15)}us 0.8"}
    hog = thread("hog", [{"run": us(rng, 300, 900)}, {"sleep": us(rng, 4000, 9000)}], policy="fifo:60", cpus=[0])
    states = [{"name": "C1", "exit": "lognormal 2us 0.2", "latency": "2us"},
              {"name": "C6", "exit": "lognormal 40us 0.3", "latency": "90us", "residency": "300us"}]
    stolen = {"every": "exponential 30ms", "length": "lognormal 150us 0.8"}
    return system("everything", {"cpus": 4, "idle-states": states, "theft": stolen}, {},
                  [victim("fifo:50"), hog, storm(rng.randint(5, 15)),
                   thread("batch", [{"run": "exponential 2ms"}, {"sleep": "exponential 3ms"}], count=3)],
                       device=[nic]), [
        "remove(hog)", "remove(irq 24)", "idle-latency=10us", "remove(storm)", "isolate=0",
    ]


FAMILIES = {
    one.__name__: one
    for one in (
        nice, round_robin, deadline, lock, pi_lock, chain, ring, packets, ksoftirqd, ktimers, deep_idle, bandwidth,
        own_bandwidth, sessions, services, throttling, theft, slacks, slow_device, irq_storm, several, ticks, eight_cpus, celeron,
            zynq, armv7,
        no_preemption, irqs_off, preempt_off, aligned, rate_monotonic, bursts, far_wakes, rearming, everything,
    )
}
