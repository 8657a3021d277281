//! Stories that have ended and whose balance is not made yet: a hypervisor may have taken part of their time, which is told
//! a little later, by their own CPU or by another one.

use crate::story::Story;
use crate::victims::Ended;
use std::collections::VecDeque;
use tardy_followers::Followers;
use tardy_model::{CpuId, TaskId};

/// Stories that wait; of more, the oldest goes on as it is.
const DEFERRED_MAX: usize = 64;

/// What is not told by then is told of something else.
const WAITS_NS_MAX: u64 = 10_000_000;

/// One of them, of a thread that marks its return or does not.
#[derive(Debug)]
pub(crate) struct Deferred {
    pub(crate) ended: Ended,
    pub(crate) story: Story,
    pub(crate) by_mark: bool,
}

/// All of them, in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct DeferredStories(VecDeque<Deferred>);

impl DeferredStories {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, ended: Ended, story: &Story, by_mark: bool) {
        self.0.push_back(Deferred { ended, story: story.clone(), by_mark });
    }

    /// Whether the first has waited for too long by now.
    #[inline]
    pub(crate) fn waits_too_long(&self, now_ns: u64) -> bool {
        let first = self.0.front();
        first.is_some_and(|it| now_ns.saturating_sub(it.ended.end_ns) > WAITS_NS_MAX)
    }

    /// The next one that has nothing more to wait for at a time, or is this thread's.
    pub(crate) fn next(
        &mut self,
        followers: &Followers,
        now_ns: u64,
        of: Option<TaskId>,
    ) -> Option<Deferred> {
        let goes_on = |it: &Deferred| {
            of == Some(it.ended.task) || !awaits_stolen(followers, &it.ended, &it.story)
        };
        let has_waited = self.0.len() > DEFERRED_MAX || self.waits_too_long(now_ns);
        let at = if has_waited { Some(0) } else { self.0.iter().position(goes_on) };
        self.0.remove(at?)
    }

    /// The next one, whatever it waits for.
    pub(crate) fn first(&mut self) -> Option<Deferred> {
        self.0.pop_front()
    }
}

/// Whether a CPU is still to tell what of this story was a hypervisor's.
#[inline]
pub(crate) fn awaits_stolen(followers: &Followers, ended: &Ended, story: &Story) -> bool {
    let awaits = |cpu: CpuId| followers.awaits_stolen(cpu, story.expiry_ns, ended.end_ns);
    let ran_on = story.last().cpu;
    let fired_on = story.fired.map_or(ran_on, |fired| fired.cpu);
    awaits(ran_on) || fired_on != ran_on && awaits(fired_on)
}
