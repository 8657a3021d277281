//! Threads change their names, execute other programs and make others while they are changed.

use super::*;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// Tells this program that it is to execute another when a line comes.
const EXECUTES: &str = "TARDY_TEST_EXECUTES";

/// What threads have here, and what they are given: nobody else gives that.
const SLACK: &str = "43210";
const GIVEN: &str = "7654";

/// How long anything may take on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A process that is ended with all that it made when it is dropped.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    /// It does nothing until it is told to.
    fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap();
        let stdin = child.stdin.take();
        Self { child, stdin }
    }

    fn shell(script: &str) -> Self {
        Self::start(Command::new("sh").args(["-c", script]))
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn tell(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_raw(self.id().cast_signed()).unwrap();
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WAIT_MAX, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn slack(tid: u32) -> String {
    let text = fs::read_to_string(format!("/proc/{tid}/timerslack_ns"));
    text.unwrap_or_default().trim().to_owned()
}

fn has_slack(tid: u32) {
    fs::write(format!("/proc/{tid}/timerslack_ns"), SLACK).unwrap();
}

fn name(tid: u32) -> String {
    fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default().trim().to_owned()
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn of(tid: u32) -> Setting {
    let place = Place::Slack(Thread::of(tid).unwrap());
    Setting { place, to: GIVEN.to_owned() }
}

/// As if another process had done it, that runs or has ended.
fn by_another(fixture: &Fixture, does_run: bool) {
    let mut book = fixture.journal.open(true).unwrap();
    let parent = Thread::of(std::os::unix::process::parent_id()).unwrap();
    let start = if does_run { parent.start } else { parent.start + 1 };
    let all: Vec<Entry> = book.lines.iter().map(|line| line.entry.clone()).collect();
    for at in (0..all.len()).rev() {
        book.mark(at, Mark::Done).unwrap();
    }
    let another = |entry: Entry| Entry { by: Thread { start, ..parent.clone() }, ..entry };
    book.add(&all.into_iter().map(another).collect::<Vec<_>>()).unwrap();
}

fn can() -> bool {
    let can = rustix::process::geteuid().is_root();
    if !can {
        println!("skipped: only root changes threads of others");
    }
    can
}

/// Names are for people: a thread chooses its own.
#[test]
fn a_thread_with_another_name_is_the_same() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let process = Process::shell("read line; sleep 1000 & wait");
    has_slack(process.id());
    let first = fixture.journal.change(&[of(process.id())], "x").unwrap();
    fs::write(format!("/proc/{}/comm", process.id()), "another").ok();
    let mut again = of(process.id());
    if let Place::Slack(thread) = &mut again.place {
        thread.name = "another".to_owned();
    }
    again.to = "9999".to_owned();
    let error = fixture.journal.change(&[again], "y").unwrap_err();
    assert!(matches!(error, RemedyError::Busy { .. }), "{error}");
    drop(first);
    assert_eq!(slack(process.id()), SLACK);
}

/// Programs have threads that come and go: one that has gone keeps none of the others from being changed.
#[test]
fn a_thread_that_has_ended_is_left_out() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let (process, ended) = (Process::shell("read line"), Process::shell("read line"));
    has_slack(process.id());
    let both = [of(ended.id()), of(process.id())];
    drop(ended);
    let changed = fixture.journal.change(&both, "x").unwrap();
    assert_eq!((slack(process.id()), changed.entries().len()), (GIVEN.to_owned(), 1));
    drop(changed);
    assert_eq!(slack(process.id()), SLACK);
    fixture.journal.change(&both[..1], "x").unwrap_err();
}

/// Executes another program, where it was started for that; the thread of a test is not the first of its process.
#[test]
fn executes_when_it_is_told() {
    if std::env::var_os(EXECUTES).is_none() {
        return;
    }
    // Whoever started it looks for this name.
    fs::write("/proc/thread-self/comm", "waits").unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let error = Command::new("sleep").arg("1000").exec();
    panic!("{error}");
}

/// A process of which a thread that is not the first will execute another program, and that thread.
fn executing() -> (Process, u32) {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(own);
    command.args(["--exact", "journal::tests::threads::executes_when_it_is_told"]);
    let process = Process::start(command.env(EXECUTES, "1"));
    let id = process.id();
    let threads = || crate::place::threads_of(id, 10);
    let waits = || threads().into_iter().map(|it| it.tid).find(|tid| name(*tid) == "waits");
    eventually("its thread does not begin", || waits().is_some());
    let thread = waits().unwrap();
    assert_ne!(thread, id);
    for it in threads() {
        has_slack(it.tid);
    }
    (process, thread)
}

fn execute(process: &mut Process) {
    process.tell();
    let id = process.id();
    eventually("it executes nothing", || name(id) == "sleep");
}

#[test]
fn a_thread_that_executes_another_program_gets_back_what_it_had() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let (mut process, thread) = executing();
    let changed = fixture.journal.change(&[of(thread)], "x").unwrap();
    execute(&mut process);
    assert_eq!(slack(process.id()), GIVEN, "it has the place of the first, and what it was given");
    let error = fixture.journal.change(&[of(process.id())], "y").unwrap_err();
    assert!(matches!(error, RemedyError::Busy { .. }), "{error}");
    assert_eq!(outcomes(&changed.undo()), [&Outcome::Restored]);
    assert_eq!(slack(process.id()), SLACK);
}

