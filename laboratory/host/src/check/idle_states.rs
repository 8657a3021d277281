//! How deep CPUs sleep when idle, and what waking them costs.

use super::Finding;
use crate::probe::Probe;
use std::collections::BTreeMap;

const FOLDER: &str = "sys/devices/system/cpu";

/// Exit latencies in µs from which a state shows in a real-time thread's lateness, and from which
/// it is most of it.
const NOTICE_US: u64 = 10;
const PROBLEM_US: u64 = 100;

/// The most states that the kernel has (`CPUIDLE_STATE_MAX` is 10).
const STATES_MAX: usize = 16;

pub(super) fn check(probe: &Probe) -> Finding {
    let root = &probe.root;
    if probe.command_line.value("idle") == Some("poll") {
        return Finding::good("idle=poll", "Idle CPUs spin and wake at once, at full power.");
    }
    let word = |name: &str| root.word(&format!("{FOLDER}/cpuidle/{name}"));
    let driver = word("current_driver").filter(|name| name != "none");
    let governor = word("current_governor").or_else(|| word("current_governor_ro"));
    let states = states(probe);
    let is_guest = probe.virtualisation.is_guest();
    if driver.is_none() || states.is_empty() {
        let value = "no cpuidle driver";
        return if is_guest {
            Finding::notice(value, GUEST)
        } else {
            let why = "Idle CPUs use the architecture's shallow wait (HLT, WFI), a µs or so.";
            Finding::good(value, why)
        };
    }
    let deepest = states.iter().filter(|state| state.allowed).max_by_key(|state| state.exit_us);
    let deepest_us = deepest.map_or(0, |state| state.exit_us);
    let list: Vec<String> = states
        .iter()
        .map(|state| {
            let off = if state.allowed { "" } else { " off" };
            format!("{} {}{off}", state.name, state.exit_us)
        })
        .collect();
    let value = format!(
        "{}/{}: {} µs",
        driver.unwrap_or_default(),
        governor.as_deref().unwrap_or("no governor"),
        list.join(", ")
    );
    let name = deepest.map_or("none", |state| state.name.as_str());
    let why = format!(
        "A timer that fires on a CPU in {name} waits {deepest_us} µs until the CPU is awake, more \
         where caches were lost: programs \"run better while cyclictest runs\" because it forbids \
         such states."
    );
    if deepest_us > NOTICE_US {
        let finding = if deepest_us > PROBLEM_US { Finding::problem } else { Finding::notice };
        let option = match probe.calls.arch.as_str() {
            "x86_64" => "processor.max_cstate=1 intel_idle.max_cstate=0",
            _ => "cpuidle.off=1",
        };
        return finding(value, why)
            .change(format!("cpupower idle-set -D {NOTICE_US}"))
            .change("keep /dev/cpu_dma_latency open with a 32-bit 0 written")
            .change(format!("boot with {option}"))
            .fix("--only idle-latency");
    }
    if is_guest {
        return Finding::notice(value, GUEST);
    }
    Finding::good(value, format!("The deepest state allowed is {name}: {deepest_us} µs to wake."))
}

const GUEST: &str = "An idle virtual CPU halts, and the host must schedule it again when its \
                     timer fires: tens of µs that no exit latency includes.";

/// An idle state, over all CPUs that have it.
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) exit_us: u64,
    /// Whether some CPU may enter it.
    pub(crate) allowed: bool,
}

/// The states of all CPUs, in the kernel's order.
pub(crate) fn states(probe: &Probe) -> Vec<State> {
    let root = &probe.root;
    let system_limit_us = system_limit_us(probe);
    let mut states: BTreeMap<usize, State> = BTreeMap::new();
    for cpu in probe.cpus.iter() {
        let folder = format!("{FOLDER}/cpu{cpu}");
        let limit_us = system_limit_us.min(cpu_limit_us(probe, cpu));
        for index in 0..STATES_MAX {
            let state = format!("{folder}/cpuidle/state{index}");
            let Some(exit_us) = root.number::<u64>(&format!("{state}/latency")) else { continue };
            let disabled = root.word(&format!("{state}/disable")).is_some_and(|on| on != "0");
            let allowed = !disabled && exit_us <= limit_us;
            let known = states.entry(index).or_insert_with(|| State {
                name: root.word(&format!("{state}/name")).unwrap_or_else(|| index.to_string()),
                exit_us,
                allowed,
            });
            known.exit_us = known.exit_us.max(exit_us);
            known.allowed |= allowed;
        }
    }
    states.into_values().collect()
}

/// What somebody holds `/dev/cpu_dma_latency` at, in µs. Only root may read it.
pub(crate) fn system_limit_us(probe: &Probe) -> u64 {
    let bytes = probe.root.bytes("dev/cpu_dma_latency", 4).unwrap_or_default();
    let value = <[u8; 4]>::try_from(bytes).map(i32::from_ne_bytes);
    value.ok().and_then(|us| u64::try_from(us).ok()).unwrap_or(u64::MAX)
}

/// The limit of one CPU: 0 is none, `n/a` allows no latency at all (Documentation/ABI,
/// sysfs-devices-power).
fn cpu_limit_us(probe: &Probe, cpu: u32) -> u64 {
    match probe.root.word(&format!("{FOLDER}/cpu{cpu}/power/pm_qos_resume_latency_us")).as_deref() {
        Some("n/a") => 0,
        Some("0") | None => u64::MAX,
        Some(us) => us.parse().unwrap_or(u64::MAX),
    }
}
