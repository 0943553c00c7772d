//! Environment variables of the process, or a fixed set of them in tests.
//!
//! The only place that reads the environment. The binary creates [`Environment::process`] and passes it on. Variables are
//! read one by one when they are needed: copying all of them would cost a hook more than the rest of its work.
//!
//! | variable | meaning |
//! |---|---|
//! | `BACKSTORY_HOME` | folder for all data; `~/.backstory` when unset |
//! | `BACKSTORY_DISABLED` | `1`: hooks record nothing |
//! | `BACKSTORY_INTERNAL` | `1`: hooks do nothing at all; set for the worker's own model calls |
//! | `BACKSTORY_DEBUG` | `1`: hooks report their outcome on stderr |
//! | `BACKSTORY_NO_WORKER` | `1`: hooks and commands do not start the worker |
//! | `BACKSTORY_<SECTION>_<KEY>` | overrides a setting, except in a background worker: see `backstory config list` |

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use backstory_system::{HOME_VARIABLE, program_names};

/// Source of environment variables.
#[derive(Clone, Debug)]
pub struct Environment(Source);

#[derive(Clone, Debug)]
enum Source {
    Process,
    Fixed(Arc<BTreeMap<String, String>>),
}

/// Variables by which the installed `claude` finds its account and its network.
pub const FOR_CLAUDE: [&str; 15] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_GIT_BASH_PATH",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_BEARER_TOKEN_BEDROCK",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLOUD_ML_REGION",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];

impl Environment {
    /// Returns the environment of this process.
    pub fn process() -> Self {
        Self(Source::Process)
    }

    /// Returns an environment with only these variables.
    pub fn fixed<'v>(variables: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self(Source::Fixed(Arc::new(
            variables.into_iter().map(owned).collect(),
        )))
    }

    /// Returns true if a switch is on: set, and not empty, `0`, `false`, `no` or `off`.
    pub fn is_on(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| {
            !["", "0", "false", "no", "off"]
                .iter()
                .any(|off| value.eq_ignore_ascii_case(off))
        })
    }

    /// Returns the folder for all data, if the environment determines one.
    pub fn backstory_home(&self) -> Option<PathBuf> {
        match self.variable("BACKSTORY_HOME").filter(|path| !path.is_empty()) {
            Some(path) => std::path::absolute(path).ok(),
            None => self.user_home().map(|home| home.join(".backstory")),
        }
    }

    /// Returns true if a folder other than the default is set.
    pub fn has_other_home(&self) -> bool {
        self.backstory_home() != self.user_home().map(|home| home.join(".backstory"))
    }

    /// Returns the user's home folder.
    pub fn user_home(&self) -> Option<PathBuf> {
        let home = match &self.0 {
            Source::Process => std::env::home_dir(),
            Source::Fixed(variables) => variables.get(HOME_VARIABLE).map(PathBuf::from),
        };
        home.filter(|home| home.is_absolute())
    }

    /// Returns the folder named by a variable of another program.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        let path = self.variable(name).filter(|path| !path.is_empty())?;
        std::path::absolute(path).ok()
    }

    /// Returns the folders of the search path.
    pub fn search_path(&self) -> Vec<PathBuf> {
        let path = self.variable("PATH").unwrap_or_default();
        std::env::split_paths(&path).collect()
    }

    /// Returns the variables that override settings.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.all()
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("BACKSTORY_"))
            .collect()
    }

    /// Returns those of these variables that are set. A hook names the few it needs: copying all of them costs more than
    /// the rest of its work.
    pub fn variables(&self, names: impl IntoIterator<Item = String>) -> Vec<(String, String)> {
        let value = |name: String| self.text(&name).map(|value| (name, value));
        names.into_iter().filter_map(value).collect()
    }

    /// Returns a variable that is valid Unicode.
    pub fn text(&self, name: &str) -> Option<String> {
        self.variable(name)?.into_string().ok()
    }

    /// Returns the proxy for an address. A host on this machine, or one listed in `NO_PROXY`, is
    /// reached directly.
    pub fn proxy(&self, address: &str) -> Option<String> {
        let either = |name: &str| {
            self.text(name)
                .or_else(|| self.text(&name.to_lowercase()))
                .filter(|text| !text.is_empty())
        };
        let (scheme, rest) = address.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let is_direct = |name: &str| {
            let name = name.trim().trim_start_matches('.');
            name == "*" || host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
        };
        if ["localhost", "127.0.0.1", "[::1]"].contains(&host)
            || either("NO_PROXY").is_some_and(|names| names.split(',').any(is_direct))
        {
            return None;
        }
        let own = if scheme == "http" {
            "HTTP_PROXY"
        } else {
            "HTTPS_PROXY"
        };
        either(own).or_else(|| either("ALL_PROXY"))
    }

    /// Returns the folders that are searched for programs.
    pub fn program_folders(&self) -> Vec<PathBuf> {
        let path = self.variable("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        // Installation folder of `claude`, which may be missing in the PATH of a hook.
        let more = self
            .user_home()
            .map(|home| [home.join(".local/bin"), home.join(".claude/local")]);
        folders.extend(more.into_iter().flatten());
        // Never the current folder.
        folders.retain(|folder| folder.is_absolute());
        folders
    }

    /// Returns the part of the environment that the worker needs. The agent's own variables, and keys among them, are dropped,
    /// except for those in `more`. So are variables that override settings: the worker serves all projects, and the variables
    /// may come from the project in which it happens to be started.
    pub fn for_worker(&self, more: &[String]) -> Vec<(OsString, OsString)> {
        const KEPT: [&str; 21] = [
            "BACKSTORY_HOME",
            "HOME",
            "PATH",
            "USER",
            "LOGNAME",
            "LANG",
            "TZ",
            "TMPDIR",
            "SHELL",
            "RUST_BACKTRACE",
            // On Windows; without some of them not even loopback connections work.
            "APPDATA",
            "COMSPEC",
            "LOCALAPPDATA",
            "PATHEXT",
            "SYSTEMDRIVE",
            "SYSTEMROOT",
            "TEMP",
            "TMP",
            "USERNAME",
            "USERPROFILE",
            "WINDIR",
        ];
        const PREFIXES: [&str; 2] = ["LC_", "XDG_"];
        let is_kept = |name: &str| {
            // Windows spells some of them differently, such as `Path`.
            KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(name))
                || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || more.iter().any(|kept| kept == name)
        };
        self.all()
            .into_iter()
            .filter(|(name, _)| name.to_str().is_some_and(is_kept))
            .collect()
    }

    /// Returns true if a variable is set and not empty.
    pub fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }

    /// Finds a program on the search path.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = self.variable("PATH")?;
        std::env::split_paths(&folders)
            .filter(|folder| folder.is_absolute())
            .flat_map(|folder| program_names(name).map(move |name| folder.join(name)))
            .find(|path| path.is_file())
    }

    /// Returns the number of columns according to `COLUMNS`.
    pub fn columns(&self) -> Option<usize> {
        self.variable("COLUMNS")?.to_str()?.parse().ok()
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        match &self.0 {
            Source::Process =>
            {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "this is the only place that reads the environment"
                )]
                std::env::var_os(name)
            }
            Source::Fixed(variables) => variables.get(name).map(OsString::from),
        }
    }

    /// Returns all variables.
    fn all(&self) -> Vec<(OsString, OsString)> {
        match &self.0 {
            Source::Process => std::env::vars_os().collect(),
            Source::Fixed(variables) => variables
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }
}
