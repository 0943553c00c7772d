//! A process that does nothing. Its cost is the unit in which hooks are measured.

fn main() {}
