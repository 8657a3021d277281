//! What can be simulated, by name.

use crate::failure::{Failure, Outcome};
use crate::listing;
use crate::output::{self, Output};
use clap::Args;
use tardy_sim::file::{Known, MACHINES, SYSTEMS, known_machine, known_system};
use tardy_timers::policy::KNOWN;

/// Flags of `tardy sim list`.
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    output: Output,
}

impl List {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        if self.output.json {
            let known =
                |known: &Known| serde_json::json!({ "name": known.name, "about": known.about() });
            let policies = KNOWN.iter().map(|about| {
                let (proposed, contexts) = (about.proposed, about.contexts);
                serde_json::json!({ "name": about.name, "proposed": proposed, "contexts": contexts })
            });
            let document = serde_json::json!({
                "schema": "tardy.sim-list/1",
                "systems": SYSTEMS.iter().map(known).collect::<Vec<_>>(),
                "machines": MACHINES.iter().map(known).collect::<Vec<_>>(),
                "policies": policies.collect::<Vec<_>>(),
            });
            output::write_json(&document, None)?;
            return Ok(Outcome::Fine);
        }
        let of = |known: &'static Known| (known.name, vec![known.about()]);
        output::out!("Systems (tardy sim NAME):")?;
        listing::print(SYSTEMS.iter().map(of))?;
        output::out!("\nMachines ([machine] like = \"NAME\"):")?;
        listing::print(MACHINES.iter().map(of))?;
        output::out!("\nTimer policies (policies = [\"NAME\"]), and where callbacks run:")?;
        let policies = KNOWN
            .iter()
            .map(|about| (about.name, vec![format!("{}; {}", about.contexts, about.proposed)]));
        listing::print(policies)?;
        Ok(Outcome::Fine)
    }
}

/// Flags of `tardy sim show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
}

impl Show {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let Self { name } = self;
        let known = known_system(&name).or_else(|| known_machine(&name)).ok_or_else(|| {
            Failure::usage(format!(
                "there is no system or machine {name}: tardy sim list shows them"
            ))
        })?;
        crate::output::out!("{}", known.text.trim_end())?;
        Ok(Outcome::Fine)
    }
}
