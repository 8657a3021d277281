//! A guest's life, from here.

use crate::channel::Ended;
use crate::fate::{Fate, Killed, Known};
use crate::initramfs::Initramfs;
use crate::job::{JOB_FILE, Job, PROGRAM};
use crate::received::Received;
use crate::{Machine, VmError, keeper, program, qemu};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked what a guest has sent.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a guest that has said its end is given to end.
const END_PATIENCE: Duration = Duration::from_secs(20);

/// The most of a console that is read, its end.
const CONSOLE_BYTES_MAX: u64 = 1 << 20;

/// How far a guest's seed shifts the begin of its command at most: ten ticks of the slowest kernel.
const OFFSET_MAX_NS: u64 = 100_000_000;

/// A kernel, a machine for it, and what it is to do.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The machine.
    pub machine: Machine,
    /// The kernel's image.
    pub kernel: PathBuf,
    /// Its modules, in the order in which they are to be loaded.
    pub modules: Vec<PathBuf>,
    /// The program that is the guest's first process and its `tardy`, with its libraries: where each
    /// goes in the guest, and where it is here. The first is the program.
    pub program: Vec<(PathBuf, PathBuf)>,
    /// More files: where each goes in the guest, and where it is here.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// More symbolic links: where each is in the guest, and where it points.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// A file or device of this machine that is its disk, as it is: `/dev/vda` there.
    pub disk: Option<PathBuf>,
    /// What it runs.
    pub command: Vec<String>,
}

/// How long a guest may take, in time of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until it says that it is up.
    pub boot: Duration,
    /// Between two signs of life.
    pub silence: Duration,
    /// In all.
    pub whole: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Self { boot: minutes(2), silence: minutes(2), whole: minutes(30) }
    }
}

/// What a guest says while it runs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Said<'a> {
    /// It is up.
    Up {
        /// `uname -r` there.
        release: &'a str,
        /// Its time.
        ns: u64,
    },
    /// The command's standard output.
    Stdout(&'a [u8]),
    /// The command's standard error.
    Stderr(&'a [u8]),
    /// Its time, about once a second of it.
    Time(u64),
    /// Nothing new; this machine's time passes.
    Nothing,
}

/// How a guest ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub fate: Fate,
    /// How long it took to come up, ns of its time; none where it never did.
    pub up_ns: Option<u64>,
    /// How long the command ran, ns of the guest's time; none where its end is not known.
    pub ran_ns: Option<u64>,
    /// How long it took here.
    pub took: Duration,
    /// `uname -r` there; empty where it never came up.
    pub release: String,
    /// QEMU's version.
    pub qemu: String,
}

