//! The text of all events, read back as whoever imports such text does: fields by their names in each
//! line, given to the decoder of the kernel's events.

mod synthetic;

use std::collections::HashMap;
use std::fs;
use synthetic::{OTHER, WATCHED};
use tardy_explain::Explanation;
use tardy_export::{About, named};
use tardy_ftrace::decode::{Decoder, EventId, Value};
use tardy_ftrace::format::Endian;
use tardy_kernel::{Abi, ClockOffsets, Symbols};
use tardy_model::event::{Comm, ExpireBegin, TaskName, TimerMode};
use tardy_model::{Batch, CpuId, Event, Kind, Tables, TaskId, TimerId};

const TICK_NS: u64 = 4_000_000;

fn written(batches: &[Batch]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.txt");
    let about = About {
        clock: "mono".to_owned(),
        host: "two\nlines".to_owned(),
        hz: Some(250),
        ..About::default()
    };
    let mut export = named("text").unwrap().create(&path, &about).unwrap();
    for batch in batches {
        export.batch(batch).unwrap();
    }
    export.finish(&Explanation::default()).unwrap();
    fs::read_to_string(path).unwrap()
}

/// The rest of a line after `key`, up to where the next of `keys` begins.
fn field<'a>(text: &'a str, key: &str, keys: &[String]) -> Option<&'a str> {
    let at = if text.starts_with(key) { 0 } else { text.find(&format!(" {key}"))? + 1 };
    let rest = &text[at + key.len()..];
    let ends = keys.iter().filter_map(|next| rest.find(&format!(" {next}")));
    Some(&rest[..ends.min().unwrap_or(rest.len())])
}

/// A value as the kernel prints one of this field.
fn value<'a>(name: &str, text: &'a str) -> Value<'a> {
    if matches!(name, "function" | "mode" | "flags" | "prev_state" | "name")
        || name.contains("comm")
    {
        return Value::Text(text.as_bytes());
    }
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok().or_else(|| text.parse::<i64>().ok().map(|number| number as u64)),
    };
    number.map_or(Value::Missing, Value::Number)
}

/// Fields that the decoder does not want and that end others.
const OTHERS: [&str; 17] = [
    "[timeout=",
    "cpu=",
    "idx=",
    "now=",
    "baseclk=",
    "ret=",
    "[action=",
    "vector=",
    "==>",
    "cpu_id=",
    "oom_score_adj=",
    "oldcomm=",
    "ip=",
    "error_code=",
    "errno=",
    "prio=",
    "group_dead=",
];

fn values(id: EventId, text: &str) -> Vec<Value<'_>> {
    if let Some(call) = text.strip_prefix("NR ") {
        let (number, rest) = call.split_once(' ').unwrap();
        let hex = |text: &str| Value::Number(u64::from_str_radix(text, 16).unwrap());
        let mut values = vec![value("id", number)];
        match rest.strip_prefix("= ") {
            Some(result) => values.push(value("ret", result)),
            None => values.extend(rest.trim_matches(['(', ')']).split(", ").take(3).map(hex)),
        }
        return values;
    }
    if let Some(work) = text.strip_prefix("work struct 0x0") {
        let function = work.strip_prefix(": function ");
        return vec![function.map_or(Value::Missing, |name| Value::Text(name.as_bytes()))];
    }
    let keys: Vec<String> = id.fields().iter().map(|name| format!("{name}=")).collect();
    let ends: Vec<String> =
        keys.iter().cloned().chain(OTHERS.iter().map(|other| (*other).to_owned())).collect();
    let read = |name: &&str| match *name {
        "timeout" => field(text, "[timeout=", &ends)
            .map_or(Value::Missing, |text| value("timeout", text.trim_end_matches(']'))),
        name => {
            field(text, &format!("{name}="), &ends).map_or(Value::Missing, |text| value(name, text))
        }
    };
    id.fields().iter().map(read).collect()
}

/// What the lines mean.
fn decoded(text: &str) -> (Vec<Event>, Tables, Decoder) {
    let mut decoder =
        Decoder::new(Endian::Little, ClockOffsets::default(), TICK_NS, Symbols::default());
    decoder.set_abi(Abi::of_machine("x86_64"));
    let mut batch = Batch::default();
    for line in text.lines().filter(|line| !line.starts_with(['#', 'C']) && !line.is_empty()) {
        let (before, event) = line.split_once(": ").unwrap();
        let (name, text) = event.split_once(": ").unwrap();
        let (who, rest) = before.rsplit_once(" [").unwrap();
        let (_, pid) = who.trim().rsplit_once('-').unwrap();
        let (cpu, rest) = rest.split_once("] ..... ").unwrap();
        let (s, ns) = rest.trim().split_once('.').unwrap();
        assert_eq!((cpu.len(), ns.len()), (3, 9), "{line}");
        let time_ns = s.parse::<u64>().unwrap() * 1_000_000_000 + ns.parse::<u64>().unwrap();
        let Some(id) = EventId::of(name) else {
            assert_eq!(name, "tracing_mark_write", "{line}");
            continue;
        };
        let cpu = CpuId(cpu.parse().unwrap());
        let current = TaskId(pid.trim().parse().unwrap());
        decoder.decode_values(time_ns, cpu, current, id, &values(id, text), &mut batch);
    }
    let mut tables = Tables::default();
    batch.define(&mut tables);
    (batch.events, tables, decoder)
}

