//! What time is on this machine.

use std::fs;

/// Set on the kernel's command line by who runs a guest whose time is a count of its instructions.
const COUNTED: &str = "tardy.mips=";

/// What a run's record says of its clock: `counted, 500 MIPS`, or the clock source.
pub(crate) fn told(source: Option<&str>) -> String {
    of(&fs::read_to_string("/proc/cmdline").unwrap_or_default(), source)
}

fn of(command_line: &str, source: Option<&str>) -> String {
    let mips = command_line.split_whitespace().find_map(|word| word.strip_prefix(COUNTED));
    match mips.and_then(|mips| mips.parse::<u32>().ok()) {
        Some(mips) => format!("counted, {mips} MIPS"),
        None => source.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_time_is_told_by_the_command_line() {
        assert_eq!(of("quiet tardy.mips=500 panic=-1\n", Some("tsc")), "counted, 500 MIPS");
        assert_eq!(of("quiet tardy.mips=fast", Some("tsc")), "tsc");
        assert_eq!(of("", None), "");
    }
}
