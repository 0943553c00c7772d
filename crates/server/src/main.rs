//! `backstory-server`: the team server, in front of PostgreSQL.
//!
//! Stores one row per shared memory in its current state, and one sequence of changes per project. Clients push what people
//! chose to share and pull changes by cursor. The program keeps no state of its own: several may run on one database. Bodies
//! of records are opaque signed bytes; only index columns are derived from them.

mod access;
mod admin;
mod app;
mod cli;
mod config;
mod database;
mod devices;
mod doctor;
mod feedback;
mod forget;
mod heads;
mod index;
mod listen;
mod log;
mod metrics;
mod problem;
mod projects;
mod pull;
mod purge;
mod push;
mod rate_limit;
mod routes;
mod schema;
mod search;
mod secret_code;
mod sql;

use std::{io::Write as _, process::ExitCode, sync::Arc};

use anyhow::{Context as _, Result};
use clap::Parser as _;
use tokio::sync::watch;

use crate::{
    app::App,
    cli::{Cli, Command},
    config::Config,
    database::Databases,
    listen::Listener,
    log::log,
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("could not start")
        .and_then(|runtime| runtime.block_on(run(cli.command)));
    match result {
        Ok(code) => code,
        Err(error) => {
            log(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<ExitCode> {
    let config = Config::from_environment()?;
    let databases = Databases::new(&config)?;
    if let Command::Serve = command {
        serve(&config, databases).await?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Command::Doctor = command {
        let report = doctor::check(&config, &databases).await?;
        print(&report.text)?;
        return Ok(ExitCode::from(u8::from(!report.is_good)));
    }
    let mut client = databases
        .primary()
        .await
        .context("could not connect to the database")?;
    if !matches!(command, Command::Migrate) {
        schema::check(&client).await?;
    }
    let text = match command {
        Command::Migrate => match schema::migrate(&mut client).await? {
            (before, after) if before == after => format!("Schema {after} is up to date.\n"),
            (before, after) => format!("Migrated the schema from {before} to {after}.\n"),
        },
        Command::Invite(invite) => admin::invite(&client, &config, &invite).await?,
        Command::Admin(command) => admin::run(&mut client, command).await?,
        Command::Purge => {
            drop(client);
            let purged = purge::purge(&databases).await?;
            format!(
                "Rewrote {} partitions, left {}; dropped {} old tombstones.\n",
                purged.rewritten.len(),
                purged.left.len(),
                purged.tombstones
            )
        }
        Command::RotateEpoch => {
            let projects = sql::maintenance::rotate_epochs(&client).await?;
            sql::audit::record(&client, None, None, "rotate epoch", None).await?;
            format!(
                "Rotated the epochs of {projects} projects: clients start over and send their own records again.\n"
            )
        }
        Command::Serve | Command::Doctor => String::new(),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Serves until the process is told to stop.
async fn serve(config: &Config, databases: Databases) -> Result<()> {
    config.check_transport()?;
    wait_for_schema(&databases).await?;
    let (end, is_ending) = watch::channel(false);
    let app = Arc::new(App::new(config, databases, is_ending));
    let listener = Listener::bind(config.listen, config.tls.as_ref()).await?;
    let ending = |mut end: watch::Receiver<bool>| async move {
        // Fails if the sender is gone, which is an end as well.
        end.wait_for(|is_ending| *is_ending).await.ok();
    };
    if let Some(address) = config.metrics_listen {
        let metrics = Listener::bind(address, None).await?;
        print(&format!("metrics on {}\n", metrics.url()?))?;
        tokio::spawn(metrics.serve(routes::metrics_routes(&app), ending(app.is_ending.clone())));
    }
    let following = Arc::clone(&app);
    tokio::spawn(async move { heads::follow(&following.heads, &following.databases).await });
    if let Some(hour) = config.purge_hour {
        let purging = Arc::clone(&app);
        tokio::spawn(async move { purge::purge_nightly(&purging, hour).await });
    }
    tokio::spawn(async move {
        shutdown_signal().await;
        log(format_args!("stopping"));
        end.send(true).ok();
    });
    print(&format!(
        "backstory-server {} listens on {}\n",
        env!("CARGO_PKG_VERSION"),
        listener.url()?
    ))?;
    listener
        .serve(routes::routes(&app), ending(app.is_ending.clone()))
        .await;
    Ok(())
}

/// Checks the schema. While the database cannot be reached the server starts nevertheless, and answers 503.
async fn wait_for_schema(databases: &Databases) -> Result<()> {
    match databases.primary().await {
        Ok(client) => schema::check(&client).await,
        Err(error) => {
            log(format_args!("database: {}", problem::chain(&error)));
            Ok(())
        }
    }
}

async fn shutdown_signal() {
    let interrupt = tokio::signal::ctrl_c();
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(terminate) => terminate,
        Err(error) => {
            log(format_args!("could not watch for SIGTERM: {error}"));
            interrupt.await.ok();
            return;
        }
    };
    tokio::select! {
        _ = interrupt => {}
        _ = terminate.recv() => {}
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
