//! Names and paths of other programs.

/// Programs that open an address in the browser, with the arguments before the address; the first that works is used.
pub const BROWSERS: &[(&str, &[&str])] = &[("rundll32.exe", &["url.dll,FileProtocolHandler"])];

/// Folder in the user's home in which programs store their settings.
pub const SETTINGS_FOLDER: &str = "AppData/Roaming";

/// Command that kills a process which does not respond.
pub const KILL_COMMAND: &str = "taskkill /F /PID";

/// Command that removes the write protection of a file.
pub const UNPROTECT_COMMAND: &str = "attrib -r";

/// Variable with the path of the user's home folder.
pub const HOME_VARIABLE: &str = "USERPROFILE";

/// Command that returns ownership of a folder and its content to the user.
pub const CHOWN_COMMAND: &str = r#"icacls /reset /T"#;

/// Folder with the settings of an administrator for Claude Code.
pub const CLAUDE_MANAGED_FOLDER: &str = r"C:\Program Files\ClaudeCode";
