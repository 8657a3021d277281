//! The plots that go with the experiment's table.

use super::Part;
use crate::clean::clean;
use crate::experiment::measured::Shown;
use crate::experiment::table::view;
use maud::{Markup, html};

pub(super) struct Plots;

impl Part for Plots {
    fn html(&self, shown: &Shown<'_>) -> Markup {
        let plots = view(shown.results.experiment.table).plots(shown);
        html! {
            @if !plots.is_empty() {
                section #plots {
                    @for plot in plots {
                        h2 { (clean(&plot.title)) }
                        p.note { (plot.note) }
                        (plot.chart)
                    }
                }
            }
        }
    }
}
