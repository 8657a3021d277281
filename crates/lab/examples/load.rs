//! A load alone, until standard input ends: `load storm:40`. Prints the numbers of its threads and
//! processes once all of it runs, and what it has done so far for every line that comes in, and at
//! the end.

use std::error::Error;
use std::process::ExitCode;
use tardy_lab::load::{Spec, Work, worker};

fn main() -> ExitCode {
    if let Some(code) = worker::enter() {
        return code;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let spec: Spec = std::env::args().nth(1).ok_or("name a load, such as storm:40")?.parse()?;
    let running = spec.start()?;
    println!("running {:?}", running.tids());
    for _ in std::io::stdin().lines() {
        tell(&spec, &running.work());
    }
    for note in running.notes() {
        println!("note: {note}");
    }
    if let Some(took) = running.over_after() {
        println!("over after {took:?}");
    }
    tell(&spec, &running.stop());
    Ok(())
}

fn tell(spec: &Spec, work: &[Vec<Work>]) {
    for (load, work) in spec.parts().zip(work) {
        for Work { unit, count } in work {
            println!("{load}: {count} {unit}");
        }
    }
}
