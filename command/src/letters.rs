//! Letters and verbs: a letter stands for one thing, whatever the verb.
//!
//! Some letters and verbs of other tools mean something else here, or nothing. The hints say what to write instead.

/// What is meant by a letter that a verb does not have: the verb, the letter, what to write instead.
const ELSEWHERE: [(&str, &str, &str); 18] = [
    ("measure", "-p", "-p is a process (PID) in every verb; a priority is -P or --priority"),
    ("run", "-p", "-p is a process (PID) in every verb; a priority is -P or --priority"),
    ("top", "-d", "the time between two tables is -i or --interval"),
    ("top", "-b", "write --batch for plain tables"),
    ("top", "-o", "write -s or --sort for the column to sort by"),
    ("measure", "-h", "a histogram is -H, as in cyclictest; -h is the help"),
    ("record", "-a", "record without -p and without a command records everything"),
    ("record", "-g", "kernel stacks are recorded with --stacks"),
    ("record", "-e", "record always records all events that an explanation needs"),
    ("record", "--comm", "all threads are recorded: choose some with tardy explain --comm NAME"),
    ("explain", "-i", "the recording or trace is an argument: tardy explain FILE"),
    ("explain", "--over", "the bound for the exit status is --fail-over TIME"),
    (
        "run",
        "--over",
        "to wait for late wakeups: tardy watch --over TIME; to end at one: --break-over TIME",
    ),
    (
        "measure",
        "--over",
        "to wait for late wakeups: tardy watch --over TIME; to end at one: --break-over TIME",
    ),
    ("measure", "-S", "one thread for each CPU is the default"),
    ("measure", "--smp", "one thread for each CPU is the default"),
    ("measure", "-c", "the clock is always CLOCK_MONOTONIC"),
    ("top", "--stdio", "write --batch for plain tables"),
];

/// Verbs of other tools, and what does the same here.
const VERBS: [(&str, &str); 18] = [
    ("analyze", "explain"),
    ("cyclictest", "measure cyclic"),
    ("diff", "compare"),
    ("flight", "watch"),
    ("gate", "compare --fail-over"),
    ("hackbench", "load hackbench"),
    ("latency", "explain --all"),
    ("ls", "list"),
    ("monitor", "top"),
    ("sched", "explain --all"),
    ("script", "export"),
    ("show", "explain"),
    ("start", "run --"),
    ("stat", "explain"),
    ("timehist", "explain --all"),
    ("timerlat", "measure cyclic"),
    ("trace", "record"),
    ("why", "explain --why 1"),
];

/// Verbs that read what is there, and start nothing.
const READERS: [&str; 7] = ["compare", "explain", "export", "import", "list", "report", "whatif"];

/// What may have been meant, where there is no such verb: another name, a program to be run, or one of those that the verb
/// before it has.
pub(crate) fn hint_of_verb(
    mut arguments: impl Iterator<Item = String>,
    tardy: &clap::Command,
) -> Option<String> {
    let word = arguments.by_ref().skip(1).find(|word| !word.starts_with('-'))?;
    if let Some(verb) = tardy.find_subcommand(&word) {
        let names: Vec<&str> = verb.get_subcommands().map(clap::Command::get_name).collect();
        return Some(format!("tardy {word} has {}", names.join(", ")));
    }
    if let Some((_, verb)) = VERBS.iter().find(|(other, _)| *other == word) {
        return Some(format!("tardy {verb} does that"));
    }
    word.contains('/').then(|| format!("to run a program and explain it: tardy run -- {word}"))
}

/// Verbs that start a command, which stands behind `--`.
const STARTERS: [&str; 5] = ["fix", "record", "run", "verify", "watch"];

/// What may have been meant by a word that is no flag, where none was expected: a command to be started.
pub(crate) fn hint_of_command(
    mut arguments: impl Iterator<Item = String>,
    unexpected: &str,
) -> Option<String> {
    let verb = arguments.by_ref().skip(1).find(|word| !word.starts_with('-'))?;
    let is_command = !unexpected.starts_with('-') && STARTERS.contains(&verb.as_str());
    is_command.then(|| format!("a command stands after --: tardy {verb} -- {unexpected}"))
}

