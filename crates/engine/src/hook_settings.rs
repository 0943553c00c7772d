//! Settings of a hook, read from a cache. TOML is parsed only when `config.toml` has changed.

use std::{fs, io::Write};

use backstory_capture::{exclude::Exclude, filter, spool::Durability};
use backstory_system::{self as system, OwnerOnly as _};

use crate::{
    engine::Engine,
    home::Home,
    settings::{
        self, ContextSettings,
        hook_cache::{self, HookSection, Stamp},
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

/// Reads the capture settings.
pub fn load(engine: &Engine) -> HookSettings {
    let capture: settings::Capture = section(engine);
    HookSettings {
        exclude: match capture.exclude.as_slice() {
            [] => Exclude::default(),
            patterns => Exclude::new(patterns, engine.environment.user_home().as_deref()),
        },
        keep: capture.capture_settings(),
        durability: capture.durability,
    }
}

/// Reads the settings of injections.
pub fn context(engine: &Engine) -> ContextSettings {
    section(engine)
}

/// Reads a section. An invalid setting has its default value; commands report it.
fn section<S: HookSection>(engine: &Engine) -> S {
    let stamp = Stamp::of_file(&engine.home.config());
    let variables = engine.environment.variables(hook_cache::variables(S::NAME));
    if stamp.is_none() && variables.is_empty() {
        return S::default();
    }
    let Some(mut table) = from_file(&engine.home, stamp.unwrap_or(Stamp::NO_FILE), S::NAME) else {
        return S::default();
    };
    hook_cache::overlay(&mut table, S::NAME, &variables);
    S::from_table(table).unwrap_or_default()
}

/// Reads a section from the cache, or from the file, which renews the cache. The stamp was taken before, so that a change in
/// between is noticed by the next hook.
fn from_file(home: &Home, stamp: Stamp, section: &str) -> Option<toml::Table> {
    let cached = fs::read_to_string(home.config_cache()).ok();
    if let Some(table) = cached.and_then(|text| hook_cache::decode(&text, stamp, section)) {
        return Some(table);
    }
    let text = settings::read(&home.config()).ok().flatten();
    let entries = settings::resolve(&home.config(), text.as_deref(), &[]).entries;
    let encoded = hook_cache::encode(&entries, stamp);
    // Best effort: without the cache the next hook parses the file again.
    write_cache(home, &encoded).ok();
    hook_cache::decode(&encoded, stamp, section)
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
