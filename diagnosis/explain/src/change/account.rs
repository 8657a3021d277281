//! What each wakeup of a side was late by, and for whom.

use crate::finished::Named;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tardy_model::Cause;

/// Parts of wakeups that are kept at most: 8 bytes each, 512 MiB. A thread that wakes every millisecond has as many
/// in some three hours. Of more, no table is made.
const PARTS_MAX: usize = 1 << 26;

/// Causes of groups that are told apart at most; the parts of further ones count for unknown.
const KEYS_MAX: usize = 1 << 16;

/// One of so many wakeups is among the worst.
const WORST_OF: u64 = 100;

/// A cause, and who it was: a group of culprits, as a person would name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Why.
    pub cause: Cause,
    /// The kind of the group, as [`Label::kind`](crate::Label).
    pub kind: &'static str,
    /// What the group is called; empty where nobody is known. Names come from traces: they are data, whatever they
    /// hold.
    pub name: String,
}

/// What of a wakeup has one key.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// With [`LONG`] where it takes longer than 4 s.
    key: u32,
    /// Nanoseconds; of a long one its place among those.
    ns: u32,
}

/// Says of a part's key that its nanoseconds are elsewhere; no key has this bit ([`KEYS_MAX`]).
const LONG: u32 = 1 << 31;

/// What each wakeup of one side was late by, and for whom, in the order in which they were added.
#[derive(Debug, Default)]
pub struct Account {
    keys: Vec<Key>,
    by_key: FxHashMap<Key, u32>,
    /// Keys by cause and the number of the culprit's name: the same few come again and again.
    near: FxHashMap<(Cause, u32), u32>,
    parts: Vec<Part>,
    /// Nanoseconds of the parts that take long: in real recordings hardly any.
    long: Vec<u64>,
    /// Where each wakeup's parts end.
    ends: Vec<usize>,
    is_full: bool,
}

/// What some wakeups of a side were late by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// All of them.
    pub all: Sum,
    /// The latest 1 %, of fewer than a hundred the latest one. Of equally late ones those that came first.
    pub worst: Sum,
}

/// A sum over wakeups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many they are.
    pub wakeups: u64,
    /// What each cause and group took, in nanoseconds; together what the wakeups were late by.
    pub by: BTreeMap<Key, u64>,
}

impl Sum {
    /// What the wakeups were late by, in nanoseconds.
    pub fn ns(&self) -> u128 {
        self.by.values().map(|ns| u128::from(*ns)).sum()
    }
}

impl Account {
    /// Adds a wakeup.
    pub fn add(&mut self, named: &Named<'_>) {
        if self.is_full {
            return;
        }
        let first = self.parts.len();
        for ((segment, label), id) in named.segments().zip(named.culprit_ids()) {
            let near = (segment.cause, id);
            let key = if let Some(key) = self.near.get(&near) {
                *key
            } else {
                let (kind, name) = named.group(segment, label);
                let key = self.key(Key { cause: segment.cause, kind, name });
                if self.near.len() < KEYS_MAX {
                    self.near.insert(near, key);
                }
                key
            };
            self.part(first, key, segment.ns);
        }
        self.end();
    }

    /// What the wakeups in these places were late by, in the order in which they were added; `None` where the account
    /// is not whole, as there were too many.
    pub fn taken(&self, places: impl IntoIterator<Item = usize>) -> Option<Taken> {
        if self.is_full {
            return None;
        }
        let mut each: Vec<(u64, usize)> = places
            .into_iter()
            .map(|at| {
                (self.of(at).iter().map(|part| self.ns(*part)).fold(0, u64::saturating_add), at)
            })
            .collect();
        let all = self.sum(&each);
        let worst = (each.len() as u64).div_ceil(WORST_OF) as usize;
        if worst > 0 {
            each.select_nth_unstable_by_key(worst - 1, |(ns, at)| (std::cmp::Reverse(*ns), *at));
        }
        Some(Taken { all, worst: self.sum(&each[..worst]) })
    }

    fn of(&self, at: usize) -> &[Part] {
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.parts[from..self.ends[at]]
    }

    fn sum(&self, wakeups: &[(u64, usize)]) -> Sum {
        let mut by: FxHashMap<u32, u64> = FxHashMap::default();
        for part in wakeups.iter().flat_map(|(_, at)| self.of(*at)) {
            let sum = by.entry(part.key & !LONG).or_default();
            *sum = sum.saturating_add(self.ns(*part));
        }
        Sum {
            wakeups: wakeups.len() as u64,
            by: by.into_iter().map(|(key, ns)| (self.keys[key as usize].clone(), ns)).collect(),
        }
    }

