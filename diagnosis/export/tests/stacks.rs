//! Where in the kernel a culprit was stands behind it in flame graphs.

mod export;

use tardy_model::event::{
    Comm, ExpireBegin, ExpireEnd, Irq, IrqBegin, IrqEnd, Recorded, Stack, Switch, Taken, TaskInfo,
    TaskName, TaskState, TimerMode, Vector, Waking,
};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, Prio, TaskId, TimerClass, TimerDef, TimerId};

const VICTIM: TaskId = TaskId(7);
const HOG: TaskId = TaskId(20);

/// A thread that is woken at 1000 and has to wait for another until 90,000.
fn stream() -> Batch {
    let mut batch = Batch::default();
    batch.names.push((NameId(1), "hrtimer_wakeup".to_owned()));
    batch.names.push((NameId(2), "zap_pte_range<-unmap_vmas<-__x64_sys_munmap".to_owned()));
    let (id, function) = (TimerId(1), NameId(1));
    let class = TimerClass::Hrtimer;
    batch.timers.push(TimerDef { id, address: 1, function, owner: VICTIM, class });
    let mut at = |time_ns, task, kind: Kind| {
        batch.events.push(Event::new(time_ns, CpuId(0), task, kind));
    };
    let switch = |prev_state, next, next_prio| {
        Kind::from(Switch {
            prev_state,
            prev_prio: Prio(120),
            preempted: prev_state == TaskState::Running,
            next,
            next_prio,
        })
    };
    at(0, TaskId::IDLE, Recorded::all().into());
    for (task, name, flags) in [(VICTIM, "cyclic", TaskInfo::WATCHED), (HOG, "unmapper", 0)] {
        at(0, task, TaskName { comm: Comm::new(name) }.into());
        at(0, task, TaskInfo { process: task, flags }.into());
    }
    let irq = Irq::Vector(Vector::LOCAL_TIMER);
    let (timer, mode) = (TimerId(1), TimerMode(0));
    let taken = Taken::Left;
    at(1, VICTIM, switch(TaskState::Interruptible, HOG, Prio(120)));
    at(1000, HOG, IrqBegin { irq }.into());
    at(1000, HOG, ExpireBegin { timer, soft_ns: 1000, slack_ns: 0, mode }.into());
    let waking = Waking { target: VICTIM, target_cpu: CpuId(0), prio: Prio(19) };
    at(1000, HOG, waking.into());
    at(1000, HOG, ExpireEnd { timer }.into());
    at(1000, HOG, IrqEnd { irq }.into());
    at(89_999, HOG, Stack { taken, of: HOG, late_ns: 88_999, frames: NameId(2) }.into());
    at(90_000, HOG, switch(TaskState::Running, VICTIM, Prio(19)));
    batch
}

#[test]
fn functions_stand_behind_their_culprit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("causes.folded");
    export::export("folded", &path, &[stream()]).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let stack = ";__x64_sys_munmap;unmap_vmas;zap_pte_range 89000";
    let line = text.lines().find(|line| line.contains("not_preemptible;unmapper"));
    assert!(line.is_some_and(|line| line.ends_with(stack)), "{text}");
}
