//! The share of sleeps per microsecond, with the running total.

use super::letter;
use crate::text::{Align, Table, Terminal};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use tardy_lab::sleep::{MethodMeasurement, SleepMeasurement};

/// Microseconds with a smaller share of every method are left out.
const SHARE_MIN: f64 = 1e-4;

/// The most lines; those with the least of all methods are left out above.
const ROWS_MAX: usize = 48;

/// The first column and its indent; a method's column and its gap.
const WIDTH_FIRST: usize = 2 + 6;
const WIDTH_METHOD: usize = 2 + 13;

pub(super) fn write(
    measurement: &SleepMeasurement,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let per_section = ((terminal.width - WIDTH_FIRST) / WIDTH_METHOD).max(1);
    // Columns of about equal number, rather than a last section of one.
    let sections = measurement.methods.len().div_ceil(per_section).max(1);
    let per_section = measurement.methods.len().div_ceil(sections).max(1);
    for (section, methods) in measurement.methods.chunks(per_section).enumerate() {
        write_section(methods, section * per_section, terminal, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_section(
    methods: &[MethodMeasurement],
    first: usize,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of = |method: &MethodMeasurement| shares_of(method.micros.iter().copied());
    let shares: Vec<BTreeMap<u64, Share>> = methods.iter().map(of).collect();
    let (rows, left_out) = rows(&shares);
    let mut table = Table::new(&vec![Align::Right; 1 + methods.len()]);
    let mut heads = vec!["µs".to_owned()];
    heads.extend((0..methods.len()).map(|place| format!("{} % total", letter(first + place))));
    table.row(heads);
    for us in rows {
        let mut row = vec![us.to_string()];
        row.extend(
            shares.iter().map(|shares| shares.get(&us).map_or_else(String::new, Share::cell)),
        );
        table.row(row);
    }
    table.write(out, terminal.width, |row, column, text| {
        if row == 0 || column == 0 { terminal.dim(text) } else { text.to_owned() }
    })?;
    for line in
        left_out.sentence().iter().flat_map(|words| textwrap::wrap(words, terminal.width - 2))
    {
        writeln!(out, "  {}", terminal.dim(&line))?;
    }
    Ok(())
}

/// Of one method in one microsecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) share: f64,
    /// Of this microsecond and all before it.
    pub(crate) total: f64,
}

impl Share {
    fn cell(&self) -> String {
        format!("{:.2} {:6.2}", self.share * 100.0, self.total * 100.0)
    }
}

/// From (microsecond, how many of them), ascending.
pub(crate) fn shares_of(micros: impl Iterator<Item = (u64, u64)> + Clone) -> BTreeMap<u64, Share> {
    let all = micros.clone().map(|(_, count)| count).sum::<u64>().max(1) as f64;
    let mut so_far = 0;
    micros
        .map(|(us, count)| {
            so_far += count;
            (us, Share { share: count as f64 / all, total: so_far as f64 / all })
        })
        .collect()
}

/// Lines that would be worth showing, and are not.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LeftOut {
    rows: usize,
    share_max: f64,
}

impl LeftOut {
    /// What a reader of the table must know of it; `None` where nothing is left out.
    pub(crate) fn sentence(&self) -> Option<String> {
        (self.rows > 0).then(|| {
            format!(
                "{} more microseconds are not shown, each with at most {:.2} % of a method.",
                self.rows,
                self.share_max * 100.0
            )
        })
    }
}

/// The microseconds to show, least first.
pub(crate) fn rows(shares: &[BTreeMap<u64, Share>]) -> (BTreeSet<u64>, LeftOut) {
    let mut largest: BTreeMap<u64, f64> = BTreeMap::new();
    for (&us, share) in shares.iter().flatten() {
        let most = largest.entry(us).or_default();
        *most = most.max(share.share);
    }
    let mut worth: Vec<(u64, f64)> =
        largest.into_iter().filter(|&(_, share)| share >= SHARE_MIN).collect();
    worth.sort_by(|one, two| two.1.total_cmp(&one.1).then(one.0.cmp(&two.0)));
    let rest = worth.split_off(worth.len().min(ROWS_MAX));
    let share_max = rest.first().map_or(0.0, |&(_, share)| share);
    (worth.into_iter().map(|(us, _)| us).collect(), LeftOut { rows: rest.len(), share_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_are_left_out_and_long_tables_cut_where_least_is_lost() {
        let share = |share| Share { share, total: 0.0 };
        let one = BTreeMap::from([(54, share(0.9)), (55, share(0.000_05)), (56, share(0.000_1))]);
        let two = BTreeMap::from([(104, share(1.0))]);
        let (shown, left_out) = rows(&[one, two]);
        assert_eq!(shown, BTreeSet::from([54, 56, 104]));
        assert_eq!(left_out, LeftOut::default());

        let many = (0..150).map(|us| (us, share((us + 1) as f64 / 10_000.0))).collect();
        let (shown, left_out) = rows(&[many]);
        assert_eq!(shown, (102..150).collect());
        assert_eq!(left_out.rows, 102);
        assert!((left_out.share_max - 0.010_2).abs() < 1e-9);
    }
}
