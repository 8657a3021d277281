//! A system, what a recording of it tells, and how late its victims truly are.

use crate::figures::Blocks;
use crate::{Class, Figures, KernelSeen, Observation, Observed, RealTimeShare};
use std::collections::BTreeMap;
use tardy_explain::{Explainer, Options};
use tardy_model::{Batch, Event, Prio, Source};
use tardy_sim::file::Template;
use tardy_sim::{Observer, START_NS, Simulated, Simulation, System, Throttle, Waker};

/// A system as it is written, simulated for so long, and what a recording of it tells.
pub(super) struct Known {
    pub(super) system: System,
    pub(super) span_ns: u64,
}

impl Known {
    pub(super) fn of(text: &str) -> Self {
        let template = Template::parse(text).unwrap();
        let file = template.file(&template.conditions[0], &BTreeMap::default()).unwrap();
        let policy = file.policies[0].clone();
        Self { system: file.system_of(&policy, 0), span_ns: file.span_ns }
    }

    pub(super) fn observed(&self) -> Observed {
        self.observed_as(|events| events)
    }

    /// What is told by a recording whose events were then `mended`.
    pub(super) fn observed_as(&self, mend: fn(Vec<Event>) -> Vec<Event>) -> Observed {
        let mut source = Simulated::new(&self.system, self.span_ns, ()).unwrap();
        let (mut all, mut batch) = (Batch::default(), Batch::default());
        while source.next_batch(&mut batch).unwrap() {
            all.names.append(&mut batch.names);
            all.timers.append(&mut batch.timers);
            all.events.append(&mut batch.events);
        }
        all.events = mend(all.events);
        let observation = Observation::new(Some(START_NS + self.span_ns / 2));
        let mut explainer = Explainer::new(Options::default(), observation);
        explainer.batch(&all);
        explainer.finish().1.finish()
    }
}

pub(super) fn kernel(system: &System) -> KernelSeen {
    KernelSeen {
        preemption: Some("full".to_owned()),
        hz: Some((1_000_000_000 / system.kernel.settings.jiffy_ns.get()) as u32),
        cpus: system.machine.cpus.into(),
        realtime: RealTimeShare::All,
        throttles: system.kernel.throttles,
        class: Class::Simulated,
        is_kvm_guest: false,
    }
}

/// How late the victims of a system truly are.
pub(super) fn truth(known: &Known, seed: u64) -> Figures {
    #[derive(Debug)]
    struct Late(Blocks, Vec<Option<u64>>, Vec<bool>, Vec<Option<u64>>);
    impl Observer for Late {
        const EVENTS: bool = false;
        const STATES: bool = false;
        fn woken(&mut self, now_ns: u64, thread: u32, _: u16, _: Prio, by: Waker) {
            self.1[thread as usize] = match by {
                Waker::Timer(fired) => Some(fired.soft_ns),
                Waker::Start => None,
                _ => Some(now_ns),
            };
        }
        fn preempted(&mut self, now_ns: u64, thread: u32, _: u16, _: Prio) {
            self.3[thread as usize] = Some(now_ns);
        }
        fn throttled(&mut self, _: u64, thread: u32, by: Option<Throttle>) {
            if let (Some(lost_ns), Some(_)) = (self.3[thread as usize].take(), by) {
                self.1[thread as usize].get_or_insert(lost_ns);
            }
        }
        fn ran(&mut self, now_ns: u64, thread: u32, _: u16) {
            self.3[thread as usize] = None;
            if let Some(since_ns) = self.1[thread as usize].take()
                && self.2.get(thread as usize) == Some(&true)
            {
                self.0.add(since_ns - START_NS, now_ns - since_ns);
            }
        }
    }
    let system = System { seed, ..known.system.clone() };
    let watched = system.workload.threads.iter().map(|thread| thread.watched).collect();
    let late = Late(Blocks::new(known.span_ns), vec![None; 4096], watched, vec![None; 4096]);
    let mut simulation = Simulation::new(&system, late).unwrap();
    simulation.run_until(START_NS + known.span_ns);
    simulation.into_observer().0.figures()
}
