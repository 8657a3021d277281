//! Settings that are not the same on all sides.

use super::{Compared, SideFacts};
use crate::clean::clean_cut;
use crate::units::counted;
use std::collections::BTreeMap;

/// What a cell shows where a side does not tell a setting that another one tells.
pub(super) const NOT_RECORDED: &str = "not recorded";

/// Names begin so that come first, in this order: what was chosen for the run explains most.
const FIRST: [&str; 4] = ["run.", "thread.", "kernel", "program."];

/// Columns of a name, where there is room.
const NAME_WIDTH: usize = 34;

/// The least columns of a value.
const VALUE_WIDTH_MIN: usize = 4;

/// Which settings differ between the sides, and which do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsCompared {
    /// Those that differ, what was chosen for the run first; then those that not all sides tell.
    pub differing: Vec<DifferingSetting>,
    /// How many are the same on all sides.
    pub equal: u64,
    /// Places of sides that tell none at all, as histograms mostly do.
    pub silent: Vec<usize>,
}

/// A setting that is not the same on all sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingSetting {
    /// Its name.
    pub name: String,
    /// Its value on each side; `None` where that is not recorded.
    pub values: Vec<Option<String>>,
}

impl DifferingSetting {
    /// Whether all sides tell it but those that tell none.
    fn is_told(&self, silent: &[usize]) -> bool {
        let mut values = self.values.iter().enumerate();
        values.all(|(place, value)| value.is_some() || silent.contains(&place))
    }
}

impl SettingsCompared {
    /// Of sides with these settings, by name.
    pub fn of(sides: &[BTreeMap<String, String>]) -> Self {
        let mut names: Vec<&String> = sides.iter().flat_map(BTreeMap::keys).collect();
        names.sort_unstable();
        names.dedup();
        let silent: Vec<usize> = (0..sides.len()).filter(|at| sides[*at].is_empty()).collect();
        let mut differing = Vec::new();
        let mut equal = 0;
        let tell = sides.len() - silent.len();
        for name in names {
            let values: Vec<Option<String>> =
                sides.iter().map(|side| side.get(name).cloned()).collect();
            let told: Vec<&String> = values.iter().flatten().collect();
            let are_equal = told.windows(2).all(|two| two[0] == two[1]);
            if are_equal && told.len() == tell {
                // What one side alone can tell is neither.
                equal += u64::from(tell > 1);
            } else {
                differing.push(DifferingSetting { name: name.clone(), values });
            }
        }
        differing.sort_by_key(|setting| {
            let first = FIRST.iter().position(|start| setting.name.starts_with(start));
            (!setting.is_told(&silent), first.unwrap_or(FIRST.len()))
        });
        Self { differing, equal, silent }
    }

    /// How many of them all sides tell that tell any.
    pub fn told(&self) -> usize {
        self.differing.iter().filter(|setting| setting.is_told(&self.silent)).count()
    }

    /// What the table is called: `Settings that differ (52 equal)`.
    pub(super) fn heading(&self) -> String {
        match self.differing.len() {
            0 => format!("No setting differs ({})", counted(self.equal, "setting")),
            _ => format!("Settings that differ ({} equal)", self.equal),
        }
    }

    /// Which sides tell none, in a sentence.
    pub(super) fn silence(&self, sides: &[SideFacts]) -> Option<String> {
        let names: Vec<String> =
            self.silent.iter().filter_map(|at| Some(sides.get(*at)?.short_name())).collect();
        (!names.is_empty() && self.silent.len() < sides.len())
            .then(|| format!("{} records no settings.", names.join(" and ")))
    }

    /// Cells of a row, clean: the name, and each side's value, in so many columns each.
    pub(super) fn cells(
        setting: &DifferingSetting,
        [name_width, width]: [usize; 2],
    ) -> Vec<String> {
        let value =
            |value: &Option<String>| clean_cut(value.as_deref().unwrap_or(NOT_RECORDED), width);
        let name = clean_cut(&setting.name, name_width);
        std::iter::once(name).chain(setting.values.iter().map(value)).collect()
    }
}

/// Columns of a name and of a value, where so many sides stand beside each other.
pub(super) fn widths(compared: &Compared, terminal: usize) -> [usize; 2] {
    let sides = compared.sides.len().max(1);
    let name = NAME_WIDTH.min(terminal / 3);
    let value = (terminal.saturating_sub(name + 2) / sides).saturating_sub(2);
    [name, value.max(VALUE_WIDTH_MIN)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_differs_comes_before_what_is_not_told() {
        let sides = [
            side(&[("vm.swappiness", "60"), ("run.load", "none"), ("a", "1"), ("b", "1")]),
            side(&[("vm.swappiness", "10"), ("run.load", "net"), ("b", "1")]),
            side(&[]),
        ];
        let compared = SettingsCompared::of(&sides);
        let names: Vec<&str> = compared.differing.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["run.load", "vm.swappiness", "a"]);
        assert_eq!((compared.told(), compared.equal, &compared.silent[..]), (2, 1, &[2][..]));
        let value = |text: &str| Some(text.to_owned());
        assert_eq!(compared.differing[2].values, [value("1"), None, None]);
        assert_eq!(SettingsCompared::cells(&compared.differing[2], [20, 20])[2], NOT_RECORDED);
    }

    #[test]
    fn what_one_side_alone_can_tell_is_neither_equal_nor_different() {
        let compared = SettingsCompared::of(&[side(&[("a", "1")]), side(&[])]);
        assert_eq!((compared.differing.len(), compared.equal), (0, 0));
        assert_eq!(SettingsCompared::of(&[]), SettingsCompared::default());
    }
}
