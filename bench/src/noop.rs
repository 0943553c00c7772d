//! A process that does nothing: what it costs to start one is the unit that hooks are measured in.

fn main() {}
