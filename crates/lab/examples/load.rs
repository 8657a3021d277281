//! A load alone, until standard input ends: `load storm:40`.

use std::error::Error;
use tardy_lab::load::{Spec, Work};

fn main() -> Result<(), Box<dyn Error>> {
    let spec: Spec = std::env::args().nth(1).ok_or("name a load, such as storm:40")?.parse()?;
    let running = spec.start()?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    for (load, work) in spec.parts().zip(running.stop()) {
        for Work { unit, count } in work {
            eprintln!("{load}: {count} {unit}");
        }
    }
    Ok(())
}
