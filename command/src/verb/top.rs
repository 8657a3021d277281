//! `tardy top`: who is late right now, and who arms timers.

mod plain;
mod screen;
mod watcher;

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::session::{self, Stream, StreamRequest};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tardy_explain::Watch;
use tardy_report::{LateSort, Terminal, TimerColumn, TimerGrouping, TimerSort};
use watcher::{Looks, Watcher};

/// Flags of `tardy top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Time between two tables; a bare number is seconds
    #[arg(short, long, alias = "delay", value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,

    /// End after this many tables
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,

    /// Print one table after the other, without a terminal
    #[arg(long)]
    batch: bool,

    /// What to sort by [default: lateness; for timers, cost]
    #[arg(short, long, value_name = "KEY", value_parser = sort_parser())]
    sort: Option<String>,

    /// Show which threads arm timers, and what these cost others
    #[arg(long)]
    timers: bool,

    /// Show timers with a line for each program (a process, or all processes of one name) instead of each
    /// thread's timers of a kind
    #[arg(long, alias = "processes")]
    programs: bool,

    /// Show this thread alone, or the threads of this process (repeatable)
    #[arg(short, long, value_name = "PID", value_parser = arguments::pid)]
    pid: Vec<u32>,

    /// Show threads with this name alone (repeatable)
    #[arg(long, value_name = "NAME")]
    comm: Vec<String>,

    /// With --batch: print this many lines of each table at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows: Option<u32>,

    /// The kernel's buffer per CPU, in KiB [default: 4096; with tracefs 8192]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(32..=131_072))]
    buffer: Option<u64>,

    /// Use this source only
    #[arg(long, value_parser = session::name_parser())]
    source: Option<String>,

    #[command(flatten)]
    output: Output,
}

/// Tables of a shorter time show nothing but chance.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = arguments::duration(text)?;
    if interval < INTERVAL_MIN { Err(format!("at least {INTERVAL_MIN:?}")) } else { Ok(interval) }
}

fn sort_parser() -> PossibleValuesParser {
    let late = LateSort::ALL.map(|(_, _, name)| name);
    let timers = TimerSort::ALL.map(|(_, _, name)| name);
    let more = timers.into_iter().filter(|name| !late.contains(name));
    PossibleValuesParser::new(late.into_iter().chain(more))
}

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Late,
    Timers,
}

/// What is shown, and how.
#[derive(Clone, Copy, Debug)]
struct View {
    which: Which,
    late: LateSort,
    timers: TimerSort,
    grouping: TimerGrouping,
    /// Lines of a table that is printed, at most.
    rows: usize,
    colour: bool,
}

impl View {
    fn of(flags: &Top) -> Self {
        let name = flags.sort.as_deref().unwrap_or_default();
        let late = LateSort::ALL.into_iter().find(|known| known.2 == name).map(|known| known.0);
        let timers = TimerSort::ALL.into_iter().find(|known| known.2 == name).map(|known| known.0);
        let asks_for_timers =
            flags.timers || flags.programs || (late.is_none() && timers.is_some());
        Self {
            which: if asks_for_timers { Which::Timers } else { Which::Late },
            late: late.unwrap_or(LateSort::Late),
            timers: timers.unwrap_or(TimerSort::Cost),
            grouping: if flags.programs { TimerGrouping::Programs } else { TimerGrouping::Threads },
            rows: flags.rows.map_or(usize::MAX, |rows| rows as usize),
            colour: Terminal::of_stdout().colour,
        }
    }

    /// The next one that there is.
    fn sort_by_next(&mut self) {
        fn next<T: Copy + PartialEq>(all: &[T], now: T) -> T {
            let at = all.iter().position(|one| *one == now).unwrap_or(0);
            all[(at + 1) % all.len()]
        }
        match self.which {
            Which::Late => self.late = next(&LateSort::ALL.map(|(sort, ..)| sort), self.late),
            Which::Timers => {
                self.timers = next(&TimerSort::ALL.map(|(sort, ..)| sort), self.timers);
            }
        }
    }

