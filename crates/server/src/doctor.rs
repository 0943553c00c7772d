//! Checks of the configuration and the database, for operators.

use anyhow::Result;

use crate::{config::Config, database::Databases, schema, sql};

/// Hours after which a deleted record must be out of the data files.
const PURGE_HOURS: f64 = 24.0;

/// The result of all checks.
pub(crate) struct Report {
    pub(crate) text: String,
    pub(crate) is_good: bool,
}

impl Report {
    fn add(&mut self, name: &str, value: &str, is_good: bool, hint: &str) {
        let mark = if is_good { "ok  " } else { "FAIL" };
        self.text.push_str(&format!("{mark}  {name}: {value}\n"));
        if !is_good {
            self.is_good = false;
            self.text.push_str(&format!("      hint: {hint}\n"));
        }
    }
}

/// Runs all checks.
pub(crate) async fn check(config: &Config, databases: &Databases) -> Result<Report> {
    let mut report = Report {
        text: String::new(),
        is_good: true,
    };
    transport(config, &mut report);
    let client = match databases.primary().await {
        Ok(client) => client,
        Err(error) => {
            let hint = "check BACKSTORY_SERVER_DATABASE_URL, and whether PostgreSQL is running";
            report.add("database", &crate::problem::chain(&error), false, hint);
            return Ok(report);
        }
    };
    let version = schema::current(&client).await?;
    let is_current = version == schema::version();
    let value = format!("{version}, this program needs {}", schema::version());
    report.add("schema", &value, is_current, "run `backstory-server migrate`");
    if !is_current {
        return Ok(report);
    }
    for check in sql::maintenance::checks(&client).await? {
        report.add(check.name, &check.value, check.is_good, check.hint);
    }
    let queue = sql::maintenance::purge_queue(&client).await?;
    let oldest = queue.first().map_or(0.0, |oldest| oldest.hours);
    let value = match queue.len() {
        0 => "nothing to erase".to_owned(),
        count => format!("{count} partitions with bytes of deleted records, the oldest for {oldest:.0} h"),
    };
    report.add(
        "purge",
        &value,
        oldest <= PURGE_HOURS,
        "run `backstory-server purge`; see its log for large partitions",
    );
    if databases.has_replica() {
        replica(databases, &mut report).await?;
    }
    Ok(report)
}

fn transport(config: &Config, report: &mut Report) {
    let how = match (&config.tls, config.behind_proxy) {
        (Some(_), _) => "TLS",
        (None, true) => "behind a proxy that terminates TLS",
        (None, false) => "plain http, this machine only",
    };
    let value = format!("{}, {how}", config.listen);
    report.add(
        "address",
        &value,
        config.check_transport().is_ok(),
        "set a certificate, or BACKSTORY_SERVER_BEHIND_PROXY=1 behind a proxy with TLS",
    );
    let url = config.url();
    let is_reachable = url.starts_with("https://") || config.listen.ip().is_loopback();
    report.add(
        "URL for invitations",
        &url,
        is_reachable,
        "set BACKSTORY_SERVER_PUBLIC_URL to an https URL",
    );
}

async fn replica(databases: &Databases, report: &mut Report) -> Result<()> {
    const LONGEST_DELAY: f64 = 60.0;
    let client = databases.reader().await?;
    let hint = "requests go to the primary while a replica is behind";
    match sql::maintenance::replica_delay(&client).await? {
        Some(delay) => report.add(
            "replica",
            &format!("{delay:.0} s behind"),
            delay < LONGEST_DELAY,
            hint,
        ),
        None => report.add(
            "replica",
            "does not answer, or is no replica",
            false,
            "check BACKSTORY_SERVER_READ_DATABASE_URL",
        ),
    }
    Ok(())
}
