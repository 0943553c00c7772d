//! Short logs, `logs/hook.log` and `logs/worker.log`: errors, and the starts, work and stops of the worker; never content.

use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write},
};

use backstory_model::Timestamp;
use backstory_system::{self as system, OwnerOnly as _};

use crate::{home::Home, time_arg::rfc3339};

/// Size at which the log is rotated. One older log is kept.
const MAX_BYTES: u64 = 256 << 10;

/// Appends one line to a log.
pub(crate) fn append(home: &Home, name: &str, at: Timestamp, line: &str) -> io::Result<()> {
    let path = home.log(name);
    let open = || OpenOptions::new().append(true).create(true).private().open(&path);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .private()
                .create(home.root().join("logs"))?;
            open()?
        }
        other => other?,
    };
    if file.metadata()?.len() > MAX_BYTES {
        system::rename(&path, home.log(&format!("{name}.1")))?;
        file = open()?;
    }
    writeln!(file, "{} {line}", rfc3339(at))
}
