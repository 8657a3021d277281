//! What a simulation allocates once it runs: nothing.
#![allow(missing_docs)]

use tardy_sim::file::{SYSTEMS, Template, Values};
use tardy_sim::{START_NS, Simulation};

#[test]
fn a_simulation_that_has_warmed_up_allocates_nothing() {
    for known in SYSTEMS {
        let template = Template::parse(known.text).expect("it can be");
        let last = template.conditions.last().expect("there is one");
        let file = template.file(last, &Values::new()).expect("it can be");
        for policy in &file.policies {
            let mut simulation =
                Simulation::new(&file.system_of(policy, 0), ()).expect("it can be");
            simulation.run_until(START_NS + 2_000_000_000);
            let before = simulation.steps();
            let measured =
                allocation_counter::measure(|| simulation.run_until(START_NS + 3_000_000_000));
            let steps = simulation.steps() - before;
            assert!(steps > 5_000, "{} under {policy}: {steps}", known.name);
            assert_eq!(measured.count_total, 0, "{} under {policy}, {steps} steps", known.name);
        }
    }
}
