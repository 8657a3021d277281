//! One stream in time order out of a buffer per CPU and a ring per marking thread.
//!
//! Not `tardy_kernel::Merge`, which sorts events: what a record means depends on those before it on
//! all CPUs (a timer is armed on one and expires on another), so records are put in order before
//! they are decoded, in the pages as they came. And other CPUs' writers cannot be seen at work here,
//! so the stream stays some time behind the clock.
//!
//! Pages wait in their CPU's lane until all lanes are known to be complete up to a time, the
//! watermark; what is before it is released in time order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tardy_ftrace::page::{Cursor, Missed, PageLayout};
use tardy_model::event::Loss;
use tardy_model::{CpuId, Event, Kind, TaskId};

/// The most pages that wait in a lane; while it is full its CPU is not read, and the kernel's own
/// buffer takes what comes. So a merge holds at most CPUs × this many pages.
pub(crate) const LANE_PAGES_MAX: usize = 256;

/// The most marks that wait of one thread: room for a full ring beside what waits for the watermark.
const LANE_MARKS_MAX: usize = 2 * tardy_model::MARKS_MAX;

/// What comes out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// An event's record.
    Record(u64, CpuId, &'a [u8]),
    /// An event that is complete already: a mark, a loss, what is known of a task.
    Event(Event),
}

/// Lanes and what was released from them.
pub(crate) struct Merge {
    layout: PageLayout,
    cpus: Vec<CpuLane>,
    /// Lanes of complete events.
    events: Vec<VecDeque<Event>>,
    /// The time of each lane's next item, soonest first: CPUs' lanes, then events'.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    released_ns: u64,
    late: u64,
    spare_pages: Vec<Vec<u8>>,
}

struct CpuLane {
    cpu: CpuId,
    pages: VecDeque<Vec<u8>>,
    /// In the first page; `None` where it is not opened.
    cursor: Option<Cursor>,
    /// A loss to be told before the first page's next event.
    lost: Option<u32>,
    last_ns: u64,
    /// The time of the last event of its last page.
    filled_ns: u64,
    has_head: bool,
}

impl Merge {
    /// A merge of these CPUs, of a stream that begins at `start_ns`.
    pub(crate) fn new(layout: PageLayout, cpus: &[CpuId], start_ns: u64) -> Self {
        let lane = |cpu: &CpuId| CpuLane {
            cpu: *cpu,
            pages: VecDeque::new(),
            cursor: None,
            lost: None,
            last_ns: start_ns,
            filled_ns: start_ns,
            has_head: false,
        };
        Self {
            layout,
            cpus: cpus.iter().map(lane).collect(),
            events: Vec::new(),
            heads: BinaryHeap::new(),
            released_ns: start_ns,
            late: 0,
            spare_pages: Vec::new(),
        }
    }

    /// A buffer for a page, of a page's length.
    pub(crate) fn spare_page(&mut self) -> Vec<u8> {
        let mut page = self.spare_pages.pop().unwrap_or_default();
        page.resize(self.layout.page_bytes, 0);
        page
    }

    /// Gives back a buffer that was not used.
    pub(crate) fn give_back(&mut self, page: Vec<u8>) {
        self.spare_pages.push(page);
    }

    /// Whether a CPU's lane can take another page.
    pub(crate) fn has_room(&self, lane: usize) -> bool {
        self.cpus[lane].pages.len() < LANE_PAGES_MAX
    }

    /// Adds the next page of a CPU.
    pub(crate) fn push_page(&mut self, at: usize, page: Vec<u8>) {
        let lane = &mut self.cpus[at];
        if let Some((_, mut cursor)) = self.layout.open(&page) {
            while cursor.next(&self.layout, &page).is_some() {}
            lane.filled_ns = lane.filled_ns.max(cursor.time_ns());
        }
        lane.pages.push_back(page);
        self.refill(at);
    }

    /// Up to when a CPU's lane is complete although its buffer was not read to the end. It holds for
    /// a lane that found no room in this round too: were such a lane said to be complete only up to
    /// what is released already, two full ones would wait for each other for ever.
    pub(crate) fn filled_ns(&self, lane: usize) -> u64 {
        self.cpus[lane].filled_ns
    }

    /// Adds a lane for events that come complete and in time order. Returns which one it is.
    pub(crate) fn add_event_lane(&mut self) -> usize {
        self.events.push(VecDeque::new());
        self.events.len() - 1
    }

    /// Whether a lane can take all marks of a full ring.
    pub(crate) fn has_room_for_marks(&self, lane: usize) -> bool {
        self.events[lane].len() + tardy_model::MARKS_MAX <= LANE_MARKS_MAX
    }

