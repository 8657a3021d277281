//! The machines and systems that come with the program, as the files they are.

/// A file that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
}

macro_rules! known {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(Known {
            name: $name,
            text: include_str!(concat!("../../files/", $folder, "/", $name, ".toml")),
        }),*]
    };
}

/// All machines.
pub const MACHINES: &[Known] = known![
    "machines": "zynq-7020", "piii-celeron-333", "counted-500mips", "counted-x86", "counted-armv7",
    "counted-debian-rt", "x86-vm",
];

/// All systems.
pub const SYSTEMS: &[Known] = known![
    "systems": "storm", "zynq-storm", "zynq-fit", "zynq-network", "stacking", "stacking-fit",
    "stacking-policies", "staircase", "staircase-policies", "staircase-softirq", "sleep", "sleep-services",
    "sleep-policies", "rearm", "rearm-share", "softirq-expires-next", "softirq-expires-next-sleep",
    "pi-spike",
];

/// A machine by its name.
pub fn machine(name: &str) -> Option<&'static Known> {
    MACHINES.iter().find(|known| known.name == name)
}

/// A system by its name.
pub fn system(name: &str) -> Option<&'static Known> {
    SYSTEMS.iter().find(|known| known.name == name)
}

impl Known {
    /// The first paragraph of its remarks.
    pub fn about(&self) -> String {
        let lines = self.text.lines().map(|line| line.trim_start_matches(['#', ' ']));
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
