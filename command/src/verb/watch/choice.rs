//! Which late wakeups are kept where there are more than places.
//!
//! The worst, shared out among who made them late: a hypervisor that takes 20 ms each second would otherwise take every
//! place, and the one wakeup that something else held up for 500 µs would not be there in the morning.

use std::cmp::Reverse;
use std::collections::HashMap;
use tardy_recording::Trigger;

/// The place of the one that makes room: the least late of those whose culprit has the most places, of two alike the
/// later one.
pub(super) fn least<'a>(kept: impl Iterator<Item = &'a Trigger> + Clone) -> Option<usize> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for trigger in kept.clone() {
        *places.entry(trigger.who()).or_default() += 1;
    }
    let rank = |trigger: &Trigger| {
        (Reverse(places[trigger.who()]), trigger.excess_ns(), Reverse(trigger.ran_unix_ns))
    };
    kept.enumerate().min_by_key(|(_, trigger)| rank(trigger)).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(culprit: &str, lateness_ns: u64) -> Trigger {
        Trigger { culprit: culprit.to_owned(), lateness_ns, ..Trigger::default() }
    }

    #[test]
    fn who_has_most_places_makes_room_and_who_has_one_stays() {
        let mut kept = vec![
            trigger("the hypervisor", 20_000),
            trigger("rustc (3 threads of 2 processes)", 9_000),
            trigger("the hypervisor", 8_000),
            trigger("rustc (41)", 7_000),
            trigger("injector (97)", 600),
        ];
        let mut gone = Vec::new();
        while let Some(place) = least(kept.iter()) {
            gone.push(kept.remove(place).lateness_ns);
        }
        assert_eq!(gone, [7_000, 8_000, 600, 9_000, 20_000]);
    }

    #[test]
    fn of_two_alike_the_earlier_one_stays() {
        let at = |ran_unix_ns| Trigger { ran_unix_ns, ..trigger("backup", 500) };
        assert_eq!(least([at(1), at(2)].iter()), Some(1));
        assert_eq!(least([].iter()), None);
    }
}