    fn key(&mut self, key: Key) -> u32 {
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        let key = if self.keys.len() < KEYS_MAX {
            key
        } else {
            let nobody = Key { kind: "unknown", name: String::new(), ..key };
            if let Some(known) = self.by_key.get(&nobody) {
                return *known;
            }
            nobody
        };
        let number = self.keys.len() as u32;
        self.keys.push(key.clone());
        self.by_key.insert(key, number);
        number
    }

    fn ns(&self, part: Part) -> u64 {
        if part.key & LONG == 0 { part.ns.into() } else { self.long[part.ns as usize] }
    }

    /// Adds to the wakeup whose parts begin there.
    fn part(&mut self, first: usize, key: u32, ns: u64) {
        let known = self.parts[first..].iter().position(|part| part.key & !LONG == key);
        let before = known.map_or(0, |at| self.ns(self.parts[first + at]));
        let ns = before.saturating_add(ns);
        let at = match known {
            Some(at) => first + at,
            None if ns == 0 => return,
            None if self.parts.len() == PARTS_MAX => {
                self.is_full = true;
                return;
            }
            None => {
                self.parts.push(Part { key, ns: 0 });
                self.parts.len() - 1
            }
        };
        let long = self.long.len();
        let part = &mut self.parts[at];
        match u32::try_from(ns) {
            Ok(ns) => part.ns = ns,
            Err(_) if part.key & LONG != 0 => self.long[part.ns as usize] = ns,
            Err(_) => {
                *part = Part { key: key | LONG, ns: long as u32 };
                self.long.push(ns);
            }
        }
    }

    fn end(&mut self) {
        self.ends.push(self.parts.len());
        if self.is_full {
            // Of no use any more, and large.
            (self.parts, self.long, self.ends) = (Vec::new(), Vec::new(), Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(wakeups: &[&[(&'static str, &str, u64)]]) -> Account {
        let mut account = Account::default();
        for wakeup in wakeups {
            let first = account.parts.len();
            for (cause, name, ns) in *wakeup {
                let key = Key { cause: Cause(cause), kind: "task", name: (*name).to_owned() };
                let key = account.key(key);
                account.part(first, key, *ns);
            }
            account.end();
        }
        account
    }

    fn told(sum: &Sum) -> Vec<(&'static str, &str, u64)> {
        sum.by.iter().map(|(key, ns)| (key.cause.0, key.name.as_str(), *ns)).collect()
    }

    #[test]
    fn all_and_the_latest_hundredth_are_summed() {
        let early: &[(&str, &str, u64)] =
            &[("slack", "s", 10), ("callback", "a", 1), ("slack", "s", 2)];
        let late: &[(&str, &str, u64)] = &[("callback", "b", 13)];
        let mut wakeups = vec![early; 150];
        wakeups[70] = late;
        let account = account(&wakeups);
        assert_eq!(account.of(0).len(), 2, "parts of one key are one");
        let taken = account.taken(0..150).unwrap();
        let all = [("callback", "a", 149), ("callback", "b", 13), ("slack", "s", 1788)];
        assert_eq!(told(&taken.all), all);
        // Two of 150: all are equally late, so the first two.
        assert_eq!((taken.worst.wakeups, taken.worst.ns()), (2, 26));
        assert_eq!(told(&taken.worst), [("callback", "a", 2), ("slack", "s", 24)]);
        let taken = account.taken([70, 71]).unwrap();
        assert_eq!((taken.all.wakeups, taken.worst.wakeups), (2, 1));
        assert_eq!(told(&taken.worst), [("callback", "b", 13)]);
        assert_eq!(account.taken([]).unwrap(), Taken::default());
    }

    #[test]
    fn what_takes_very_long_is_kept_whole() {
        let hours = 7 * u64::from(u32::MAX) + 5;
        let account = account(&[&[("slack", "s", hours), ("slack", "s", 3)]]);
        assert_eq!(account.taken([0]).unwrap().all.ns(), u128::from(hours + 3));
    }

    /// A time of centuries, which a damaged recording has at once, is one part, not all that there may be.
    #[test]
    fn a_part_is_one_however_long_it_is() {
        let ages = u64::MAX / 2;
        let account = account(&[&[("slack", "s", ages), ("callback", "c", 1), ("slack", "s", 9)]]);
        assert_eq!(account.parts.len(), 2);
        assert_eq!(account.taken([0]).unwrap().worst.ns(), u128::from(ages) + 10);
    }

    #[test]
    fn what_is_not_whole_yields_no_sums() {
        let mut account = account(&[&[("slack", "s", 1)]]);
        account.is_full = true;
        account.end();
        assert_eq!(account.taken([0]), None);
    }
}
