//! Flags of one letter: a letter stands for one thing, whatever the verb.
//!
//! Some letters of other tools are taken by something else here. [`hint`] says so to who types them.

/// What is meant by a letter that a verb does not have: the verb, the letter, what to write instead.
const ELSEWHERE: [(&str, &str, &str); 7] = [
    ("measure", "-p", "-p is a process (PID) in every verb; a priority is -P or --priority"),
    ("run", "-p", "-p is a process (PID) in every verb; a priority is -P or --priority"),
    ("top", "-d", "the time between two tables is -i or --interval"),
    ("top", "-b", "write --batch for plain tables"),
    ("top", "-o", "write -s or --sort for the column to sort by"),
    ("measure", "-h", "a histogram is -H, as in cyclictest; -h is the help"),
    ("record", "-a", "record without -p and without a command records everything"),
];

/// What may have been meant, where a command line has a letter that its verb does not know.
pub(crate) fn hint(arguments: impl Iterator<Item = String>) -> Option<&'static str> {
    let arguments: Vec<String> = arguments.skip(1).take_while(|word| word != "--").collect();
    let verb = arguments.iter().find(|word| !word.starts_with('-'))?;
    let is_given = |letter: &str| arguments.iter().any(|word| word.starts_with(letter));
    let found = ELSEWHERE.iter().find(|(of, letter, _)| of == verb && is_given(letter));
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
    }
}
