//! Names and paths of other programs.

/// Programs that open an address in the browser, with the arguments before the address; the first that works is used.
#[cfg(target_os = "macos")]
pub const BROWSERS: &[(&str, &[&str])] = &[("open", &[])];
/// Programs that open an address in the browser, with the arguments before the address; the first that works is used.
#[cfg(not(target_os = "macos"))]
pub const BROWSERS: &[(&str, &[&str])] = &[("xdg-open", &[]), ("wslview", &[])];

/// Folder in the user's home in which programs store their settings.
#[cfg(target_os = "macos")]
pub const SETTINGS_FOLDER: &str = "Library/Application Support";
/// Folder in the user's home in which programs store their settings.
#[cfg(not(target_os = "macos"))]
pub const SETTINGS_FOLDER: &str = ".config";

/// Command that kills a process which does not respond.
pub const KILL_COMMAND: &str = "kill -9";

/// Command that removes the write protection of a file.
pub const UNPROTECT_COMMAND: &str = "chmod u+w";

/// Variable with the path of the user's home folder.
pub const HOME_VARIABLE: &str = "HOME";

/// Command that returns ownership of a folder and its content to the user.
pub const CHOWN_COMMAND: &str = r#"sudo chown -R "$USER""#;

/// Folder with the settings of an administrator for Claude Code.
pub const CLAUDE_MANAGED_FOLDER: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode"
} else {
    "/etc/claude-code"
};
