//! Waiting for what is brought, and saying for what.

use crate::output::Output;
use crate::progress::Progress;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Runs `bring`, and shows what it says that it waits for: as a line that changes on a terminal, as
/// lines elsewhere.
pub(super) fn show<T: Send>(
    output: &Output,
    bring: impl FnOnce(&mut dyn FnMut(&str)) -> T + Send,
) -> T {
    let quiet = output.hides_progress();
    let is_terminal = crate::output::raw_error().is_terminal();
    let progress = Progress::new(None, quiet);
    let begun = Instant::now();
    let (said, words) = channel::<String>();
    std::thread::scope(|scope| {
        let bringing = scope.spawn(move || {
            bring(&mut |words| {
                // Who listened has ended with us.
                let _ = said.send(words.to_owned());
            })
        });
        let mut latest = String::new();
        loop {
            match words.recv_timeout(Duration::from_millis(100)) {
                Ok(words) => {
                    if !is_terminal && !quiet {
                        crate::output::say!("{words}");
                    }
                    latest = words;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            progress.show(begun.elapsed(), latest.clone());
        }
        bringing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
