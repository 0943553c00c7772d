//! Normalizes the URL of a remote to a name that is the same for every clone.
//!
//! `git@github.com:Acme/App.git` and `https://token@github.com/acme/app/` both become `github.com/acme/app`. Pure
//! functions without file or network access; host aliases of `~/.ssh/config` are not resolved.

use std::path::Path;

use backstory_model::has_drive;

use super::files;

/// Hosts whose repository paths are case-insensitive.
const CASELESS_HOSTS: [&str; 5] = [
    "bitbucket.org",
    "codeberg.org",
    "dev.azure.com",
    "github.com",
    "gitlab.com",
];

/// Aliases of hosts, which offer SSH on the HTTPS port or lead to the same site.
const HOST_ALIASES: [(&str, &str); 6] = [
    ("altssh.bitbucket.org", "bitbucket.org"),
    ("altssh.gitlab.com", "gitlab.com"),
    ("ssh.dev.azure.com", AZURE),
    ("ssh.github.com", "github.com"),
    ("vs-ssh.visualstudio.com", AZURE),
    ("www.github.com", "github.com"),
];

const AZURE: &str = "dev.azure.com";
const AZURE_OLD: &str = ".visualstudio.com";

/// Normalizes the URL of a remote: `host[:port]/path` for a remote on a host, `file:/path` for a local one.
///
/// Drops credentials, query, fragment and default ports. A local path is made absolute against `base` and keeps its
/// `.git`, since `x` and `x.git` may both exist. Returns `None` if the URL names no repository, or only this one. The
/// result never starts with a slash, so it never equals the path of another project.
pub fn normalize_remote(url: &str, base: &Path) -> Option<String> {
    let url = without_helpers(url.trim())?;
    if url.is_empty() || url.contains(char::is_control) {
        return None;
    }
    if let Some(path) = file_url_path(url) {
        return local(path, base);
    }
    if has_drive(url) || url.starts_with(r"\\") {
        return local(url, base);
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let is_scheme = !scheme.is_empty()
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        return if is_scheme {
            hosted(&rest[..end], default_port(scheme), &rest[end..])
        } else {
            None
        };
    }
    match scp_like(url) {
        Some((authority, path)) => hosted(&authority, default_port("ssh"), path),
        // Two leading slashes name another machine only in a `file:` URL.
        None if url.starts_with('/') => {
            local(&url[url.len() - url.trim_start_matches('/').len() - 1..], base)
        }
        None => local(url, base),
    }
}

/// Strips leading `helper::`. Returns `None` if a command or name rather than a URL follows.
fn without_helpers(url: &str) -> Option<&str> {
    let mut rest = url;
    while let Some((helper, address)) = rest.split_once("::") {
        if helper.is_empty() || !helper.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            break;
        }
        rest = address;
    }
    (rest.len() == url.len() || rest.contains("://")).then_some(rest)
}

fn default_port(scheme: &str) -> Option<u16> {
    let scheme = scheme.to_ascii_lowercase();
    match scheme
        .strip_prefix("git+")
        .or(scheme.strip_suffix("+git"))
        .unwrap_or(&scheme)
    {
        "ssh" => Some(22),
        "https" => Some(443),
        "http" => Some(80),
        "git" => Some(9418),
        _ => None,
    }
}

/// Splits `user@host:path` as git does: a colon before any slash. Brackets may hold `host:port` or an IPv6 address.
fn scp_like(url: &str) -> Option<(String, &str)> {
    let bracket = url
        .find('[')
        .filter(|&at| at == 0 || url[..at].ends_with('@') && !url[..at].contains(['/', ':']));
    if let Some(open) = bracket
        && let Some(length) = url[open..].find("]:")
    {
        let inner = &url[open + 1..open + length];
        let is_address = inner.matches(':').count() > 1;
        let authority = if is_address {
            format!("[{inner}]")
        } else {
            inner.to_owned()
        };
        return Some((authority, &url[open + length + 2..]));
    }
    let (authority, path) = url.split_once(':')?;
    (!authority.contains('/')).then(|| (authority.to_owned(), path))
}

fn hosted(authority: &str, default_port: Option<u16>, path: &str) -> Option<String> {
    // A path with an @ is most likely the rest of a password that contains a slash.
    if path.contains('@') {
        return None;
    }
    let (given, port) = host_and_port(authority)?;
    let (host, organization) = real_host(&given);
    let port = port.filter(|port| Some(*port) != default_port && host == given);
    let mut path = path.split(['?', '#']).next().unwrap_or_default().to_owned();
    if CASELESS_HOSTS.contains(&host) {
        path.make_ascii_lowercase();
    }

    let mut segments = segments_of(&path);
    strip_git(&mut segments);
    if segments.is_empty() || segments.iter().any(|segment| segment.trim() != *segment) {
        return None;
    }
    if host == AZURE {
        tidy_azure(&mut segments, organization);
    }
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{host}{port}/{}", segments.join("/")))
}

