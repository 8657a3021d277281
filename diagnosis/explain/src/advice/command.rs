//! Commands that can be pasted into a shell.

use crate::findings::VictimFinding;
use std::collections::BTreeSet;

/// Threads or processes that one command is written for at most; for more, whoever reads it has to choose.
pub(super) const IDS_MAX: usize = 8;

/// The first process.
const INIT: u32 = 1;

/// Makes threads `SCHED_FIFO`. Of tardy's own threads it is the run that has to be made anew.
pub(super) fn real_time(victims: &[VictimFinding], prio: u8) -> Option<String> {
    if !victims.is_empty() && victims.iter().all(|victim| victim.measures) {
        return Some(format!("tardy run --policy fifo -P {prio}"));
    }
    // A thread's name is not the program's, which another program may have.
    if !victims.is_empty() && victims.iter().all(|victim| victim.has_exited && !victim.measures) {
        return Some(format!("chrt -f {prio} CMD"));
    }
    for_each(&living(victims)?, |id| format!("chrt -f -p {prio} {id}"))
}

/// Takes the timer slack from threads.
pub(super) fn without_slack(victims: &[VictimFinding]) -> Option<String> {
    if !victims.is_empty() && victims.iter().all(|victim| victim.measures) {
        return Some("tardy run --policy other --slack 1ns".to_owned());
    }
    for_each(&living(victims)?, |id| format!("echo 1 > /proc/{id}/timerslack_ns"))
}

/// Has CPUs take an interrupt.
pub(super) fn send_away(irq: u32, cpus: &BTreeSet<u16>) -> Option<String> {
    let cpus = list(cpus)?;
    Some(format!("echo {cpus} > /proc/irq/{irq}/smp_affinity_list"))
}

/// CPUs as the kernel reads them; `None` where there are none.
fn list(cpus: &BTreeSet<u16>) -> Option<String> {
    let cpus: Vec<String> = cpus.iter().map(u16::to_string).collect();
    (!cpus.is_empty()).then(|| cpus.join(","))
}

/// Binds processes, all threads of each, to CPUs.
pub(super) fn move_away(processes: &BTreeSet<u32>, cpus: &BTreeSet<u16>) -> Option<String> {
    let cpus = list(cpus)?;
    for_each(&processes.iter().copied().collect::<Vec<_>>(), |id| {
        format!("taskset -acp {cpus} {id}")
    })
}

/// The threads that were there when the stream ended. `None` where they are tardy's own, which are gone, or
/// more than one command is for.
fn living(victims: &[VictimFinding]) -> Option<Vec<u32>> {
    let living = victims.iter().filter(|victim| !victim.measures && !victim.has_exited);
    // One that was called something else before is there twice.
    let ids: BTreeSet<u32> = living.clone().filter_map(|victim| victim.label.pid).collect();
    let ids: Vec<u32> = ids.into_iter().collect();
    // The whole system hangs on the first process.
    let of_init = living
        .into_iter()
        .any(|victim| victim.process == Some(INIT) || victim.label.pid == Some(INIT));
    (ids.len() <= IDS_MAX && !of_init).then_some(ids)
}

fn for_each(ids: &[u32], command: impl Fn(&str) -> String) -> Option<String> {
    match ids {
        [] => None,
        [one] => Some(command(&one.to_string())),
        many if many.len() <= IDS_MAX => {
            let ids: Vec<String> = many.iter().map(u32::to_string).collect();
            Some(format!("for id in {}; do {}; done", ids.join(" "), command("$id")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use tardy_stats::Latencies;

    fn victim(name: &str, pid: u32, has_exited: bool, measures: bool) -> VictimFinding {
        let label = Label { kind: "task", name: name.to_owned(), pid: Some(pid) };
        let latencies = Latencies::default();
        VictimFinding { label, latencies, process: None, prio: None, measures, has_exited }
    }

    #[test]
    fn threads_that_live_are_named_by_their_ids() {
        let one = victim("audio", 29_014, false, false);
        assert_eq!(real_time(std::slice::from_ref(&one), 50).unwrap(), "chrt -f -p 50 29014");
        let two = [one, victim("audio", 29_015, false, false)];
        assert_eq!(
            real_time(&two, 50).unwrap(),
            "for id in 29014 29015; do chrt -f -p 50 $id; done"
        );
        let renamed = [victim("bash", 29_014, false, false), victim("audio", 29_014, false, false)];
        assert_eq!(real_time(&renamed, 50).unwrap(), "chrt -f -p 50 29014");
        let many: Vec<_> = (0..9).map(|pid| victim("audio", pid, false, false)).collect();
        assert_eq!(real_time(&many, 50), None, "that is not for all alike");
    }

    #[test]
    fn what_is_gone_has_to_be_started_again() {
        assert_eq!(real_time(&[victim("audio", 7, true, false)], 50).unwrap(), "chrt -f 50 CMD");
        assert_eq!(
            real_time(&[victim("cyclic-0", 7, true, true)], 50).unwrap(),
            "tardy run --policy fifo -P 50"
        );
        assert_eq!(without_slack(&[victim("audio", 7, true, false)]), None);
    }

    #[test]
    fn no_name_commands_a_shell() {
        for name in ["a;reboot", "$(reboot)", "a b", "", "-p", "a\nb", "`x`"] {
            let command = real_time(&[victim(name, 7, true, false)], 50).unwrap();
            assert_eq!(command, "chrt -f 50 CMD", "{name:?}");
        }
    }

    #[test]
    fn processes_are_moved_to_cpus_that_are_quiet() {
        let ids = BTreeSet::from([11, 12]);
        assert_eq!(move_away(&ids, &BTreeSet::new()), None, "there is no such CPU");
        assert_eq!(
            move_away(&ids, &BTreeSet::from([2, 3])).unwrap(),
            "for id in 11 12; do taskset -acp 2,3 $id; done"
        );
        assert_eq!(send_away(45, &BTreeSet::new()), None);
        assert_eq!(
            send_away(45, &BTreeSet::from([2, 3])).unwrap(),
            "echo 2,3 > /proc/irq/45/smp_affinity_list"
        );
    }
}
