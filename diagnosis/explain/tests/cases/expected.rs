//! What a case expects, in its own remarks.
//!
//! ```text
//! #= timer 100.000000000 +60010000 cpu 1       one line per wakeup, in the order in which they end:
//!                                              kind, soft expiry (or waking), lateness in ns, CPU;
//!                                              `~2000` behind a number: give or take 2000 ns
//! #=   slack 50000 timer slack 50 µs           a part of its balance: cause, ns, culprit
//! #=   higher_priority|interrupts 900..1000 spinner|ksoftirqd
//!                                              any of these causes, so much, any of these culprits
//! #=   idle_exit >=5000 state 3                at least so much; `<=5000` is at most
//! #=   none idle_exit                          nothing of it at all
//! #=   rest 3000                               what no line above names is at most this (else 0)
//! #= no wakeups                                where there is none
//! #= discarded REASON N                        N stories ended without a wakeup, REASON in their reason;
//!                                              `*` is any
//! #= wait KIND|KIND N NS                       N waits of one of these kinds, NS in all; both may be ranges
//! #= wait KIND N NS in FRAMES                  and the longest slept there; `nowhere` where nothing tells
//! #= advice WORDS                              some advice or pattern has these words
//! #= advice-not WORDS                          none has
//! #= note WORDS                                some note of the import or the explanation has them
//! #= note-not WORDS                            none has
//! #= arms NAME N                               the timers' table says so of the thread NAME
//! #= arms-not NAME                             that thread is not in the timers' table
//! #= same-as CASE                              wakeups, causes and culprits are those of another case
//! ```
//!
//! A culprit is a part of a culprit's name; without one anybody will do, as for what is unexplained. Each
//! segment counts for the first line that fits it. There is no colon in any of it: a line with one might read as an event.

use crate::explained::{Explained, NS_PER_S, Shown};

/// How much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    least: u64,
    most: u64,
}

/// A line of a balance.
#[derive(Debug)]
struct Part {
    text: String,
    causes: Vec<String>,
    ns: Range,
    culprits: Vec<String>,
}

/// A wakeup with its balance.
#[derive(Debug)]
struct Balance {
    text: String,
    kind: String,
    expiry_ns: Range,
    lateness_ns: Range,
    cpu: u16,
    parts: Vec<Part>,
    rest_max: u64,
}

/// Everything that a case expects.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    wakeups: Vec<Balance>,
    no_wakeups: bool,
    discarded: Vec<(String, u64)>,
    waits: Vec<Wait>,
    advice: Vec<String>,
    advice_not: Vec<String>,
    notes: Vec<String>,
    notes_not: Vec<String>,
    arms: Vec<(String, Vec<u64>)>,
    arms_not: Vec<String>,
    /// Another case's name.
    pub(crate) same_as: Option<String>,
}

/// Waits of a kind.
#[derive(Debug)]
struct Wait {
    text: String,
    kinds: Vec<String>,
    count: Range,
    ns: Range,
    /// Where the longest slept, if that is asked.
    place: Option<String>,
}

