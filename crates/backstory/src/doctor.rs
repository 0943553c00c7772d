//! Checks of the installation. A check is a function that returns findings and changes nothing.

mod backups;
mod capture;
mod database;
mod finding;
mod home;
mod hosts;
mod machine;
mod provider;
mod round_trip;
mod team;
mod worker;

pub(crate) use finding::{CheckContext, Finding, Severity};

/// Group of checks under its title.
type Group = (&'static str, fn(&CheckContext<'_>) -> Vec<Finding>);

/// Lists all groups in display order.
pub(crate) const GROUPS: [Group; 10] = [
    ("home", home::check),
    ("settings", provider::check),
    ("database", database::check),
    ("backups", backups::check),
    ("capture", capture::check),
    ("worker", worker::check),
    ("hosts", hosts::check),
    ("team", team::check),
    ("machine", machine::check),
    ("round trip", round_trip::check),
];
