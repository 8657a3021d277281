//! Loads the programs that this kernel has tracepoints for, and attaches them.

use crate::flight_shared::FlightShared;
use crate::ring::{Rings, ring_bytes};
use crate::stacks::Stacks;
use crate::{Error, FlightOptions, Options, warnings};
use libbpf_rs::btf::{Btf, ReferencesType, types};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, OpenObject};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_getres};
use std::mem::MaybeUninit;
use tardy_model::event::TaskInfo;

#[allow(clippy::all, clippy::pedantic, dead_code, missing_docs, unreachable_pub)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/live.skel.rs"));
}

pub(crate) struct Attached {
    pub(crate) rings: Rings,
    pub(crate) flight: Option<FlightShared>,
    /// Where stacks are taken.
    pub(crate) stacks: Option<Stacks>,
    /// The processes that are watched.
    pub(crate) watched: MapHandle,
    pub(crate) links: Vec<Link>,
    /// What a hypervisor steals is told.
    pub(crate) counts_stolen: bool,
    /// Interrupts of the timer begin without a word: see [`loops_tell_interrupts`].
    pub(crate) timer_interrupts_untold: bool,
    pub(crate) missing: Vec<String>,
}

/// The device that interrupts CPU 0 when a timer is due; the others have one of the same kind.
const FIRST_CLOCK_EVENT_DEVICE: &str = "/sys/devices/system/clockevents/clockevent0/current_device";

const BTF_PATH: &str = "/sys/kernel/btf/vmlinux";

/// Hooks that run at every system call and page fault of every thread: only where somebody is watched
/// by them.
const WATCHING_HOOKS: [&str; 3] = ["sys_enter", "sys_exit", "page_fault_user"];

/// Hooks that a flight recorder does without, because they run between a timer and its sleeper, or at
/// every system call.
const HOOKS_WITHOUT_FLIGHT: [&str; 6] = [
    "local_timer_entry",
    "local_timer_exit",
    "cpu_idle",
    "sys_enter",
    "sys_exit",
    "page_fault_user",
];

/// The hook that only kernels with threads for timers have (`kernel/` of this repository): others lack nothing
/// without it.
const TIMER_POLICY_HOOK: &str = "timer_pending";

/// The hook that tells when an interrupt of the timer begins, where nothing else does.
const TIMER_INTERRUPT_HOOK: &str = "local_timer_entry";

/// How the programs are called that take the place of others in a flight recorder.
const FLIGHT_PREFIX: &str = "fly_";

/// Whether a program belongs to what is recorded, by its name and its hook.
fn is_wanted(
    options: &Options,
    flies: bool,
    replaced: &[String],
    program: &str,
    hook: &str,
) -> bool {
    let watches = options.watch_children || !options.watched_processes.is_empty();
    match flies {
        false => {
            !program.starts_with(FLIGHT_PREFIX) && (watches || !WATCHING_HOOKS.contains(&hook))
        }
        true if program.starts_with(FLIGHT_PREFIX) => true,
        true => {
            !HOOKS_WITHOUT_FLIGHT.contains(&hook) && !replaced.iter().any(|other| other == hook)
        }
    }
}

