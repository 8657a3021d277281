//! The processes beneath one: found, asked to end, ended.

use procfs::process::{Stat, all_processes};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, wait};
use std::collections::{HashMap, HashSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long processes that were asked to end may take to, before they are made to.
const POLITE_MAX: Duration = Duration::from_secs(2);

/// How often is looked whether they are gone.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Children, grandchildren and so on of `root`, with what `/proc/PID/stat` says of each. One that
/// began or ended meanwhile may be missing.
pub(in super::super) fn beneath(root: u32) -> Vec<Stat> {
    let Ok(processes) = all_processes() else { return vec![] };
    let mut children: HashMap<i32, Vec<Stat>> = HashMap::new();
    for stat in processes.filter_map(|process| process.ok()?.stat().ok()) {
        children.entry(stat.ppid).or_default().push(stat);
    }
    let mut found = children.remove(&(root as i32)).unwrap_or_default();
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        // Taken out of the map, so that this ends whatever a torn view of the tree looks like.
        let more = children.remove(&parent.pid).unwrap_or_default();
        found.extend(more);
        next += 1;
    }
    found
}

/// Ends everything beneath the calling process and waits until it is gone; the process has to be a
/// child subreaper, so that whoever loses their parent comes to be its child. Where `politely`,
/// SIGTERM comes first, so that what they hold outside their memory can be given back.
pub(super) fn end_all(politely: bool) {
    if politely {
        signal_all(Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < POLITE_MAX {
            if !has_children() {
                return;
            }
            sleep(LOOK_EVERY);
        }
    }
    // Again and again: one may have made another while we looked.
    while has_children() {
        signal_all(Signal::KILL);
        sleep(LOOK_EVERY);
    }
}

/// Whether a child is left, after taking leave of those that have ended.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

fn signal_all(signal: Signal) {
    let own = std::process::id();
    let found = beneath(own);
    let family: HashSet<i32> = found.iter().map(|stat| stat.pid).chain([own as i32]).collect();
    for stat in found {
        let Some(pid) = Pid::from_raw(stat.pid) else { continue };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // The number may have become another's since: what the handle stands for must still be
        // below us.
        let is_ours = procfs::process::Process::new(stat.pid)
            .and_then(|process| process.stat())
            .is_ok_and(|now| now.starttime == stat.starttime && family.contains(&now.ppid));
        if is_ours {
            // One that has ended meanwhile needs no signal.
            let _ = pidfd_send_signal(&handle, signal);
        }
    }
}
