//! What can be typed, and where it goes.

use std::{
    io::{self, ErrorKind},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use backstory_engine::{
    environment,
    home::Home,
    repair::{self, LockOwner},
};
use backstory_system::read_first_stdin_byte;
use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    command::{
        ExitStatus, backup, completions, config, context, demo, distill, doctor, edit, export, forget,
        import, index, install, mcp, open, pin, queue, remember, restore, search, session, sessions, show,
        stats, timeline, why, worker,
    },
    output, version,
};

/// Long-term memory for coding agents.
///
/// Agents report what happens in a session through their hooks; backstory keeps it and gives it back when it helps.
/// Everything is in one folder, ~/.backstory or `$BACKSTORY_HOME`, and nothing leaves this machine unless you choose a model
/// (`distill.provider`).
#[derive(Parser)]
#[command(
    name = "backstory",
    version,
    long_version = version::long(),
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Install(install::Install),
    Uninstall(install::Uninstall),
    Search(search::Search),
    Context(context::ContextArguments),
    Why(why::Why),
    Sessions(sessions::Sessions),
    Session(session::Show),
    Index(index::Index),
    Show(show::ShowArguments),
    Timeline(timeline::Timeline),
    Remember(remember::Remember),
    Pin(pin::Pin),
    Unpin(pin::Unpin),
    Edit(edit::EditArguments),
    Forget(forget::Forget),
    Queue(queue::QueueArguments),
    Distill(distill::DistillArguments),
    Stats(stats::Stats),
    Import(import::Import),
    Export(export::Export),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Config(config::ConfigArgs),
    Open(open::Open),
    Mcp(mcp::Mcp),
    Doctor(doctor::Doctor),
    Worker(worker::WorkerArgs),
    Completions(completions::Completions),
    Man(completions::Man),
    /// Print one short line for Claude Code's status line (agents call this)
    ///
    /// Reads the status line's JSON on stdin. In ~/.claude/settings.json: "statusLine": {"type": "command", "command":
    /// "backstory statusline"}. Says how many memories the project has and how many of them this session was given.
    Statusline,
    /// Record what an agent reports (agents call this)
    ///
    /// Reads one JSON object on stdin, records it, and exits 0 whatever happens. Events: session-start,
    /// user-prompt-submit, pre-tool-use, post-tool-use, post-tool-use-failure, stop, subagent-stop, pre-compact,
    /// session-end. With `BACKSTORY_DEBUG=1` it says on stderr what became of the event.
    Hook {
        /// What happened
        event: String,
        /// The agent program
        #[arg(long, default_value = "claude-code")]
        host: String,
    },
}

pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Some editors call the hooks of Claude Code's settings without their arguments, and take status 2 as a wish to
        // stop the agent.
        Err(_) if std::env::args_os().len() == 1 && is_report_on_stdin() => return ExitCode::SUCCESS,
        Err(error) => {
            // Broken pipe or closed stderr: the exit code says it all.
            error.print().ok();
            return if error.use_stderr() {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    match run(arguments.command) {
        Ok(status) => status.into(),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&error);
            if repair::is_damage(&error) {
                rebuild_damaged_database(&error);
            }
            ExitCode::FAILURE
        }
    }
}

/// Says whether a program waits with what a hook would be given. A person's pipe that stays empty is not waited for long.
fn is_report_on_stdin() -> bool {
    read_first_stdin_byte(Duration::from_millis(300)) == Some(b'{')
}

fn run(command: Command) -> Result<ExitStatus> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Install(arguments) => install::install(&Home::require()?, &arguments),
        Command::Uninstall(arguments) => install::uninstall(&Home::require()?, &arguments),
        Command::Search(arguments) => search::run(&Home::require()?, &arguments),
        Command::Context(arguments) => context::run(&Home::require()?, &arguments),
        Command::Why(arguments) => why::run(&Home::require()?, &arguments),
        Command::Index(arguments) => index::run(&Home::require()?, &arguments),
        Command::Sessions(arguments) => sessions::run(&Home::require()?, &arguments),
        Command::Session(arguments) => session::run(&Home::require()?, &arguments),
        Command::Show(arguments) => show::run(&Home::require()?, &arguments),
        Command::Timeline(arguments) => timeline::run(&Home::require()?, &arguments),
        Command::Remember(arguments) => remember::run(&Home::require()?, &arguments),
        Command::Pin(arguments) => pin::pin(&Home::require()?, &arguments),
        Command::Unpin(arguments) => pin::unpin(&Home::require()?, &arguments),
        Command::Edit(arguments) => edit::run(&Home::require()?, &arguments),
        Command::Forget(arguments) => forget::run(&Home::require()?, &arguments),
        Command::Export(arguments) => export::run(&Home::require()?, &arguments),
        Command::Backup(arguments) => backup::run(&Home::require()?, &arguments),
        Command::Restore(arguments) => restore::run(&Home::require()?, &arguments),
        Command::Import(arguments) => import::run(&Home::require()?, &arguments),
        Command::Queue(arguments) => queue::run(&Home::require()?, &arguments),
        Command::Distill(arguments) => distill::run(&Home::require()?, &arguments),
        Command::Stats(arguments) => stats::run(&Home::require()?, &arguments),
        Command::Config(arguments) => {
            let home = Home::require()?;
            let outcome = config::run(
                &arguments,
                &home.config(),
                &environment::settings(),
                &mut anstream::stdout(),
            )?;
            for message in &outcome.messages {
                anstream::eprintln!("{message}");
            }
            if outcome.concerns_model {
                worker::restart_if_running(&home)?;
            }
            Ok(if outcome.failed {
                ExitStatus::Failed
            } else {
                ExitStatus::Done
            })
        }
        Command::Open(arguments) => open::run(&Home::require()?, &arguments),
        Command::Mcp(arguments) => mcp::run(&Home::require()?, &arguments),
        Command::Doctor(arguments) => doctor::run(&Home::require()?, &arguments),
        Command::Worker(arguments) => worker::run(&Home::require()?, &arguments),
        Command::Completions(arguments) => completions::completions(&arguments, Arguments::command()),
        Command::Man(arguments) => completions::man(&arguments, Arguments::command()),
        // Reached by `hook --help` only, which clap answers itself; main takes every other hook.
        Command::Hook { .. } | Command::Statusline => Ok(ExitStatus::Done),
    }
}

/// Mends a database whose damage showed in the middle of a command. What was printed cannot be taken back, so the command is
/// not run again.
fn rebuild_damaged_database(error: &anyhow::Error) {
    let mended =
        Home::require().and_then(|home| repair::rebuild_if_damaged(&home, LockOwner::Command, error));
    match mended {
        Ok(true) => anstream::eprintln!("hint: run the command again"),
        // It was only in the way of somebody who replaced it.
        Ok(false) => {}
        Err(error) => output::print_error(&error),
    }
}

/// Somebody piped us into `head`: that is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
