//! Functions of programs by their addresses, while the programs run: a stack of user space is nothing but numbers once
//! its program has ended.
//!
//! What is read belongs to strangers: `/proc/PID/maps`, and the files that it names, as the program itself sees them
//! (its own mount namespace and root). So a thread of its own reads, which keeps no capability but those to look at other
//! users' processes and files; it opens regular files alone, each the one that is mapped (by its inode), and reads no
//! more of them than `elf.rs` bounds. Whoever asks waits a moment at most: a file on a dead network, or in a file system
//! that a program of the other side answers for, holds up this thread and no recording.

mod elf;
mod maps;
mod name;

pub use elf::{Bytes, Functions};

use maps::Mapping;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, open, openat, openat2, readlinkat};
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_no_new_privs};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Who asks waits so long for an answer; a file that takes longer has names the next time.
const WAIT_MAX: Duration = Duration::from_millis(5);

/// In each such time, all together, no longer than the other: meanwhile nothing is taken from buffers that are filled.
const WAITS_IN: Duration = Duration::from_millis(50);
const WAITS_MAX: Duration = Duration::from_millis(10);

/// What is known of where a program's files lie holds for so long: it may start another.
const MAPS_HOLD: Duration = Duration::from_millis(500);

/// Threads whose mappings are kept.
const MAPPED_MAX: usize = 64;

/// Bytes of a thread's mappings that are read; functions of files beyond have no names.
const MAPS_BYTES_MAX: u64 = 4 << 20;

/// Files whose functions are kept, and the bytes that these take; functions of files beyond have no names.
const FILES_MAX: usize = 256;
const FUNCTIONS_BYTES_MAX: usize = 64 << 20;

/// No file is longer: what says so is no file of a program.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// What names functions of programs. Its thread begins with the first question, so that it has what the one who asks
/// has by then, and ends with this.
#[derive(Debug, Default)]
pub struct Programs {
    reader: Option<Reader>,
    /// The id of its thread, until it is taken.
    begun: Option<u32>,
    /// Questions without an answer.
    unanswered: u64,
}

#[derive(Debug)]
struct Reader {
    questions: SyncSender<Question>,
    /// One for each question, when what it asks for is in `known`.
    answers: Receiver<()>,
    known: Arc<Mapped>,
    /// The last question is not answered yet.
    is_busy: bool,
    /// How long was waited in the [`WAITS_IN`] that began then.
    waited: (Instant, Duration),
}

#[derive(Debug)]
struct Question {
    thread: u32,
    addresses: Vec<u64>,
}

impl Programs {
    /// The names of a thread's functions, the innermost first, of the addresses at which its stack goes on; none where
    /// they could not be had in time.
    pub fn names(&mut self, thread: u32, addresses: &[u64]) -> Vec<String> {
        if addresses.is_empty() {
            return Vec::new();
        }
        if self.reader.is_none() {
            let Some((reader, thread)) = begin() else { return self.nothing() };
            (self.reader, self.begun) = (Some(reader), Some(thread));
        }
        let found = self.reader.as_mut().and_then(|reader| {
            reader.look(thread, addresses).or_else(|| {
                reader.ask(thread, addresses);
                reader.look(thread, addresses)
            })
        });
        found.unwrap_or_else(|| self.nothing())
    }

    fn nothing(&mut self) -> Vec<String> {
        self.unanswered += 1;
        Vec::new()
    }

    /// The id of its thread, once, where that has begun since this was asked last.
    pub fn begun(&mut self) -> Option<u32> {
        self.begun.take()
    }

    /// A sentence for the reader, where stacks have no names of programs that might have had some.
    pub fn note(&self) -> Option<String> {
        (self.unanswered > 0).then(|| {
            format!(
                "{} stacks have no functions of programs, because reading their symbols took too long",
                self.unanswered
            )
        })
    }
}

impl Reader {
    /// The names, where all that they take is known.
    fn look(&self, thread: u32, addresses: &[u64]) -> Option<Vec<String>> {
        let files = self.known.of(thread)?;
        let mut names = Vec::new();
        for (place, address) in files.places(addresses) {
            let Some(place) = place else { break };
            let functions = files.functions.get(&place)?;
            names.push(name_of(&files.mappings[place], functions.as_deref(), address));
        }
        Some(names)
    }

