//! A timer service.

mod due;
mod free;
mod heap;
mod inbox;
mod lane;
mod run;
mod slots;
mod sync;
#[cfg(test)]
mod tests;
mod word;
