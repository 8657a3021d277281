//! Systems as files: those that come with the program, impossible ones, and any text at all.
#![allow(missing_docs)]

use tardy_sim::file::{MACHINES, SYSTEMS, Template, Values, read};
use tardy_sim::{
    ColdStep, Coldness, Cost, Entity, Operation, Policy, PollLimits, START_NS, Simulation, Stream,
};

#[test]
fn all_that_comes_with_the_program_can_be_simulated() {
    for known in SYSTEMS {
        let refused = |error| -> ! { panic!("{}: {error}", known.name) };
        let template = Template::parse(known.text).unwrap_or_else(|error| refused(error));
        for condition in &template.conditions {
            let file = template.file(condition, &Values::new());
            let file = file.unwrap_or_else(|error| refused(error));
            for policy in &file.policies {
                let mut simulation =
                    Simulation::new(&file.system_of(policy, 1), ()).expect("it can be");
                simulation.run_until(START_NS + 50_000_000);
                assert!(simulation.steps() > 500, "{} under {policy}", known.name);
            }
        }
        assert!(known.about().ends_with(['.', '?']), "{}", known.about());
    }
    for known in MACHINES {
        let text = format!("[machine]\nlike = \"{}\"", known.name);
        let file = read(&text).unwrap_or_else(|error| panic!("{}: {error}", known.name));
        assert_ne!(file.system.machine.switch, Cost::ZERO, "{}", known.name);
        assert!(!known.about().is_empty());
    }
}

#[test]
fn a_file_says_how_cpus_sleep() {
    let file = read(
        r#"
        [machine]
        halt-polling = { exit = "1us" }
        cold = { for = "50us", steps = [{ sleep = "1ms", factor = 2 }, { sleep = "0us", factor = 0.9, runs = 0.95 }] }
        [[machine.idle-states]]
        name = "HLT"
        exit = "5us"
        after = [{ sleep = "1ms", exit = "20us" }, { sleep = "100us", exit = "9us" }]
        latency = "30us"
        "#,
    );
    let machine = file.unwrap().system.machine;
    let polling = machine.halt_polling.unwrap();
    let limits = PollLimits { max_ns: 200_000, start_ns: 10_000, shrink: 2 };
    assert_eq!((polling.limits, polling.exit), (limits, Cost::Constant(1_000)));
    let step = |from_ns, work, runs| ColdStep { from_ns, work, runs };
    let steps = vec![step(0, 900, 950), step(1_000_000, 2_000, 1_000)];
    assert_eq!(machine.cold, Coldness { steps, for_ns: 50_000 });
    let [state] = &machine.idle_states[..] else { panic!("one state") };
    let after = [0, 100_000, 1_000_000].map(|ns| state.exit_after(ns).clone());
    assert_eq!(after, [5_000, 9_000, 20_000].map(Cost::Constant));
    let polls = read("[machine]\nhalt-polling = { exit = \"1us\" }");
    let error = polls.map_or_else(|error| error.to_string(), |_| "it is taken".to_owned());
    assert!(error.contains("halt-polling: a machine needs idle-states"), "{error}");
    for factor in ["0", "-1", "1e9", "nan"] {
        let cold = format!(
            "[machine]\ncold = {{ for = \"1us\", steps = [{{ sleep = \"1us\", factor = {factor} }}] }}"
        );
        let system = read(&cold).map(|file| file.system);
        let error = system.map_or_else(
            |error| error.to_string(),
            |system| system.check().expect_err("no CPU works so").to_string(),
        );
        assert!(error.contains("from 0.001 to 10"), "{factor}: {error}");
    }
}

