//! Replaces the home folders in a text: they name the user.

use std::borrow::Cow;

/// Folders whose next name is a user's.
const PARENTS: [&str; 3] = ["/home/", "/Users/", "\\Users\\"];

/// Replaces home folders by `~`: `/home/ana/src` becomes `~/src`. `home` is that of this user, wherever it is.
pub(crate) fn without_personal_paths<'t>(text: &'t str, home: Option<&str>) -> Cow<'t, str> {
    let mut out = Cow::Borrowed(text);
    // The root folder is the home of some service users; replacing every slash would destroy the text.
    if let Some(home) = home.filter(|home| home.len() > 1 && out.contains(*home)) {
        out = Cow::Owned(out.replace(home, "~"));
    }
    for parent in PARENTS {
        if out.contains(parent) {
            out = Cow::Owned(replace_below(&out, parent));
        }
    }
    out
}

fn replace_below(text: &str, parent: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(parent) {
        let (before, after) = rest.split_at(at);
        let after = &after[parent.len()..];
        let end = after
            .find(|letter: char| !(letter.is_alphanumeric() || "._-".contains(letter)))
            .unwrap_or(after.len());
        // A drive belongs to the path.
        let before = match before.as_bytes() {
            [.., drive, b':'] if parent.starts_with('\\') && drive.is_ascii_alphabetic() => {
                &before[..before.len() - 2]
            }
            _ => before,
        };
        out.push_str(before);
        out.push_str(if end == 0 { parent } else { "~" });
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_folders_become_a_tilde() {
        for (text, expected) in [
            ("see /home/ana/src/a.rs:3", "see ~/src/a.rs:3"),
            ("in /Users/ana.b-c/x and /home/ben", "in ~/x and ~"),
            (r"at C:\Users\Ana\x", r"at ~\x"),
            ("/home/ and /srv/app stay", "/home/ and /srv/app stay"),
            ("/data/people/ana/x", "~/x"),
        ] {
            assert_eq!(without_personal_paths(text, Some("/data/people/ana")), expected);
        }
        assert_eq!(without_personal_paths("a/b", Some("/")), "a/b");
    }
}
