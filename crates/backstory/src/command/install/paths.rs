//! Paths of host files and of this program.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use backstory_capture::host::{ConfigPath, HOSTS, HostSpec};
use backstory_engine::environment::Environment;
use backstory_engine::error::HintedError;
use backstory_system::{HOME_VARIABLE, canonicalize, program_names, shell_path};

/// Resolves a path of a host.
pub(crate) fn resolve(location: &ConfigPath) -> Result<PathBuf> {
    let environment = Environment::process();
    let moved = location.variable.and_then(|name| environment.folder(name));
    let folder = match moved {
        Some(folder) => folder,
        None => environment
            .user_home()
            .ok_or_else(|| {
                HintedError::new("could not find your home folder").hint(format_args!("set {HOME_VARIABLE}"))
            })?
            .join(location.folder),
    };
    Ok(match location.path {
        "" => folder,
        path => folder.join(path),
    })
}

/// Returns the hosts that are in use on this machine.
pub(crate) fn present() -> Vec<&'static HostSpec> {
    let is_there = |location: &ConfigPath| resolve(location).is_ok_and(|path| path.exists());
    HOSTS
        .into_iter()
        .filter(|host| host.install_markers.iter().any(is_there))
        .collect()
}

/// Returns the path by which hosts call this program.
///
/// Prefers the entry on the search path if it leads here: it stays valid when an update moves the file itself.
pub(crate) fn program() -> Result<String> {
    let own = std::env::current_exe().context("could not find this program's own file")?;
    let own = canonicalize(&own).unwrap_or(own);
    // Hooks would call a file that npm deletes at some time.
    if own.components().any(|part| part.as_os_str() == "_npx") {
        let error = HintedError::new("this program is in the cache of npx, so agents cannot rely on it");
        bail!(error.hint("`npm install --global backstory-memory`, then `backstory setup`"));
    }
    let on_path = Environment::process()
        .search_path()
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| program_names("backstory").map(move |name| folder.join(name)))
        .find(|path| canonicalize(path).is_ok_and(|target| target == own));
    let path = on_path.unwrap_or(own);
    shell_path(&path)
        .with_context(|| format!("the path of this program is not valid UTF-8: {}", path.display()))
}

/// Formats a path with `~` for the home folder.
pub(crate) fn shown(path: &Path) -> String {
    let below = Environment::process()
        .user_home()
        .and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    match below {
        Some(below) => Path::new("~").join(below).display().to_string(),
        None => path.display().to_string(),
    }
}
