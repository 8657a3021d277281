//! What tardy's own export writes into a text beside the kernel's events.

use super::fields::number;
use memchr::memmem;
use tardy_model::event::{
    ClockSet, Current, GroupBandwidth, GroupWeight, IdleState, Mark, Recorded, Stack, Stolen,
    Taken, TaskCpus, TaskGroup, TaskInfo,
};
use tardy_model::{Kind, NameId, Prio, TaskId};

/// The line that says that expiries are of the clock of the events, whatever that is.
pub(crate) const EXPIRIES: &[u8] = b"# tardy: expiries are of this clock";

/// The event in which programs write into a trace.
pub(crate) const MARK_EVENT: &[u8] = b"tracing_mark_write";

/// `# tardy: task pid=7 process=5 flags=4`: what is known of a thread.
pub(crate) fn task(line: &[u8]) -> Option<(TaskId, TaskInfo)> {
    let rest = line.strip_prefix(b"# tardy: task ")?;
    let number = |key: &[u8]| u32::try_from(value(rest, key)?).ok();
    let info = TaskInfo {
        process: TaskId(number(b"process=")?),
        flags: u8::try_from(number(b"flags=")?).ok()?,
    };
    Some((TaskId(number(b"pid=")?), info))
}

/// What stands behind `tardy:` in an event of [`MARK_EVENT`]: an event of the model's that the kernel has
/// none for, and a name that belongs to it.
///
/// - `mark expiry_ns=1000 sequence=3`: a thread's own reading;
/// - `clock_set by_ns=-3000 since_ns=1000`: somebody set `CLOCK_REALTIME`;
/// - `idle_state state=1 exit_latency_ns=2000 name=C1`: what an idle state is;
/// - `task_group throttled=1 path=/user.slice`: the group in which the line's task is counted, and whether
///   that keeps it from running from its next switch on;
/// - `recorded kinds=0x1fff`: the kinds that the recording tells of;
/// - `current prio=49`: the line's task runs on its CPU when the trace begins, at this priority;
/// - `stolen ns=120000`: what a hypervisor took from the line's CPU lately;
/// - `stack of=7 late_ns=500000 taken=left frames=zap_pte_range<-unmap_vmas`: where a task was in the kernel.
pub(crate) fn event(body: &[u8]) -> Option<(Kind, &[u8])> {
    let rest = body.trim_ascii().strip_prefix(b"tardy: ")?;
    let what = rest.split(|byte| *byte == b' ').next()?;
    let number = |key: &[u8]| value(rest, key);
    let small = |key: &[u8]| u32::try_from(value(rest, key)?).ok();
    let name = |key: &[u8]| Some(&rest[memmem::find(rest, key)? + key.len()..]);
    let nameless = |kind: Kind| Some((kind, &b""[..]));
    match what {
        b"mark" => {
            let mark = Mark { expiry_ns: number(b"expiry_ns=")?, sequence: small(b"sequence=")? };
            nameless(mark.into())
        }
        b"clock_set" => {
            let by_ns = number(b"by_ns=")? as i64;
            nameless(ClockSet { by_ns, since_ns: number(b"since_ns=")? }.into())
        }
        b"idle_state" => {
            let (state, exit_latency_ns) = (small(b"state=")?, number(b"exit_latency_ns=")?);
            let state = IdleState { state, exit_latency_ns, name: NameId::NONE };
            Some((state.into(), name(b" name=")?))
        }
        b"task_group" => {
            let (before, path) = rest.split_at(memmem::find(rest, b" path=")?);
            let throttled = value(before, b"throttled=") == Some(1);
            Some((TaskGroup { path: NameId::NONE, throttled }.into(), &path[b" path=".len()..]))
        }
        b"group_bandwidth" => {
            let (before, path) = rest.split_at(memmem::find(rest, b" path=")?);
            let group = GroupBandwidth {
                path: NameId::NONE,
                quota_ns: value(before, b"quota_ns=")?,
                period_ns: u32::try_from(value(before, b"period_ns=")?).ok()?,
            };
            Some((group.into(), &path[b" path=".len()..]))
        }
        b"group_weight" => {
            let (before, path) = rest.split_at(memmem::find(rest, b" path=")?);
            let weight = u32::try_from(value(before, b"weight=")?).ok()?;
            let group = GroupWeight { path: NameId::NONE, weight };
            Some((group.into(), &path[b" path=".len()..]))
        }
        b"task_cpus" => nameless(TaskCpus { cpus: number(b"cpus=")? }.into()),
        b"recorded" => nameless(Recorded { kinds: number(b"kinds=")? }.into()),
        b"current" => {
            let prio = Prio(number(b"prio=")? as u16 as i16);
            nameless(Current { prio }.into())
        }
        b"stolen" => nameless(Stolen { ns: number(b"ns=")? }.into()),
        b"stack" => {
            let (before, frames) = rest.split_at(memmem::find(rest, b" frames=")?);
            let mut words = before.split(|byte| *byte == b' ');
            let taken = words.find_map(|word| word.strip_prefix(b"taken="))?;
            let stack = Stack {
                taken: Taken::named(std::str::from_utf8(taken).ok()?)?,
                of: TaskId(u32::try_from(value(before, b"of=")?).ok()?),
                late_ns: value(before, b"late_ns=")?,
                frames: NameId::NONE,
            };
            Some((stack.into(), &frames[b" frames=".len()..]))
        }
        _ => None,
    }
}

