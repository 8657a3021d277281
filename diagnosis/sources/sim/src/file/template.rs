//! One text for many systems: names in braces stand for values, and conditions say which.
//!
//! ```toml
//! with = { threads = 40 }                     # what names stand for where nothing else is said
//!
//! [[thread]]
//! name = "storm"
//! count = "{threads}"                         # alone in quotes it is the value itself
//! policy = "{storm}"
//! program = [{ sleep = "0us..1ms" }]
//!
//! [[condition]]
//! name = "hard-{threads}"
//! with = { storm = "fifo:1" }
//! over = { threads = [1, 2, 5] }              # a condition for each
//!
//! [free]                                      # what tardy sim fit may choose: from, begin at, to
//! wakeup = ["200ns", "1us", "5us"]
//! spread = [0.05, 0.3, 1.0]
//! ```

use super::written::nanoseconds;
use super::{File, FileError, TEXT_MAX, parsed, read};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Table, Value};

/// The most conditions of one file.
pub const CONDITIONS_MAX: usize = 4_096;

/// What names stand for.
pub type Values = BTreeMap<String, String>;

/// A text, and the conditions under which it is a system.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    /// What names stand for where a condition says nothing else.
    with: Values,
    /// The conditions; one without a name where the text has none.
    pub conditions: Vec<Condition>,
    /// What may be chosen so that figures come out as measured.
    pub free: Vec<Free>,
}

/// One of the systems of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Its name; empty where the text has no conditions.
    pub name: String,
    /// What stands for names in it.
    pub with: Values,
    /// What it tells of itself in tables, beside that.
    pub at: Values,
}

/// A number that may be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Free {
    /// Its name in braces.
    pub name: String,
    /// The least it can be; of a time ns.
    pub least: f64,
    /// Where to begin.
    pub begin: f64,
    /// The most it can be.
    pub most: f64,
    /// It is a time.
    pub is_time: bool,
}

impl Free {
    /// How a value is written.
    pub fn written(&self, value: f64) -> String {
        if self.is_time { format!("{}ns", value.round()) } else { format!("{value:.4}") }
    }
}

