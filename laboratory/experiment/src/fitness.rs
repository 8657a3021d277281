//! Whether what was measured may be compared.

use crate::{Block, Fit, Fitness};

/// What may disturb a block, and how much of it matters.
struct Disturbance {
    /// As a share, 0–1, of a block; `None` where the machine does not tell.
    share: fn(&Block) -> Option<f64>,
    /// From this share on in any block it is told.
    told_from: f64,
    /// Where the medians of two conditions differ by more, they cannot be compared.
    uneven_from: f64,
    /// What happened, in words that a share can follow.
    words: &'static str,
    /// What would help.
    remedy: &'static str,
}

/// Of a share of CPU time: what happened in it as a part of what passed.
fn part(block: &Block, of: fn(&crate::SystemState) -> u64) -> Option<f64> {
    let all = block.after.cpu_ns.saturating_sub(block.before.cpu_ns);
    let part = of(&block.after).saturating_sub(of(&block.before));
    (all > 0).then(|| part as f64 / all as f64)
}

/// The thresholds are what a millisecond period makes of them: 1 % of CPU time taken elsewhere is a
/// hundredth of all periods hit.
const DISTURBANCES: [Disturbance; 3] = [
    Disturbance {
        share: |block| part(block, |state| state.steal_ns),
        told_from: 0.01,
        uneven_from: 0.01,
        words: "the hypervisor gave CPU time to others",
        remedy: "run it when the host is quiet, or on dedicated CPUs",
    },
    Disturbance {
        share: |block| part(block, |state| state.others_ns),
        told_from: 0.05,
        uneven_from: 0.05,
        words: "tasks other than tardy's ran",
        remedy: "stop what else runs, and repeat",
    },
    Disturbance {
        share: |block| {
            let least = match (block.before.frequency_share, block.after.frequency_share) {
                (Some(before), Some(after)) => before.min(after),
                (before, after) => before.or(after)?,
            };
            Some((1.0 - least).max(0.0))
        },
        told_from: 0.5,
        uneven_from: 0.1,
        words: "a CPU ran below its highest frequency",
        remedy: "set the governor to performance",
    },
];

/// Judges blocks of `conditions` conditions.
pub(crate) fn judge(blocks: &[Block], conditions: &[String]) -> Fitness {
    let mut found = Found { fit: Fit::Fit, why: vec![] };
    for disturbance in &DISTURBANCES {
        found.judge(disturbance, blocks, conditions);
    }
    found.throttling(blocks, conditions);
    if let Some(short) = unequal(blocks, conditions) {
        found.worst(Fit::Doubtful, short);
    }
    if blocks.is_empty() {
        found.worst(Fit::Unfit, "No block was measured to its end.".to_owned());
    }
    Fitness { fit: found.fit, why: found.why }
}

struct Found {
    fit: Fit,
    why: Vec<String>,
}

impl Found {
    fn worst(&mut self, fit: Fit, why: String) {
        let rank = |fit| match fit {
            Fit::Fit => 0,
            Fit::Doubtful => 1,
            Fit::Unfit => 2,
        };
        if rank(fit) > rank(self.fit) {
            self.fit = fit;
        }
        self.why.push(why);
    }

    fn judge(&mut self, disturbance: &Disturbance, blocks: &[Block], conditions: &[String]) {
        let Disturbance { share, told_from, uneven_from, words, remedy } = disturbance;
        let mut medians: Vec<(f64, usize)> = (0..conditions.len())
            .filter_map(|condition| {
                let of = blocks.iter().filter(|block| block.condition == condition);
                median(of.filter_map(share).collect()).map(|median| (median, condition))
            })
            .collect();
        medians.sort_by(|one, two| one.0.total_cmp(&two.0));
        if let (Some(&(least, one)), Some(&(most, two))) = (medians.first(), medians.last())
            && most - least > *uneven_from
        {
            let (one, two) = (&conditions[one], &conditions[two]);
            let (least, most) = (least * 100.0, most * 100.0);
            self.worst(
                Fit::Unfit,
                format!(
                    "Unevenly, {words}: {most:.1} % in the median block of {two}, {least:.1} % in \
                     that of {one}; a difference between them may be that. To help: {remedy}."
                ),
            );
            return;
        }
        let shares = blocks.iter().filter_map(share);
        let hit = shares.clone().filter(|share| share >= told_from).count();
        if let Some(most) = shares.max_by(f64::total_cmp)
            && hit > 0
        {
            let (of, most) = (blocks.len(), most * 100.0);
            self.worst(
                Fit::Doubtful,
                format!(
                    "In {hit} of {of} blocks {words} (up to {most:.1} %), about as much in all \
                     conditions. To help: {remedy}."
                ),
            );
        }
    }

