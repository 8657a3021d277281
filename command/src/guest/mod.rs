//! Commands in a guest whose time is counted: which guest, what runs there, and what is left of it.

mod command;
mod left;

use crate::arguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use clap::Args;
pub(crate) use command::recorded;
use left::describe;
pub(crate) use left::recordings_below;
use std::io::{IsTerminal as _, Read as _, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tardy_vm::{Arch, Cache, Guest, Kernel, Limits, Machine, Mips, Ran, Said, Tools};

/// The folder in a run's own that holds what is the host's.
const HOSTS: &str = "vm";

/// The most of a guest's output that is kept for a JSON document.
const KEPT_MAX: usize = 64 << 20;

/// How long a guest may take where nobody says, of this machine's time.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Which guest.
#[derive(Clone, Debug, Args)]
pub(crate) struct GuestFlags {
    /// The kernel: a name of `tardy vm list`, or an image's file
    #[arg(long, value_name = "KERNEL", default_value = "small")]
    pub(crate) kernel: String,

    /// Number of CPUs; with more than one, latencies include QEMU's switching between them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) cpus: u32,

    /// Million instructions per second: 1000, 500, 250, 125, …
    #[arg(long, value_name = "MIPS", default_value_t)]
    pub(crate) mips: Mips,

    /// Memory in MiB; recordings are kept in it
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(64..=16_384))]
    pub(crate) memory: u32,

    /// Add this to the kernel's command line (repeatable)
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub(crate) append: Vec<String>,

    /// How long the guest may take, in this machine's time; a bare number is seconds [default: 30m; a day for an experiment's --full]
    #[arg(long, value_name = "TIME", value_parser = arguments::duration)]
    pub(crate) limit: Option<Duration>,

    /// How long it may take to boot, in this machine's time
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = arguments::duration)]
    pub(crate) boot_limit: Duration,

    /// How long it may be silent, in this machine's time; it gives a sign of life every second of its own time
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = arguments::duration)]
    pub(crate) silence_limit: Duration,
}

/// What goes along into a guest besides its command's own program.
pub(crate) struct Extra<'a> {
    /// Programs of Debian's.
    pub(crate) programs: &'a [String],
    /// Files: where each goes in the guest, and where it is here.
    pub(crate) files: Vec<(PathBuf, PathBuf)>,
    /// What is its disk.
    pub(crate) disk: Option<&'a Path>,
}

/// A guest that can be booted, and what it is called.
pub(crate) struct Ready {
    /// The kernel, by the name under which it is kept, or its image's file.
    pub(crate) kernel: String,
    guest: Guest,
    /// How long it may take.
    pub(crate) limits: Limits,
}

