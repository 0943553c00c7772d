//! The settings a hook obeys, without parsing TOML unless they changed.

use std::{fs, io::Write};

use backstory_capture::{exclude::Exclude, filter, spool::Durability};
use backstory_system::{self as system, OwnerOnly as _};

use crate::{
    environment,
    home::Home,
    settings::{
        self,
        hook_cache::{self, Stamp},
    },
};

/// What capture is set to.
#[derive(Debug)]
pub struct HookSettings {
    /// Settings of the payload filter.
    pub keep: filter::CaptureSettings,
    /// Folders and files that are not captured.
    pub exclude: Exclude,
    /// Whether a spooled event is flushed to disk.
    pub durability: Durability,
}

/// Reads the settings. A setting that is wrong has its default here; commands complain about it.
pub fn load(home: &Home) -> HookSettings {
    let capture = match fs::metadata(home.config()) {
        Ok(file) => from_file(home, Stamp::of(&file)),
        Err(_) => hook_cache::defaults(),
    };
    let capture = hook_cache::overlay(capture, &environment::variables(&hook_cache::VARIABLES));
    HookSettings {
        exclude: match capture.exclude.as_slice() {
            [] => Exclude::default(),
            patterns => Exclude::new(patterns, environment::user_home().as_deref()),
        },
        keep: capture.capture_settings(),
        durability: match capture.durability {
            settings::Durability::Normal => Durability::Normal,
            settings::Durability::Full => Durability::Full,
        },
    }
}

/// Takes the settings from the cache, or reads the file and makes the cache anew. The stamp was taken before: a change in
/// between is noticed by the next hook.
fn from_file(home: &Home, stamp: Stamp) -> settings::Capture {
    let cached = fs::read_to_string(home.config_cache()).ok();
    if let Some(capture) = cached.and_then(|text| hook_cache::decode(&text, stamp)) {
        return capture;
    }
    let text = settings::read(&home.config()).ok().flatten();
    let capture = settings::load(&home.config(), text.as_deref(), &[]).0.capture;
    // Without the cache the next hook reads the file again: slower, nothing worse.
    write_cache(home, &hook_cache::encode(&capture, stamp)).ok();
    capture
}

fn write_cache(home: &Home, text: &str) -> std::io::Result<()> {
    home.spool().create()?;
    let path = home.config_cache();
    let unfinished = path.with_extension(format!("cache.{}", std::process::id()));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    system::rename(unfinished, path)
}
