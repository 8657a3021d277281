//! Writes a small trace with every kind of event and some explained wakeups, for who reads it with other
//! programs: `perfetto_sample FILE [ROUNDS]`, where a round is about a hundred events.

#[path = "../tests/export/mod.rs"]
mod export;
#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: perfetto_sample FILE [ROUNDS]")?;
    let rounds = std::env::args().nth(2).map_or(Ok(40), |rounds| rounds.parse())?;
    export::export("perfetto", path.as_ref(), &sample::batches(rounds))?;
    Ok(())
}