/// What a template has beside the system itself.
#[derive(Debug, Default, Deserialize)]
struct RawTemplate {
    #[serde(default)]
    with: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    free: BTreeMap<String, Spanned<Vec<Value>>>,
    #[serde(default, rename = "condition")]
    conditions: Vec<Spanned<RawCondition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCondition {
    name: String,
    #[serde(default)]
    with: Table,
    #[serde(default)]
    over: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    at: Table,
}

impl Template {
    /// Reads a text's conditions. Whether it is a system is seen when names have been filled in.
    ///
    /// # Errors
    /// Says which line cannot be used, and why.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        if text.len() > TEXT_MAX {
            let why = format!("it is longer than {} MiB", TEXT_MAX >> 20);
            return Err(FileError { line: None, why });
        }
        let raw: RawTemplate = parsed(text)?;
        let mut with = Values::new();
        for (name, value) in raw.with {
            let span = value.span();
            let value = plain(value.get_ref()).map_err(|why| FileError::at(text, span, why))?;
            with.insert(name, value);
        }
        let mut conditions = Vec::new();
        for raw in raw.conditions {
            let span = raw.span();
            let refuse = |why| FileError::at(text, span.clone(), why);
            for made in several(raw.into_inner()).map_err(refuse)? {
                if conditions.iter().any(|other: &Condition| other.name == made.name) {
                    return Err(refuse(format!("there are two conditions {}", made.name)));
                }
                if conditions.len() == CONDITIONS_MAX {
                    return Err(refuse(format!("there are more than {CONDITIONS_MAX} conditions")));
                }
                conditions.push(made);
            }
        }
        if conditions.is_empty() {
            conditions.push(Condition::default());
        }
        let mut free = Vec::new();
        for (name, bounds) in raw.free {
            let span = bounds.span();
            let made = free_one(name, bounds.get_ref());
            free.push(made.map_err(|why| FileError::at(text, span, why))?);
        }
        Ok(Self { text: text.to_owned(), with, conditions, free })
    }

    /// The system of a condition. `chosen` stands for names before anything that the text says of them;
    /// what is free and not chosen stands where it begins.
    ///
    /// # Errors
    /// Says which line cannot be used, and why.
    pub fn file(&self, condition: &Condition, chosen: &Values) -> Result<File, FileError> {
        read(&self.filled(condition, chosen))
    }

    /// Whether anything stands for a name in braces.
    pub fn has_name(&self, name: &str) -> bool {
        let braced = format!("{{{name}}}");
        let conditions = self.conditions.iter().flat_map(|condition| condition.with.values());
        let mut values = self.with.values().chain(conditions);
        self.text.contains(&braced) || values.any(|value| value.contains(&braced))
    }

    /// The same as a text.
    pub fn filled(&self, condition: &Condition, chosen: &Values) -> String {
        let mut values: Values =
            self.free.iter().map(|free| (free.name.clone(), free.written(free.begin))).collect();
        values.extend(self.with.clone());
        values.extend(condition.with.clone());
        values.extend(chosen.clone());
        let mut text = self.text.clone();
        for (name, value) in &values {
            let is_bare = value.parse::<f64>().is_ok() || value == "true" || value == "false";
            if is_bare {
                text = text.replace(&format!("\"{{{name}}}\""), value);
            }
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    /// The entries below `[machine]` alone, as a text.
    ///
    /// # Errors
    /// Says which line cannot be used, and why.
    pub fn machine(&self, condition: &Condition, chosen: &Values) -> Result<String, FileError> {
        let table: Table = parsed(&self.filled(condition, chosen))?;
        let machine = table.get("machine").and_then(Value::as_table).cloned().unwrap_or_default();
        toml::to_string(&machine).map_err(|error| FileError { line: None, why: error.to_string() })
    }

    /// Makes a condition of each for every value of something: of a name in braces, or of an entry by its
    /// path (`machine.switch`, `thread.storm.count`).
    ///
    /// # Errors
    /// Where there is neither.
    pub fn vary(&mut self, what: &str, values: &[String]) -> Result<(), String> {
        if values.len().saturating_mul(self.conditions.len()) > CONDITIONS_MAX {
            return Err(format!("that would be more than {CONDITIONS_MAX} conditions"));
        }
        if !self.text.contains(&format!("{{{what}}}")) {
            self.text = super::change::opened(&self.text, what)?;
        }
        let short = what.rsplit('.').next().unwrap_or(what);
        let mut varied = Vec::new();
        for condition in &self.conditions {
            for value in values {
                let mut one = condition.clone();
                let name = [condition.name.as_str(), value].join("-");
                name.trim_start_matches('-').clone_into(&mut one.name);
                one.with.insert(what.to_owned(), value.clone());
                one.at.insert(short.to_owned(), value.clone());
                varied.push(one);
            }
        }
        self.conditions = varied;
        Ok(())
    }
}

/// The conditions of one entry: one for each combination of what varies.
fn several(raw: RawCondition) -> Result<Vec<Condition>, String> {
    let RawCondition { name, with, over, at } = raw;
    let texts = |table: &Table| -> Result<Values, String> {
        table.iter().map(|(name, value)| Ok((name.clone(), plain(value)?))).collect()
    };
    let mut made = vec![Condition { name, with: texts(&with)?, at: texts(&at)? }];
    for (what, values) in &over {
        let mut next = Vec::new();
        for one in &made {
            for value in values {
                let value = plain(value)?;
                let mut one = one.clone();
                one.name = one.name.replace(&format!("{{{what}}}"), &value);
                one.with.insert(what.clone(), value.clone());
                one.at.insert(what.clone(), value);
                next.push(one);
            }
        }
        made = next;
        if made.len() > CONDITIONS_MAX {
            return Err(format!("these are more than {CONDITIONS_MAX} conditions"));
        }
    }
    if made.is_empty() {
        return Err("something in `over` has no value".to_owned());
    }
    Ok(made)
}

fn free_one(name: String, bounds: &[Value]) -> Result<Free, String> {
    let how = "write the least, where to begin, and the most: [\"200ns\", \"1us\", \"5us\"] or [0.1, 0.3, 1.0]";
    let is_time = bounds.iter().all(Value::is_str);
    let numbers: Option<Vec<f64>> = bounds
        .iter()
        .map(|value| match value {
            Value::String(text) if is_time => nanoseconds(text).ok().map(|ns| ns as f64),
            Value::Float(number) => Some(*number),
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        })
        .collect();
    match numbers.as_deref() {
        Some(&[least, begin, most])
            if 0.0 < least && least <= begin && begin <= most && most.is_finite() =>
        {
            Ok(Free { name, least, begin, most, is_time })
        }
        _ => Err(format!("{name}: {how}, all above 0 and in this order")),
    }
}

/// A value as it stands for a name.
fn plain(value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(is) => is.to_string(),
        _ => return Err("a name stands for a text, a number, true or false".to_owned()),
    };
    if text.contains(|it: char| matches!(it, '"' | '\\' | '{' | '}') || it.is_control()) {
        return Err(format!("{text:?} cannot stand for a name: it has quotes or braces"));
    }
    Ok(text)
}
