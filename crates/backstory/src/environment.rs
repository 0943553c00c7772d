//! The one place that reads the environment.
//!
//! | variable | meaning |
//! |---|---|
//! | `BACKSTORY_HOME` | the folder that holds everything; `~/.backstory` when unset |
//! | `BACKSTORY_DISABLED` | `1`: hooks record nothing |
//! | `BACKSTORY_INTERNAL` | `1`: hooks do nothing at all; set for the worker's own model calls |
//! | `BACKSTORY_DEBUG` | `1`: hooks say on stderr what they did |
//! | `BACKSTORY_NO_WORKER` | `1`: hooks and commands do not start the worker |
//! | `BACKSTORY_<SECTION>_<KEY>` | overrides a setting: see `backstory config list` |

use std::{ffi::OsString, path::PathBuf};

/// Says whether a switch is on: set to anything but nothing, `0`, `false`, `no` or `off`.
pub(crate) fn is_on(name: &str) -> bool {
    variable(name).is_some_and(|value| {
        !["", "0", "false", "no", "off"]
            .iter()
            .any(|off| value.eq_ignore_ascii_case(off))
    })
}

/// Returns the folder that holds everything, if the environment tells.
pub(crate) fn backstory_home() -> Option<PathBuf> {
    match variable("BACKSTORY_HOME").filter(|path| !path.is_empty()) {
        Some(path) => std::path::absolute(path).ok(),
        None => user_home().map(|home| home.join(".backstory")),
    }
}

/// Returns the user's home folder.
pub(crate) fn user_home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Returns the variables that override settings.
pub(crate) fn settings() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("BACKSTORY_"))
        .collect()
}

/// Returns those of these variables that are set. A hook asks for the few it obeys: copying all of them costs more than
/// the rest of its work.
pub(crate) fn variables(names: &[&str]) -> Vec<(String, String)> {
    let set = |name: &&str| Some(((*name).to_owned(), variable(name)?.into_string().ok()?));
    names.iter().filter_map(set).collect()
}

/// Returns what the worker needs of the environment. An agent's own variables, and the keys among them, stay behind.
pub(crate) fn for_worker() -> Vec<(OsString, OsString)> {
    const KEPT: [&str; 9] = [
        "HOME",
        "PATH",
        "USER",
        "LOGNAME",
        "LANG",
        "TZ",
        "TMPDIR",
        "SHELL",
        "RUST_BACKTRACE",
    ];
    const PREFIXES: [&str; 3] = ["BACKSTORY_", "LC_", "XDG_"];
    let is_kept = |name: &str| KEPT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_kept))
        .collect()
}

/// Says whether a variable is set to something.
pub(crate) fn is_set(name: &str) -> bool {
    variable(name).is_some_and(|value| !value.is_empty())
}

/// Finds a program on the search path.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let folders = variable("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Returns how many columns the terminal is said to have.
pub(crate) fn columns() -> Option<usize> {
    variable("COLUMNS")?.to_str()?.parse().ok()
}

fn variable(name: &str) -> Option<OsString> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    std::env::var_os(name)
}
