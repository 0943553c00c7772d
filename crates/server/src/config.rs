//! Configuration from environment variables named `BACKSTORY_SERVER_…`.
//!
//! The only place that reads the environment. Checks each value when the program starts, so that a typo is an error and
//! never a silent default.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use anyhow::{Context as _, Result, bail};

/// Prefix of all variables.
const PREFIX: &str = "BACKSTORY_SERVER_";

/// Variables, without their prefix, and their meaning; shown by `--help`.
const VARIABLES: [(&str, &str); 12] = [
    ("DATABASE_URL", "the PostgreSQL database, required"),
    (
        "READ_DATABASE_URL",
        "a read replica for pull, snapshot and search",
    ),
    (
        "DATABASE_CA",
        "certificate authority of the database, a PEM file [default: public ones]",
    ),
    ("CONNECTIONS", "connections to each database [default: 16]"),
    ("LISTEN", "address [default: 127.0.0.1:7373]"),
    (
        "PUBLIC_URL",
        "URL under which clients reach this server, printed in invitations",
    ),
    ("TLS_CERTIFICATE", "PEM file with the certificate chain"),
    ("TLS_KEY", "PEM file with its private key"),
    (
        "BEHIND_PROXY",
        "1: a proxy terminates TLS and sets X-Forwarded-Proto",
    ),
    ("METRICS_LISTEN", "address of /metrics [default: not served]"),
    (
        "REQUESTS_PER_SECOND",
        "limit for each device, in the long run [default: 50]",
    ),
    (
        "PURGE_HOUR",
        "hour of the nightly purge, UTC, or `never` [default: 3]",
    ),
];

/// Settings of the server.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) database_url: String,
    pub(crate) read_database_url: Option<String>,
    pub(crate) database_ca: Option<PathBuf>,
    pub(crate) connections: usize,
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: Option<String>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) behind_proxy: bool,
    pub(crate) metrics_listen: Option<SocketAddr>,
    pub(crate) requests_per_second: u32,
    /// None: only `backstory-server purge` rewrites partitions.
    pub(crate) purge_hour: Option<u8>,
}

/// Files of a certificate.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Config {
    /// Reads the environment of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment of the server is read here only"
    )]
    pub(crate) fn from_environment() -> Result<Self> {
        let unknown = std::env::vars_os()
            .filter_map(|(name, _)| Some(name.to_str()?.strip_prefix(PREFIX)?.to_owned()))
            .find(|name| VARIABLES.iter().all(|(known, _)| known != name));
        if let Some(name) = unknown {
            bail!("unknown variable {PREFIX}{name}\nhint: `backstory-server --help` lists all variables");
        }
        Self::read(|name| std::env::var(format!("{PREFIX}{name}")).ok())
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let database_url = variable("DATABASE_URL").context(
            "BACKSTORY_SERVER_DATABASE_URL is not set\nhint: BACKSTORY_SERVER_DATABASE_URL=postgresql://user:password@host/database",
        )?;
        let tls = match (variable("TLS_CERTIFICATE"), variable("TLS_KEY")) {
            (Some(certificate), Some(key)) => Some(TlsFiles {
                certificate: certificate.into(),
                key: key.into(),
            }),
            (None, None) => None,
            _ => bail!("BACKSTORY_SERVER_TLS_CERTIFICATE and BACKSTORY_SERVER_TLS_KEY must be set together"),
        };
        let config = Self {
            database_url,
            read_database_url: variable("READ_DATABASE_URL"),
            database_ca: variable("DATABASE_CA").map(Into::into),
            connections: parsed("CONNECTIONS", variable("CONNECTIONS"))?.unwrap_or(16),
            listen: parsed("LISTEN", variable("LISTEN"))?.unwrap_or(([127, 0, 0, 1], 7373).into()),
            public_url: variable("PUBLIC_URL").map(|url| url.trim_end_matches('/').to_owned()),
            tls,
            behind_proxy: switch("BEHIND_PROXY", variable("BEHIND_PROXY").as_deref())?,
            metrics_listen: parsed("METRICS_LISTEN", variable("METRICS_LISTEN"))?,
            requests_per_second: parsed("REQUESTS_PER_SECOND", variable("REQUESTS_PER_SECOND"))?
                .unwrap_or(50),
            purge_hour: match variable("PURGE_HOUR").as_deref() {
                Some("never") => None,
                hour => Some(parsed("PURGE_HOUR", hour.map(ToOwned::to_owned))?.unwrap_or(3)),
            },
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        if self.connections == 0 || self.requests_per_second == 0 {
            bail!("BACKSTORY_SERVER_CONNECTIONS and BACKSTORY_SERVER_REQUESTS_PER_SECOND must be at least 1");
        }
        if self.purge_hour.is_some_and(|hour| hour > 23) {
            bail!("BACKSTORY_SERVER_PURGE_HOUR must be 0 to 23, or `never`");
        }
        if self.tls.is_some() && self.behind_proxy {
            bail!("set either a certificate or BACKSTORY_SERVER_BEHIND_PROXY, not both");
        }
        Ok(())
    }

    /// Returns an error if tokens and memories would cross a network unencrypted.
    pub(crate) fn check_transport(&self) -> Result<()> {
        if self.listen.ip().is_loopback() || self.tls.is_some() || self.behind_proxy {
            return Ok(());
        }
        bail!(
            "refusing to serve plain http on {}, which other machines can reach\nhint: set BACKSTORY_SERVER_TLS_CERTIFICATE and BACKSTORY_SERVER_TLS_KEY, or BACKSTORY_SERVER_BEHIND_PROXY=1 if a proxy terminates TLS",
            self.listen
        );
    }

    /// Returns the URL for invitations: the public one, or the address on this machine.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.public_url
            .clone()
            .unwrap_or_else(|| format!("{scheme}://{}", self.listen))
    }
}

