//! What other programs are called, and where they keep their things.

/// Programs that open an address in the person's browser, with what comes before the address; the first that can does it.
#[cfg(target_os = "macos")]
pub const BROWSERS: &[(&str, &[&str])] = &[("open", &[])];
/// Programs that open an address in the person's browser, with what comes before the address; the first that can does it.
#[cfg(not(target_os = "macos"))]
pub const BROWSERS: &[(&str, &[&str])] = &[("xdg-open", &[]), ("wslview", &[])];

/// The folder below the home in which programs keep their settings.
#[cfg(target_os = "macos")]
pub const SETTINGS_FOLDER: &str = "Library/Application Support";
/// The folder below the home in which programs keep their settings.
#[cfg(not(target_os = "macos"))]
pub const SETTINGS_FOLDER: &str = ".config";

/// The command that ends a process which does not listen.
pub const END_BY_FORCE: &str = "kill -9";

/// The command that takes the write protection off a file.
pub const UNPROTECT: &str = "chmod u+w";

/// The variable that names the person's own folder.
pub const HOME_VARIABLE: &str = "HOME";

/// The command that gives a folder with everything in it back to its owner.
pub const TAKE_OVER: &str = r#"sudo chown -R "$USER""#;
