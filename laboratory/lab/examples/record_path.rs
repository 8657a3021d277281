//! What a sample costs the thread that takes it: `record_path [SAMPLES] [--marks] [--histogram US]`.
//! Prints one line of JSON, in ns. Under `valgrind --tool=callgrind`, the instructions of two runs with
//! different numbers of samples differ by those of the samples between; `bench/measure.py` does that.

use std::error::Error;
use tardy_lab::cyclic::{Plan, own_cost};

fn main() -> Result<(), Box<dyn Error>> {
    let mut plan = Plan::default();
    let mut samples = 10_000;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--marks" => plan.marks = true,
            "--histogram" => {
                let us = arguments.next().ok_or("--histogram needs a number of µs")?;
                plan.histogram_us = Some(us.parse()?);
            }
            number => samples = number.parse()?,
        }
    }
    let cost = own_cost(&plan, samples).ok_or("at least one sample is needed")?;
    println!(
        "{{\"samples\":{},\"min_ns\":{},\"median_ns\":{},\"sleeps\":{},\"slept_median_ns\":{}}}",
        cost.samples, cost.min_ns, cost.median_ns, cost.sleeps, cost.slept_median_ns
    );
    Ok(())
}
