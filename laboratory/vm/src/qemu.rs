//! QEMU's command line: a machine whose time is a count of its instructions, with nothing in it that
//! differs from run to run.

use crate::{Arch, Machine, VmError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tardy_programs::find;

/// What the port to the host is called in the guest.
pub(crate) const PORT_NAME: &str = "tardy";

/// Where everything of a guest that runs lies here.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    pub(crate) kernel: &'a Path,
    pub(crate) initramfs: &'a Path,
    /// What its serial line says.
    pub(crate) console: &'a Path,
    /// What it sends.
    pub(crate) port: &'a Path,
    /// What is its disk.
    pub(crate) disk: Option<&'a Path>,
}

/// QEMU's program for an architecture, on the search path.
pub(crate) fn program(arch: Arch) -> Result<PathBuf, VmError> {
    find(arch.qemu()).ok_or_else(|| VmError::Missing {
        what: format!("QEMU for {arch} ({})", arch.qemu()),
        command: format!("apt-get install {}", arch.qemu_package()),
    })
}

/// What this QEMU calls itself.
pub(crate) fn version(program: &Path) -> String {
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let first = said.unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    first.strip_prefix("QEMU emulator version ").map(str::to_owned).unwrap_or(first)
}

/// The words after the program.
pub(crate) fn arguments(machine: &Machine, files: &Files<'_>) -> Vec<OsString> {
    let port = format!("file,id=port,path={}", escaped(files.port));
    let console = format!("file,id=console,path={}", escaped(files.console));
    let mut words: Vec<OsString> = vec![];
    let mut option = |name: &str, value: &str| words.extend([name.into(), value.into()]);
    option("-accel", "tcg,thread=single");
    // To record is what makes QEMU's threads take strict turns. Else the one that skips idle time may do
    // so while the CPU's, which has just halted, has not told yet how many instructions it ran: these
    // then count twice, once in one run of three on a busy machine. The record itself is of no use here.
    // QEMU does not record several CPUs, nor a disk that others write to.
    let is_recorded = machine.cpus == 1 && files.disk.is_none();
    let turns = if is_recorded { ",rr=record,rrfile=/dev/null" } else { "" };
    option("-icount", &format!("shift={},sleep=off{turns}", machine.mips.shift()));
    option("-smp", &machine.cpus.to_string());
    option("-m", &format!("{}M", machine.memory_mib));
    option("-rtc", "base=2020-01-01T00:00:00,clock=vm");
    option("-seed", &machine.seed.to_string());
    option("-chardev", &console);
    option("-serial", "chardev:console");
    option("-chardev", &port);
    // With an eventfd another thread would take what the guest sends, in its own time; without one it is
    // taken where the guest sends it.
    match machine.arch {
        Arch::X86_64 => {
            option("-cpu", "max,rdrand=off,rdseed=off");
            option("-device", "virtio-serial-pci,ioeventfd=off");
        }
        Arch::Arm64 | Arch::Armv7 => {
            option("-machine", "virt,dtb-randomness=off");
            let is_64 = machine.arch == Arch::Arm64;
            option("-cpu", if is_64 { "cortex-a57" } else { "cortex-a15" });
            option("-global", "virtio-mmio.ioeventfd=off");
            option("-device", "virtio-serial-device");
        }
    }
    option("-device", &format!("virtserialport,chardev=port,name={PORT_NAME}"));
    if let Some(disk) = files.disk {
        // Named so, no name of a file is taken for a protocol.
        let file = format!("file.driver=file,file.filename={}", escaped(disk));
        option("-blockdev", &format!("driver=raw,node-name=disk,{file}"));
        let bus = if machine.arch == Arch::X86_64 { "virtio-blk-pci" } else { "virtio-blk-device" };
        option("-device", &format!("{bus},drive=disk,ioeventfd=off"));
    }
    option("-monitor", "none");
    option("-display", "none");
    option("-append", &command_line(machine));
    words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(OsString::from));
    words.extend(["-kernel".into(), files.kernel.into()]);
    words.extend(["-initrd".into(), files.initramfs.into()]);
    words
}

/// The kernel's command line. `tardy.mips` and `tardy.seed` mean nothing to it: they tell whoever
/// reads it later what this machine was.
fn command_line(machine: &Machine) -> String {
    let mut words = vec![
        format!("console={}", machine.arch.console()),
        "quiet".to_owned(),
        "panic=-1".to_owned(),
        "nokaslr".to_owned(),
        "norandmaps".to_owned(),
    ];
    if machine.arch == Arch::X86_64 {
        words.extend(["random.trust_cpu=off".to_owned(), "tsc=reliable".to_owned()]);
    }
    words.push(format!("tardy.mips={}", machine.mips));
    words.push(format!("tardy.seed={}", machine.seed));
    words.extend(machine.append.iter().cloned());
    words.join(" ")
}

/// A comma ends a value of QEMU's options, two are one.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(machine: &Machine) -> String {
        let files = Files {
            kernel: Path::new("k"),
            initramfs: Path::new("i"),
            console: Path::new("c,d"),
            port: Path::new("p"),
            disk: None,
        };
        let words = arguments(machine, &files);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_machine_is_told_to_count_and_to_take_no_chance() {
        let machine = Machine {
            cpus: 2,
            seed: 7,
            mips: "250".parse().unwrap(),
            append: vec!["nohz=off".into()],
            ..Machine::new(Arch::X86_64)
        };
        let line = line(&machine);
        for part in [
            "-icount shift=2,sleep=off -smp 2",
            "-smp 2",
            "-seed 7",
            "rdrand=off",
            "file,id=console,path=c,,d",
            "console=ttyS0",
            "tsc=reliable tardy.mips=250 tardy.seed=7 nohz=off",
            "-no-reboot",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }

    #[test]
    fn a_disk_is_a_file_whatever_it_is_called() {
        let files = Files {
            kernel: Path::new("k"),
            initramfs: Path::new("i"),
            console: Path::new("c"),
            port: Path::new("p"),
            disk: Some(Path::new("nbd:a,b")),
        };
        let words = arguments(&Machine::new(Arch::X86_64), &files);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let words = words.join(" ");
        assert!(words.contains("file.driver=file,file.filename=nbd:a,,b"), "{words}");
        assert!(words.contains("virtio-blk-pci,drive=disk") && !words.contains("rr="), "{words}");
    }

    #[test]
    fn arm_has_its_own_machine() {
        assert!(line(&Machine::new(Arch::Arm64)).contains("-cpu cortex-a57"));
        let line = line(&Machine::new(Arch::Armv7));
        assert!(line.contains("virt,dtb-randomness=off") && line.contains("console=ttyAMA0"));
        assert!(!line.contains("tsc=") && !line.contains("virtio-serial-pci"));
        assert!(line.contains("-icount shift=1,sleep=off,rr=record,rrfile=/dev/null -smp 1"));
    }
}
