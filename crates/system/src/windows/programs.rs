//! What other programs are called, and where they keep their things.

/// Programs that open an address in the person's browser, with what comes before the address; the first that can does it.
pub const BROWSERS: &[(&str, &[&str])] = &[("rundll32.exe", &["url.dll,FileProtocolHandler"])];

/// The folder below the home in which programs keep their settings.
pub const SETTINGS_FOLDER: &str = "AppData/Roaming";

/// The command that ends a process which does not listen.
pub const END_BY_FORCE: &str = "taskkill /F /PID";

/// The command that takes the write protection off a file.
pub const UNPROTECT: &str = "attrib -r";

/// The variable that names the person's own folder.
pub const HOME_VARIABLE: &str = "USERPROFILE";

/// The command that gives a folder with everything in it back to its owner.
pub const TAKE_OVER: &str = r#"icacls /reset /T"#;
