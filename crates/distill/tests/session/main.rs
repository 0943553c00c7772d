//! The memory and the hand-over of made-up sessions, by subject.

mod actions;
mod checks;
mod choices;
mod commits;
mod decisions;
mod deferrals;
mod done;
mod findings;
mod obstacles;
mod open_work;
mod reports;
mod requests;
mod stale;
mod titles;