    /// Adds a lane's next event.
    pub(crate) fn push_event(&mut self, lane: usize, event: Event) {
        if self.events[lane].is_empty() {
            self.heads.push(Reverse((event.time_ns, self.cpus.len() + lane)));
        }
        self.events[lane].push_back(event);
    }

    /// Hands the next item before `watermark_ns` to `take`. `false` where there is none.
    pub(crate) fn release(&mut self, watermark_ns: u64, take: impl FnOnce(Item<'_>)) -> bool {
        let Some(Reverse((time_ns, lane))) = self.heads.peek().copied() else { return false };
        if time_ns >= watermark_ns {
            return false;
        }
        self.heads.pop();
        let is_late = time_ns < self.released_ns;
        if is_late {
            // Complete as it was thought to be, the stream has passed this time. To put the event
            // at another would be a lie; it is lost, and that is told.
            self.late += 1;
            let loss = Loss { since_ns: time_ns, count: 1 };
            take(Item::Event(loss_event(self.released_ns, self.cpu(lane), loss)));
            self.skip(lane);
            return true;
        }
        self.released_ns = time_ns;
        if let Some(at) = lane.checked_sub(self.cpus.len()) {
            let event = self.events[at].pop_front();
            if let Some(next) = self.events[at].front() {
                self.heads.push(Reverse((next.time_ns, lane)));
            }
            if let Some(event) = event {
                take(Item::Event(event));
            }
            return true;
        }
        let CpuLane { cpu, pages, cursor, lost, last_ns, has_head, .. } = &mut self.cpus[lane];
        *has_head = false;
        if let Some(count) = lost.take() {
            let loss = Loss { since_ns: *last_ns, count };
            take(Item::Event(loss_event(time_ns, *cpu, loss)));
        } else if let (Some(page), Some(cursor)) = (pages.front(), cursor)
            && let Some(event) = cursor.next(&self.layout, page)
        {
            *last_ns = time_ns;
            take(Item::Record(time_ns, *cpu, event.record));
        }
        self.refill(lane);
        true
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Events that came after the stream had passed their time, and became losses.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    fn cpu(&self, lane: usize) -> CpuId {
        match lane.checked_sub(self.cpus.len()) {
            Some(at) => self.events[at].front().map_or(CpuId(0), |event| event.cpu),
            None => self.cpus[lane].cpu,
        }
    }

    /// Passes a lane's next item.
    fn skip(&mut self, lane: usize) {
        if let Some(at) = lane.checked_sub(self.cpus.len()) {
            self.events[at].pop_front();
            if let Some(next) = self.events[at].front() {
                self.heads.push(Reverse((next.time_ns, lane)));
            }
            return;
        }
        let CpuLane { pages, cursor, lost, has_head, .. } = &mut self.cpus[lane];
        *has_head = false;
        if lost.take().is_none()
            && let (Some(page), Some(cursor)) = (pages.front(), cursor)
        {
            cursor.next(&self.layout, page);
        }
        self.refill(lane);
    }

    /// Finds a CPU lane's next item, over pages that are read up.
    fn refill(&mut self, at: usize) {
        let lane = &mut self.cpus[at];
        while !lane.has_head {
            let Some(page) = lane.pages.front() else { return };
            let cursor = match lane.cursor {
                Some(cursor) => Some(cursor),
                None => self.layout.open(page).map(|(missed, cursor)| {
                    lane.lost = match missed {
                        Missed::Nothing => None,
                        Missed::Count(count) => Some(u32::try_from(count).unwrap_or(u32::MAX)),
                        Missed::Unknown => Some(u32::MAX),
                    };
                    cursor
                }),
            };
            lane.cursor = cursor;
            // Looked at from a copy: the event is taken when its time has come.
            let next = cursor
                .and_then(|mut ahead| ahead.next(&self.layout, page).map(|event| event.time_ns));
            let next = next.or_else(|| lane.lost.and(cursor).map(|cursor| cursor.time_ns()));
            if let Some(time_ns) = next {
                lane.has_head = true;
                self.heads.push(Reverse((time_ns, at)));
            } else {
                lane.cursor = None;
                self.spare_pages.extend(lane.pages.pop_front());
            }
        }
    }
}

fn loss_event(time_ns: u64, cpu: CpuId, loss: Loss) -> Event {
    Event::new(time_ns, cpu, TaskId::IDLE, Kind::Loss(loss))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tardy_ftrace::format::Endian;
    use tardy_model::event::Mark;

    const LAYOUT: PageLayout = PageLayout {
        endian: Endian::Little,
        commit_offset: 8,
        commit_bytes: 8,
        data_offset: 16,
        page_bytes: 256,
    };

    /// A page of one-word events at these times; `missed` is told to have gone before it.
    fn page(times_ns: &[u64], missed: Option<u64>) -> Vec<u8> {
        let first = times_ns.first().copied().unwrap_or(0);
        let mut data = Vec::new();
        let mut before = first;
        for time_ns in times_ns {
            data.extend((((time_ns - before) as u32) << 5 | 1).to_le_bytes());
            data.extend((*time_ns as u32).to_le_bytes());
            before = *time_ns;
        }
        let flags = if missed.is_some() { 3u64 << 30 } else { 0 };
        let mut page = first.to_le_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_le_bytes());
        page.extend(data);
        page.extend(missed.unwrap_or(0).to_le_bytes());
        page
    }

    fn all(merge: &mut Merge, watermark_ns: u64) -> Vec<(u64, u16, Option<Kind>)> {
        let mut out = Vec::new();
        while merge.release(watermark_ns, |item| {
            out.push(match item {
                Item::Record(time_ns, cpu, record) => {
                    assert_eq!(record, (time_ns as u32).to_le_bytes());
                    (time_ns, cpu.0, None)
                }
                Item::Event(event) => (event.time_ns, event.cpu.0, Some(event.kind())),
            });
        }) {}
        out
    }

    #[test]
    fn lanes_come_out_as_one_and_stop_at_the_watermark() {
        let mut merge = Merge::new(LAYOUT, &[CpuId(0), CpuId(1)], 5);
        let marks = merge.add_event_lane();
        merge.push_page(0, page(&[10, 30, 50], None));
        assert_eq!(merge.filled_ns(0), 50);
        merge.push_page(1, page(&[20, 60], None));
        merge.push_page(1, page(&[], None));
        merge.push_page(1, page(&[70], Some(4)));
        let mark = Mark { expiry_ns: 1, sequence: 0 };
        let at = |time_ns| Event::new(time_ns, CpuId(1), TaskId(9), mark.into());
        merge.push_event(marks, at(40));
        merge.push_event(marks, at(80));
        let marked = (40, 1, Some(Kind::Mark(mark)));
        let first = [(10, 0, None), (20, 1, None), (30, 0, None), marked];
        assert_eq!(all(&mut merge, 50), first);
        let lost = Some(Kind::Loss(Loss { since_ns: 60, count: 4 }));
        let marked = (80, 1, Some(Kind::Mark(mark)));
        let rest = [(50, 0, None), (60, 1, None), (70, 1, lost), (70, 1, None), marked];
        assert_eq!(all(&mut merge, u64::MAX), rest);
        assert!(merge.is_empty());
    }

    #[test]
    fn what_comes_too_late_is_a_loss_at_the_present_time() {
        let mut merge = Merge::new(LAYOUT, &[CpuId(0), CpuId(1)], 0);
        merge.push_page(0, page(&[100], None));
        assert_eq!(all(&mut merge, 200).len(), 1);
        merge.push_page(1, page(&[90, 110], None));
        let lost = Some(Kind::Loss(Loss { since_ns: 90, count: 1 }));
        assert_eq!(all(&mut merge, 200), [(100, 1, lost), (110, 1, None)]);
        assert_eq!(merge.late(), 1);
    }

    /// A busy CPU's lane and one that begins later, both filled whenever they have room, and the
    /// stream goes on to the end of what they have together.
    #[test]
    fn full_lanes_do_not_wait_for_each_other() {
        let mut merge = Merge::new(LAYOUT, &[CpuId(0), CpuId(1)], 0);
        let mut next_ns = [0, 10_000];
        let mut came = 0;
        for _round in 0..100 {
            let mut complete_ns = u64::MAX;
            for (lane, next_ns) in next_ns.iter_mut().enumerate() {
                while merge.has_room(lane) {
                    merge.push_page(lane, page(&[*next_ns, *next_ns + 5], None));
                    *next_ns += 10;
                }
                complete_ns = complete_ns.min(merge.filled_ns(lane));
            }
            came += all(&mut merge, complete_ns).len();
        }
        assert!(next_ns[0] > 20_000, "{next_ns:?}");
        assert!(came > 50 * LANE_PAGES_MAX, "{came}");
        assert_eq!(merge.late(), 0);
    }

    proptest! {
        /// Whatever bytes the pages have: it ends, and never goes back in time.
        #[test]
        fn time_never_goes_back(
            pages in prop::collection::vec((0usize..2, prop::collection::vec(any::<u8>(), 0..256)), 0..8),
        ) {
            let mut merge = Merge::new(LAYOUT, &[CpuId(0), CpuId(1)], 0);
            for (lane, page) in pages {
                merge.push_page(lane, page);
            }
            let mut last_ns = 0;
            let mut ok = true;
            while merge.release(u64::MAX, |item| {
                let time_ns = match item {
                    Item::Record(time_ns, ..) => time_ns,
                    Item::Event(event) => event.time_ns,
                };
                ok &= time_ns >= last_ns;
                last_ns = time_ns;
            }) {}
            prop_assert!(ok);
        }
    }
}