/// Another has changed the first thread of that process: what is left there is not what that one gave it.
#[test]
fn a_thread_that_takes_a_changed_ones_place_gets_back_what_it_had() {
    if !can() {
        return;
    }
    for is_same in [false, true] {
        let fixture = Fixture::new();
        let (mut process, thread) = executing();
        let mut of_first = of(process.id());
        if !is_same {
            of_first.to = "9999".to_owned();
        }
        let first = fixture.journal.change(&[of_first], "x").unwrap();
        let second = fixture.journal.change(&[of(thread)], "y").unwrap();
        execute(&mut process);
        assert_eq!(slack(process.id()), GIVEN);
        drop(second);
        drop(first);
        assert_eq!(slack(process.id()), SLACK, "{is_same}");
    }
}

/// One that ended is nobody's, whatever the first holds.
#[test]
fn a_thread_that_ended_has_no_successor() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let (process, thread) = executing();
    let changed = fixture.journal.change(&[of(thread)], "x").unwrap();
    let mut entry = changed.entries()[0].clone();
    if let Place::Slack(thread) = &mut entry.place {
        thread.start += 1;
    }
    fs::write(format!("/proc/{}/timerslack_ns", process.id()), GIVEN).unwrap();
    assert_eq!(family::successor(&entry, &fixture.journal.root), None);
    drop(changed);
    assert_eq!(slack(process.id()), GIVEN, "somebody else's");
}

#[test]
fn who_was_made_meanwhile_gets_what_would_have_been_inherited() {
    if !can() {
        return;
    }
    for is_killed in [false, true] {
        let fixture = Fixture::new();
        let mut process = Process::shell("read line; (sleep 1000 & sleep 1000 & wait) & wait");
        has_slack(process.id());
        // Who was there before is none of them.
        let stranger = Process::shell("read line");
        fs::write(format!("/proc/{}/timerslack_ns", stranger.id()), GIVEN).unwrap();
        let changed = fixture.journal.change(&[of(process.id())], "x").unwrap();
        process.tell();
        let made = || {
            let children = children(process.id());
            let below = children.iter().flat_map(|child| self::children(*child));
            children.iter().copied().chain(below).collect::<Vec<_>>()
        };
        eventually("it makes nobody", || made().len() == 3);
        let made = made();
        assert!(made.iter().all(|made| slack(*made) == GIVEN));
        if is_killed {
            by_another(&fixture, false);
            assert_eq!(fixture.journal.undo_left_over().len(), 4);
            drop(changed);
        } else {
            assert_eq!(changed.undo().len(), 4);
        }
        for tid in made.iter().chain([&process.id()]) {
            assert_eq!(slack(*tid), SLACK, "{is_killed}");
        }
        assert_eq!(slack(stranger.id()), GIVEN);
    }
}

