//! `perf.data` files, by way of the machine's own `perf script`.
//!
//! What such a file holds depends on the perf that wrote it and on the kernel that it ran on; perf
//! reads it, and what it prints is read as text.

use super::Format;
use crate::text::{self, Style, Text};
use crate::{Import, ImportError, Input, Options};
use std::io::{self, BufRead, BufReader, Read, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;
use tardy_model::SourceError;

pub(super) struct PerfData;

/// How a file begins, written by a machine of either byte order.
const MAGICS: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];

const PROGRAM: &str = "perf";

/// Nanoseconds, and nothing that depends on how the file was recorded, but for stacks.
const ARGUMENTS: [&str; 5] = ["script", "--header", "--ns", "--force", "--show-lost-events"];

const FIELDS: &str = "comm,tid,cpu,time,event,trace";

/// A line for each frame, below its event. Without call chains perf would print where each event came from in its line.
const FIELDS_OF_STACKS: &str = "comm,tid,cpu,time,event,trace,ip,sym,symoff,dso";

impl Format for PerfData {
    fn name(&self) -> &'static str {
        "perf-data"
    }

    fn written_by(&self) -> &'static str {
        "perf record, perf sched record (read by `perf script`)"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        MAGICS.iter().any(|magic| head.starts_with(magic))
    }

    fn open(&self, input: Input, options: &Options) -> Result<Box<dyn Import>, ImportError> {
        let path = input.path().to_owned();
        if let Some(wrapping) = input.wrapped_in() {
            let why =
                format!("perf reads it only as it was written: unpack it from {wrapping} first");
            return Err(ImportError::Program { path, program: format!("{PROGRAM} script"), why });
        }
        let printed = Printed::of(&path, PROGRAM)?;
        Ok(Box::new(Text::new(Style::Perf, &path, printed, options)))
    }
}

/// What perf prints. It ends when this is dropped.
struct Printed {
    path: PathBuf,
    child: Child,
    output: ChildStdout,
    complaint: Option<JoinHandle<String>>,
}

impl Printed {
    fn of(path: &Path, program: &str) -> Result<Self, ImportError> {
        let cannot = |why: String| ImportError::Program {
            path: path.to_owned(),
            program: format!("{program} script"),
            why,
        };
        if path == Path::new("-") {
            return Err(cannot(
                "perf.data comes from a pipe, but perf needs a file: save it to one first"
                    .to_owned(),
            ));
        }
        let started = tardy_programs::command(program).and_then(|mut command| {
            // What its user has set for himself must not change what it prints.
            let fields = if has_call_chains(path) { FIELDS_OF_STACKS } else { FIELDS };
            command
                .args(ARGUMENTS)
                .args(["-F", fields, "-i"])
                .arg(path)
                .env("PERF_CONFIG", "/dev/null");
            Self::start(path, command)
        });
        started.map_err(|error| {
            cannot(if error.kind() == io::ErrorKind::NotFound {
                "perf is not installed: install it (Debian: linux-perf, Ubuntu: linux-tools), or \
                 run `perf script --ns -F comm,tid,cpu,time,event,trace` where the file was \
                 recorded and import what it prints"
                    .to_owned()
            } else {
                error.to_string()
            })
        })
    }

    fn start(path: &Path, mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let complaint = errors.map(|errors| std::thread::spawn(|| complaint(errors)));
        let output = output.unwrap_or_else(|| unreachable!("its output is a pipe"));
        Ok(Self { path: path.to_owned(), child, output, complaint })
    }
}

/// More kinds of events than anybody records at once.
const KINDS_MAX: u64 = 1 << 16;

/// Whether all tracepoints of a file were recorded with call chains (`perf record -g`). No where it cannot be told: a file
/// that perf wrote to a pipe has no such list.
fn has_call_chains(path: &Path) -> bool {
    kinds(path).is_ok_and(|kinds| {
        let mut tracepoints =
            kinds.iter().filter(|(kind, _)| *kind == PERF_TYPE_TRACEPOINT).peekable();
        let has_any = tracepoints.peek().is_some();
        has_any && tracepoints.all(|(_, sampled)| sampled & PERF_SAMPLE_CALLCHAIN != 0)
    })
}

