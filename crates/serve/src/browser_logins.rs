//! Signed-in browsers of a home: a file with the hash and the expiry of each login.
//!
//! Commands change the file too, so the server reads it again whenever it has changed: a login that was ended elsewhere is gone
//! with the next request. The file holds no credential; the secret of a login is in the browser alone.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use backstory_engine::{atomic_file, settings::hook_cache::Stamp};
use backstory_model::Timestamp;
use backstory_text::{one_line, sha256_hex};
use serde::{Deserialize, Serialize};

use crate::random::random;

/// Lifetime of a login.
const LIFETIME: Duration = Duration::from_hours(24 * 30);

/// Maximum number of logins; the oldest end first.
const MAX_LOGINS: usize = 50;

/// A signed-in browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserLogin {
    /// Name of the login in lists.
    pub id: String,
    hash: String,
    created_ms: i64,
    expires_ms: i64,
    /// Browser, as it describes itself.
    pub browser: String,
}

impl BrowserLogin {
    /// Returns the time of the login.
    pub fn created_at(&self) -> Timestamp {
        Timestamp::from_millis(self.created_ms)
    }

    /// Returns the time at which it ends by itself.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.expires_ms)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct LoginFile {
    /// Random, because a browser sends cookies to every port of a host: two homes must not sign each other out, and a page of
    /// another port must not guess the name.
    cookie_name: String,
    logins: Vec<BrowserLogin>,
}

/// The file, and its content as it was read last.
#[derive(Debug)]
pub struct BrowserLogins {
    path: PathBuf,
    read: Mutex<Option<(Stamp, LoginFile)>>,
}

impl BrowserLogins {
    /// Returns the logins in a file, which need not exist.
    pub fn at(path: PathBuf) -> Self {
        Self {
            path,
            read: Mutex::new(None),
        }
    }

    /// Lists the logins that have not expired, oldest first.
    pub fn list(&self, now: Timestamp) -> Vec<BrowserLogin> {
        let mut logins = self.current().logins;
        logins.retain(|login| login.expires_at() > now);
        logins
    }

    /// Returns the name of the cookie; empty before the first login.
    pub(crate) fn cookie_name(&self) -> String {
        self.current().cookie_name
    }

    /// Signs a browser in. Returns the secret for its cookie.
    pub(crate) fn add(&self, browser: &str, now: Timestamp) -> io::Result<String> {
        let secret = random();
        self.change(|file| {
            if file.cookie_name.is_empty() {
                file.cookie_name = format!("backstory_{}", &random()[..12]);
            }
            file.logins.retain(|login| login.expires_at() > now);
            let surplus = (file.logins.len() + 1).saturating_sub(MAX_LOGINS);
            file.logins.drain(..surplus);
            file.logins.push(BrowserLogin {
                id: random()[..8].to_owned(),
                hash: sha256_hex(&secret),
                created_ms: now.as_millis(),
                expires_ms: (now + LIFETIME).as_millis(),
                browser: one_line(browser, 120),
            });
        })?;
        Ok(secret)
    }

    /// Returns the login of a secret, unless it has expired or was ended.
    pub(crate) fn find(&self, secret: &str, now: Timestamp) -> Option<BrowserLogin> {
        // Hashes are compared, so the time of the comparison says nothing about a secret.
        let hash = sha256_hex(secret);
        self.list(now).into_iter().find(|login| login.hash == hash)
    }

    /// Ends logins. Returns how many there were.
    pub fn end(&self, is_ended: impl Fn(&BrowserLogin) -> bool) -> io::Result<usize> {
        if !self.path.exists() {
            return Ok(0);
        }
        let mut ended = 0;
        self.change(|file| {
            let before = file.logins.len();
            file.logins.retain(|login| !is_ended(login));
            ended = before - file.logins.len();
        })?;
        Ok(ended)
    }

    fn current(&self) -> LoginFile {
        let Some(stamp) = Stamp::of_file(&self.path) else {
            return LoginFile::default();
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, file)) = &*read
            && *known == stamp
        {
            return file.clone();
        }
        // An unreadable file signs every browser out.
        let file = read_file(&self.path).unwrap_or_default();
        *read = Some((stamp, file.clone()));
        file
    }

    fn change(&self, change: impl FnOnce(&mut LoginFile)) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let _lock = atomic_file::lock(folder)?;
        let mut file = read_file(&self.path).unwrap_or_default();
        change(&mut file);
        let written = atomic_file::write_atomically(&self.path, serde_json::to_string(&file)?.as_bytes());
        // Two changes of the same size within one tick of the file system's clock have the same stamp.
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = None;
        written
    }
}

fn read_file(path: &Path) -> Option<LoginFile> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn a_login_ends_by_expiry_or_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logins.json");
        let logins = BrowserLogins::at(path.clone());
        assert_eq!(logins.list(NOW), []);
        let (one, two) = (logins.add("Firefox", NOW).unwrap(), logins.add("", NOW).unwrap());
        assert_ne!(one, two);
        let name = logins.cookie_name();
        assert_eq!(name.len(), "backstory_".len() + 12);
        let id = logins.find(&one, NOW).unwrap().id;
        assert!(logins.find(&one, NOW + LIFETIME).is_none());
        assert!(logins.find("", NOW).is_none());
        // Another process ends it.
        let elsewhere = BrowserLogins::at(path.clone());
        assert_eq!(elsewhere.end(|login| login.id == id).unwrap(), 1);
        assert!(logins.find(&one, NOW).is_none());
        assert!(logins.find(&two, NOW).is_some());
        assert_eq!(logins.cookie_name(), name);
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.contains(&one) && !text.contains(&two));
    }

    #[test]
    fn the_number_of_logins_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let logins = BrowserLogins::at(folder.path().join("logins.json"));
        let first = logins.add("first", NOW).unwrap();
        for _ in 0..MAX_LOGINS {
            logins.add("later", NOW).unwrap();
        }
        assert_eq!(logins.list(NOW).len(), MAX_LOGINS);
        assert!(logins.find(&first, NOW).is_none());
    }
}