    /// Has the thread look for them, and waits for a while.
    fn ask(&mut self, thread: u32, addresses: &[u64]) {
        if self.is_busy {
            match self.answers.try_recv() {
                // To another question, which nobody waits for any more.
                Ok(()) => self.is_busy = false,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
        let asked = Instant::now();
        let (since, waited) = &mut self.waited;
        if asked.duration_since(*since) >= WAITS_IN {
            (*since, *waited) = (asked, Duration::ZERO);
        }
        let question = Question { thread, addresses: addresses.to_vec() };
        if self.questions.try_send(question).is_err() {
            return;
        }
        let most = WAIT_MAX.min(WAITS_MAX.saturating_sub(*waited));
        let answer = self.answers.recv_timeout(most);
        *waited += asked.elapsed();
        self.is_busy = answer.is_err();
    }
}

/// Begins the thread; its id.
fn begin() -> Option<(Reader, u32)> {
    let (questions, asked) = sync_channel::<Question>(1);
    let (answer, answers) = sync_channel(1);
    let (tell, told) = sync_channel(1);
    let known = Arc::<Mapped>::default();
    let kept = Arc::clone(&known);
    let read = move || {
        give_up();
        be_like_others();
        let _ = tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let mut files = Files::default();
        for question in asked {
            files.look_at(&question, &kept);
            if answer.send(()).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("tardy-symbols".into()).spawn(read).ok()?;
    let thread = told.recv().ok()?;
    let waited = (Instant::now(), Duration::ZERO);
    Some((Reader { questions, answers, known, is_busy: false, waited }, thread))
}

/// Keeps what looking at other users' processes and files takes, and nothing else.
fn give_up() {
    let wanted = CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH;
    let _ = capabilities(None).and_then(|mut sets| {
        sets.effective &= wanted;
        sets.permitted &= wanted;
        sets.inheritable = CapabilitySet::empty();
        set_capabilities(None, sets)
    });
    let _ = set_no_new_privs(true);
}

/// A recorder may run before others, so that nothing is lost. Reading symbols can wait for them.
fn be_like_others() {
    let own = Some(rustix::thread::gettid());
    if getpriority_process(own).is_ok_and(|nice| nice < 0) {
        let _ = setpriority_process(own, 0);
    }
}

/// Where threads' files lie, and their functions. The lock is never held while a file is read.
#[derive(Debug, Default)]
struct Mapped(Mutex<HashMap<u32, Arc<Of>>>);

/// Of one thread.
#[derive(Debug)]
struct Of {
    since: Instant,
    mappings: Arc<Vec<Mapping>>,
    /// Of the mappings that were looked at, by their place: none where the file has none.
    functions: HashMap<usize, Option<Arc<Functions>>>,
}

impl Mapped {
    /// What is known of a thread, if that holds still.
    fn of(&self, thread: u32) -> Option<Arc<Of>> {
        // The other side may have lost its CPU while it has the lock, and who records waits for nobody.
        let all = match self.0.try_lock() {
            Ok(all) => all,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        all.get(&thread).filter(|of| of.since.elapsed() < MAPS_HOLD).cloned()
    }

    fn keep(&self, thread: u32, of: Of) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAPPED_MAX {
            all.clear();
        }
        all.insert(thread, Arc::new(of));
    }
}

impl Of {
    /// Which mapping each address of a stack is in, and where the call is.
    fn places(&self, addresses: &[u64]) -> impl Iterator<Item = (Option<usize>, u64)> {
        addresses.iter().enumerate().map(|(at, address)| {
            // Where a caller goes on may be behind its end, the call is not.
            let address = if at == 0 { *address } else { address.saturating_sub(1) };
            (maps::place_of(&self.mappings, address), address)
        })
    }
}

/// A function's name, or that of its file in brackets.
fn name_of(mapping: &Mapping, functions: Option<&Functions>, address: u64) -> String {
    if let Some(name) = functions.and_then(|known| known.name_at(mapping.offset_of(address))) {
        return name::readable(name);
    }
    let file = name::readable(mapping.file_name());
    let file = file.trim_matches(['[', ']']);
    format!("[{}]", if file.is_empty() { "unknown" } else { file })
}

/// What the thread has read of files.
#[derive(Debug, Default)]
struct Files {
    files: HashMap<FileId, Option<Arc<Functions>>>,
    bytes: usize,
}

/// One file, unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileId {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Files {
    /// Has the functions that a question asks for known.
    fn look_at(&mut self, question: &Question, known: &Mapped) {
        let thread = question.thread;
        let mut of = match known.of(thread) {
            Some(of) => {
                Of { mappings: Arc::clone(&of.mappings), functions: of.functions.clone(), ..*of }
            }
            None => Of {
                since: Instant::now(),
                mappings: Arc::new(mappings_of(thread)),
                functions: HashMap::new(),
            },
        };
        let places: Vec<_> = of.places(&question.addresses).map_while(|(place, _)| place).collect();
        for place in places {
            let mapping = &of.mappings[place];
            of.functions.entry(place).or_insert_with(|| self.functions(thread, mapping));
        }
        known.keep(thread, of);
    }

    /// The functions of the file of a mapping, if it has any.
    fn functions(&mut self, thread: u32, mapping: &Mapping) -> Option<Arc<Functions>> {
        let (file, id) = open_mapped(thread, mapping)?;
        if !self.files.contains_key(&id) {
            if self.files.len() >= FILES_MAX || self.bytes >= FUNCTIONS_BYTES_MAX {
                return None;
            }
            let functions = Functions::read(&Regular { file, bytes: id.bytes });
            self.bytes += functions.as_ref().map_or(0, Functions::bytes);
            self.files.insert(id, functions.map(Arc::new));
        }
        self.files.get(&id)?.clone()
    }
}

/// Where a thread's files lie now; nowhere where it has ended.
fn mappings_of(thread: u32) -> Vec<Mapping> {
    let mut text = Vec::new();
    let Ok(file) = File::open(format!("/proc/{thread}/maps")) else { return Vec::new() };
    let _ = file.take(MAPS_BYTES_MAX).read_to_end(&mut text);
    maps::executable(&text)
}

/// A mapped file, if it is still there under its name, as the thread sees that. It is looked at before it is opened:
/// opening anything but a regular file may do something.
fn open_mapped(thread: u32, mapping: &Mapping) -> Option<(File, FileId)> {
    let look = OFlags::PATH | OFlags::CLOEXEC;
    let link = format!("/proc/{thread}/root");
    let root = open(&link, look | OFlags::DIRECTORY, Mode::empty()).ok()?;
    let root_path = readlinkat(CWD, &link, Vec::new()).ok()?;
    let path = below(&mapping.path, root_path.as_bytes()).strip_prefix(b"/")?;
    // No link leads out of its root, nor into a process.
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let found = openat2(&root, path, look, Mode::empty(), resolve).ok()?;
    let id = regular(&found, mapping.inode)?;
    let read = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = openat(CWD, own_path(&found), read, Mode::empty()).ok()?;
    (regular(&opened, mapping.inode)? == id).then(|| (File::from(opened), id))
}

/// A mapping's path is told from the root of the thread's mounts on; where the thread has another root (chroot), this is
/// what is below that.
fn below<'a>(path: &'a [u8], root: &[u8]) -> &'a [u8] {
    path.strip_prefix(root).filter(|rest| rest.starts_with(b"/")).unwrap_or(path)
}

fn own_path(file: &impl AsFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

fn regular(file: &OwnedFd, inode: u64) -> Option<FileId> {
    let stat = fstat(file).ok()?;
    let is_regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    let bytes = u64::try_from(stat.st_size).ok().filter(|bytes| *bytes <= FILE_BYTES_MAX)?;
    (is_regular && stat.st_ino == inode).then_some(FileId {
        device: stat.st_dev,
        inode,
        bytes,
        changed: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
    })
}

/// A file of a length that was seen.
struct Regular {
    file: File,
    bytes: u64,
}

impl Bytes for Regular {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> bool {
        // Whoever cuts it short meanwhile has no names.
        self.file.read_exact_at(into, offset).is_ok()
    }

    fn len(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn own_thread() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    }

    #[inline(never)]
    extern "C" fn somewhere_in_this_program() -> usize {
        std::hint::black_box(7)
    }

    #[test]
    fn a_function_of_a_running_program_has_its_name() {
        let address = somewhere_in_this_program as *const () as usize as u64;
        let (mut files, known) = (Files::default(), Mapped::default());
        let thread = own_thread();
        let question = Question { thread, addresses: vec![address, address + 1, 1] };
        files.look_at(&question, &known);
        let of = known.of(thread).expect("it was looked at");
        let names: Vec<String> = of
            .places(&question.addresses)
            .map_while(|(place, address)| {
                let place = place?;
                let functions = of.functions[&place].as_deref();
                Some(name_of(&of.mappings[place], functions, address))
            })
            .collect();
        assert_eq!(names.len(), 2, "what is nowhere ends the stack: {names:?}");
        for name in names {
            assert!(name.ends_with("somewhere_in_this_program"), "{name}");
        }
        assert_eq!(files.files.len(), 1);
    }

    #[test]
    fn the_one_who_asks_gets_names_or_none_and_never_waits_for_long() {
        let address = somewhere_in_this_program as *const () as usize as u64;
        let mut programs = Programs::default();
        assert_eq!(programs.names(own_thread(), &[]), [""; 0]);
        assert_eq!(programs.begun(), None, "nothing was asked");
        // The first answer may come too late for the first question.
        let named = (0..1000).find_map(|_| {
            let names = programs.names(own_thread(), &[address]);
            if names.is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
            names.into_iter().next()
        });
        assert!(named.is_some_and(|name| name.ends_with("somewhere_in_this_program")));
        let thread = programs.begun().expect("it began");
        assert!(thread != own_thread() && programs.begun().is_none());
        assert_eq!(programs.names(u32::MAX, &[address]), [""; 0], "no such thread");
    }

    #[test]
    fn only_the_regular_file_that_is_mapped_is_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "x").expect("written");
        let inode = rustix::fs::stat(path("file")).expect("it is there").st_ino;
        let opens = |path: &std::path::Path, inode| {
            let path = path.as_os_str().as_encoded_bytes();
            let line = [b"1000-2000 r-xp 0 0:0 ", format!("{inode} ").as_bytes(), path].concat();
            let mappings = maps::executable(&line);
            open_mapped(own_thread(), &mappings[0]).is_some()
        };
        assert!(opens(&path("file"), inode));
        assert!(!opens(&path("file"), inode + 1), "another file of that name");
        assert!(!opens(&path("none"), inode));
        let pipe = path("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).expect("made");
        assert!(!opens(&pipe, rustix::fs::stat(&pipe).expect("it is there").st_ino));
        assert!(!opens(folder.path(), rustix::fs::stat(folder.path()).expect("there").st_ino));
        // By way of a process's files it would be any file of any process.
        symlink(format!("/proc/self/cwd/{}", path("file").display()), path("link")).expect("made");
        assert!(!opens(&path("link"), inode));
        let looped = path("loop");
        symlink(&looped, &looped).expect("made");
        assert!(!opens(&looped, inode));
    }

    #[test]
    fn a_path_is_looked_for_below_the_root_of_its_thread() {
        assert_eq!(below(b"/usr/bin/cat", b"/"), b"/usr/bin/cat");
        assert_eq!(below(b"/jail/usr/bin/cat", b"/jail"), b"/usr/bin/cat");
        assert_eq!(below(b"/jailer", b"/jail"), b"/jailer");
        assert_eq!(below(b"/usr/bin/cat", b"/jail"), b"/usr/bin/cat");
    }

    #[test]
    fn who_reads_keeps_no_more_than_that_takes() {
        let left = std::thread::spawn(|| {
            give_up();
            capabilities(None).expect("its own")
        });
        let left = left.join().expect("it does not panic");
        let wanted = CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH;
        assert!(wanted.contains(left.permitted) && left.inheritable.is_empty(), "{left:?}");
    }
}
