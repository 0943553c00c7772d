//! Tests for remote names: a table of URL forms found in practice, and properties for any URL.

use std::path::Path;

#[cfg(unix)]
use proptest::prelude::*;

use super::normalize_remote;

fn normalize(url: &str) -> Option<String> {
    normalize_remote(url, Path::new("/w/app"))
}

/// Names, each followed by the URLs that normalize to it.
const HOSTED: &str = r"
github.com/acme/app
    git@github.com:Acme/App.git
    https://tok:x@github.com/acme/app/
    ssh://git@github.com:22/acme/app.git
    https://github.com/acme/app
    http://github.com:80/acme/app.git/
    https://GitHub.com:443//acme///app.git
    https://x-access-token:gh_s@cret@github.com/acme/app
    git://github.com:9418/acme/app.git
    git+ssh://git@github.com/acme/app.git
    ssh+git://git@github.com/acme/app.git
    git+https://github.com/acme/app.git
    HTTPS://github.com/acme/app
    github.com:acme/app
    github.com:/acme/app
    ssh://git@ssh.github.com:443/acme/app.git
    ssh.github.com:acme/app
    https://www.github.com/acme/app
    https://github.com./acme/app
    https://github.com/acme/app?token=x#y
    https://github.com/acme/./b/../app.GIT
    https://github.com/acme/app/.git
    hg::https://github.com/acme/app
gitlab.com/a/b/c
    git@gitlab.com:a/B/c.git
    ssh://git@altssh.gitlab.com:443/a/b/c
bitbucket.org/a/b
    https://user@bitbucket.org/A/b.git
    ssh://git@altssh.bitbucket.org:443/a/b
git.corp.example/Team/App
    git@GIT.corp.example:Team/App.git
    https://git.corp.example/Team/App
git.corp.example:2222/Team/App
    ssh://git@git.corp.example:2222/Team/App.git
    [git@git.corp.example:2222]:Team/App
host:443/x
    ssh://host:443/x
host:22/x
    https://host:022/x
host/22/x
    host:22/x
host/~me/x
    host:~me/x.git
    ssh://host/~me/x
host/a%20b/C
    https://host/a%20b/C
[::1]/x
    ssh://[::1]:22/x.git
    [::1]:x
    git@[::1]:x
[fe80::1]:99/x
    ssh://git@[FE80::1]:99/x
dev.azure.com/org/proj/_git/repo
    git@ssh.dev.azure.com:v3/org/proj/repo
    https://dev.azure.com/org/proj/_git/repo
    https://org@dev.azure.com/Org/Proj/_git/Repo
    https://org.visualstudio.com/proj/_git/repo
    https://org.visualstudio.com/DefaultCollection/proj/_git/repo
    org@vs-ssh.visualstudio.com:v3/org/proj/repo
dev.azure.com/org/app/_git/app
    https://dev.azure.com/org/_git/app
    git@ssh.dev.azure.com:v3/org/app/app
";

#[cfg(unix)]
const LOCAL: &str = r"
file:/srv/git/x.git
    /srv/git/x.git
    file:///srv/git/x.git/
    file://localhost/srv/git/x.git
    //srv//git/./x.git
file:/srv/git/x
    /srv/git/x
    /srv/git/x/.git
    /srv/git/x/.git/
file:/w/up.git
    ../up.git
    ./../up.git
file:/w/app/sub/up
    sub/up
file:/srv/a#b?c
    /srv/a#b?c
file:/srv/a:b
    /srv/a:b
file:/w/app/a/b:c
    a/b:c
file:C:/x/y
    C:\x\y
    c:/x/y
    file:///C:/x/y
    file:///c:/x//y/
file://server/share/x
    \\server\share\x
    file://me:pw@Server/share/x
";

fn check(table: &str) {
    let mut wanted = "";
    for line in table.trim().lines() {
        match line.strip_prefix("    ") {
            Some(url) => assert_eq!(normalize(url).as_deref(), Some(wanted), "{url}"),
            None => wanted = line,
        }
    }
}

#[test]
fn all_forms_of_a_url_have_one_name() {
    check(HOSTED);
    assert_eq!(
        normalize("  https://github.com/acme/app\t").as_deref(),
        Some("github.com/acme/app")
    );
}

