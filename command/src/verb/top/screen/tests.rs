//! What the screen shows of looks that were made up, on a terminal of 80 columns and 24 lines.

use super::*;
use crate::verb::top::{LateSort, TimerGrouping, TimerSort};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tardy_explain::lateness::{Interval, LateRow};
use tardy_explain::timers::{Counts, TimerRow};
use tardy_explain::{Explanation, Label, WorstWakeup};
use tardy_model::event::Comm;
use tardy_model::{Cause, CpuId, Culprit, NameId, Segment, Wakeup};
use tardy_report::{LateLine, TimerUse};

fn late(
    task: u32,
    thread: &str,
    process: &str,
    max_ns: u64,
    why: (&'static str, &str),
) -> LateLine {
    let label = Label { kind: "task", name: thread.to_owned(), pid: Some(task) };
    let row = LateRow {
        task: TaskId(task),
        label,
        process: Comm::new(process),
        count: 12_034,
        p50_ns: 21_600,
        p99_ns: max_ns / 3,
        max_ns,
        sum_ns: 40_000_000,
        now: Interval { count: 1000, max_ns, sum_ns: max_ns * 3 },
        cause: Some(Cause(why.0)),
        culprit: why.1.to_owned(),
    };
    let trend = [0, 20_000, 25_000, max_ns, 40_000].into();
    LateLine { row, now_ns: 1_000_000_000, trend }
}

fn look() -> Look {
    let mut late = vec![
        late(
            16_268,
            "cyclic-0",
            "tardy",
            1_850_000,
            ("stacked_timers", "sleep timers of storm-* (40 threads)"),
        ),
        late(
            812,
            "Compositor",
            "firefox",
            512_000,
            ("higher_priority", "hackbench (400 threads of 40 processes)"),
        ),
        late(1, "systemd", "systemd", 92_000, ("idle_exit", "")),
    ];
    late.extend((0..40).map(|task| late_of_storm(4000 + task)));
    let armed = Counts { armed: 900, expired: 890, inflicted_ns: 4_000_000, ..Counts::default() };
    let row = TimerRow {
        counts: armed.clone(),
        function: "tick_nohz_handler".to_owned(),
        ..TimerRow::default()
    };
    Look {
        left_out: 0,
        late,
        uses: vec![TimerUse { row, now: armed }],
        interval_ns: 1_000_000_000,
        total_ns: 12_000_000_000,
        events: 312_000,
        lost: 0,
        lost_total: 0,
    }
}

fn late_of_storm(task: u32) -> LateLine {
    let mut line =
        late(task, &format!("storm-{:02}", task - 4000), "storm", 60_000, ("slack", "timer slack"));
    line.row.now = Interval::default();
    line
}

fn screen() -> Screen {
    let view = View {
        which: Which::Late,
        late: LateSort::Late,
        timers: TimerSort::Cost,
        grouping: TimerGrouping::Threads,
        rows: usize::MAX,
        colour: true,
    };
    let mut screen = Screen::new(view, "live-ebpf", String::new());
    screen.sees(look());
    screen
}

/// Of any thread.
#[allow(clippy::unnecessary_wraps)] // as who is asked for one may have none
fn story(task: TaskId) -> Option<Story> {
    let cause = Cause("higher_priority");
    let segment = Segment {
        cause,
        culprit: Culprit::Task(TaskId(9)),
        start_ns: 1_000,
        ns: 512_000,
        stretch: 0,
        stack: NameId::NONE,
    };
    let wakeup = Wakeup {
        task,
        cpu: CpuId(1),
        expiry_ns: 1_000,
        lateness_ns: 512_000,
        segments: vec![segment],
        ..Wakeup::default()
    };
    let worst = WorstWakeup {
        wakeup,
        victim: Label { kind: "task", name: "cyclic-0".to_owned(), pid: Some(task.0) },
        patterns: tardy_explain::Patterns::default(),
        steps: Vec::new(),
        labels: std::collections::BTreeMap::new(),
        lanes: Vec::new(),
    };
    Some(Story { explanation: Explanation::default(), worst })
}

fn drawn(screen: &mut Screen) -> String {
    drawn_at(screen, 80)
}

fn drawn_at(screen: &mut Screen, width: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, 24)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let lines = buffer.content().chunks(usize::from(width));
    let line = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
            + "\n"
    };
    lines.map(line).collect()
}

