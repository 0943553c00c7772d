//! Text of `--version`, and parts of an installation whose versions differ from this program's.

use std::{fs, sync::LazyLock};

use backstory_engine::{clock::Clock, engine::Engine, environment::Environment, home::Home, worker_process};
use serde_json::Value;

/// This program's version.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// Returns the version and the build information, one item per line.
pub(crate) fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(|| {
        let profile = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        let linked = if cfg!(target_feature = "crt-static") {
            "static"
        } else {
            "dynamic"
        };
        format!(
            "{}\ntarget: {}\nbuild: {profile}, {linked}\ncommit: {}\nsqlite: {}\nschema: {}",
            OWN,
            env!("BACKSTORY_TARGET"),
            option_env!("BACKSTORY_COMMIT").unwrap_or("unknown"),
            backstory_store::sqlite_version(),
            backstory_store::schema_version(),
        )
    });
    &LONG
}

/// Part of the installation with a version of its own.
pub(crate) struct Mismatch {
    /// Its version.
    pub(crate) version: String,
    /// How to get the same version.
    pub(crate) remedy: String,
}

impl Mismatch {
    /// Returns a sentence about the part.
    pub(crate) fn message(&self, part: &str) -> String {
        format!("{part} is version {}, this is {OWN}", self.version)
    }
}

/// Returns the version of the running worker if it differs from this program's.
pub(crate) fn of_worker(home: &Home) -> Option<Mismatch> {
    let version = worker_process::worker_info(home)?["version"].as_str()?.to_owned();
    (version != OWN).then(|| Mismatch {
        version,
        remedy: "backstory worker restart".to_owned(),
    })
}

/// Returns the version of Claude Code's plugin if it is installed and differs from this program's.
pub(crate) fn of_plugin(environment: &Environment) -> Option<Mismatch> {
    let moved = environment.folder("CLAUDE_CONFIG_DIR");
    let folder = moved.or_else(|| Some(environment.user_home()?.join(".claude")))?;
    let list = fs::read(folder.join("plugins/installed_plugins.json")).ok()?;
    let list: Value = serde_json::from_slice(&list).ok()?;
    let mut plugins = list["plugins"].as_object()?.iter();
    let (name, plugin) = plugins.find(|(name, _)| name.starts_with("backstory@"))?;
    let version = plugin[0]["version"].as_str()?.to_owned();
    (version != OWN).then(|| Mismatch {
        remedy: match numbers(&version) < numbers(OWN) {
            true => format!("claude plugin update {name}"),
            false => format!("install backstory {version}"),
        },
        version,
    })
}

fn numbers(version: &str) -> Vec<u64> {
    version
        .split('.')
        .map_while(|number| number.parse().ok())
        .collect()
}

/// Prints the parts whose versions differ from this program's.
pub(crate) fn print_mismatches() {
    let Ok(engine) = Engine::require(Clock::system(), Environment::process()) else {
        return;
    };
    let parts = [
        ("worker", of_worker(&engine.home)),
        ("plugin", of_plugin(&engine.environment)),
    ];
    for (part, mismatch) in parts {
        if let Some(Mismatch { version, remedy }) = mismatch {
            anstream::println!("{part}: {version}, not the same; `{remedy}`");
        }
    }
}