impl Expected {
    /// Reads a case's remarks.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for line in text.lines().filter_map(|line| line.strip_prefix("#=")) {
            let wrong = |why: &str| format!("`{line}`: {why}");
            if line.contains(':') {
                return Err(wrong("a colon may read as an event"));
            }
            if let Some(part) = line.strip_prefix("   ") {
                let balance = all.wakeups.last_mut().ok_or(wrong("of no wakeup"))?;
                balance.take(part.trim()).map_err(|why| wrong(&why))?;
                continue;
            }
            let line = line.trim();
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim().to_owned();
            match word {
                "discarded" => {
                    let (reason, count) = rest.rsplit_once(' ').ok_or(wrong("no number"))?;
                    let count = count.parse().map_err(|_| wrong("no number"))?;
                    all.discarded.push((reason.to_owned(), count));
                }
                "no" => all.no_wakeups = true,
                "wait" => all.waits.push(Wait::of(&rest).map_err(|why| wrong(&why))?),
                "advice" => all.advice.push(rest),
                "advice-not" => all.advice_not.push(rest),
                "note" => all.notes.push(rest),
                "note-not" => all.notes_not.push(rest),
                "arms" => {
                    let (name, counts) = rest.rsplit_once(' ').ok_or(wrong("no number"))?;
                    let counts: Result<_, _> = counts.split('|').map(str::parse).collect();
                    let counts = counts.map_err(|_| wrong("no number"))?;
                    all.arms.push((name.to_owned(), counts));
                }
                "arms-not" => all.arms_not.push(rest),
                "same-as" => all.same_as = Some(rest),
                "timer" | "task" | "irq" | "softirq" | "new" | "preempted" | "lock" => {
                    all.wakeups.push(Balance::of(line).map_err(|why| wrong(&why))?);
                }
                _ => return Err(wrong("no such expectation")),
            }
        }
        if all.wakeups.is_empty() != all.no_wakeups {
            return Err("say which wakeups there are, or `#= no wakeups`".to_owned());
        }
        Ok(all)
    }

    /// What does not hold.
    pub(crate) fn held_against(&self, explained: &Explained) -> Vec<String> {
        let mut wrong = Vec::new();
        let (expected, told) = (self.wakeups.len(), explained.wakeups.len());
        if expected != told {
            wrong.push(format!("{expected} wakeups, not {told}"));
        }
        for (balance, shown) in self.wakeups.iter().zip(&explained.wakeups) {
            if balance.has_head_of(shown) {
                balance.hold_against(shown, &mut wrong);
            } else {
                wrong.push(format!("`{}`, not `{}`", balance.text, shown.head()));
            }
        }
        for (reason, count) in &self.discarded {
            let fitting = explained
                .discarded
                .iter()
                .filter(|(told, _)| reason == "*" || told.contains(reason));
            let told: u64 = fitting.map(|(_, count)| count).sum();
            if told != *count {
                wrong.push(format!("{count} discarded, {reason}; not {told}"));
            }
        }
        for wait in &self.waits {
            let fitting = explained.waits.iter().filter(|(kind, ..)| wait.kinds.contains(kind));
            let places: Vec<&str> = fitting.clone().map(|(.., place)| place.as_str()).collect();
            let (count, ns) = fitting.fold((0, 0), |sum, (_, n, ns, _)| (sum.0 + n, sum.1 + ns));
            let is_there = wait.place.as_ref().is_none_or(|place| places == [place.as_str()]);
            if !wait.count.has(count) || !wait.ns.has(ns) || !is_there {
                wrong.push(format!("wait {}; not {count} {ns} in {places:?}", wait.text));
            }
        }
        let has = |lines: &[String], words: &str| lines.iter().any(|line| line.contains(words));
        for words in self.advice.iter().filter(|words| !has(&explained.advice, words)) {
            wrong.push(format!("no advice has `{words}`"));
        }
        for words in self.advice_not.iter().filter(|words| has(&explained.advice, words)) {
            wrong.push(format!("some advice has `{words}`"));
        }
        for words in self.notes.iter().filter(|words| !has(&explained.notes, words)) {
            wrong.push(format!("no note has `{words}`"));
        }
        for words in self.notes_not.iter().filter(|words| has(&explained.notes, words)) {
            wrong.push(format!("some note has `{words}`"));
        }
        let armed = |name: &str| {
            let fitting = explained.arms.iter().filter(|(by, _)| by == name);
            fitting.map(|(_, count)| count).sum::<u64>()
        };
        for (name, counts) in
            self.arms.iter().filter(|(name, counts)| !counts.contains(&armed(name)))
        {
            wrong.push(format!("arms {name} {counts:?}, not {}", armed(name)));
        }
        for name in self.arms_not.iter().filter(|name| armed(name) > 0) {
            wrong.push(format!("arms {name} {}, not none", armed(name)));
        }
        wrong
    }
}