/// `enum perf_type_id` and `enum perf_event_sample_format` of `include/uapi/linux/perf_event.h`.
const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_SAMPLE_CALLCHAIN: u64 = 1 << 5;

/// The kinds of events of a file: what each is, and what is sampled of it. A file begins with its magic, the size of this
/// head and of a kind's entry, and where those are (`tools/perf/Documentation/perf.data-file-format.txt`); an entry begins
/// with a `struct perf_event_attr`.
fn kinds(path: &Path) -> io::Result<Vec<(u32, u64)>> {
    let mut file = tardy_files::open_named(path)?;
    let mut head = [0; 40];
    file.read_exact(&mut head)?;
    let is_swapped = head.starts_with(MAGICS[1]) == cfg!(target_endian = "little");
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().unwrap_or_default();
        if is_swapped { u64::from_ne_bytes(bytes).swap_bytes() } else { u64::from_ne_bytes(bytes) }
    };
    let [entry, offset, size] = [16, 24, 32].map(|at| word(&head[at..at + 8]));
    if !(32..=4096).contains(&entry) || size / entry > KINDS_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut kinds = Vec::new();
    let mut bytes = [0; 32];
    for at in 0..size / entry {
        file.seek(io::SeekFrom::Start(offset.saturating_add(at * entry)))?;
        file.read_exact(&mut bytes)?;
        let kind = bytes[..4].try_into().unwrap_or_default();
        let kind = u32::from_ne_bytes(kind);
        kinds.push((if is_swapped { kind.swap_bytes() } else { kind }, word(&bytes[24..32])));
    }
    Ok(kinds)
}

/// The longest line of perf's that is kept.
const COMPLAINT_BYTES_MAX: u64 = 4096;

/// What perf says went wrong: the first line that is more than a remark. Reads all, so that perf
/// never waits.
fn complaint(errors: ChildStderr) -> String {
    let mut errors = BufReader::new(errors);
    let mut first = String::new();
    let mut line = Vec::new();
    while errors
        .by_ref()
        .take(COMPLAINT_BYTES_MAX)
        .read_until(b'\n', &mut line)
        .is_ok_and(|bytes| bytes > 0)
    {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        // `'trace' not valid for hardware events. Ignoring.` comes whenever fields are named.
        if first.is_empty() && !text.is_empty() && !text.ends_with("Ignoring.") {
            text.clone_into(&mut first);
        }
        line.clear();
    }
    first
}

impl Read for Printed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer)
    }
}

