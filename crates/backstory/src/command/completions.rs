//! `backstory completions` and `backstory man`: shell completions and manual pages.

use backstory_engine::error::HintedError;
use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Command;
use clap_complete::Shell;

use super::ExitStatus;

/// Print shell completions
///
/// bash: `backstory completions bash > ~/.local/share/bash-completion/completions/backstory`;
/// zsh: into a file `_backstory` in a folder of `$fpath`;
/// fish: `backstory completions fish > ~/.config/fish/completions/backstory.fish`;
/// elvish and powershell: into the profile.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual page of backstory, or of one of its commands
///
/// For packagers, and for `backstory man search | man -l -`.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// The command; two words for a nested command
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn completions(arguments: &Completions, mut command: Command) -> Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "backstory", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitStatus::Done)
}

pub(crate) fn man(arguments: &Man, mut command: Command) -> Result<ExitStatus> {
    command.build();
    let mut found = &command;
    for word in &arguments.command {
        found = match found.find_subcommand(word) {
            Some(found) => found,
            None => bail!(
                HintedError::new(format_args!("no such command: `{word}`"))
                    .hint("`backstory --help` lists them")
            ),
        };
    }
    let page = clap_mangen::Man::new(found.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    io::stdout().write_all(&text)?;
    Ok(ExitStatus::Done)
}