/// An event's kind with its timer by address and function, and without what depends on numbering.
fn comparable(event: &Event, tables: &Tables) -> (Event, u64, String) {
    let of = |id: TimerId| (tables.timer(id).address, tables.function(id).to_owned());
    let plain = |kind: Kind| Event::new(event.time_ns, event.cpu, event.task, kind);
    match event.kind() {
        Kind::TimerArm(mut arm) => {
            let (address, function) = of(std::mem::take(&mut arm.timer));
            (plain(arm.into()), address, function)
        }
        Kind::ExpireBegin(mut begin) => {
            let (address, function) = of(std::mem::take(&mut begin.timer));
            (plain(begin.into()), address, function)
        }
        Kind::ExpireEnd(mut end) => {
            let (address, function) = of(std::mem::take(&mut end.timer));
            (plain(end.into()), address, function)
        }
        Kind::TimerCancel(mut cancel) => {
            let (address, function) = of(std::mem::take(&mut cancel.timer));
            (plain(cancel.into()), address, function)
        }
        Kind::WorkBegin(mut work) => {
            let function = tables.name(std::mem::take(&mut work.function)).to_owned();
            (plain(work.into()), 0, function)
        }
        Kind::WorkEnd(mut work) => {
            let function = tables.name(std::mem::take(&mut work.function)).to_owned();
            (plain(work.into()), 0, function)
        }
        Kind::IrqBegin(mut begin) => {
            let name = irq_name(&mut begin.irq, tables);
            (plain(begin.into()), 0, name)
        }
        Kind::IrqEnd(mut end) => {
            let name = irq_name(&mut end.irq, tables);
            (plain(end.into()), 0, name)
        }
        _ => (*event, 0, String::new()),
    }
}

fn irq_name(irq: &mut tardy_model::event::Irq, tables: &Tables) -> String {
    match irq {
        tardy_model::event::Irq::Line(_, name) => tables.name(std::mem::take(name)).to_owned(),
        tardy_model::event::Irq::Vector(_) => String::new(),
    }
}

/// Kinds that the kernel has no event for, or that the decoder tells by itself.
fn has_a_line(event: &Event) -> bool {
    !matches!(event.kind(), Kind::TaskInfo(_) | Kind::Mark(_) | Kind::Loss(_))
}

#[test]
fn every_event_comes_back() {
    let batches = synthetic::stream(50);
    let text = written(&batches);
    let (events, tables, decoder) = decoded(&text);
    assert_eq!(decoder.undecoded(), 0);
    let mut before = Tables::default();
    for batch in &batches {
        batch.define(&mut before);
    }
    let wrote: Vec<_> = batches
        .iter()
        .flat_map(|batch| &batch.events)
        .filter(|event| has_a_line(event))
        .map(|event| comparable(event, &before))
        .collect();
    let read: Vec<_> = events
        .iter()
        // Of the new thread the text shows no name, which the kernel writes so.
        .filter(|event| has_a_line(event) && !is_unknown_name(event))
        .map(|event| comparable(event, &tables))
        .collect();
    assert_eq!(read.len(), wrote.len());
    // Addresses are numbered anew when they are read: the same ones are the same places.
    let (mut places, mut addresses) = (HashMap::new(), HashMap::new());
    for (at, (read, wrote)) in read.iter().zip(&wrote).enumerate() {
        assert_eq!((&read.0, &read.2), (&wrote.0, &wrote.2), "event {at}");
        assert_eq!(*places.entry(wrote.1).or_insert(read.1), read.1, "event {at}");
        assert_eq!(*addresses.entry(read.1).or_insert(wrote.1), wrote.1, "event {at}");
    }
}

fn is_unknown_name(event: &Event) -> bool {
    event.kind() == TaskName { comm: Comm::new("<...>") }.into()
}

#[test]
fn what_the_kernel_has_no_event_for_is_a_comment_or_a_mark() {
    let text = written(&synthetic::stream(1));
    for line in [
        "# tracer: nop",
        "# clock: mono",
        "# host: two?lines",
        "# hz: 250",
        "# tardy: task pid=4101 process=4101 flags=4",
        "CPU:1 [LOST 7 EVENTS]",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    for piece in [
        "  kworker/1:2-mm-77      [001] ..... ",
        "tracing_mark_write: tardy: mark expiry_ns=1000 sequence=3",
        "comm=<...> pid=5000",
    ] {
        assert!(text.contains(piece), "{piece}\n{text}");
    }
}

/// A timer whose arming is not in the recording: what is known of it is told before it expires.
#[test]
fn the_expiry_of_a_timer_armed_before_is_not_lost() {
    let mut stream = synthetic::begin();
    let begin = ExpireBegin {
        timer: TimerId(1),
        soft_ns: stream.time_ns - 7_000,
        slack_ns: 0,
        mode: TimerMode::default(),
    };
    stream.push(0, OTHER, begin);
    let text = written(&[stream.batch]);
    let told =
        format!("function=hrtimer_wakeup expires={0} softexpires={0} mode=ABS", begin.soft_ns);
    let armed =
        text.lines().find(|line| line.contains("tracing_mark_write: tardy: armed hrtimer="));
    assert!(armed.is_some_and(|line| line.ends_with(&told)), "{text}");
}

#[test]
fn no_name_breaks_a_line() {
    let mut stream = synthetic::begin();
    let lines = written(&[stream.batch.clone()]).lines().count();
    stream.push(1, WATCHED, TaskName { comm: Comm::new("a\nb\u{1b}[2J") });
    let text = written(&[stream.batch]);
    assert_eq!(text.lines().count(), lines + 1);
    assert!(text.contains("newcomm=a?b?[2J "), "{text}");
}
