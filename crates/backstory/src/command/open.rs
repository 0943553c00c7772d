//! `backstory open`: opens the viewer in the browser.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_engine::atomic_file;
use backstory_engine::engine::Engine;
use backstory_engine::error::{HintContext as _, HintedError};
use backstory_engine::worker_process;
use backstory_serve::{BrowserLogins, PAGES};
use backstory_system::remove_file;
use serde_json::{Value, json};

use super::ExitStatus;
use crate::{
    output::{DIM, print_hint},
    process,
};

/// Open the viewer in the browser
///
/// Starts the worker if it is not running, and logs the browser in with a one-time link. The login lasts 30 days;
/// `backstory logins` lists and ends logins.
#[derive(clap::Args)]
pub(crate) struct Open {
    /// The page to open, such as search, sessions or context
    #[arg(default_value = "")]
    page: String,
    /// Print the link instead of opening it
    #[arg(long)]
    print: bool,
}

impl Open {
    /// Returns the arguments that open the first page in the browser.
    pub(crate) fn viewer() -> Self {
        Self::page(String::new())
    }

    /// Returns the arguments that open a page in the browser.
    pub(crate) fn page(page: String) -> Self {
        Self { page, print: false }
    }
}

pub(crate) fn run(engine: &Engine, arguments: &Open) -> Result<ExitStatus> {
    if !engine.checked_settings()?.worker.http {
        bail!(HintedError::new("the viewer is off").hint("backstory config set worker.http on"));
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
    // Other users see the arguments of every process, so the browser gets a file that only the owner can read.
    let page = engine.home.open_page();
    atomic_file::write_atomically(&page, redirect_to(&url).as_bytes())
        .with_context(|| format!("could not write {}", page.display()))?;
    let logins = BrowserLogins::at(engine.home.logins());
    let opened_at = engine.clock.timestamp();
    if !process::open_in_browser(&page) {
        remove_file(&page).ok();
        println!("{url}");
        anstream::eprintln!(
            "{DIM}Could not open a browser: follow the link. It works once, within two minutes.{DIM:#}"
        );
        return Ok(ExitStatus::Done);
    }
    let is_signed_in = || {
        let now = engine.clock.timestamp();
        logins
            .list(now)
            .iter()
            .any(|login| login.created_at() >= opened_at)
    };
    println!("Opened the viewer in your browser.");
    if wait_until(is_signed_in) {
        remove_file(&page).ok();
        println!("{DIM}The browser is logged in.{DIM:#}");
    } else {
        // The link in the file expires; the next `open` replaces it.
        anstream::eprintln!("{DIM}The browser has not logged in yet.{DIM:#}");
        print_hint(
            "some sandboxed browsers cannot read hidden folders: `backstory open --print` prints the link",
        );
    }
    Ok(ExitStatus::Done)
}

/// Waits up to ten seconds for a condition. Returns `false` on timeout.
fn wait_until(is_met: impl Fn() -> bool) -> bool {
    for _ in 0..100 {
        if is_met() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

/// Returns a page that leads to an address of the worker, which has only characters of an address.
fn redirect_to(url: &str) -> String {
    let url = url.replace('&', "&amp;");
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>backstory</title>\
        <meta http-equiv=refresh content=\"0;url={url}\"><p><a href=\"{url}\">Open the viewer</a></p></html>\n"
    )
}

/// Returns true if the viewer has a page of this name or kind. Ids are not checked; the viewer reports unknown ones.
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

/// Returns a link that logs a browser in once; starts the worker if it is not running.
pub(crate) fn link(engine: &Engine, page: &str) -> Result<String> {
    if !worker_process::is_running(&engine.home) {
        engine.home.create()?;
        worker_process::start_and_wait(engine)
            .hint_context("could not start the worker", "`backstory worker run` shows why")?;
    }
    let bind = engine.checked_settings()?.http.bind;
    let mut answer = None;
    // A worker that has just started opens its endpoint a moment later.
    for _ in 0..200 {
        // Only the port of the running worker: another program must not get the token.
        let port = worker_process::worker_info(&engine.home)
            .and_then(|facts| facts["port"].as_u64()?.try_into().ok());
        if let Some(port) = port {
            answer = Some(ask(engine, SocketAddr::new(bind, port), page)?);
            break;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    let failed = |message: &str| {
        HintedError::new(message).hint("`backstory worker restart`, then see logs/worker.log")
    };
    let answer = answer.ok_or_else(|| failed("could not reach the worker"))?;
    let url = answer["url"].as_str();
    let url =
        url.ok_or_else(|| failed("the worker did not create a login link; it may be another version"))?;
    Ok(url.to_owned())
}

fn ask(engine: &Engine, address: SocketAddr, page: &str) -> Result<Value> {
    let token = fs::read_to_string(engine.home.token()).context("could not read the worker's token")?;
    let body = json!({"page": page}).to_string();
    let (token, length) = (token.trim(), body.len());
    let mut stream = TcpStream::connect(address).context("could not reach the worker")?;
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