/// What may have been meant, where a command line has a letter that its verb does not know.
pub(crate) fn hint(arguments: impl Iterator<Item = String>) -> Option<&'static str> {
    let all: Vec<String> = arguments.skip(1).collect();
    let arguments: Vec<&String> = all.iter().take_while(|word| *word != "--").collect();
    let verb = arguments.iter().find(|word| !word.starts_with('-'))?;
    if arguments.len() < all.len() && READERS.contains(&verb.as_str()) {
        return Some("to run a program and explain it: tardy run -- CMD");
    }
    if arguments.len() < all.len() && *verb == "run" {
        return Some(
            "run explains the command, or threads that run already; to start a command beside them, \
             as their load: tardy run -p PID --load 'cmd:PROGRAM ARGUMENTS'",
        );
    }
    let is_given = |letter: &str| arguments.iter().any(|word| word.starts_with(letter));
    let found = ELSEWHERE.iter().find(|(of, letter, _)| of == *verb && is_given(letter));
    found.map(|(.., instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use std::collections::BTreeMap;

    /// Every command of the command line, by its whole name, with its flags: letter, long name.
    fn flags() -> Vec<(String, Option<char>, String)> {
        fn walk(
            command: &clap::Command,
            path: &str,
            into: &mut Vec<(String, Option<char>, String)>,
        ) {
            let path = format!("{path} {}", command.get_name());
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let long = argument.get_long().unwrap_or_default();
                into.push((path.clone(), argument.get_short(), long.to_owned()));
            }
            command.get_subcommands().for_each(|verb| walk(verb, &path, into));
        }
        let mut command = crate::Tardy::command();
        command.build();
        let mut found = Vec::new();
        walk(&command, "", &mut found);
        found
    }

    #[test]
    fn a_letter_stands_for_one_thing_in_all_verbs() {
        let mut meanings: BTreeMap<char, (String, String)> = BTreeMap::new();
        for (path, letter, long) in flags() {
            let Some(letter) = letter else { continue };
            assert!(!long.is_empty(), "{path}: -{letter} has no long name");
            let (first, at) = meanings.entry(letter).or_insert((long.clone(), path.clone()));
            assert_eq!(*first, long, "-{letter} is --{first} in{at} and --{long} in{path}");
        }
        assert_eq!(meanings.get(&'p').map(|(long, _)| long.as_str()), Some("pid"));
        assert_eq!(meanings.get(&'o').map(|(long, _)| long.as_str()), Some("out"));
    }

    #[test]
    fn the_book_lists_every_letter() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/options.md");
        let page = std::fs::read_to_string(path).expect("the page on options");
        for (path, letter, long) in flags() {
            let Some(letter) = letter.filter(|letter| !"hV".contains(*letter)) else { continue };
            let row = format!("| `-{letter}` | `--{long}` |");
            assert!(page.contains(&row), "{path}: no row {row:?} in docs/reference/options.md");
        }
    }

    #[test]
    fn a_name_has_its_letter_in_every_verb() {
        let mut letters: BTreeMap<String, (Option<char>, String)> = BTreeMap::new();
        for (path, letter, long) in flags() {
            let (first, at) = letters.entry(long.clone()).or_insert((letter, path.clone()));
            assert_eq!(*first, letter, "--{long} has different letters in{at} and in{path}");
        }
        assert!(letters.len() > 50, "{letters:?}");
    }

    #[test]
    fn quiet_and_color_are_flags_of_every_verb() {
        let mut of: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, _, long) in flags() {
            of.entry(path).or_default().push(long);
        }
        assert!(of.len() > 30, "{of:?}");
        for (path, names) in of.iter().filter(|(path, _)| !path.contains(" help")) {
            for name in ["quiet", "color"] {
                assert!(names.iter().any(|known| known == name), "{path} has no --{name}");
            }
        }
    }

    #[test]
    fn a_letter_of_another_tool_gets_a_hint() {
        let hint = |line: &str| hint(line.split(' ').map(str::to_owned));
        assert!(hint("tardy measure cyclic -p80").is_some_and(|hint| hint.contains("-P")));
        assert!(hint("tardy -q measure sleep -p 80").is_some());
        assert!(hint("tardy top -d 5").is_some_and(|hint| hint.contains("--interval")));
        assert_eq!(hint("tardy record -- top -d 5"), None);
        assert_eq!(hint("tardy explain -d"), None);
        assert!(hint("tardy run --over 1ms").is_some_and(|hint| hint.contains("tardy watch")));
        assert!(hint("tardy record -g").is_some_and(|hint| hint.contains("--stacks")));
        assert!(
            hint("tardy explain -- ./program").is_some_and(|hint| hint.contains("tardy run --"))
        );
    }

    #[test]
    fn a_command_without_its_dashes_gets_a_hint() {
        let hint = |line: &str, unexpected: &str| {
            hint_of_command(line.split(' ').map(str::to_owned), unexpected)
        };
        let run = hint("tardy -q run ./program --flag", "./program");
        assert_eq!(run.as_deref(), Some("a command stands after --: tardy run -- ./program"));
        assert!(hint("tardy record -o x sleep 1", "sleep").is_some());
        assert_eq!(hint("tardy run --flag", "--flag"), None);
        assert_eq!(hint("tardy list a b", "b"), None);
    }

    #[test]
    fn no_hint_shadows_a_flag_of_the_verb_itself() {
        let mut command = crate::Tardy::command();
        command.build();
        for (verb, flag, _) in ELSEWHERE {
            let own = command.find_subcommand(verb).expect(verb);
            let verbs: Vec<&clap::Command> = match own.get_subcommands().count() {
                0 => vec![own],
                _ => own.get_subcommands().filter(|verb| verb.get_name() != "help").collect(),
            };
            let has = |command: &&clap::Command| {
                command.get_arguments().any(|argument| {
                    let letter = argument.get_short().map(|letter| format!("-{letter}"));
                    let name = argument.get_long().map(|long| format!("--{long}"));
                    flag != "-h"
                        && (letter.as_deref() == Some(flag) || name.as_deref() == Some(flag))
                })
            };
            let own_meaning = flag == "-p" && verb == "run";
            assert!(own_meaning || !verbs.iter().all(has), "tardy {verb} has {flag} itself");
        }
    }

    #[test]
    fn a_verb_of_another_tool_gets_a_hint() {
        let tardy = crate::Tardy::command();
        let hint = |line: &str| hint_of_verb(line.split(' ').map(str::to_owned), &tardy);
        assert_eq!(hint("tardy -q diff a b").as_deref(), Some("tardy compare does that"));
        assert!(hint("tardy ./program --flag").is_some_and(|hint| hint.ends_with("-- ./program")));
        assert_eq!(hint("tardy why 1").as_deref(), Some("tardy explain --why 1 does that"));
        assert_eq!(hint("tardy nonsense"), None);
        // They must not shadow verbs of ours, and must lead to some.
        let command = crate::Tardy::command();
        let is_verb = |name: &str| command.get_subcommands().any(|verb| verb.get_name() == name);
        for (other, verb) in VERBS {
            let first = verb.split(' ').next().unwrap_or_default();
            assert!(!is_verb(other) && is_verb(first), "{other}: {verb}");
        }
        assert!(READERS.iter().all(|verb| is_verb(verb)));
    }
}
