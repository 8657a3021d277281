//! `tardy top`: who arms timers right now.

mod plain;
mod screen;
mod watcher;

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::session::{self, Stream, StreamRequest};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tardy_report::{TimerColumn, TimerGrouping, TimerSort};
use watcher::{Looks, Watcher};

/// Flags of `tardy top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Time between two looks; a bare number is seconds
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = delay)]
    delay: Duration,

    /// End after this many looks
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,

    /// Print one table after the other, without a terminal
    #[arg(short, long)]
    batch: bool,

    /// What to sort by
    #[arg(short = 'o', long, value_name = "KEY", default_value = "cost", value_parser = sort_parser())]
    sort: TimerSort,

    /// A line for each program (a process, or all processes of one name) instead of each thread's timers of a
    /// kind
    #[arg(long, alias = "processes")]
    programs: bool,

    /// The kernel's buffer per CPU, in KiB [default: 4096; with tracefs 8192]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(32..=131_072))]
    buffer: Option<u64>,

    /// Insist on a source
    #[arg(long, value_parser = session::name_parser())]
    source: Option<String>,

    #[command(flatten)]
    output: Output,
}

/// Looks closer together than this show nothing but chance.
const DELAY_MIN: Duration = Duration::from_millis(100);

fn delay(text: &str) -> Result<Duration, String> {
    let delay = arguments::duration(text)?;
    if delay < DELAY_MIN { Err(format!("at least {DELAY_MIN:?}")) } else { Ok(delay) }
}

fn sort_parser() -> impl TypedValueParser<Value = TimerSort> {
    let names = TimerSort::ALL.map(|(_, _, name)| PossibleValue::new(name));
    PossibleValuesParser::new(names).map(|chosen| {
        let known = TimerSort::ALL.into_iter().find(|(_, _, name)| *name == chosen);
        known.map_or(TimerSort::Cost, |(sort, ..)| sort)
    })
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
struct View {
    sort: TimerSort,
    grouping: TimerGrouping,
}

const COLUMNS: [TimerColumn; 13] = [
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

/// Says when the next look is due, and when there is to be none.
struct Pace {
    delay: Duration,
    left: Option<u64>,
    next: Instant,
}

impl Pace {
    fn new(delay: Duration, looks: Option<u64>) -> Self {
        Self { delay, left: looks, next: Instant::now() + delay }
    }

    fn until_next(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// A look was taken. Says whether another is to come.
    fn looked(&mut self) -> bool {
        // After a stop in between it goes on from now, instead of catching up.
        self.next = (self.next + self.delay).max(Instant::now());
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.left != Some(0)
    }
}

impl Top {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let plain = self.batch || self.output.json;
        let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
        if !plain && !is_terminal {
            return Err(Failure::usage(
                "there is no terminal here: -b prints tables, --json documents",
            ));
        }
        let interrupt = Interrupt::catch()?;
        let watcher = Watcher::new();
        let request = StreamRequest {
            buffer_bytes_per_cpu: self.buffer.map(|kib| kib << 10),
            only: self.source.clone(),
        };
        let stream = Stream::begin(request, watcher.clone())
            .map_err(|failure| Failure::new(format!("cannot record: {failure}")))?;
        let mut looks = Looks::default();
        let grouping = if self.programs { TimerGrouping::Programs } else { TimerGrouping::Threads };
        let view = View { sort: self.sort, grouping };
        let pace = Pace::new(self.delay, self.iterations);
        let look = || looks.look(&watcher);
        let shown = if plain {
            for note in &stream.notes {
                self.output.remark(note);
            }
            plain::show(&stream, view, pace, self.output.json, &interrupt, look)
        } else {
            screen::show(&stream, view, pace, &interrupt, look)
        };
        // Why it ended by itself is what the stream says.
        stream.end()?;
        shown?;
        Ok(Outcome::Fine)
    }
}
