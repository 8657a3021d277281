//! Comparisons on data made by rule: they cry wolf no more often than they may, and find what is there
//! as soon as they promise.

mod a_a;
mod a_b;
mod synthetic;