/// Those whose parent has ended, too: they are of its session.
#[test]
fn orphans_inherit() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let mut process = Process::start(
        Command::new("setsid")
            .args(["--wait", "sh", "-c", "read line; (sleep 1000 & echo $! > made) ; read line"])
            .current_dir(fixture.folder.path()),
    );
    let shell = || children(process.id()).first().copied();
    eventually("there is no shell", || shell().is_some_and(|it| name(it) == "sh"));
    let shell = shell().unwrap();
    has_slack(shell);
    let changed = fixture.journal.change(&[of(shell)], "x").unwrap();
    process.tell();
    eventually("it makes nobody", || !fixture.value_or_none("made").is_empty());
    let made: u32 = fixture.value("made").parse().unwrap();
    assert_eq!(slack(made), GIVEN);
    drop(changed);
    let after = slack(made);
    let pid = rustix::process::Pid::from_raw(made.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(after, SLACK);
}

/// A session is no family: who was made in it by another, and whose maker has ended, has what it has by itself.
#[test]
fn strangers_of_the_same_session_are_no_heirs() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let script =
        "sleep 1000 & echo $! > victim; read line; (sleep 1000 & echo $! > stranger); wait";
    let mut command = Command::new("sh");
    let mut process =
        Process::start(command.args(["-c", script]).current_dir(fixture.folder.path()));
    let told = |name: &str| -> u32 { fixture.value_or_none(name).trim().parse().unwrap_or(0) };
    eventually("there is no victim", || name(told("victim")) == "sleep");
    let victim = told("victim");
    has_slack(victim);
    let changed = fixture.journal.change(&[of(victim)], "x").unwrap();
    process.tell();
    eventually("there is no stranger", || told("stranger") != 0);
    let stranger = told("stranger");
    let parent = || procfs::process::Process::new(stranger.cast_signed())?.stat().map(|it| it.ppid);
    let is_lost = || parent().is_ok_and(|it| name(it.cast_unsigned()) != "sh");
    eventually("its parent does not end", || name(stranger) == "sleep" && is_lost());
    fs::write(format!("/proc/{stranger}/timerslack_ns"), GIVEN).unwrap();
    let undone = changed.undo();
    assert_eq!(undone.len(), 1, "{undone:?}");
    assert_eq!((slack(victim), slack(stranger)), (SLACK.to_owned(), GIVEN.to_owned()));
}

/// Nobody inherits a real-time policy that is tried: whoever has the same has it by itself. Timer slack is what the
/// kernel takes away from children of real-time threads.
#[test]
fn a_real_time_policy_that_is_tried_has_no_heirs() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let mut process = Process::shell("read line; sleep 1000 & sleep 1000 & wait");
    has_slack(process.id());
    let place = Place::Policy(Thread::of(process.id()).unwrap());
    let setting = Setting { place, to: "fifo:7".to_owned() };
    let Ok(changed) = fixture.journal.change(&[setting], "x") else {
        println!("skipped: no real-time policy is to be had here");
        return;
    };
    process.tell();
    let made = || children(process.id());
    eventually("it makes nobody", || {
        made().len() == 2 && made().iter().all(|it| name(*it) == "sleep")
    });
    let made = made();
    let policy = |tid: u32| tardy_thread_policy::attributes(tid).unwrap().policy;
    let ordinary = tardy_thread_policy::Policy::Other { nice: 0 };
    let own = tardy_thread_policy::Policy::Fifo { prio: 7 };
    assert_eq!([policy(made[0]), policy(made[1])], [ordinary; 2]);
    tardy_thread_policy::set(made[0], own).unwrap();
    changed.undo();
    assert_eq!([policy(process.id()), policy(made[0]), policy(made[1])], [ordinary, own, ordinary]);
    assert_eq!([slack(process.id()), slack(made[1])], [SLACK; 2]);
}