    fn throttling(&mut self, blocks: &[Block], conditions: &[String]) {
        let hit: Vec<&Block> = blocks
            .iter()
            .filter(|block| match (block.before.throttled, block.after.throttled) {
                (Some(before), Some(after)) => after > before,
                _ => false,
            })
            .collect();
        if hit.is_empty() {
            return;
        }
        let mut names: Vec<&str> =
            hit.iter().map(|block| conditions[block.condition].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let fit = if names.len() < conditions.len() { Fit::Unfit } else { Fit::Doubtful };
        let (count, of, names) = (hit.len(), blocks.len(), names.join(", "));
        self.worst(
            fit,
            format!(
                "CPUs were slowed for their heat in {count} of {of} blocks ({names}). To help: \
                 better cooling, a lower fixed frequency, or longer pauses."
            ),
        );
    }
}

/// Says where conditions have numbers of blocks that differ by more than the one of a round cut short.
fn unequal(blocks: &[Block], conditions: &[String]) -> Option<String> {
    let count = |condition| blocks.iter().filter(|block| block.condition == condition).count();
    let counts: Vec<usize> = (0..conditions.len()).map(count).filter(|count| *count > 0).collect();
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    (most - least > 1).then(|| {
        format!(
            "Conditions have between {least} and {most} blocks, so they did not run side by side \
             all the time."
        )
    })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemState;
    use std::time::Duration;

    fn block(condition: usize, change: impl FnOnce(&mut SystemState)) -> Block {
        let before = SystemState { throttled: Some(3), ..SystemState::default() };
        let mut after = SystemState { cpu_ns: 1_000_000, ..before.clone() };
        change(&mut after);
        Block {
            index: 0,
            condition,
            round: 0,
            begun_unix_s: 0,
            length: Duration::from_secs(1),
            series: vec![],
            figures: vec![],
            notes: vec![],
            before,
            after,
        }
    }

    fn verdict(blocks: &[Block]) -> (Fit, String) {
        let fitness = judge(blocks, &["idle".to_owned(), "storm".to_owned()]);
        (fitness.fit, fitness.why.join(" "))
    }

    #[test]
    fn a_quiet_machine_is_fit() {
        assert_eq!(verdict(&[block(0, |_| {}), block(1, |_| {})]), (Fit::Fit, String::new()));
    }

    #[test]
    fn what_hits_all_alike_leaves_doubts_and_what_hits_one_is_unfit() {
        let stolen = |state: &mut SystemState| state.steal_ns = 30_000;
        let (fit, why) = verdict(&[block(0, stolen), block(1, stolen)]);
        assert_eq!(fit, Fit::Doubtful);
        assert!(why.contains("In 2 of 2 blocks the hypervisor"), "{why}");
        let (fit, why) = verdict(&[block(0, |_| {}), block(1, stolen), block(1, stolen)]);
        assert_eq!(fit, Fit::Unfit);
        assert!(why.contains("3.0 % in the median block of storm, 0.0 % in that of idle"), "{why}");
        let slow = |state: &mut SystemState| state.frequency_share = Some(0.6);
        let (fit, why) =
            verdict(&[block(0, |state| state.frequency_share = Some(1.0)), block(1, slow)]);
        assert_eq!(fit, Fit::Unfit);
        assert!(why.contains("governor"), "{why}");
    }

    #[test]
    fn heat_and_missing_blocks_are_told() {
        let hot = |state: &mut SystemState| state.throttled = Some(4);
        let (fit, why) = verdict(&[block(0, hot), block(1, |_| {})]);
        assert_eq!(fit, Fit::Unfit);
        assert!(why.contains("1 of 2 blocks (idle)"), "{why}");
        let (fit, why) =
            verdict(&[block(0, |_| {}), block(1, |_| {}), block(0, |_| {}), block(0, |_| {})]);
        assert_eq!(fit, Fit::Doubtful);
        assert!(why.contains("between 1 and 3 blocks"), "{why}");
        assert_eq!(verdict(&[]).0, Fit::Unfit);
    }
}