/// Lists the variables for `--help`.
pub(crate) fn variables() -> String {
    let mut text = String::from("Environment:\n");
    for (name, meaning) in VARIABLES {
        text.push_str(&format!("  {PREFIX}{name:<20} {meaning}\n"));
    }
    text
}

fn parsed<T: FromStr>(name: &str, value: Option<String>) -> Result<Option<T>>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    value
        .map(|value| {
            value
                .parse()
                .with_context(|| format!("{PREFIX}{name} cannot be {value:?}"))
        })
        .transpose()
}

fn switch(name: &str, value: Option<&str>) -> Result<bool> {
    match value {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(value) => bail!("{PREFIX}{name} must be 0 or 1, not {value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config> {
        Config::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const DATABASE: (&str, &str) = ("DATABASE_URL", "postgresql:///backstory");

    #[test]
    fn only_the_database_is_required() {
        let config = read(&[DATABASE]).unwrap();
        assert_eq!(config.url(), "http://127.0.0.1:7373");
        assert_eq!(config.purge_hour, Some(3));
        assert!(config.check_transport().is_ok());
        assert!(read(&[]).is_err());
    }

    #[test]
    fn plain_http_is_refused_where_other_machines_can_reach_it() {
        let open = ("LISTEN", "0.0.0.0:80");
        let error = read(&[DATABASE, open]).unwrap().check_transport().unwrap_err();
        assert!(
            error.to_string().starts_with("refusing to serve plain http"),
            "{error}"
        );
        for allowed in [
            vec![DATABASE, open, ("BEHIND_PROXY", "1")],
            vec![DATABASE, open, ("TLS_CERTIFICATE", "a"), ("TLS_KEY", "b")],
            vec![DATABASE, ("LISTEN", "[::1]:80")],
        ] {
            assert!(read(&allowed).unwrap().check_transport().is_ok(), "{allowed:?}");
        }
    }

    #[test]
    fn a_wrong_value_is_an_error() {
        for wrong in [
            ("LISTEN", "localhost"),
            ("CONNECTIONS", "0"),
            ("REQUESTS_PER_SECOND", "many"),
            ("PURGE_HOUR", "24"),
            ("BEHIND_PROXY", "perhaps"),
            ("TLS_KEY", "alone"),
        ] {
            assert!(read(&[DATABASE, wrong]).is_err(), "{wrong:?}");
        }
        assert_eq!(
            read(&[DATABASE, ("PURGE_HOUR", "never")]).unwrap().purge_hour,
            None
        );
    }
}
