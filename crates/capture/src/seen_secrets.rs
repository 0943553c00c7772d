//! Remembers which secrets a session has shown, across hook processes, so that a later event cannot repeat one without its name.
//!
//! A small log per session holds short hashes of long random values, never text, and nothing of a password that could be guessed.
//! It is append-only, because hooks of one session run concurrently, and is removed with the state of private turns.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
};

use backstory_secrets::Fingerprint;
use backstory_system::OwnerOnly as _;

use crate::{private, spool::Spool};

/// The secrets that a session has shown.
#[derive(Debug, Default)]
pub struct SeenSecrets {
    all: Vec<Fingerprint>,
    /// The number of those that are in the log.
    logged: usize,
}

/// The largest number of secrets per session. A session that shows more is being flooded.
const MAX_SECRETS: usize = 256;

impl SeenSecrets {
    /// Reads the log of a session; almost all sessions have none.
    pub fn of(spool: &Spool, session_id: &str) -> Self {
        // Without the log a repeated secret is only found by its name or form, as in a session without one.
        let log = fs::read_to_string(path(spool, session_id)).unwrap_or_default();
        let all: Vec<Fingerprint> = log
            .lines()
            .filter_map(|line| u32::from_str_radix(line, 16).ok().map(Fingerprint))
            .take(MAX_SECRETS)
            .collect();
        Self {
            logged: all.len(),
            all,
        }
    }

    /// Returns all of them.
    pub fn all(&self) -> &[Fingerprint] {
        &self.all
    }

    /// Adds secrets that are not known yet.
    pub fn add(&mut self, found: impl Iterator<Item = Fingerprint>) {
        for one in found {
            if !self.all.contains(&one) && self.all.len() < MAX_SECRETS {
                self.all.push(one);
            }
        }
    }

    /// Writes the secrets that were added to the log.
    pub fn save(&self, spool: &Spool, session_id: &str) -> io::Result<()> {
        let new = &self.all[self.logged..];
        if new.is_empty() {
            return Ok(());
        }
        spool.create()?;
        let text: String = new.iter().map(|one| format!("{:08x}\n", one.0)).collect();
        let mut options = OpenOptions::new();
        options.append(true).create(true).private();
        options.open(path(spool, session_id))?.write_all(text.as_bytes())
    }
}

/// Returns the path of the log. No session id is encoded with a dot.
fn path(spool: &Spool, session_id: &str) -> PathBuf {
    let name = format!("{}.secrets", private::file_name(session_id));
    spool.root().join("private").join(name)
}
