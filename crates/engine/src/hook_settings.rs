//! Settings of a hook, read from a cache. TOML is parsed only when `config.toml` has changed.

use std::{fs, io::Write};

use backstory_capture::{exclude::Exclude, filter, project, spool::Durability};
use backstory_system::{self as system, OwnerOnly as _};

use crate::{
    engine::Engine,
    home::Home,
    settings::{
        self, ContextSettings, RecallSettings, Receipts, SettingEntry, Ui,
        hook_cache::{self, HookSection, Stamp, Validity},
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
    /// Origin of these settings.
    pub validity: Validity,
}

/// Reads the capture settings.
pub fn load(engine: &Engine) -> HookSettings {
    let (capture, validity): (settings::Capture, Validity) = section(engine);
    HookSettings {
        exclude: match capture.exclude.as_slice() {
            [] => Exclude::default(),
            patterns => Exclude::new(patterns, engine.environment.user_home().as_deref())
                .with_links_resolved(|path| Some(project::real_path(path))),
        },
        keep: capture.capture_settings(),
        durability: capture.durability,
        validity,
    }
}

/// Reads the settings of injections.
pub fn context(engine: &Engine) -> ContextSettings {
    section(engine).0
}

/// Reads the settings of recall before an action.
pub fn recall(engine: &Engine) -> RecallSettings {
    section(engine).0
}

/// Reads which injections are shown to the user.
pub fn receipts(engine: &Engine) -> Receipts {
    section::<Ui>(engine).0.receipts
}

/// Reads a section. An invalid setting has its default value; commands report it.
fn section<S: HookSection>(engine: &Engine) -> (S, Validity) {
    let path = engine.home.config();
    let stamp =
        Stamp::of_file(&path).or_else(|| fs::symlink_metadata(&path).is_ok().then_some(Stamp::UNREADABLE));
    let variables = engine.environment.variables(hook_cache::variables(S::NAME));
    if stamp.is_none() && variables.is_empty() {
        return (S::default(), Validity::Valid);
    }
    let Some((mut table, validity)) = from_file(&engine.home, stamp.unwrap_or(Stamp::NO_FILE), S::NAME)
    else {
        return (S::default(), Validity::Unknown);
    };
    hook_cache::overlay(&mut table, S::NAME, &variables);
    match S::from_table(table) {
        Some(section) => (section, validity),
        None => (S::default(), Validity::Unknown),
    }
}

/// Reads a section from the cache, or from the file, which renews the cache. The stamp was taken before, so that a change in
/// between is noticed by the next hook.
fn from_file(home: &Home, stamp: Stamp, section: &str) -> Option<(toml::Table, Validity)> {
    let cached = fs::read_to_string(home.config_cache()).ok();
    if let Some(found) = cached
        .as_deref()
        .and_then(|text| hook_cache::decode(text, stamp, section))
    {
        return Some(found);
    }
    let text = settings::read(&home.config());
    let is_readable = text.is_ok() && stamp != Stamp::UNREADABLE;
    let mut resolved = settings::resolve(&home.config(), text.ok().flatten().as_deref(), &[]);
    let is_valid = is_readable
        && !resolved
            .problems
            .iter()
            .any(|problem| problem.may_concern(CAPTURE));
    let validity = if is_valid {
        Validity::Valid
    } else {
        keep_last(&mut resolved.entries, cached.as_deref())
    };
    let encoded = hook_cache::encode(&resolved.entries, stamp, validity);
    // Best effort: without the cache the next hook parses the file again.
    write_cache(home, &encoded).ok();
    hook_cache::decode(&encoded, stamp, section)
}

const CAPTURE: &str = <settings::Capture as HookSection>::NAME;

/// Puts the capture settings of the last valid file in the place of those of a file with a mistake.
fn keep_last(entries: &mut [SettingEntry], cached: Option<&str>) -> Validity {
    let last = cached
        .and_then(|text| hook_cache::decode_any(text, CAPTURE))
        .filter(|(_, validity)| *validity != Validity::Unknown);
    let Some((mut table, _)) = last else {
        return Validity::Unknown;
    };
    for entry in entries.iter_mut().filter(|entry| entry.key.section == CAPTURE) {
        if let Some(value) = table.remove(entry.key.name) {
            entry.value = value;
        }
    }
    Validity::LastValid
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