/// How a guest ran, and what it said.
pub(crate) struct Finished {
    pub(crate) ran: Ran,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl GuestFlags {
    /// The flags that choose this guest again.
    pub(crate) fn words(&self) -> String {
        let mut words = vec!["--vm".to_owned(), format!("--kernel {}", self.kernel)];
        if self.cpus != 1 {
            words.push(format!("--cpus {}", self.cpus));
        }
        if self.mips != Mips::default() {
            words.push(format!("--mips {}", self.mips));
        }
        words.extend(self.append.iter().map(|append| format!("--append '{append}'")));
        words.join(" ")
    }

    /// Puts a guest together that runs `command`, with what goes along. `{seed}` in the command is
    /// replaced by the seed.
    pub(crate) fn ready(
        &self,
        command: &[String],
        extra: Extra<'_>,
        seed: u64,
    ) -> Result<Ready, Failure> {
        let cache = Cache::of_user()?;
        let disk = extra.disk.map(disk).transpose()?;
        let (arch, image, modules) = if self.kernel.contains('/') {
            let image = PathBuf::from(&self.kernel);
            (arch_of(&image)?, image, Vec::new())
        } else {
            let installed = Kernel::named(&self.kernel)?.installed(&cache)?;
            let mut modules = installed.modules;
            if disk.is_some() {
                modules.extend(installed.modules_for_disks.ok_or_else(|| {
                    Failure::new(format!(
                        "the kernel {} has no file system for a disk here, because an earlier tardy fetched it: {}",
                        self.kernel,
                        installed.kernel.command()
                    ))
                })?);
            }
            (installed.kernel.arch, installed.image, modules)
        };
        let machine = Machine {
            cpus: self.cpus,
            mips: self.mips,
            memory_mib: self.memory,
            seed,
            append: self.append.clone(),
            ..Machine::new(arch)
        };
        let command: Vec<String> =
            command.iter().map(|word| word.replace("{seed}", &seed.to_string())).collect();
        let (mut files, links) = programs(&command, extra.programs, arch, &cache)?;
        files.extend(extra.files);
        let guest = Guest {
            machine,
            kernel: image,
            modules,
            program: tardy_vm::guest_program(arch, &cache)?,
            files,
            links,
            disk,
            command,
        };
        let limits = Limits {
            boot: self.boot_limit,
            silence: self.silence_limit,
            whole: self.limit.unwrap_or(LIMIT),
        };
        Ok(Ready { kernel: self.kernel.clone(), guest, limits })
    }
}

impl Ready {
    /// The machine.
    pub(crate) fn machine(&self) -> &Machine {
        &self.guest.machine
    }

    /// What runs in it.
    pub(crate) fn command(&self) -> &[String] {
        &self.guest.command
    }

