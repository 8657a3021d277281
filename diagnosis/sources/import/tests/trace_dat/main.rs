//! `trace.dat` files: real ones of two machines, ones made here and now, and ones written by the tests
//! for machines that cannot be had.

mod cut;
mod fixtures;
mod live;
mod reading;
mod synthetic;
mod writer;