#[test]
#[cfg(unix)]
fn a_local_path_is_marked_as_file() {
    check(LOCAL);
    assert_eq!(normalize("/srv/a /b").as_deref(), Some("file:/srv/a /b"));
}

#[test]
#[cfg(unix)]
fn a_url_of_no_other_repository_is_rejected() {
    for url in [
        "",
        " ",
        "https://",
        "https:///x",
        "https://github.com",
        "https://github.com/",
        "https://github.com/.git",
        "git@github.com:",
        ":x",
        "git@:x",
        "https://host:port/x",
        "https://host:99999/x",
        "https://ho st/x",
        "https://user:pa/ss@host/x",
        "https://user:1/ss@host/x",
        "https://tok?en@host/x",
        "user:secret@host:x",
        "https://tok/a?b@host/x",
        "ext::sh -c secret %S",
        "codecommit::eu-west-1://repo",
        "codecommit::repo",
        "a\nb",
        "a\0b",
        "https://org.visualstudio.com/",
        "1 2://x/y",
        "://x/y",
        "https://host/x /y",
        "ssh://[::1/x",
        "ssh://[::1]x/y",
        ".",
        "./",
        ".git",
        "/w/app",
        "/w/app/.git",
        "/",
        "file:///",
        "C:\\",
    ] {
        assert_eq!(normalize(url), None, "{url:?}");
    }
}

#[test]
#[cfg(windows)]
fn all_forms_of_a_windows_path_have_one_name() {
    let base = Path::new(r"C:\w\app");
    for url in [r"..\x.git", "../x.git", r"c:\w\x.git", "/w/x.git"] {
        assert_eq!(
            super::local(url, base).as_deref(),
            Some("file:C:/w/x.git"),
            "{url}"
        );
    }
    assert_eq!(super::local(".", base), None);
}

#[test]
fn many_helper_prefixes_are_stripped() {
    assert_eq!(normalize(&"a::".repeat(100_000)), None);
    assert_eq!(
        normalize(&format!("{}https://h/x", "a::".repeat(100_000))).as_deref(),
        Some("h/x")
    );
}

#[cfg(unix)]
fn any_url() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => r"[a-zA-Z0-9._~%-]{1,8}",
        2 => prop::sample::select(vec![
            "/", ":", "@", "//", "?", "#", "[", "]", "..", ".git", "\\", " ", "C:/", "file:", "https://", "ssh://", "git+ssh://",
            "git@", "github.com", "dev.azure.com", "visualstudio.com", "::", "443", "22", "v3", "_git",
        ])
        .prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

#[cfg(unix)]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_name_is_safe_and_normalizes_to_itself(url in any_url()) {
        let Some(name) = normalize(&url) else { return Ok(()) };
        prop_assert!(!name.starts_with('/'), "never a path: {name}");
        if name.starts_with("file:") {
            // Trailing blanks are trimmed from any value, and U+FFFD marks an escape.
            if name.trim_end() == name && !name.contains(char::REPLACEMENT_CHARACTER) && !name.ends_with("/.git") {
                prop_assert_eq!(normalize(&name), Some(name));
            }
            return Ok(());
        }
        prop_assert!(!name.contains(['@', '?', '#']), "{name}");
        prop_assert!(!name.contains("//") && !name.ends_with('/'), "{name}");
        // Only one `.git` is dropped, so a name that still has one would lose it when normalized again.
        if !name.ends_with(".git") {
            // For a scheme without a default port the name does not show the original port.
            prop_assert_eq!(normalize(&format!("any://{name}")), Some(name));
        }
    }

    #[test]
    fn credentials_never_survive(user in "[uvwyz]{4,8}", password in "[A-Z@:]{9,12}", scheme in "https?|ssh|git|file") {
        let name = normalize(&format!("{scheme}://{user}:{password}@h.example/Team/x.git")).unwrap();
        prop_assert!(name.ends_with("h.example/Team/x") || scheme == "file", "{name}");
        prop_assert!(!name.contains(&user) && !name.contains(&password), "{name}");
    }

    #[test]
    fn no_url_panics(url: String) {
        normalize(&url);
    }
}