impl Guest {
    /// Boots it, and waits for its end. What its command writes below its current folder goes to
    /// `folder`, while it grows; what its console says to `console`. `tell` is called all the while,
    /// and ends the guest by returning false.
    ///
    /// # Errors
    /// Where it cannot be started, or what it sends cannot be written. A guest that breaks is no
    /// error here, but a [`Fate`].
    pub fn run(
        &self,
        folder: &Path,
        console: &Path,
        limits: Limits,
        tell: &mut dyn FnMut(Said<'_>) -> bool,
    ) -> Result<Ran, VmError> {
        let program = qemu::program(self.machine.arch)?;
        let below = tardy_files::owner::temporary_folder();
        let temporary =
            tempfile::tempdir_in(&below).map_err(VmError::file("make a folder in", below))?;
        let at = |name: &str| temporary.path().join(name);
        let (initramfs, port, errors) = (at("initramfs"), at("port"), at("errors"));
        self.initramfs(&at("program"))?.write(&initramfs)?;
        for path in [&port, console] {
            File::create(path).map_err(VmError::file("write", path))?;
        }
        let files = qemu::Files {
            kernel: &self.kernel,
            initramfs: &initramfs,
            console,
            port: &port,
            disk: self.disk.as_deref(),
        };
        let begun = Instant::now();
        let error_file = File::create(&errors).map_err(VmError::file("write", &errors))?;
        let child = keeper::command(&program, qemu::arguments(&self.machine, &files))
            .and_then(|mut command| {
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(error_file).spawn()
            })
            .map_err(VmError::file("start", &program))?;
        let mut running = Running { child, killed: None };
        let mut received = Received::new(&port, folder)?;
        let succeeded = running.attend(&mut received, begun, limits, tell)?;

        let console = end_of(console);
        let errors = end_of(&errors);
        let known = Known {
            ended: received.ended,
            trouble: received.trouble,
            garbled: received.garbled,
            is_up: received.hello.is_some(),
            last_ns: received.last_ns,
            killed: running.killed,
            console: &console,
            qemu: &errors,
            qemu_succeeded: succeeded || running.killed.is_some(),
        };
        Ok(Ran {
            fate: known.fate(),
            up_ns: received.hello.as_ref().map(|hello| hello.up_ns),
            ran_ns: received.ended.map(|Ended { ran_ns, .. }| ran_ns),
            took: begun.elapsed(),
            release: received.hello.map(|hello| hello.release).unwrap_or_default(),
            qemu: qemu::version(&program),
        })
    }

    fn initramfs(&self, stripped: &Path) -> Result<Initramfs, VmError> {
        let mut tree = Initramfs::default();
        let (first, libraries) = self.program.split_first().ok_or_else(|| VmError::Missing {
            what: "a program for the guest".to_owned(),
            command: "tardy vm build".to_owned(),
        })?;
        tree.copy(PROGRAM, program::stripped(&first.1, stripped));
        tree.link("/init", PROGRAM);
        for (to, from) in libraries.iter().chain(&self.files) {
            tree.copy(to, from);
        }
        for (at, to) in &self.links {
            tree.link(at, to);
        }
        for folder in ["/proc", "/sys", "/dev", "/tmp", "/out", "/root", "/run", "/var/tmp"] {
            tree.folder(folder);
        }
        let mut job = Job {
            command: self.command.clone(),
            // The first seed is that of no shift, so that a plain run is the plainest there is.
            offset_ns: match self.machine.seed {
                0 | 1 => 0,
                seed => fastrand::Rng::with_seed(seed).u64(0..OFFSET_MAX_NS),
            },
            ..Job::default()
        };
        for (number, module) in self.modules.iter().enumerate() {
            let name = module.file_name().unwrap_or_default().to_string_lossy();
            let to = format!("/modules/{number:02}-{name}");
            tree.copy(&to, module);
            job.modules.push(to);
        }
        tree.file(JOB_FILE, serde_json::to_vec(&job).expect("words and numbers"));
        Ok(tree)
    }
}

/// A QEMU that runs. It ends with this at the latest.
struct Running {
    child: Child,
    killed: Option<Killed>,
}

impl Running {
    /// Takes what the guest sends until QEMU has ended; whether it ended well.
    fn attend(
        &mut self,
        received: &mut Received,
        begun: Instant,
        limits: Limits,
        tell: &mut dyn FnMut(Said<'_>) -> bool,
    ) -> Result<bool, VmError> {
        let mut heard = begun;
        let mut end_said: Option<Instant> = None;
        loop {
            let status = self.child.try_wait().map_err(VmError::file("wait for", "QEMU"))?;
            let mut goes_on = true;
            let some = received.look(&mut |said| goes_on &= tell(said))?;
            if let Some(status) = status {
                return Ok(status.success());
            }
            goes_on &= tell(Said::Nothing);
            if some {
                heard = Instant::now();
            }
            if received.ended.is_some() || received.trouble.is_some() {
                end_said.get_or_insert_with(Instant::now);
            }
            let is_up = received.hello.is_some();
            let over = if !goes_on {
                Some(Killed::Asked)
            } else if begun.elapsed() > limits.whole {
                Some(Killed::Limit(limits.whole))
            } else if !is_up && begun.elapsed() > limits.boot {
                Some(Killed::Boot(limits.boot))
            } else if received.garbled.is_some()
                || end_said.is_some_and(|said| said.elapsed() > END_PATIENCE)
                || (is_up && heard.elapsed() > limits.silence)
            {
                Some(Killed::Silence(limits.silence))
            } else {
                None
            };
            if let Some(why) = over {
                self.killed = Some(why);
                self.end();
                received.look(&mut |said| {
                    tell(said);
                })?;
                return Ok(false);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn end(&mut self) {
        // It may have ended this very moment.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of a file that may not be there.
fn end_of(path: &Path) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let from = fs::metadata(path)?.len().saturating_sub(CONSOLE_BYTES_MAX);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(CONSOLE_BYTES_MAX).read_to_end(&mut bytes)?;
        std::io::Result::Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).replace('\r', "")
}
