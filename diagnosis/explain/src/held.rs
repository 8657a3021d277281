//! Wakeups that wait until no late report of a loss can touch them, for who takes each.
//!
//! They are many and wait for a second of the stream, so that a cache keeps none of them meanwhile. They lie one
//! after the other in the order in which they ended: what is read in order is fetched ahead.

use crate::finished::{Blame, Finished};
use std::collections::VecDeque;
use tardy_model::{Boost, Link, Segment, Stretch, Wakeup};

/// Wakeups, the oldest first. What each has several of lies in a row of all.
#[derive(Debug, Default)]
pub(crate) struct Held {
    wakeups: VecDeque<Alone>,
    segments: VecDeque<Segment>,
    blames: VecDeque<Blame>,
    stretches: VecDeque<Stretch>,
    boosts: VecDeque<Boost>,
    chains: VecDeque<Link>,
}

/// A wakeup without what it has several of, and how many that are.
#[derive(Debug)]
struct Alone {
    finished: Finished,
    segments: u32,
    stretches: u32,
    boosts: u32,
    links: u32,
}

impl Held {
    /// Keeps a copy of one that ended after all others.
    pub(crate) fn push(&mut self, finished: &Finished) {
        let wakeup = &finished.wakeup;
        self.segments.extend(&wakeup.segments);
        self.blames.extend(&finished.blames);
        self.stretches.extend(&wakeup.stretches);
        self.boosts.extend(&wakeup.boosts);
        self.chains.extend(&wakeup.chain);
        let alone = Wakeup {
            segments: Vec::new(),
            stretches: Vec::new(),
            boosts: Vec::new(),
            chain: Vec::new(),
            ..*wakeup
        };
        self.wakeups.push_back(Alone {
            segments: wakeup.segments.len() as u32,
            stretches: wakeup.stretches.len() as u32,
            boosts: wakeup.boosts.len() as u32,
            links: wakeup.chain.len() as u32,
            finished: Finished { wakeup: alone, blames: Vec::new(), ..*finished },
        });
    }

    /// Takes the oldest out, into `whole`; whether there is one.
    pub(crate) fn pop(&mut self, whole: &mut Finished) -> bool {
        let Some(alone) = self.wakeups.pop_front() else { return false };
        let Alone { mut finished, segments, stretches, boosts, links } = alone;
        // The vectors in which the one before lay are filled again.
        refill(&mut finished.blames, &mut whole.blames, &mut self.blames, segments);
        let (to, from) = (&mut finished.wakeup, &mut whole.wakeup);
        refill(&mut to.segments, &mut from.segments, &mut self.segments, segments);
        refill(&mut to.stretches, &mut from.stretches, &mut self.stretches, stretches);
        refill(&mut to.boosts, &mut from.boosts, &mut self.boosts, boosts);
        refill(&mut to.chain, &mut from.chain, &mut self.chains, links);
        *whole = finished;
        true
    }

    /// A loss that is told of later may have touched the one that so many stand before.
    pub(crate) fn touched(&mut self, at: usize, is_loss: bool) {
        if let Some(alone) = self.wakeups.get_mut(at) {
            let wakeup = &mut alone.finished.wakeup;
            wakeup.touched_by_loss = true;
            wakeup.near_loss |= is_loss;
        }
    }
}

/// Takes over the memory of another vector, and the first of a row as its content.
fn refill<T>(vector: &mut Vec<T>, room: &mut Vec<T>, row: &mut VecDeque<T>, count: u32) {
    std::mem::swap(vector, room);
    vector.clear();
    vector.extend(row.drain(..count as usize));
}
