//! Capture settings of a hook, read from a cache. TOML is parsed only when `config.toml` has changed.

use std::{fs, io::Write};

use backstory_capture::{exclude::Exclude, filter, spool::Durability};
use backstory_system::{self as system, OwnerOnly as _};

use crate::{
    engine::Engine,
    home::Home,
    settings::{
        self,
        hook_cache::{self, Stamp},
    },
};

/// Capture settings in the form that hooks use.
#[derive(Debug)]
pub struct HookSettings {
    /// Settings of the payload filter.
    pub keep: filter::CaptureSettings,
    /// Folders and files that are not captured.
    pub exclude: Exclude,
    /// Flush policy for spooled events.
    pub durability: Durability,
}

/// Reads the settings. An invalid setting has its default value; commands report it.
pub fn load(engine: &Engine) -> HookSettings {
    let capture = match fs::metadata(engine.home.config()) {
        Ok(file) => from_file(&engine.home, Stamp::of(&file)),
        Err(_) => hook_cache::defaults(),
    };
    let capture = hook_cache::overlay(capture, &engine.environment.variables(&hook_cache::VARIABLES));
    HookSettings {
        exclude: match capture.exclude.as_slice() {
            [] => Exclude::default(),
            patterns => Exclude::new(patterns, engine.environment.user_home().as_deref()),
        },
        keep: capture.capture_settings(),
        durability: capture.durability,
    }
}

/// Reads the settings from the cache, or from the file, which renews the cache. The stamp was taken before, so that a change in
/// between is noticed by the next hook.
fn from_file(home: &Home, stamp: Stamp) -> settings::Capture {
    let cached = fs::read_to_string(home.config_cache()).ok();
    if let Some(capture) = cached.and_then(|text| hook_cache::decode(&text, stamp)) {
        return capture;
    }
    let text = settings::read(&home.config()).ok().flatten();
    let capture = settings::load(&home.config(), text.as_deref(), &[]).0.capture;
    // Best effort: without the cache the next hook parses the file again.
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