#[test]
fn who_is_late() {
    insta::assert_snapshot!(drawn(&mut screen()));
}

#[test]
fn who_is_late_on_a_wide_terminal() {
    insta::assert_snapshot!(drawn_at(&mut screen(), 140));
}

#[test]
fn help_and_a_story_come_above_and_go_again() {
    let mut screen = screen();
    let before = drawn(&mut screen);
    screen.grant(Wish::Help, &story);
    let help = drawn(&mut screen);
    assert!(help.contains("Threads that wake up late") && help.contains("q  quit"), "{help}");
    screen.grant(Wish::Move(20), &story);
    let help = drawn(&mut screen);
    for part in ["c        sort by cost", "The letters of causes", "C  coarse_clock"] {
        assert!(help.contains(part), "no {part}: {help}");
    }
    screen.grant(Wish::Quit, &story);
    assert_eq!(drawn(&mut screen), before);
    screen.grant(Wish::Open, &story);
    insta::assert_snapshot!(drawn(&mut screen));
    screen.grant(Wish::Clear, &story);
    assert_eq!(drawn(&mut screen), before);
}

#[test]
fn the_second_view_is_of_timers() {
    let mut screen = screen();
    screen.grant(Wish::SwitchView, &story);
    insta::assert_snapshot!(drawn(&mut screen));
    screen.grant(Wish::SwitchView, &story);
    assert!(drawn(&mut screen).contains("storm-00"));
}

/// Whatever is pressed, the figures stay.
#[test]
fn keys_never_blank_the_figures() {
    let mut screen = screen();
    for wish in [
        Wish::NextSort,
        Wish::Pause,
        Wish::Move(1),
        Wish::Move(isize::MAX),
        Wish::Move(isize::MIN),
        Wish::Type,
        Wish::Letter('s'),
        Wish::Rubout,
        Wish::EndTyping,
        Wish::Clear,
        Wish::Regroup,
        Wish::Nothing,
    ] {
        screen.grant(wish, &story);
        let text = drawn(&mut screen);
        assert!(text.contains("312,000 events/s"), "{wish:?}: {text}");
        assert!(text.lines().filter(|line| line.contains("storm")).count() > 5, "{wish:?}: {text}");
    }
}

#[test]
fn the_filter_finds_and_says_where_nobody_is() {
    let mut screen = screen();
    for letter in "HACK".chars() {
        screen.grant(Wish::Letter(letter), &story);
    }
    let text = drawn(&mut screen);
    assert!(text.contains("filter: HACK") && text.contains("firefox/Compos"), "{text}");
    assert!(!text.contains("storm-01"), "{text}");
    screen.grant(Wish::Letter('!'), &story);
    assert!(drawn(&mut screen).contains("no line has these letters"));
    screen.grant(Wish::Clear, &story);
    assert!(drawn(&mut screen).contains("storm-01"));
}

#[test]
fn the_bar_stays_with_its_thread_and_lost_events_are_told() {
    let mut screen = screen();
    screen.grant(Wish::Move(1), &story);
    assert!(drawn(&mut screen).contains("firefox/Compositor, 12,034 wakeups: higher_priority"));
    screen.sees(Look { lost: 7, lost_total: 1_234, ..look() });
    screen.look.late.reverse();
    screen.grant(Wish::NextSort, &story);
    let text = drawn(&mut screen);
    assert!(text.contains("firefox/Compositor, 12,034 wakeups: higher_priority"), "{text}");
    assert!(text.contains("7 lost, 1,234 in all"), "{text}");
}

#[test]
fn nothing_is_coloured_where_that_is_not_wanted() {
    let coloured = |colour| {
        let mut screen = screen();
        screen.view.colour = colour;
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        buffer.content().iter().any(|cell| !matches!(cell.fg, Color::Reset))
    };
    assert!(coloured(true) && !coloured(false));
}
