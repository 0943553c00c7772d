//! `backstory open`: the viewer, in the browser.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_engine::engine::Engine;
use backstory_engine::error::{HintContext as _, HintedError};
use backstory_engine::worker_process;
use backstory_serve::PAGES;
use serde_json::{Value, json};

use super::ExitStatus;
use crate::{output::DIM, process};

/// Open the viewer in the browser
///
/// Starts the worker if it does not run, and logs the browser in by a link that works once. The login lasts.
#[derive(clap::Args)]
pub(crate) struct Open {
    /// The page to open, such as search, sessions or context
    #[arg(default_value = "")]
    page: String,
    /// Print the link instead of opening it
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Open) -> Result<ExitStatus> {
    if !engine.checked_settings()?.worker.http {
        bail!(HintedError::new("the viewer is switched off").hint("backstory config set worker.http on"));
    }
    if !is_page(&arguments.page) {
        let error = HintedError::new(format_args!("the viewer has no page `{}`", arguments.page));
        bail!(error.hint(format_args!("it has {}", PAGES.join(", "))));
    }
    let url = link(engine, &arguments.page)?;
    if arguments.print {
        println!("{url}");
        return Ok(ExitStatus::Done);
    }
    match process::open_in_browser(&url) {
        true => println!("Opened the viewer in your browser. {DIM}It is logged in from now on.{DIM:#}"),
        false => {
            println!("{url}");
            anstream::eprintln!(
                "{DIM}No browser could be opened: follow the link. It works once, for two minutes.{DIM:#}"
            );
        }
    }
    Ok(ExitStatus::Done)
}

/// Says whether the viewer has a page, or a page of that kind: which sessions and memories there are, it says itself.
fn is_page(page: &str) -> bool {
    let path = page
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .trim_matches('/');
    let is_one_of = |kind: &str| path.split_once('/').is_some_and(|(start, _)| start == kind);
    path.is_empty()
        || PAGES
            .iter()
            .any(|known| *known == path || known.split_once('/').is_some_and(|(kind, _)| is_one_of(kind)))
}

/// Returns a link that logs a browser in once; starts the worker if it does not run.
pub(crate) fn link(engine: &Engine, page: &str) -> Result<String> {
    if !worker_process::is_running(&engine.home) {
        engine.home.create()?;
        worker_process::start_and_wait(engine)
            .hint_context("could not start the worker", "`backstory worker run` shows why")?;
    }
    let bind = engine.checked_settings()?.http.bind;
    let mut answer = None;
    // A worker that just started opens its door in a moment.
    for _ in 0..200 {
        // Only the port of the worker that lives: another program must not be told the token.
        let port = worker_process::worker_info(&engine.home)
            .and_then(|facts| facts["port"].as_u64()?.try_into().ok());
        if let Some(port) = port {
            answer = Some(ask(engine, SocketAddr::new(bind, port), page)?);
            break;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    let failed = |message: &str| {
        HintedError::new(message).hint("`backstory worker restart`, then look into logs/worker.log")
    };
    let answer = answer.ok_or_else(|| failed("the worker cannot be reached"))?;
    let url = answer["url"].as_str();
    let url = url.ok_or_else(|| failed("the worker cannot create a login link: is it another version?"))?;
    Ok(url.to_owned())
}

fn ask(engine: &Engine, address: SocketAddr, page: &str) -> Result<Value> {
    let token = fs::read_to_string(engine.home.token()).context("could not read the worker's token")?;
    let body = json!({"page": page}).to_string();
    let (token, length) = (token.trim(), body.len());
    let mut stream = TcpStream::connect(address).context("the worker cannot be reached")?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "POST /api/login-link HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
        Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .context("the worker did not answer")?;
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(serde_json::from_str(body).unwrap_or_default())
}