/// Whoever inherited what stays and was changed too: that goes first, then what it had inherited.
#[test]
fn heirs_that_were_changed_themselves_get_back_what_they_would_have_inherited() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let mut process = Process::shell("read line; sleep 1000 & wait");
    has_slack(process.id());
    fixture.journal.change(&[of(process.id())], "x").unwrap().keep().unwrap();
    process.tell();
    eventually("it makes nobody", || !children(process.id()).is_empty());
    let made = children(process.id())[0];
    eventually("it executes nothing", || name(made) == "sleep");
    let mut setting = of(made);
    setting.to = "9999".to_owned();
    fixture.journal.change(std::slice::from_ref(&setting), "y").unwrap().keep().unwrap();
    fixture
        .journal
        .change(&[Setting { to: "8888".to_owned(), ..setting }], "z")
        .unwrap()
        .keep()
        .unwrap();
    fixture.journal.undo_all();
    assert_eq!([slack(process.id()), slack(made)], [SLACK; 2]);
}

/// What a tardy that runs has given is its own, whoever has it by now.
#[test]
fn heirs_of_what_another_holds_are_busy() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let mut process = Process::shell("read line; sleep 1000 & wait");
    has_slack(process.id());
    let changed = fixture.journal.change(&[of(process.id())], "x").unwrap();
    by_another(&fixture, true);
    process.tell();
    eventually("it makes nobody", || !children(process.id()).is_empty());
    let made = children(process.id())[0];
    eventually("it executes nothing", || name(made) == "sleep");
    let mut setting = of(made);
    setting.to = "9999".to_owned();
    let error = fixture.journal.change(&[setting], "y").unwrap_err();
    assert!(matches!(error, RemedyError::Busy { .. }), "{error}");
    assert!(matches!(fixture.journal.undo_all()[0].outcome, Outcome::InUse { .. }));
    assert_eq!([slack(process.id()), slack(made)], [GIVEN; 2]);
    by_another(&fixture, false);
    fixture.journal.undo_left_over();
    assert_eq!([slack(process.id()), slack(made)], [SLACK; 2]);
    drop(changed);
}

/// What one of them held may be what the other set: the kernel forgets slack with the policy.
#[test]
fn the_policy_and_the_slack_of_a_thread_are_one() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let mut process = Process::shell("read line; sleep 1000 & wait");
    has_slack(process.id());
    let policy = |tid| {
        let place = Place::Policy(Thread::of(tid).unwrap());
        Setting { place, to: "batch:1".to_owned() }
    };
    let is_busy = |second: Setting| {
        let error = fixture.journal.change(&[second], "y").unwrap_err();
        assert!(matches!(error, RemedyError::Busy { .. }), "{error}");
    };
    let first = fixture.journal.change(&[policy(process.id())], "x").unwrap();
    is_busy(of(process.id()));
    drop(first);
    let first = fixture.journal.change(&[of(process.id())], "x").unwrap();
    is_busy(policy(process.id()));
    process.tell();
    eventually("it makes nobody", || !children(process.id()).is_empty());
    let made = children(process.id())[0];
    eventually("it executes nothing", || name(made) == "sleep");
    is_busy(policy(made));
    drop(first);
    // What stays is not taken back from under whom is at work on the other.
    fixture.journal.change(&[of(process.id())], "x").unwrap().keep().unwrap();
    let second = fixture.journal.change(&[policy(process.id())], "y").unwrap();
    let mut book = fixture.journal.open(true).unwrap();
    let parent = Thread::of(std::os::unix::process::parent_id()).unwrap();
    let entry = book.lines[1].entry.clone();
    book.mark(1, Mark::Done).unwrap();
    book.add(&[Entry { by: parent, ..entry }]).unwrap();
    drop(book);
    let undone = fixture.journal.undo_all();
    assert!(undone.iter().all(|it| matches!(it.outcome, Outcome::InUse { .. })), "{undone:?}");
    drop(second);
    assert_eq!(slack(process.id()), GIVEN);
}

