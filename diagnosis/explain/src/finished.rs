//! A wakeup that has ended, and its names.

use crate::findings::WorstWakeup;
use crate::group::{Who, place};
use crate::label::{Label, LabelId, Labels};
use crate::pattern::Patterns;
use crate::seen::Seen;
use tardy_model::event::Comm;
use tardy_model::{Culprit, Segment, Tables, TaskId, TimerDef, Wakeup};

/// A wakeup whose balance is made; a loss that is told of later may still touch it.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) wakeup: Wakeup,
    pub(crate) victim: LabelId,
    /// One per segment; where nobody looks, its pieces of [`PassedOver`](crate::balance::PassedOver) causes are none.
    pub(crate) blames: Vec<Blame>,
    pub(crate) patterns: Patterns,
}

/// What is to blame for a segment, by numbers that sums are kept by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Blame {
    /// The cause's place in the registry.
    pub(crate) cause: u8,
    pub(crate) culprit: LabelId,
}

impl Finished {
    /// With the names that its ids stand for.
    pub(crate) fn named<'a>(&'a self, labels: &'a Labels) -> Named<'a> {
        Named { finished: self, labels }
    }
}

/// Where wakeups go as they are explained: those of one thread in the order in which they end, of several threads almost,
/// as some wait for news of a hypervisor (`deferred.rs`).
pub trait Sink {
    /// One wakeup, with the names of its victim and culprits as they were when it ended. No news can change it.
    fn wakeup(&mut self, wakeup: &Named<'_>);

    /// One that has just ended, for who can revise it: none has to be kept for that. See [`Sink::touched`].
    fn ended(&mut self, _: &Named<'_>) {}

    /// Events turn out to be missing around one that had ended: the one before so many others, fewer than
    /// [`REVISED_MAX`](crate::REVISED_MAX). `_is_loss` is whether the kernel counted them as lost.
    fn touched(&mut self, _before: usize, _is_loss: bool) {}

    /// Whether it takes any: who does not saves the keeping of each until no news can change it.
    fn takes_wakeups(&self) -> bool {
        true
    }

    /// Whether it looks at the segments of any wakeup. Who does not is given wakeups that may lack some of them, and
    /// saves the making of those.
    fn looks_at_segments(&self) -> bool {
        true
    }

    /// Whether it wants this one whole, with all that is needed to tell its story, at once and before any late
    /// report of a loss.
    fn wants_whole(&self, _: &Wakeup) -> bool {
        false
    }

    /// One that it wanted whole.
    fn whole(&mut self, _: WorstWakeup) {}

    /// Timers are defined, before the events that use them: what had their ids before was other timers. For
    /// who keeps something of each timer.
    fn define(&mut self, _: &[TimerDef]) {}

    /// An event, for who has use for more than wakeups and would else have to follow the stream once more.
    /// Wakeups that it ends come after it.
    fn event(&mut self, _: &Seen<'_>) {}
}

/// For who needs only the explanation of all.
impl Sink for () {
    fn wakeup(&mut self, _: &Named<'_>) {}

    fn takes_wakeups(&self) -> bool {
        false
    }

    fn looks_at_segments(&self) -> bool {
        false
    }
}

/// A wakeup with names.
#[derive(Debug)]
pub struct Named<'a> {
    finished: &'a Finished,
    labels: &'a Labels,
}

impl Named<'_> {
    /// The wakeup.
    pub fn wakeup(&self) -> &Wakeup {
        &self.finished.wakeup
    }

    /// The definitions so far, of what its ids stand for.
    pub fn tables(&self) -> &Tables {
        &self.labels.tables
    }

    /// The stories that are known which it is an instance of.
    pub fn patterns(&self) -> Patterns {
        self.finished.patterns
    }

    /// The victim's name.
    pub fn victim(&self) -> &Label {
        self.labels.get(self.finished.victim)
    }

    /// The victim's process, where that is known.
    pub fn process(&self) -> Option<TaskId> {
        self.labels.process(self.finished.wakeup.task)
    }

    /// The name that a thread has now; empty where it is not known.
    pub fn comm(&self, task: TaskId) -> Comm {
        self.labels.comm(task)
    }

    /// The number of the victim's name: the same number always has the same label.
    pub fn victim_id(&self) -> u32 {
        self.finished.victim.0
    }

    /// The numbers of the culprits' names, one per segment.
    pub fn culprit_ids(&self) -> impl Iterator<Item = u32> {
        self.finished.blames.iter().map(|blame| blame.culprit.0)
    }

    /// What a person would call a segment's culprit, whoever else is called the same: the name of its group.
    pub fn group_name(&self, segment: &Segment, label: &Label) -> String {
        place(&Who { culprit: segment.culprit, label, labels: self.labels }).name
    }

    /// As [`group_name`](Self::group_name), and what the group is called where all its members are called the same.
    pub(crate) fn group_names(&self, segment: &Segment, label: &Label) -> (String, String) {
        let place = place(&Who { culprit: segment.culprit, label, labels: self.labels });
        (place.name, place.exact)
    }

    /// The group of a segment's culprit: its kind, and what a person would call it.
    pub(crate) fn group(&self, segment: &Segment, label: &Label) -> (&'static str, String) {
        let place = place(&Who { culprit: segment.culprit, label, labels: self.labels });
        (place.kind, place.name)
    }

    /// The name of anybody who has a part in it.
    pub fn label(&self, culprit: Culprit) -> Label {
        let mut segments = self.segments();
        match segments.find(|(segment, _)| segment.culprit == culprit) {
            Some((_, label)) => label.clone(),
            None => self.labels.label(culprit),
        }
    }

    /// Each segment with its culprit's name.
    pub fn segments(&self) -> impl Iterator<Item = (&Segment, &Label)> {
        let labels = self.finished.blames.iter().map(|blame| self.labels.get(blame.culprit));
        self.finished.wakeup.segments.iter().zip(labels)
    }
}