/// Resolves a host alias, and returns the organization in the name of an old Azure host.
fn real_host(given: &str) -> (&str, Option<&str>) {
    if let Some((_, real)) = HOST_ALIASES.iter().find(|(alias, _)| *alias == given) {
        return (real, None);
    }
    match given.strip_suffix(AZURE_OLD) {
        Some(organization) if !organization.is_empty() && !organization.contains('.') => {
            (AZURE, Some(organization))
        }
        _ => (given, None),
    }
}

fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let authority = authority.rsplit('@').next()?;
    let (host, port) = match authority.find(']') {
        Some(close) if authority.starts_with('[') => {
            let rest = &authority[close + 1..];
            (
                &authority[..=close],
                if rest.is_empty() {
                    ""
                } else {
                    rest.strip_prefix(':')?
                },
            )
        }
        _ => authority.rsplit_once(':').unwrap_or((authority, "")),
    };
    let port = if port.is_empty() {
        None
    } else {
        Some(port.parse().ok()?)
    };
    let is_host = match host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        Some(inner) => {
            !inner.is_empty()
                && inner
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b":.%-".contains(&b))
        }
        None => host.chars().all(|c| c.is_alphanumeric() || "-._~%".contains(c)),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (is_host && !host.is_empty()).then_some((host, port))
}

/// Returns the segments of a path without `.`, `..` and empty ones.
fn segments_of(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    segments
}

/// Drops one `.git` at the end, whether a suffix or a folder, as servers do.
fn strip_git(segments: &mut Vec<&str>) {
    let Some(last) = segments.pop() else { return };
    match last.strip_suffix(".git") {
        Some("") => {}
        Some("." | "..") | None => segments.push(last),
        Some(stem) => segments.push(stem),
    }
}

/// Rewrites all forms of Azure paths to that of its web pages: `organization/project/_git/repository`.
fn tidy_azure<'a>(segments: &mut Vec<&'a str>, organization: Option<&'a str>) {
    if let Some(organization) = organization {
        if segments[0] == "defaultcollection" {
            segments.remove(0);
        }
        segments.insert(0, organization);
    }
    let tidy: Option<[&'a str; 4]> = match segments[..] {
        ["v3", organization, project, repository] => Some([organization, project, "_git", repository]),
        // The short form for a repository with the name of its project.
        [organization, "_git", repository] => Some([organization, repository, "_git", repository]),
        _ => None,
    };
    if let Some(tidy) = tidy {
        segments.clear();
        segments.extend(tidy);
    }
}

/// Returns the path of a `file:` URL, including the form that this module returns.
fn file_url_path(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    if has_drive(rest) {
        return Some(rest);
    }
    let Some(after) = rest.strip_prefix("//") else {
        return rest.starts_with('/').then_some(rest);
    };
    let (host, _) = after.split_once('/').unwrap_or((after, ""));
    let path = &after[host.len()..];
    match path.strip_prefix('/') {
        Some(drive) if has_drive(drive) => Some(drive),
        _ if host.is_empty() || host.eq_ignore_ascii_case("localhost") => Some(path),
        // On another machine: the two slashes are kept to mark it.
        _ => Some(rest),
    }
}

fn local(path: &str, base: &Path) -> Option<String> {
    let (start, path) = if has_drive(path) {
        (
            format!("{}:/", path[..1].to_ascii_uppercase()),
            path[2..].replace('\\', "/"),
        )
    } else if path.starts_with(r"\\") || path.starts_with("//") {
        let path = path.replace('\\', "/");
        // `//user:password@server/share`
        let after = path.trim_start_matches('/');
        let host = after.split('/').next().unwrap_or_default();
        let share = after[host.len()..].to_owned();
        (format!("//{}/", host_and_port(host)?.0), share)
    } else {
        let absolute = files::lexical(&base.join(path));
        if absolute == base || absolute == base.join(".git") {
            return None;
        }
        let absolute = files::text(&absolute);
        if has_drive(&absolute) {
            return local(&absolute, base);
        }
        ("/".to_owned(), absolute)
    };
    let mut segments = segments_of(&path);
    // `x` and `x/.git` are one repository, `x` and `x.git` are not.
    segments.pop_if(|last| *last == ".git");
    (!segments.is_empty()).then(|| format!("file:{start}{}", segments.join("/")))
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