impl Balance {
    /// `KIND SECONDS +NS cpu N`.
    fn of(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, expiry, lateness, "cpu", cpu] = words.as_slice() else {
            return Err("no wakeup".to_owned());
        };
        let (expiry, around) = expiry.split_once('~').unwrap_or((expiry, "0"));
        let (s, ns) = expiry.split_once('.').ok_or("no seconds")?;
        if ns.len() != 9 {
            return Err("nine digits of a second".to_owned());
        }
        let expiry_ns = number(s)? * NS_PER_S + number(ns)?;
        let lateness = lateness.strip_prefix('+').ok_or("no lateness")?;
        let (lateness, give) = lateness.split_once('~').unwrap_or((lateness, "0"));
        Ok(Self {
            text: line.to_owned(),
            kind: (*kind).to_owned(),
            expiry_ns: Range::around(expiry_ns, number(around)?),
            lateness_ns: Range::around(number(lateness)?, number(give)?),
            cpu: number(cpu)? as u16,
            parts: Vec::new(),
            rest_max: 0,
        })
    }

    fn has_head_of(&self, shown: &Shown) -> bool {
        let wakeup = &shown.wakeup;
        wakeup.kind.name() == self.kind
            && self.expiry_ns.has(wakeup.expiry_ns)
            && self.lateness_ns.has(wakeup.lateness_ns)
            && wakeup.cpu.0 == self.cpu
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (first, second, third) = (word(), word(), word());
        if first == "rest" {
            self.rest_max = number(second)?;
            return Ok(());
        }
        let (causes, ns) =
            if first == "none" { (second, Range::around(0, 0)) } else { (first, range(second)?) };
        self.parts.push(Part {
            text: line.to_owned(),
            causes: list(causes),
            ns,
            culprits: if third.is_empty() { Vec::new() } else { list(third) },
        });
        Ok(())
    }

    fn hold_against(&self, shown: &Shown, wrong: &mut Vec<String>) {
        let mut sums = vec![0; self.parts.len()];
        let mut rest = 0;
        for (cause, ns, culprit) in &shown.segments {
            let fits = |part: &Part| {
                part.causes.iter().any(|known| known == cause)
                    && (part.culprits.is_empty()
                        || cause == "unexplained"
                        || part.culprits.iter().any(|known| culprit.contains(known.as_str())))
            };
            match self.parts.iter().position(fits) {
                Some(at) => sums[at] += ns,
                None => rest += ns,
            }
        }
        for (part, sum) in self.parts.iter().zip(sums) {
            if !part.ns.has(sum) {
                wrong.push(format!("{}: `{}`, not {sum}", self.text, part.text));
            }
        }
        if rest > self.rest_max {
            let most = self.rest_max;
            wrong.push(format!("{}: {rest} ns of what no line names, at most {most}", self.text));
        }
    }
}

impl Wait {
    fn of(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (kinds, count, ns, place) = match words.as_slice() {
            [kinds, count, ns] => (kinds, count, ns, None),
            [kinds, count, ns, "in", "nowhere"] => (kinds, count, ns, Some(String::new())),
            [kinds, count, ns, "in", place] => (kinds, count, ns, Some((*place).to_owned())),
            _ => return Err("no wait".to_owned()),
        };
        let (count, ns) = (range(count)?, range(ns)?);
        Ok(Self { text: text.to_owned(), kinds: list(kinds), count, ns, place })
    }
}

impl Range {
    fn around(middle: u64, by: u64) -> Self {
        Self { least: middle.saturating_sub(by), most: middle + by }
    }

    fn has(self, number: u64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

fn list(words: &str) -> Vec<String> {
    words.split('|').map(|word| word.trim().to_owned()).collect()
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

/// `N`, `N..M`, `>=N` or `<=N`.
fn range(text: &str) -> Result<Range, String> {
    Ok(if let Some(least) = text.strip_prefix(">=") {
        Range { least: number(least)?, most: u64::MAX }
    } else if let Some(most) = text.strip_prefix("<=") {
        Range { least: 0, most: number(most)? }
    } else if let Some((least, most)) = text.split_once("..") {
        Range { least: number(least)?, most: number(most)? }
    } else {
        Range::around(number(text)?, 0)
    })
}