/// With `flight` as a flight recorder, else as a stream. CPUs have rings up to that number.
pub(crate) fn attach(
    options: &Options,
    flight: Option<&FlightOptions>,
    cpus: u16,
    slots_shift: u32,
) -> Result<Attached, Error> {
    // Before Linux 5.11 maps count as locked memory; where raising is not allowed loading will say.
    let unlimited = Rlimit { current: None, maximum: None };
    let _ = setrlimit(Resource::Memlock, unlimited);

    warnings::keep();
    let btf = Btf::from_vmlinux().map_err(|_| Error::NoBtf { path: BTF_PATH })?;
    if !has_atomics(&btf) {
        return Err(Error::NoAtomics);
    }

    let mut object = MaybeUninit::<OpenObject>::uninit();
    let mut open = skeleton::LiveSkelBuilder::default()
        .open(&mut object)
        .map_err(|error| Error::from_libbpf("to open the programs", &error))?;

    let over_ns = flight.map(|flight| flight.over_ns);
    let rodata = open.maps.rodata_data.as_deref_mut().expect("the programs have constants");
    rodata.slots_mask = (1 << slots_shift) - 1;
    rodata.over_ns = over_ns.unwrap_or(u64::MAX);
    rodata.watches_realtime = flight.is_some_and(|flight| flight.watch_realtime);
    let watched_info = watched_info(over_ns.is_some());
    rodata.watched_info = watched_info;
    if options.watch_children {
        // A flight recorder starts others than it watches: only the children of processes that are watched are.
        rodata.watch_children_of = if flight.is_some() { u32::MAX } else { std::process::id() };
    }
    let counts_stolen = is_virtual() && keeps_stolen(&btf);
    rodata.counts_stolen = counts_stolen;
    if let Some(stacks_over_ns) = options.stacks_over_ns {
        rodata.stacks_over_ns = stacks_over_ns;
        rodata.stacks_overwrite = flight.is_some();
        open.maps
            .stacks
            .set_max_entries(cpus.into())
            .map_err(|error| Error::from_libbpf("room for stacks", &error))?;
    }
    let sized = open
        .maps
        .rings
        .set_value_size(ring_bytes(slots_shift) as u32)
        .and_then(|()| open.maps.rings.set_max_entries(cpus.into()));
    sized.map_err(|error| Error::from_libbpf("the rings' size", &error))?;

    let replaced: Vec<String> = open
        .open_object()
        .progs()
        .filter(|program| program.name().to_string_lossy().starts_with(FLIGHT_PREFIX))
        .map(|program| tracepoint_of(&program.section().to_string_lossy()))
        .collect();
    let timer_interrupts_untold = loops_tell_interrupts(&btf);
    let mut missing = Vec::new();
    for mut program in open.open_object_mut().progs_mut() {
        let hook = tracepoint_of(&program.section().to_string_lossy());
        let wanted = is_wanted(
            options,
            over_ns.is_some(),
            &replaced,
            &program.name().to_string_lossy(),
            &hook,
        ) && !(timer_interrupts_untold && hook == TIMER_INTERRUPT_HOOK);
        let there = tracepoint_arguments(&btf, &hook).is_some();
        if wanted && !there && hook != TIMER_POLICY_HOOK {
            missing.push(hook);
        }
        program.set_autoload(wanted && there);
    }
    if over_ns.is_some() {
        missing.extend(HOOKS_WITHOUT_FLIGHT.map(str::to_owned));
    }

    let loaded = open.load().map_err(|error| Error::from_libbpf("to load the programs", &error))?;
    let watched = MapHandle::try_from(&loaded.maps.watched)
        .map_err(|error| Error::from_libbpf("to watch processes", &error))?;
    for process in &options.watched_processes {
        watch(&watched, *process, watched_info)?;
    }
    let rings = Rings::map(&loaded.maps.rings, cpus.into(), slots_shift)?;

    let stacks = options.stacks_over_ns.map(|_| Stacks::map(&loaded.maps.stacks, cpus.into()));
    let stacks = stacks.transpose()?;

    let mut flight = None;
    if let Some(over_ns) = over_ns {
        rings.overwrite();
        let shared = FlightShared::map(&loaded.maps.bss)?;
        shared.set_bar(over_ns);
        flight = Some(shared);
    }

    // Links keep their programs, programs their maps: the object itself is not needed any more.
    let mut links = Vec::new();
    for program in libbpf_rs::skel::Skel::object(&loaded).progs_mut() {
        if !program.autoload() {
            continue;
        }
        let link = program
            .attach()
            .map_err(|error| Error::from_libbpf(&program.name().to_string_lossy(), &error))?;
        links.push(link);
    }
    Ok(Attached {
        rings,
        flight,
        stacks,
        watched,
        links,
        counts_stolen,
        timer_interrupts_untold,
        missing,
    })
}

