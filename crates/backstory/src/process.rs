//! Runs this program in another home folder, and the browser, the editor and the pager of the user.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result, bail};
use backstory_engine::{
    environment::Environment,
    error::{HintContext as _, HintedError},
    process::this_program,
};
use backstory_system::BROWSERS;

/// The editor of a user who named none.
const DEFAULT_EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Runs this program with another home folder and waits for it. No worker is started there.
pub(crate) fn run_self(arguments: &[&str], home: &Path, input: &[u8]) -> Result<Output> {
    let mut command = this_program().context("could not find this program's own file")?;
    command
        .args(arguments)
        .env_clear()
        .envs(Environment::process().for_worker(&[]))
        .env("BACKSTORY_HOME", home)
        .env("BACKSTORY_NO_WORKER", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("could not start this program again")?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input) {
            // The program does not need the rest.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            other => other.context("could not write to this program's input")?,
        }
    }
    child
        .wait_with_output()
        .context("could not wait for this program")
}

/// Shows a text in the user's pager. Returns false if there is none, or the user wants none.
pub(crate) fn run_pager(environment: &Environment, text: &str) -> bool {
    let named = environment.text("PAGER").unwrap_or_else(|| "less".to_owned());
    let mut words = named.split_whitespace();
    let Some(program) = words.next().and_then(|name| environment.find_program(name)) else {
        return false;
    };
    #[expect(clippy::disallowed_methods, reason = "the user chose the program")]
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if !environment.is_set("LESS") {
        // Ends by itself if the text fits, passes colors on and leaves the text on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut stdin) = child.stdin.take() {
        let plain;
        let text = if environment.is_set("NO_COLOR") {
            plain = anstream::adapter::strip_str(text).to_string();
            plain.as_str()
        } else {
            text
        };
        // The user may leave the pager before the end of the text.
        stdin.write_all(text.as_bytes()).ok();
    }
    child.wait().is_ok()
}

/// Opens a file in the user's editor and waits for it.
pub(crate) fn run_editor(environment: &Environment, file: &Path) -> Result<()> {
    let named = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| environment.text(name));
    let named = named.filter(|named| !named.trim().is_empty());
    let line = named.as_deref().unwrap_or(DEFAULT_EDITOR);
    // With arguments, such as `code --wait`.
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or(DEFAULT_EDITOR);
    let found = environment.find_program(name);
    let program = found.unwrap_or_else(|| PathBuf::from(name));
    #[expect(clippy::disallowed_methods, reason = "the user chose the program")]
    let status = Command::new(program)
        .args(words)
        .arg(file)
        .status()
        .hint_context(
            format_args!("could not start the editor `{name}`"),
            "$EDITOR names another one",
        )?;
    if !status.success() {
        bail!(
            HintedError::new(format_args!("the editor `{name}` failed: {status}"))
                .hint("nothing was changed")
        );
    }
    Ok(())
}

/// Opens a page in the browser. Returns `false` if there is none.
pub(crate) fn open_in_browser(page: &Path) -> bool {
    BROWSERS.iter().any(|(program, arguments)| {
        #[expect(
            clippy::disallowed_methods,
            reason = "the program is found on the search path"
        )]
        let mut command = Command::new(program);
        command
            .args(*arguments)
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