impl text::Input for Printed {
    fn close(&mut self, has_events: bool) -> Result<Option<String>, SourceError> {
        let status = self.child.wait()?;
        let complaint = self.complaint.take().and_then(|thread| thread.join().ok());
        let complaint = complaint.filter(|complaint| !complaint.is_empty());
        if status.success() {
            return Ok(None);
        }
        let what = format!("`perf script` failed on {} ({status})", self.path.display());
        let why = complaint.map_or(what.clone(), |complaint| format!("{what}: {complaint}"));
        if has_events {
            Ok(Some(format!("{why}; what it printed before that is used")))
        } else {
            Err(why.into())
        }
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        // Has no effect on one that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(thread) = self.complaint.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::{Batch, Source};

    #[test]
    fn a_machine_without_perf_says_so() {
        let error = Printed::of(Path::new("perf.data"), "no-such-perf").err().unwrap().to_string();
        assert!(error.contains("perf.data") && error.contains("install it"), "{error}");
        let error = Printed::of(Path::new("-"), PROGRAM).err().unwrap().to_string();
        assert!(error.contains("save it to one first"), "{error}");
    }

    fn shell(script: &str) -> Printed {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Printed::start(Path::new("perf.data"), command).unwrap()
    }

    /// How many events a text has, and what its notes say.
    fn read(printed: Printed) -> Result<(usize, String), SourceError> {
        let mut text = Text::new(Style::Perf, Path::new("perf.data"), printed, &Options::default());
        let (mut batch, mut events) = (Batch::default(), 0);
        while text.next_batch(&mut batch)? {
            events += batch.events.len();
            batch.clear();
        }
        Ok((events, text.closing().notes.join("\n")))
    }

    const LINE: &str = "a 7 [000] 1.000000001: irq:softirq_entry: vec=4 [action=BLOCK]";

    #[test]
    fn what_is_printed_is_read_and_remarks_are_not_errors() {
        let remark = "echo \"'trace' not valid for hardware events. Ignoring.\" >&2";
        let (events, notes) = read(shell(&format!("{remark}; echo '{LINE}'"))).unwrap();
        // The task's name, and the event.
        assert_eq!(events, 2);
        assert!(!notes.contains("perf script"), "{notes}");
    }

    #[test]
    fn a_failure_is_told_with_its_reason() {
        let fails = "echo 'x. Ignoring.' >&2; echo 'it is broken' >&2; echo more >&2; exit 3";
        let error = read(shell(fails)).unwrap_err().to_string();
        assert!(error.contains("perf.data") && error.ends_with(": it is broken"), "{error}");
        let (events, notes) = read(shell(&format!("echo '{LINE}'; {fails}"))).unwrap();
        assert_eq!(events, 2, "what came before stays");
        assert!(notes.contains("it is broken"), "{notes}");
    }

    /// A file with these kinds of events, of a machine of either byte order.
    fn head(is_swapped: bool, kinds: &[(u32, u64)]) -> Vec<u8> {
        const ENTRY: u64 = 144;
        let word = |value: u64| if is_swapped { value.swap_bytes() } else { value }.to_ne_bytes();
        let is_little = cfg!(target_endian = "little") != is_swapped;
        let mut bytes = MAGICS[usize::from(!is_little)].to_vec();
        for value in [104, ENTRY, 104, ENTRY * kinds.len() as u64] {
            bytes.extend(word(value));
        }
        bytes.resize(104, 0);
        for (kind, sampled) in kinds {
            let at = bytes.len();
            let kind = if is_swapped { kind.swap_bytes() } else { *kind };
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(at + 24, 0);
            bytes.extend(word(*sampled));
            bytes.resize(at + ENTRY as usize, 0);
        }
        bytes
    }

    #[test]
    fn stacks_are_asked_for_where_all_tracepoints_have_call_chains() {
        const SOFTWARE: u32 = 1;
        let file = tempfile::NamedTempFile::new().unwrap();
        let has = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).unwrap();
            has_call_chains(file.path())
        };
        let (with, without) = ((PERF_TYPE_TRACEPOINT, 0x127), (PERF_TYPE_TRACEPOINT, 0x107));
        for is_swapped in [false, true] {
            assert!(has(&head(is_swapped, &[with, (SOFTWARE, 0x107), with])));
            assert!(!has(&head(is_swapped, &[with, without])));
            assert!(!has(&head(is_swapped, &[(SOFTWARE, 0x127)])));
            let whole = head(is_swapped, &[with, with]);
            assert!(!has(&whole[..whole.len() - 140]), "it is cut short");
        }
        let mut huge = head(false, &[with]);
        huge[32..40].fill(0xff);
        assert!(!has(&huge) && !has(b"PERFILE2") && !has(b""));
    }

    #[test]
    fn a_program_whose_output_is_not_read_is_ended() {
        // `yes` never ends by itself.
        let mut printed = Printed::start(Path::new("x"), Command::new("yes")).unwrap();
        printed.read_exact(&mut [0; 1000]).unwrap();
        let id = printed.child.id();
        drop(printed);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
