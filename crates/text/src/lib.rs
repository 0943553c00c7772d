//! Text primitives shared by the other crates.
//!
//! Everything here is a pure function: no I/O, no clock, no domain types. Each concept has exactly one implementation,
//! and code in other crates calls it instead of writing its own.

pub mod scan;
