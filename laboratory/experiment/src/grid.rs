//! Many conditions written as one: what varies, and a condition with its names in braces.
//!
//! `over.threads = [1, 2]` with `name = "hard-{threads}"` and `load = "storm:{threads},fifo=1"` is two
//! conditions, `hard-1` and `hard-2`. Of several that vary there is a condition for each combination.

use crate::Condition;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Conditions that differ in what varies alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Grid {
    /// What varies, and its values.
    over: BTreeMap<String, Vec<Value>>,
    /// A condition, with `{NAME}` in its texts for the value of what varies.
    #[serde(flatten)]
    condition: Table,
}

/// Its conditions, at most `room`.
///
/// # Errors
/// Where they would be more, or make no sense.
pub(crate) fn conditions(grid: &Grid, room: usize) -> Result<Vec<Condition>, String> {
    let wrong = |why: String| format!("grid: {why}");
    let count = grid.over.values().try_fold(1usize, |all, values| all.checked_mul(values.len()));
    match count {
        Some(1..) if grid.over.is_empty() => {
            return Err(wrong("nothing varies in `over`".to_owned()));
        }
        Some(0) => return Err(wrong("something in `over` has no value".to_owned())),
        Some(count) if count <= room => {}
        _ => return Err(wrong(format!("only {room} more conditions are allowed"))),
    }
    let mut chosen: Vec<BTreeMap<&str, &Value>> = vec![BTreeMap::new()];
    for (name, values) in &grid.over {
        let with = |one: &BTreeMap<_, _>, value| {
            let mut one = one.clone();
            one.insert(name.as_str(), value);
            one
        };
        chosen = chosen
            .iter()
            .flat_map(|one| values.iter().map(move |value| with(one, value)))
            .collect();
    }
    chosen.iter().map(|at| condition(grid, at).map_err(wrong)).collect()
}

fn condition(grid: &Grid, at: &BTreeMap<&str, &Value>) -> Result<Condition, String> {
    let mut table = Value::Table(grid.condition.clone());
    fill(&mut table, at);
    let mut condition: Condition =
        table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    for (&name, &value) in at {
        condition.at.insert(name.to_owned(), value.clone());
    }
    Ok(condition)
}

/// Puts values in the place of names, in every text.
fn fill(value: &mut Value, at: &BTreeMap<&str, &Value>) {
    match value {
        Value::String(text) => {
            for (name, value) in at {
                let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                *text = text.replace(&format!("{{{name}}}"), &written);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, at)),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| fill(value, at)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<Condition>, String> {
        conditions(&toml::from_str(text).unwrap(), 8)
    }

    #[test]
    fn a_condition_for_each_combination_of_what_varies() {
        let all = of(r#"
            name = "{how}-{threads}"
            load = "storm:{threads},{how}"
            measure = { cpus = "{threads}", prio = 98 }
            over.threads = [1, 20]
            over.how = ["fifo", "fifo=2"]
            at = { side = "hard" }
            "#)
        .unwrap();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["fifo-1", "fifo-20", "fifo=2-1", "fifo=2-20"]);
        assert_eq!(all[1].load, "storm:20,fifo");
        assert_eq!(all[1].measure["cpus"].as_str(), Some("20"));
        assert_eq!(all[3].stands_at("threads").as_deref(), Some("20"));
        assert_eq!(all[3].stands_at("side").as_deref(), Some("hard"));
        assert_eq!(all[3].at.len(), 3);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, said) in [
            ("over = {}", "nothing varies"),
            ("name = \"a\"\nover.n = []", "has no value"),
            ("over.n = [1,2,3]\nover.m = [1,2,3]", "only 8 more conditions are allowed"),
            ("over.n = [1]", "missing field `name`"),
            ("name = \"a\"\nlaod = \"none\"\nover.n = [1]", "unknown field `laod`"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
