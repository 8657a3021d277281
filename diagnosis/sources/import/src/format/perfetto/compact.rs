//! The compact form of switches and wakings: columns, with times as differences.

use super::bundle::{Entry, EntryWhat};
use tardy_perfetto::wire::{Fields, Value, numbers};

/// What the columns of one bundle hold. Where columns differ in length, the shortest counts.
#[derive(Debug, Default)]
pub(super) struct Compact {
    pub(super) switches: Vec<Switch>,
    pub(super) wakings: Vec<Waking>,
    columns: [Vec<u64>; COLUMNS],
    names: Vec<Vec<u8>>,
}

/// Who comes to the CPU; who left it came at the switch before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switch {
    pub(super) prev_state: u64,
    pub(super) next: u32,
    pub(super) prio: u64,
    pub(super) name: u32,
}

/// Who is woken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waking {
    pub(super) target: u32,
    pub(super) target_cpu: u64,
    pub(super) prio: u64,
    pub(super) name: u32,
}

/// By field number; 0 and 5 (the names) stay empty.
const COLUMNS: usize = 12;
const NAMES: u32 = 5;

impl Compact {
    pub(super) const SWITCH_TIMES: u32 = 1;
    pub(super) const WAKING_TIMES: u32 = 7;

    pub(super) fn clear(&mut self) {
        self.switches.clear();
        self.wakings.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        self.names.clear();
    }

    /// Reads a message. What is damaged in it ends its column there.
    pub(super) fn take(&mut self, message: &[u8]) {
        let mut fields = Fields::of(message);
        while let Ok(Some((number, value))) = fields.next() {
            match (number, value) {
                (NAMES, Value::Bytes(name)) => self.names.push(name.to_vec()),
                (number, value) => {
                    if let Some(column) = self.columns.get_mut(number as usize) {
                        let _ = numbers(value, |number| column.push(number));
                    }
                }
            }
        }
    }

    /// A name of the table; empty where there is none.
    pub(super) fn name(&self, place: u32) -> &[u8] {
        self.names.get(place as usize).map_or(b"", Vec::as_slice)
    }

    /// Puts the events of all columns behind `entries`.
    pub(super) fn entries(&mut self, entries: &mut Vec<Entry>) {
        let [
            _,
            times,
            states,
            next,
            prios,
            _,
            names,
            waking_times,
            targets,
            cpus,
            waking_prios,
            waking_names,
        ] = &self.columns;
        let mut time_ns = 0_u64;
        let rows = times.iter().zip(states).zip(next).zip(prios).zip(names);
        for ((((passed, state), next), prio), name) in rows {
            time_ns = time_ns.wrapping_add(*passed);
            let at = self.switches.len() as u32;
            let what = EntryWhat::CompactSwitch;
            entries.push(Entry { time_ns, at, bytes: 0, pid: 0, what });
            self.switches.push(Switch {
                prev_state: *state,
                next: *next as u32,
                prio: *prio,
                name: *name as u32,
            });
        }
        time_ns = 0;
        let rows = waking_times.iter().zip(targets).zip(cpus).zip(waking_prios).zip(waking_names);
        for ((((passed, target), cpu), prio), name) in rows {
            time_ns = time_ns.wrapping_add(*passed);
            let at = self.wakings.len() as u32;
            let what = EntryWhat::CompactWaking;
            entries.push(Entry { time_ns, at, bytes: 0, pid: 0, what });
            self.wakings.push(Waking {
                target: *target as u32,
                target_cpu: *cpu,
                prio: *prio,
                name: *name as u32,
            });
        }
    }
}