/// A line of another PID namespace says nothing of the processes here: of whoever has those numbers.
#[test]
fn lines_of_another_namespace_of_processes_are_left_and_said() {
    if !can() {
        return;
    }
    let fixture = Fixture::new();
    let process = Process::shell("read line");
    has_slack(process.id());
    let settings = [of(process.id()), set("a", "2")];
    let changed = fixture.journal.change(&settings, "x").unwrap();
    // One that has this process: nobody is of it, and it may be anybody's only where not all are to be seen.
    let other = Another::new();
    let Some(other) = other else { return };
    let mut book = fixture.journal.open(true).unwrap();
    let lines: Vec<Entry> = book.lines.iter().map(|line| line.entry.clone()).collect();
    for at in (0..lines.len()).rev() {
        book.mark(at, Mark::Done).unwrap();
    }
    // By who is not there here, and may be there.
    let by = Thread { tid: 1 << 22, start: 1, name: "tardy".to_owned() };
    let of_other =
        |entry: Entry| Entry { namespace: Some(other.namespace), by: by.clone(), ..entry };
    book.add(&lines.into_iter().map(of_other).collect::<Vec<_>>()).unwrap();
    drop(book);
    assert_eq!(fixture.journal.undo_left_over(), [], "whether it is left over is not known");
    let error = fixture.journal.change(&[set("a", "3")], "y").unwrap_err();
    assert!(matches!(error, RemedyError::Elsewhere { .. }), "{error}");
    let undone = fixture.journal.undo_all();
    assert!(undone.iter().all(|it| matches!(it.outcome, Outcome::Elsewhere { .. })), "{undone:?}");
    assert!(undone[0].words().contains("run tardy undo there"), "{}", undone[0].words());
    assert_eq!((slack(process.id()), fixture.value("a")), (GIVEN.to_owned(), "2".to_owned()));
    assert_eq!(fixture.journal.entries().len(), 2);
    // Where nobody can be of it any more, its files are put back; its threads have ended with it.
    drop(other);
    if namespace::own() == Some(0xEFFF_FFFC) {
        assert_eq!(fixture.journal.undo_left_over().len(), 2);
        assert_eq!(fixture.value("a"), "1");
        assert_eq!(fixture.journal.entries(), []);
    } else {
        println!("skipped: that it is gone is known in the outermost namespace alone");
    }
    drop(changed);
}

/// A PID namespace that is not this one.
struct Another {
    namespace: u64,
    first: u32,
    _process: Process,
}

impl Another {
    fn new() -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "sleep", "1000"]).stderr(Stdio::null());
        let process = Process::start(&mut command);
        let first = || children(process.id()).first().copied();
        let begun = Instant::now();
        while first().is_none_or(|it| name(it) != "sleep") {
            if begun.elapsed() > WAIT_MAX
                || Thread::of(process.id()).is_none_or(|it| it.name.is_empty())
            {
                println!("skipped: no PID namespace can be made (unshare)");
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let first = first().unwrap();
        let namespace = fs::metadata(format!("/proc/{first}/ns/pid")).unwrap().ino();
        Some(Self { namespace, first, _process: process })
    }
}

impl Drop for Another {
    fn drop(&mut self) {
        let first = rustix::process::Pid::from_raw(self.first.cast_signed()).unwrap();
        let _ = rustix::process::kill_process(first, rustix::process::Signal::KILL);
        // Its parent waits for it.
        eventually("it does not end", || name(self.first).is_empty());
    }
}
