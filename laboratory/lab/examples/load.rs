//! A load alone, until standard input ends: `load storm:40`. Prints the numbers of its threads and
//! processes once all of it runs, and what it has done so far for every line that comes in, and at
//! the end. The line `wait` waits until the load has come to an end by itself.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
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
    for line in std::io::stdin().lines() {
        while line.as_ref().is_ok_and(|line| line == "wait") && running.over_after().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
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
