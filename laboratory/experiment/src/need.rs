//! What a condition needs of the machine.

use tardy_host::{Ability, Host};

/// Says what a machine lacks; `None` where it has it.
type Lacking = fn(&Host) -> Option<String>;

/// What can be asked for, each with how the machine is asked.
const KNOWN: [(&str, Lacking); 3] = [
    ("preempt-rt", |host| {
        (!host.facts().realtime).then(|| {
            "this kernel is not PREEMPT_RT, so the timers of all threads expire in hard interrupt \
             context anyway"
                .to_owned()
        })
    }),
    ("realtime", |host| {
        (!host.can(Ability::Realtime)).then(|| {
            "real-time priorities are not permitted; root, run with CAP_SYS_NICE or `ulimit -r 99`"
                .to_owned()
        })
    }),
    ("root", |_| {
        (!rustix::process::geteuid().is_root()).then(|| "it needs root; run it as root".to_owned())
    }),
];

/// The most CPUs that can be asked for.
const CPUS_MAX: u32 = 4096;

/// Checks that a need is one that can be asked for.
pub(crate) fn check(need: &str) -> Result<(), String> {
    if KNOWN.iter().any(|(name, _)| *name == need) || cpus(need).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
    Err(format!("there is no need `{need}`; there are: {}, cpus-N", known.join(", ")))
}

/// Why the machine has not what is needed; `None` where it has.
pub(crate) fn lacking(need: &str, host: &Host) -> Option<String> {
    if let Some(cpus) = cpus(need) {
        let here = host.facts().cpus;
        return (here < cpus).then(|| format!("it needs {cpus} CPUs, and there are {here}"));
    }
    KNOWN.iter().find(|(name, _)| *name == need).and_then(|(_, lacking)| lacking(host))
}

/// `cpus-2`.
fn cpus(need: &str) -> Option<u32> {
    need.strip_prefix("cpus-")?.parse().ok().filter(|cpus| (1..=CPUS_MAX).contains(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_for_is_refused() {
        for fine in ["preempt-rt", "realtime", "root", "cpus-2"] {
            assert_eq!(check(fine), Ok(()));
        }
        for wrong in ["", "preempt", "cpus-", "cpus-0", "cpus-99999"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_machine_has_one_cpu_and_not_4096() {
        let host = Host::probe();
        assert_eq!(lacking("cpus-1", &host), None);
        assert!(lacking("cpus-4096", &host).unwrap().contains("needs 4096 CPUs"));
    }
}
