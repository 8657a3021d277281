//! Threads of one name but for a number.

/// `storm-07` and `storm-12` as `storm-*`; `rustc` as it is.
pub(super) fn family(name: &str) -> String {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() || stem.is_empty() { name.to_owned() } else { format!("{stem}*") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_at_the_end_tells_members_apart() {
        let families = ["storm-07", "storm-12", "Worker3", "rustc", "4711", ""].map(family);
        assert_eq!(families, ["storm-*", "storm-*", "Worker*", "rustc", "4711", ""]);
    }
}
