//! The best source that this system and these permissions allow, and what is lost by it.

use super::{Request, SourceChoice};
use crate::failure::Failure;
use tardy_live::Live;
use tardy_model::Source;
use tardy_tracefs::Tracefs;

/// A source that runs.
pub(super) enum Running {
    Ebpf(Box<Live>),
    Tracefs(Box<Tracefs>),
}

/// Starts eBPF, or else tracefs; with a sentence for what is lost and what would bring it back.
pub(super) fn start(request: Request, own_thread: u32) -> Result<(Running, Vec<String>), Failure> {
    let refused = match request.only {
        Some(SourceChoice::Tracefs) => None,
        only => match Live::start(&live_options(&request, own_thread)) {
            Ok(mut live) => {
                for marks in request.marks {
                    live.follow(marks);
                }
                return Ok((Running::Ebpf(Box::new(live)), Vec::new()));
            }
            Err(error) if only.is_some() => return Err(Failure::new(error.to_string())),
            Err(error) => Some(error),
        },
    };
    let notes = refused.iter().map(|error| {
        format!(
            "recording by tracefs, which costs more per event and knows less of timers: {error}"
        )
    });
    let notes = notes.collect();
    match tracefs(request, own_thread) {
        Ok(running) => Ok((running, notes)),
        Err(error) => {
            let both = refused.map_or_else(String::new, |refused| format!("{refused}; and "));
            Err(Failure::new(format!("{both}{error}")))
        }
    }
}

fn live_options(request: &Request, own_thread: u32) -> tardy_live::Options {
    let mut options = tardy_live::Options {
        own_threads: vec![own_thread],
        watched_processes: request.watched_processes.clone(),
        watch_children: request.watch_children,
        ..tardy_live::Options::default()
    };
    if let Some(bytes) = request.buffer_bytes_per_cpu {
        options.slots_shift = (bytes / tardy_model::RECORD_BYTES as u64).max(1).ilog2();
    }
    options
}

fn tracefs(request: Request, own_thread: u32) -> Result<Running, Failure> {
    let mut options = tardy_tracefs::Options {
        own: vec![own_thread],
        watched: request.watched_processes,
        marks: request.marks,
        ..tardy_tracefs::Options::default()
    };
    if let Some(bytes) = request.buffer_bytes_per_cpu {
        options.buffer_bytes_per_cpu = bytes;
    }
    if request.watch_children {
        return Err(Failure::new(
            "tracefs cannot follow a command's processes: start it first, then record with -p",
        ));
    }
    let tracefs = Tracefs::start(options).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Running::Tracefs(Box::new(tracefs)))
}

impl Running {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Ebpf(_) => "live-ebpf",
            Self::Tracefs(_) => "live-tracefs",
        }
    }

    pub(super) fn as_source(&mut self) -> &mut dyn Source {
        match self {
            Self::Ebpf(live) => &mut **live,
            Self::Tracefs(tracefs) => &mut **tracefs,
        }
    }

    /// A thread that belongs to the recording, made after its start.
    pub(super) fn mark_own(&mut self, thread: u32) {
        match self {
            Self::Ebpf(live) => live.mark_own(thread),
            Self::Tracefs(tracefs) => tracefs.mark_own(thread),
        }
    }

    pub(super) fn missing(&self) -> Vec<String> {
        match self {
            Self::Ebpf(live) => live.missing().to_vec(),
            Self::Tracefs(tracefs) => tracefs.info().missing,
        }
    }

    pub(super) fn bytes_per_cpu(&self) -> u64 {
        match self {
            Self::Ebpf(live) => live.bytes_per_cpu(),
            Self::Tracefs(tracefs) => tracefs.info().buffer_bytes_per_cpu,
        }
    }

    pub(super) fn stop(&mut self) -> Result<(), Failure> {
        match self {
            Self::Ebpf(live) => {
                live.stop();
                Ok(())
            }
            Self::Tracefs(tracefs) => {
                tracefs.stop().map_err(|error| Failure::new(error.to_string()))
            }
        }
    }

    /// What is known only at the end.
    pub(super) fn closing_notes(&self) -> Vec<String> {
        let late = match self {
            Self::Ebpf(live) => live.late(),
            Self::Tracefs(tracefs) => return tracefs.info().notes,
        };
        let words =
            || format!("{late} events came after their place in time; theirs was moved forward");
        (late > 0).then(words).into_iter().collect()
    }
}