/// Whether programs have atomic operations that return what was there (Linux 5.12). Nothing in the kernel's types
/// tells that; a helper does that came with them.
fn has_atomics(btf: &Btf<'_>) -> bool {
    let helpers = btf.type_by_name::<types::Enum<'_>>("bpf_func_id");
    helpers.is_some_and(|helpers| {
        helpers.iter().any(|helper| helper.name.is_some_and(|name| name == "BPF_FUNC_check_mtu"))
    })
}

/// From now on this process is watched.
pub(crate) fn watch(watched: &MapHandle, process: u32, info: u8) -> Result<(), Error> {
    watched
        .update(&process.to_ne_bytes(), &[info], MapFlags::ANY)
        .map_err(|error| Error::from_libbpf("to watch a process", &error))
}

/// Whether an interrupt of the timer tells of itself when it begins, without its own hook: the loop that
/// runs hrtimers reads the clock at once, hands that on to each first expiry or raises a softirq.
///
/// That needs timers of high resolution (else the tick's handler runs first, and loops come with it), a
/// kernel that lets a program read the loop's clock by a plain load (Linux 6.2), and the local APIC's
/// timer, of whose interrupts it is told when they end.
fn loops_tell_interrupts(btf: &Btf<'_>) -> bool {
    let resolution = clock_getres(ClockId::Monotonic);
    let high = resolution.tv_sec == 0 && resolution.tv_nsec == 1;
    let casts = btf.type_by_name::<types::Func<'_>>("bpf_rdonly_cast").is_some();
    let is_lapic = |device: std::io::Result<String>| device.is_ok_and(|it| it.starts_with("lapic"));
    high && casts
        && tracepoint_arguments(btf, TIMER_INTERRUPT_HOOK).is_some()
        && is_lapic(std::fs::read_to_string(FIRST_CLOCK_EVENT_DEVICE))
}

/// Whether a hypervisor runs this kernel: x86 has a flag for it (`X86_FEATURE_HYPERVISOR`); elsewhere nothing
/// says so, and a steal clock that stands still does no harm.
fn is_virtual() -> bool {
    !cfg!(target_arch = "x86_64")
        || std::fs::read_to_string("/proc/cpuinfo")
            .is_ok_and(|text| text.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

/// Whether the scheduler keeps what was stolen (`CONFIG_PARAVIRT_TIME_ACCOUNTING`), where programs can reach it
/// (`CONFIG_FAIR_GROUP_SCHED`).
fn keeps_stolen(btf: &Btf<'_>) -> bool {
    [("rq", "prev_steal_time_rq"), ("sched_entity", "cfs_rq"), ("cfs_rq", "rq")].iter().all(
        |(structure, field)| {
            let found = btf.type_by_name::<types::Struct<'_>>(structure);
            found.is_some_and(|found| {
                found.iter().any(|member| member.name.is_some_and(|name| name == *field))
            })
        },
    )
}

/// What is told of threads that are watched.
pub(crate) const fn watched_info(flies: bool) -> u8 {
    if flies { TaskInfo::WATCHED } else { TaskInfo::WATCHED | TaskInfo::SYSCALLS }
}

/// `tp_btf/sched_switch` → `sched_switch`.
fn tracepoint_of(section: &str) -> String {
    section.rsplit('/').next().unwrap_or_default().to_owned()
}

/// How many arguments a tracepoint passes, or `None` where the kernel does not have it. BTF has a
/// typedef `btf_trace_NAME` of a pointer to a function, whose first parameter is internal.
fn tracepoint_arguments(btf: &Btf<'_>, name: &str) -> Option<usize> {
    let typedef = btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{name}"))?;
    let pointer: types::Ptr<'_> = typedef.referenced_type().try_into().ok()?;
    let function: types::FuncProto<'_> = pointer.referenced_type().try_into().ok()?;
    Some(function.len().saturating_sub(1))
}
