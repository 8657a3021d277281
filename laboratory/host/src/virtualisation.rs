//! Whether this kernel is a guest, and whose.

use crate::root::Root;
use std::fmt;

/// The machine below this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Virtualisation {
    /// A guest of this monitor ("Firecracker/KVM"), or of an unknown one.
    Guest(Option<String>),
    /// The processor says that there is no hypervisor (only x86 does).
    Bare,
    /// No sign of a hypervisor, on an architecture that need not show one.
    NoSign,
}

impl Virtualisation {
    /// Reads what gives a hypervisor away. `arch` as `uname -m`.
    pub(crate) fn read(root: &Root, arch: &str) -> Self {
        let monitor = monitor(root);
        let kind = kind(root);
        let name = match (monitor, kind) {
            (Some(monitor), Some(kind)) if monitor != kind => Some(format!("{monitor}/{kind}")),
            (monitor, kind) => monitor.or(kind).map(str::to_owned),
        };
        let is_x86 = matches!(arch, "x86_64" | "i386" | "i486" | "i586" | "i686");
        match cpu_flag(root) {
            Some(true) => Self::Guest(name),
            // A cloud's bare machine has the cloud's name in its DMI, so the flag decides.
            Some(false) if is_x86 => Self::Bare,
            _ if name.is_some() => Self::Guest(name),
            _ => Self::NoSign,
        }
    }

    pub(crate) fn is_guest(&self) -> bool {
        matches!(self, Self::Guest(_))
    }

    /// The hypervisor's name where this is a guest.
    pub(crate) fn hypervisor(&self) -> Option<&str> {
        match self {
            Self::Guest(name) => Some(name.as_deref().unwrap_or("unknown hypervisor")),
            Self::Bare | Self::NoSign => None,
        }
    }
}

impl fmt::Display for Virtualisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guest(Some(name)) => write!(f, "guest of {name}"),
            Self::Guest(None) => f.write_str("guest of an unknown hypervisor"),
            Self::Bare => f.write_str("bare metal"),
            Self::NoSign => f.write_str("no sign of a hypervisor"),
        }
    }
}

/// Whether the processor's flags have `hypervisor`; `None` where there are no flags to look at.
fn cpu_flag(root: &Root) -> Option<bool> {
    let text = root.text("proc/cpuinfo")?;
    let flags = text.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The virtual machine monitor, from what it says in firmware tables.
fn monitor(root: &Root) -> Option<&'static str> {
    const DMI: [(&str, &str); 13] = [
        ("QEMU", "QEMU"),
        ("Amazon EC2", "Amazon EC2"),
        ("Google", "Google Compute Engine"),
        ("Microsoft Corporation Virtual", "Hyper-V"),
        ("VMware", "VMware"),
        ("innotek", "VirtualBox"),
        ("VirtualBox", "VirtualBox"),
        ("Xen", "Xen"),
        ("Parallels", "Parallels"),
        ("BHYVE", "bhyve"),
        ("OpenStack", "OpenStack"),
        ("KVM", "KVM"),
        ("Apple Virtualization", "Apple Virtualization"),
    ];
    const ACPI_OEM: [(&[u8], &str); 4] = [
        (b"FIRECK", "Firecracker"),
        (b"CLOUDH", "Cloud Hypervisor"),
        (b"BOCHS ", "QEMU"),
        (b"VBOX  ", "VirtualBox"),
    ];
    let word = |name| root.word(&format!("sys/class/dmi/id/{name}")).unwrap_or_default();
    let dmi = format!("{} {}", word("sys_vendor"), word("product_name"));
    // Amazon's machines without a hypervisor have its name too (`c7g.metal`).
    if dmi.contains(".metal") {
        return None;
    }
    if let Some((_, name)) = DMI.iter().find(|(sign, _)| dmi.contains(sign)) {
        return Some(name);
    }
    // The OEM id of an ACPI table is its bytes 10 to 15 (ACPI 5.2.6).
    let table = ["FACP", "APIC", "DSDT"]
        .iter()
        .find_map(|name| root.bytes(&format!("sys/firmware/acpi/tables/{name}"), 36))?;
    let oem = table.get(10..16)?;
    ACPI_OEM.iter().find(|(sign, _)| *sign == oem).map(|(_, name)| *name)
}

/// The hypervisor proper, from what the kernel uses of it.
fn kind(root: &Root) -> Option<&'static str> {
    if root.word("sys/hypervisor/type").as_deref() == Some("xen") {
        return Some("Xen");
    }
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let clocks = root.word(clocks).unwrap_or_default();
    for (sign, name) in [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")] {
        if clocks.split_whitespace().any(|clock| clock.starts_with(sign)) {
            return Some(name);
        }
    }
    let node = root.text("proc/device-tree/hypervisor/compatible").unwrap_or_default();
    let found = [("kvm", "KVM"), ("xen", "Xen")].into_iter().find(|(sign, _)| node.contains(sign));
    found.map(|(_, name)| name)
}