/// `armed hrtimer=… …` there: what `hrtimer_start` of the line's task would say, were it in the trace.
pub(crate) fn armed<'a>(event: &[u8], body: &'a [u8]) -> Option<&'a [u8]> {
    let is_mark = event == MARK_EVENT;
    is_mark.then(|| body.trim_ascii_start().strip_prefix(b"tardy: armed ")).flatten()
}

/// The event with its name.
pub(crate) fn named(kind: Kind, name: NameId) -> Kind {
    match kind {
        Kind::IdleState(state) => IdleState { name, ..state }.into(),
        Kind::TaskGroup(group) => TaskGroup { path: name, ..group }.into(),
        Kind::GroupBandwidth(group) => GroupBandwidth { path: name, ..group }.into(),
        Kind::GroupWeight(group) => GroupWeight { path: name, ..group }.into(),
        Kind::Stack(stack) => Stack { frames: name, ..stack }.into(),
        kind => kind,
    }
}

fn value(text: &[u8], key: &[u8]) -> Option<u64> {
    let mut words = text.split(u8::is_ascii_whitespace);
    number(words.find_map(|word| word.strip_prefix(key))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tardys_own() {
        let info = TaskInfo { process: TaskId(5), flags: 12 };
        assert_eq!(task(b"# tardy: task pid=7 process=5 flags=12"), Some((TaskId(7), info)));
        assert_eq!(task(b"# tardy: task pid=7 process=5"), None);
        assert_eq!(task(b"# tardy: task pid=7 process=5 flags=300"), None);
        let mark = Mark { expiry_ns: 18_446_744_073_709_551_615, sequence: 4 };
        let set = ClockSet { by_ns: -3000, since_ns: 7 };
        let state = IdleState { state: 1, exit_latency_ns: 2000, name: NameId::NONE };
        let group = TaskGroup { path: NameId::NONE, throttled: false };
        let bandwidth =
            GroupBandwidth { path: NameId::NONE, quota_ns: 50_000_000, period_ns: 100_000_000 };
        let stack = Stack { taken: Taken::Left, of: TaskId(7), late_ns: 500, frames: NameId::NONE };
        for (text, expected) in [
            (
                " tardy: mark expiry_ns=18446744073709551615 sequence=4",
                Some((Kind::from(mark), "")),
            ),
            ("tardy: mark expiry_ns=99999999999999999999 sequence=4", None),
            ("tardy: clock_set by_ns=-3000 since_ns=7", Some((set.into(), ""))),
            (
                "tardy: idle_state state=1 exit_latency_ns=2000 name=C1 of a kind",
                Some((state.into(), "C1 of a kind")),
            ),
            ("tardy: task_group path=/a b/c.slice", Some((group.into(), "/a b/c.slice"))),
            (
                "tardy: task_group throttled=1 path=/x throttled=0",
                Some((TaskGroup { throttled: true, ..group }.into(), "/x throttled=0")),
            ),
            (
                "tardy: group_bandwidth quota_ns=50000000 period_ns=100000000 path=/a b/c.slice",
                Some((bandwidth.into(), "/a b/c.slice")),
            ),
            ("tardy: group_bandwidth quota_ns=5 period_ns=4294967296 path=/x", None),
            (
                "tardy: group_weight weight=512 path=/autogroup-7",
                Some((GroupWeight { path: NameId::NONE, weight: 512 }.into(), "/autogroup-7")),
            ),
            ("tardy: group_weight weight=4294967296 path=/x", None),
            ("tardy: task_cpus cpus=0x5", Some((TaskCpus { cpus: 5 }.into(), ""))),
            ("tardy: task_cpus cpus=all", None),
            ("tardy: recorded kinds=0x1ff", Some((Recorded { kinds: 0x1ff }.into(), ""))),
            ("tardy: current prio=49", Some((Current { prio: Prio(49) }.into(), ""))),
            ("tardy: stolen ns=120000", Some((Stolen { ns: 120_000 }.into(), ""))),
            (
                "tardy: stack of=7 late_ns=500 taken=left frames=zap<-unmap",
                Some((stack.into(), "zap<-unmap")),
            ),
            ("tardy: stack of=7 late_ns=500 taken=up frames=zap", None),
            ("anything at all", None),
        ] {
            let told = event(text.as_bytes());
            assert_eq!(told, expected.map(|(kind, name)| (kind, name.as_bytes())), "{text}");
        }
    }
}
