//! Command-line definition and dispatch. The commands themselves are in `command/`; hooks never get here (see `main`).

use std::{
    io::{self, ErrorKind},
    process::ExitCode,
    time::Duration,
};

use anyhow::Result;
use backstory_engine::{
    clock::Clock,
    engine::Engine,
    environment::Environment,
    repair::{self, LockOwner},
};
use backstory_system::read_first_stdin_byte;
use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    command::{
        ExitStatus, backup, completions, config, context, demo, distill, doctor, edit, export, forget,
        import, index, install, logins, mcp, off, open, pin, project, queue, reindex, remember, restore,
        search, session, sessions, setup, show, stats, timeline, why, worker,
    },
    output, version,
};

/// Long-term memory for coding agents.
///
/// Agents report what happens in a session through their hooks; backstory stores it and recalls it when it is relevant.
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
    Setup(setup::Setup),
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
    Timeline(timeline::TimelineArguments),
    Remember(remember::Remember),
    Pin(pin::Pin),
    Unpin(pin::Unpin),
    Edit(edit::EditArguments),
    Forget(forget::Forget),
    Off(off::Off),
    On(off::On),
    Queue(queue::QueueArguments),
    Distill(distill::DistillArguments),
    Reindex(reindex::Reindex),
    Stats(stats::Stats),
    Import(import::Import),
    Export(export::Export),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Project(project::ProjectArgs),
    Config(config::ConfigArgs),
    Open(open::Open),
    Logins(logins::Logins),
    Mcp(mcp::Mcp),
    Doctor(doctor::Doctor),
    Worker(worker::WorkerArgs),
    Completions(completions::Completions),
    Man(completions::Man),
    /// Print one short line for Claude Code's status line (agents call this)
    ///
    /// Reads the status line's JSON on stdin. In ~/.claude/settings.json: "statusLine": {"type": "command", "command":
    /// "backstory statusline"}. Prints how many memories the project has and how many were injected into this session.
    Statusline,
    /// Record an event of an agent (agents call this)
    ///
    /// Reads one JSON object on stdin, records it, and always exits 0. Events: session-start,
    /// user-prompt-submit, pre-tool-use, post-tool-use, post-tool-use-failure, stop, subagent-stop, pre-compact,
    /// session-end. With `BACKSTORY_DEBUG=1` it reports on stderr what happened to the event.
    Hook {
        /// Name of the event
        event: String,
        /// The agent program
        #[arg(long, default_value = "claude-code")]
        host: String,
    },
}

pub(crate) fn main() -> ExitCode {
    completions::answer_shell(Arguments::command);
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Some editors call the hooks of Claude Code's settings without their arguments, and take status 2 as a request to
        // stop the agent.
        Err(_) if std::env::args_os().len() == 1 && is_report_on_stdin() => return ExitCode::SUCCESS,
        Err(error) => {
            // Broken pipe or closed stderr: the exit code has to be enough.
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

/// Returns true if stdin starts with a JSON object, as a hook payload does. An empty pipe is not awaited for long.
fn is_report_on_stdin() -> bool {
    read_first_stdin_byte(Duration::from_millis(300)) == Some(b'{')
}

fn run(command: Command) -> Result<ExitStatus> {
    match command {
        Command::Setup(arguments) => setup::run(&engine()?, &arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Install(arguments) => install::install(&engine()?, &arguments),
        Command::Uninstall(arguments) => install::uninstall(&engine()?, &arguments),
        Command::Search(arguments) => search::run(&engine()?, &arguments),
        Command::Context(arguments) => context::run(&engine()?, &arguments),
        Command::Why(arguments) => why::run(&engine()?, &arguments),
        Command::Index(arguments) => index::run(&engine()?, &arguments),
        Command::Sessions(arguments) => sessions::run(&engine()?, &arguments),
        Command::Session(arguments) => session::run(&engine()?, &arguments),
        Command::Show(arguments) => show::run(&engine()?, &arguments),
        Command::Timeline(arguments) => timeline::run(&engine()?, &arguments),
        Command::Remember(arguments) => remember::run(&engine()?, &arguments),
        Command::Pin(arguments) => pin::pin(&engine()?, &arguments),
        Command::Unpin(arguments) => pin::unpin(&engine()?, &arguments),
        Command::Edit(arguments) => edit::run(&engine()?, &arguments),
        Command::Forget(arguments) => forget::run(&engine()?, &arguments),
        Command::Off(arguments) => off::off(&engine()?, &arguments),
        Command::On(arguments) => off::on(&engine()?, &arguments),
        Command::Export(arguments) => export::run(&engine()?, &arguments),
        Command::Backup(arguments) => backup::run(&engine()?, &arguments),
        Command::Restore(arguments) => restore::run(&engine()?, &arguments),
        Command::Import(arguments) => import::run(&engine()?, &arguments),
        Command::Queue(arguments) => queue::run(&engine()?, &arguments),
        Command::Distill(arguments) => distill::run(&engine()?, &arguments),
        Command::Reindex(arguments) => reindex::run(&engine()?, &arguments),
        Command::Stats(arguments) => stats::run(&engine()?, &arguments),
        Command::Config(arguments) => {
            let engine = engine()?;
            let outcome = config::run(
                &arguments,
                &engine.home.config(),
                &engine.environment.settings(),
                &mut anstream::stdout(),
            )?;
            for message in &outcome.messages {
                anstream::eprintln!("{message}");
            }
            if outcome.concerns_model {
                worker::restart_if_running(&engine)?;
            }
            Ok(if outcome.failed {
                ExitStatus::Failed
            } else {
                ExitStatus::Done
            })
        }
        Command::Project(arguments) => project::run(&engine()?, &arguments),
        Command::Open(arguments) => open::run(&engine()?, &arguments),
        Command::Logins(arguments) => logins::run(&engine()?, &arguments),
        Command::Mcp(arguments) => mcp::run(&engine()?, &arguments),
        Command::Doctor(arguments) => doctor::run(&any_engine()?, &arguments),
        Command::Worker(arguments) => worker::run(&engine()?, &arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => completions::man(&arguments, Arguments::command()),
        // Reached by `hook --help` only, which clap answers itself; `main` handles every other hook.
        Command::Hook { .. } | Command::Statusline => Ok(ExitStatus::Done),
    }
}

/// Returns the engine for the home folder that the environment names. Fails if other users could replace what is in it.
fn engine() -> Result<Engine> {
    let engine = any_engine()?;
    engine.home.check()?;
    Ok(engine)
}

/// Returns the engine for a home folder that may be unsafe.
fn any_engine() -> Result<Engine> {
    Engine::require(Clock::system(), Environment::process())
}

/// Rebuilds a database whose damage was found in the middle of a command. The command is not run again, because part of its
/// output may already be printed.
fn rebuild_damaged_database(error: &anyhow::Error) {
    let rebuilt = engine().and_then(|engine| repair::rebuild_if_damaged(&engine, LockOwner::Command, error));
    match rebuilt {
        Ok(Some(rebuilt)) => {
            anstream::eprintln!("{rebuilt}");
            output::print_hint("run the command again");
        }
        // The damage was seen while another process replaced the database.
        Ok(None) => {}
        Err(error) => output::print_error(&error),
    }
}

/// Returns true if the reader of our output, such as `head`, has exited: not a failure.
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