#[test]
fn a_file_says_what_it_says() {
    let file = read(
        r#"
        span = "1.5s"
        runs = 3
        policies = ["deferred"]
        [machine]
        cpus = 2
        tick = "1us..3us"
        switch = { mixture = [[0.75, "1us"], [0.25, "exponential 2us"]] }
        [kernel]
        hz = 250
        [[thread]]
        name = "cyclic"
        per-cpu = true
        policy = "fifo:98"
        program = [{ sleep-grid = { period = "237us" } }, { wake = "other" }, { lock = "a" }]
        watched = true
        [[thread]]
        name = "other"
        cpus = [1]
        program = ["wait", { run = "lognormal 2us 0.3" }, { lock = "b" }, { lock = "a" }]
        "#,
    )
    .expect("it can be");
    assert_eq!(
        (file.span_ns, file.runs, &file.policies[..]),
        (1_500_000_000, 3, &["deferred".to_owned()][..])
    );
    let system = &file.system;
    assert_eq!(system.kernel.settings.jiffy_ns.get(), 4_000_000);
    assert_eq!(system.machine.tick, Cost::Uniform { from_ns: 1_000, to_ns: 3_000 });
    assert!(matches!(system.machine.switch, Cost::Mixture(_)));
    let [first, second, other] = &system.workload.threads[..] else { panic!("one per CPU") };
    assert_eq!((first.name.as_str(), first.cpus, second.cpus), ("cyclic-0", 0b01, 0b10));
    assert_eq!((first.policy, first.watched), (Policy::Fifo(98), true));
    assert_eq!(first.program[1], Operation::Wake(2));
    assert_eq!(
        (other.cpus, &other.program[2], &other.program[3]),
        (0b10, &Operation::Lock(1), &Operation::Lock(0))
    );
    assert_eq!(system.workload.locks, 2);
    assert_ne!(file.system_of("hardirq", 0).seed, file.system_of("hardirq", 1).seed);
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    for (text, line, why) in [
        ("\nruns = 0", 2, "from 1 to 10000 runs"),
        ("policies = []", 1, "at least one timer policy"),
        ("policies = [\n'hardirq',\n'best',\n]", 3, "no timer policy best"),
        ("[machine]\nlike = 'cray'", 2, "no machine cray"),
        ("seed = 1\n[machine]\ncpus = 0", 2, "1 to 64 CPUs, not 0"),
        ("[machine]\ncpus = 70000", 2, "70000"),
        ("[machine]\nswitch = '-5us'", 2, "negative"),
        ("[machine]\nswitch = '5'", 2, "has no unit"),
        ("[machine]\nswitch = '5 parsecs'", 2, "no unit of time"),
        ("[machine]\nswitch = '9us..1us'", 2, "a time is from 0"),
        ("[machine]\nswitch = '9999999s'", 2, "too long"),
        ("[machine]\nswitch = 5", 2, "invalid type"),
        ("[machine]\ntick = { mixture = [[0.5, '1us'], [0.4, '2us']] }", 2, "sum to 1"),
        ("[machine]\ntick = { mixture = [] }", 2, "parts are needed"),
        ("[machine]\ntick = { histogram-ns = [[5, 4, 1]] }", 2, "a time is from 0"),
        ("[machine]\nswich = '5us'", 2, "unknown field `swich`"),
        ("[kernel]\nrt-runtime = '0ms'", 2, "a runtime is above 0"),
        ("[[group]]\nname = '/a'\nquota = '1ms'\nperiod = '1us'", 1, "group /a: a quota"),
        ("[[group]]\nname = '/a'\nperiod = '1ms'", 1, "group /a: it has a period and no quota"),
        ("[[group]]\nname = '/a'\nweight = 0", 1, "group /a: a weight"),
        ("[[group]]\nname = '/a'\nwithin = '/a'", 1, "group /a: it is in /a"),
        ("[[group]]\nname = '/a'\n[[group]]\nname = '/a'", 3, "group /a: there is one"),
        ("[[group]]\nname = ''", 1, "group : it has no name"),
        ("[[thread]]\nname = 'a'\ngroup = '/b'\nprogram = []", 1, "there is no group /b"),
        ("[kernel]\nhz = 0", 2, "tick rate"),
        ("[kernel]\npreemption = 'some'", 2, "unknown variant `some`"),
        ("[kernel]\ntimer-thread-priority = 100", 2, "from 0 to 99"),
        ("[[thread]]\nname = 'a'\npolicy = 'fifo:0'\nprogram = []", 3, "from 1 to 99"),
        ("[[thread]]\nname = 'a'\nprogram = [{ wake = 'b' }]", 1, "thread a: it wakes b"),
        ("\n[[thread]]\nname = 'a'\ncpus = [1]\nprogram = []", 2, "thread a: there is no CPU 1"),
        ("[[thread]]\nname = 'a'\ncount = 4000000000\nprogram = []", 1, "at most 65536 threads"),
        (
            "[[thread]]\nname = 'a'\nprogram = [{ sleep-grid = { period = '0s' } }]",
            1,
            "cannot be 0",
        ),
        ("[[device]]\nname = 'e'\ncpu = 7\nevery = '1ms'\nhandler = '1us'", 1, "there is no CPU 7"),
        ("[[device]]\nname = 'e'\ncpu = 0\nevery = '0ns'\nhandler = '0ns'", 1, "every 0 ns"),
        ("span = [", 1, "span"),
    ] {
        let error = read(text).expect_err(text);
        let said = error.to_string();
        assert_eq!(error.line, Some(line), "{text}: {said}");
        assert!(why == "span" || said.contains(why), "{text}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// Any text is read or refused, and what can be read can be simulated.
#[test]
fn any_text_is_read_or_refused() {
    let mut stream = Stream::new(5, Entity::Maker, 1);
    let mut read_some = 0;
    for round in 0..3_000 {
        let known = SYSTEMS[stream.below(SYSTEMS.len() as u64) as usize];
        let mut text = known.text.as_bytes().to_vec();
        for _ in 0..=stream.below(6) {
            let at = stream.below(text.len() as u64) as usize;
            match stream.below(3) {
                0 => text[at] = stream.below(128) as u8,
                1 => {
                    let until = (at + stream.below(40) as usize).min(text.len());
                    text.drain(at..until);
                }
                _ => text.insert(at, b"0123456789.-\"'[]{}=\n"[stream.below(20) as usize]),
            }
        }
        let text = String::from_utf8_lossy(&text);
        let Ok(template) = Template::parse(&text) else { continue };
        let Ok(file) = template.file(&template.conditions[0], &Values::new()) else { continue };
        read_some += 1;
        if round % 20 == 0 {
            let mut simulation = Simulation::new(&file.system, ()).expect("it was checked");
            simulation.run_until(START_NS + 1_000_000);
        }
    }
    assert!(read_some > 100, "{read_some} of them can be read");
}
