//! The command on the kernel that runs the tests, from end to end. A file per question.
//!
//! Nothing here asserts how late this machine is: only that what tardy says of it adds up, agrees
//! with what the tests did themselves, and leaves no trace. Where the system does not allow what a
//! test needs, it says `skipped:` and why.
#![forbid(unsafe_code)]

mod balance;
mod blamed;
mod call_chains;
mod calls;
mod command_ends;
mod container;
mod deferred;
mod experiment;
mod explained;
mod fix;
mod group;
mod injected;
mod killed;
mod left_behind;
mod load;
mod locks;
mod loss;
mod machine;
mod measure;
mod no_root;
mod own;
mod pi;
mod program;
mod rearm;
mod rights;
mod screen;
mod several;
mod slack;
mod sleep;
mod spinner;
mod staircase;
mod three_ways;
mod top;
mod watch;
mod watched;