    /// Boots it and waits for its end. What the command writes below its current folder comes to
    /// `folder`; recordings among that then tell where they come from. `folder/vm/console.txt` is what
    /// its kernel said. With `is_through` its output goes to ours as it comes, otherwise it is kept.
    pub(crate) fn run(
        &self,
        folder: &Path,
        is_through: bool,
        quiet: bool,
        interrupt: &Interrupt,
    ) -> Result<Finished, Failure> {
        let hosts = folder.join(HOSTS);
        tardy_files::Folder::make(&hosts, tardy_files::Access::Private)
            .map_err(|error| output::cannot_write(&hosts, &error))?;
        let progress = Progress::new(None, quiet);
        let begun = Instant::now();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut closed = None;
        let mut now_ns = 0;
        // What is in a guest commands no terminal of the host's.
        let is_terminal = output::raw().is_terminal() || output::raw_error().is_terminal();
        let mut pass = |kept: &mut Vec<u8>, bytes: &[u8], out: &mut dyn Write, is_through| {
            if is_through {
                let text = if is_terminal {
                    output::printable(&String::from_utf8_lossy(bytes)).into_bytes()
                } else {
                    bytes.to_vec()
                };
                let wrote = progress.beside(|| out.write_all(&text).and_then(|()| out.flush()));
                closed = closed.take().or(wrote.err());
                // Nobody reads: the guest has nothing left to run for.
                return closed.is_none();
            }
            if kept.len() < KEPT_MAX {
                kept.extend_from_slice(bytes);
            }
            true
        };
        let ran = self.guest.run(folder, &hosts.join("console.txt"), self.limits, &mut |said| {
            let is_read = match said {
                Said::Up { ns, .. } | Said::Time(ns) => {
                    now_ns = ns;
                    true
                }
                Said::Stdout(bytes) => pass(&mut stdout, bytes, &mut output::raw(), is_through),
                Said::Stderr(bytes) => {
                    pass(&mut stderr, bytes, &mut output::raw_error(), is_through && !quiet)
                }
                _ => true,
            };
            let words = if now_ns == 0 {
                "the guest boots".to_owned()
            } else {
                format!("{:.0} s of the guest's time", now_ns as f64 / 1e9)
            };
            progress.show(begun.elapsed(), words);
            is_read && !interrupt.is_asked()
        })?;
        drop(progress);
        if let Some(error) = closed {
            return Err(error.into());
        }
        describe(folder, self, &ran)?;
        Ok(Finished { ran, stdout, stderr })
    }
}

/// The path of a disk from anywhere; it must be there, and be one.
fn disk(path: &Path) -> Result<PathBuf, Failure> {
    let wrong = |why: String| Failure::usage(format!("{} is no disk: {why}", path.display()));
    let about = std::fs::metadata(path).map_err(|error| {
        wrong(format!("{error}; make one, as with: truncate -s 64M FILE && mkfs.ext2 FILE"))
    })?;
    if !about.is_file() && !about.file_type().is_block_device() {
        return Err(wrong("it is neither a file nor a block device".to_owned()));
    }
    let open = std::fs::File::options().read(true).write(true).open(path);
    open.map_err(|error| wrong(format!("it cannot be written: {error}")))?;
    path.canonicalize().map_err(|error| wrong(error.to_string()))
}

/// Where files go in the guest, and where they are here; and links there.
type Programs = (Vec<(PathBuf, PathBuf)>, Vec<(PathBuf, PathBuf)>);

/// The stock programs that a command needs: Debian's, where they are in the cache, else those of this
/// machine, where the guest is of its kind.
fn programs(
    command: &[String],
    with: &[String],
    arch: Arch,
    cache: &Cache,
) -> Result<Programs, Failure> {
    let (mut files, mut links) = (vec![], vec![]);
    let tools = Tools::of(arch, cache);
    let first = command.first().into_iter().filter(|word| *word != "tardy");
    let own = |name: &str| {
        let is_alike = Arch::of_this_machine() == Some(arch);
        let found =
            if name.starts_with('/') { Some(PathBuf::from(name)) } else { tardy_vm::on_path(name) };
        found.filter(|_| is_alike)
    };
    let shell = Path::new("/bin/sh");
    for name in first.chain(with) {
        let is_shell = name == "sh" || name == "busybox";
        // A shell alone has no programs to run: busybox has them in itself, whoever's it is.
        let (wanted, own) = match own("busybox").filter(|_| is_shell) {
            Some(busybox) => ("busybox", Some(busybox)),
            None => (name.as_str(), own(name)),
        };
        let found = match (tools.program(if is_shell { "busybox" } else { name }), own) {
            (Ok(found), _) => found,
            (Err(_), Some(own)) => {
                let is_path = wanted.starts_with('/');
                let to = if is_path { own.clone() } else { Path::new("/bin").join(wanted) };
                let libraries = tardy_vm::libraries_of(&own, Path::new("/"))?;
                [(to, own)].into_iter().chain(libraries).collect()
            }
            (Err(error), None) => return Err(error.into()),
        };
        if is_shell && let Some((program, _)) = found.first().filter(|(to, _)| to != shell) {
            links.push((shell.to_owned(), program.clone()));
        }
        files.extend(found);
    }
    Ok((files, links))
}

/// The architecture of a kernel's image, told by its first bytes: the boot protocol of x86 has `HdrS`
/// at 0x202, an Image of arm64 `ARMd` at 0x38, a zImage of ARM a magic number at 0x24.
fn arch_of(image: &Path) -> Result<Arch, Failure> {
    let wrong = |why: &str| Failure::new(format!("{} {why}", image.display()));
    let mut head = vec![0; 0x206];
    let read = tardy_files::open_named(image).and_then(|mut file| file.read_exact(&mut head));
    read.map_err(|error| wrong(&format!("cannot be read as a kernel image: {error}")))?;
    if &head[0x202..0x206] == b"HdrS" {
        Ok(Arch::X86_64)
    } else if &head[0x38..0x3c] == b"ARMd" {
        Ok(Arch::Arm64)
    } else if head[0x24..0x28] == 0x016f_2818_u32.to_le_bytes() {
        Ok(Arch::Armv7)
    } else {
        Err(wrong(
            "is not a kernel image: neither a bzImage for x86, nor an Image for arm64, nor a zImage for ARM",
        ))
    }
}
