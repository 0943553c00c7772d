//! Text of `--version`.

use std::sync::LazyLock;

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
            env!("CARGO_PKG_VERSION"),
            env!("BACKSTORY_TARGET"),
            option_env!("BACKSTORY_COMMIT").unwrap_or("unknown"),
            backstory_store::sqlite_version(),
            backstory_store::schema_version(),
        )
    });
    &LONG
}