    fn regroup(&mut self) {
        self.grouping = match self.grouping {
            TimerGrouping::Threads => TimerGrouping::Programs,
            TimerGrouping::Programs => TimerGrouping::Tree,
            TimerGrouping::Tree => TimerGrouping::Threads,
        };
    }

    /// What is shown, and by what it is sorted.
    fn words(self) -> (&'static str, &'static str) {
        let late = LateSort::ALL.into_iter().find(|(sort, ..)| *sort == self.late);
        let timers = TimerSort::ALL.into_iter().find(|(sort, ..)| *sort == self.timers);
        match (self.which, self.grouping) {
            (Which::Late, _) => ("threads", late.map_or("", |known| known.2)),
            (_, TimerGrouping::Threads) => ("timers", timers.map_or("", |known| known.2)),
            (_, TimerGrouping::Programs) => {
                ("timers of programs", timers.map_or("", |known| known.2))
            }
            (_, TimerGrouping::Tree) => ("timers, both", timers.map_or("", |known| known.2)),
        }
    }
}

const TIMER_COLUMNS: [TimerColumn; 13] = [
    TimerColumn::Name,
    TimerColumn::Id,
    TimerColumn::Armed,
    TimerColumn::Cancelled,
    TimerColumn::Expired,
    TimerColumn::CancelledShare,
    TimerColumn::ProgrammedShare,
    TimerColumn::CostRate,
    TimerColumn::ArmedTotal,
    TimerColumn::CostTotal,
    TimerColumn::Slack,
    TimerColumn::SlackRange,
    TimerColumn::What,
];

/// Says when the next table is due, and when there is to be none.
struct Pace {
    interval: Duration,
    left: Option<u64>,
    next: Instant,
}

impl Pace {
    fn new(interval: Duration, looks: Option<u64>) -> Self {
        Self { interval, left: looks, next: Instant::now() + interval }
    }

    /// The time to the first table begins now.
    fn begins(&mut self) {
        self.next = Instant::now() + self.interval;
    }

    fn until_next(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// A look was taken. Says whether another is to come.
    fn looked(&mut self) -> bool {
        // After a stop in between it goes on from now, instead of catching up.
        self.next = (self.next + self.interval).max(Instant::now());
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.left != Some(0)
    }
}

impl Top {
    fn watch(&self) -> Watch {
        let all = self.pid.is_empty() && self.comm.is_empty();
        Watch { all, pids: self.pid.clone(), comms: self.comm.clone(), command: None }
    }

    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let plain = self.batch || self.output.json;
        let is_terminal = crate::output::raw().is_terminal() && std::io::stdin().is_terminal();
        if !plain && !is_terminal {
            return Err(Failure::usage(
                "there is no terminal here: use --batch for tables or --json for documents",
            ));
        }
        let interrupt = Interrupt::catch()?;
        let watcher = Watcher::new(self.watch());
        let request = StreamRequest {
            buffer_bytes_per_cpu: self.buffer.map(|kib| kib << 10),
            only: self.source.clone(),
        };
        let stream = Stream::begin(request, watcher.clone())
            .map_err(|failure| Failure::new(format!("cannot record: {failure}")))?;
        crate::confine::viewer();
        let mut looks = Looks::default();
        let view = View::of(&self);
        let pace = Pace::new(self.interval, self.iterations);
        let look = || looks.look(&watcher);
        let shown = if plain {
            for note in &stream.notes {
                self.output.remark(note);
            }
            plain::show(&stream, view, pace, self.output.json, &interrupt, look)
        } else {
            let story = |task| watcher.story(task);
            screen::show(&stream, view, pace, &interrupt, look, story)
        };
        // Why it ended by itself is what the stream says.
        stream.end()?;
        shown?;
        Ok(Outcome::Fine)
    }
}
