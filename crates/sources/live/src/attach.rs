//! Loads the programs that this kernel has tracepoints for, and attaches them.

use crate::ring::{Rings, ring_bytes};
use crate::{Error, Options, warnings};
use libbpf_rs::btf::{Btf, ReferencesType, types};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, OpenObject};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::mem::MaybeUninit;
use tardy_model::event::TaskInfo;

#[allow(clippy::all, clippy::pedantic, dead_code, missing_docs, unreachable_pub)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/live.skel.rs"));
}

pub(crate) struct Attached {
    pub(crate) rings: Rings,
    pub(crate) links: Vec<Link>,
    pub(crate) missing: Vec<String>,
}

const BTF_PATH: &str = "/sys/kernel/btf/vmlinux";

/// Hooks that run at every system call and page fault of every thread: only where somebody is watched
/// by them.
const WATCHING_HOOKS: [&str; 3] = ["sys_enter", "sys_exit", "page_fault_user"];

pub(crate) fn attach(options: &Options, slots_shift: u32) -> Result<Attached, Error> {
    // Before Linux 5.11 maps count as locked memory; where raising is not allowed loading will say.
    let unlimited = Rlimit { current: None, maximum: None };
    let _ = setrlimit(Resource::Memlock, unlimited);

    warnings::keep();
    let btf = Btf::from_vmlinux().map_err(|_| Error::NoBtf { path: BTF_PATH })?;
    let cpus = libbpf_rs::num_possible_cpus()
        .map_err(|error| Error::from_libbpf("to tell its CPUs", &error))?;

    let mut object = MaybeUninit::<OpenObject>::uninit();
    let mut open = skeleton::LiveSkelBuilder::default()
        .open(&mut object)
        .map_err(|error| Error::from_libbpf("to open the programs", &error))?;

    let rodata = open.maps.rodata_data.as_deref_mut().expect("the programs have constants");
    rodata.slots_mask = (1 << slots_shift) - 1;
    rodata.switch_passes_state = tracepoint_arguments(&btf, "sched_switch") == Some(4);
    if options.watch_children {
        rodata.watch_children_of = std::process::id();
    }
    let sized = open
        .maps
        .rings
        .set_value_size(ring_bytes(slots_shift) as u32)
        .and_then(|()| open.maps.rings.set_max_entries(cpus as u32));
    sized.map_err(|error| Error::from_libbpf("the rings' size", &error))?;

    let watches = options.watch_children || !options.watched_processes.is_empty();
    let mut missing = Vec::new();
    for mut program in open.open_object_mut().progs_mut() {
        let hook = tracepoint_of(&program.section().to_string_lossy());
        let wanted = watches || !WATCHING_HOOKS.contains(&hook.as_str());
        let there = tracepoint_arguments(&btf, &hook).is_some();
        if wanted && !there {
            missing.push(hook);
        }
        program.set_autoload(wanted && there);
    }

    let loaded = open.load().map_err(|error| Error::from_libbpf("to load the programs", &error))?;
    let flags = [TaskInfo::WATCHED | TaskInfo::SYSCALLS];
    for process in &options.watched_processes {
        loaded
            .maps
            .watched
            .update(&process.to_ne_bytes(), &flags, MapFlags::ANY)
            .map_err(|error| Error::from_libbpf("to watch a process", &error))?;
    }
    let rings = Rings::map(&loaded.maps.rings, cpus, slots_shift)?;

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
    Ok(Attached { rings, links, missing })
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
