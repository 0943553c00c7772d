//! What other programs are called, and where they keep their things.

/// Programs that open an address in the person's browser, with what comes before the address; the first that can does it.
pub const BROWSERS: &[(&str, &[&str])] = &[("rundll32.exe", &["url.dll,FileProtocolHandler"])];

/// The folder below the home in which programs keep their settings.
pub const SETTINGS_FOLDER: &str = "AppData/Roaming";
