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
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::{
    command::{
        ExitStatus, backup, completions, config, context, demo, distill, doctor, done, edit, experiment,
        export, forget, import, index, install, logins, mcp, off, open, pin, project, projects, queue,
        reindex, remember, restore, resume, search, session, sessions, setup, show, stats, status, team,
        timeline, why, worker,
    },
    json_output,
    output::{self, BOLD, GOOD},
    picker, version,
};

/// Long-term memory for coding agents.
///
/// Agents report what happens in a session through their hooks; backstory stores it and recalls it when it is relevant.
/// Everything is in one folder, ~/.backstory or `$BACKSTORY_HOME`, and nothing leaves this machine unless you choose a model
/// (`distill.provider`) or share memories with a team (`backstory team`).
#[derive(Parser)]
#[command(
    name = "backstory",
    version,
    long_version = version::long(),
    max_term_width = 100
)]
struct Arguments {
    /// Print long output without a pager
    #[arg(long, global = true, display_order = 900)]
    no_pager: bool,
    #[command(subcommand)]
    command: Command,
}

/// The subcommands as the help lists them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["setup", "demo", "install", "uninstall", "doctor"]),
    (
        "Find",
        &[
            "search", "status", "show", "timeline", "projects", "sessions", "session", "resume", "context",
            "why", "open",
        ],
    ),
    (
        "Change",
        &["done", "remember", "pin", "unpin", "edit", "forget", "off", "on"],
    ),
    (
        "Maintain",
        &[
            "config",
            "project",
            "worker",
            "queue",
            "distill",
            "reindex",
            "index",
            "stats",
            "logins",
            "experiment",
        ],
    ),
    ("Share", &["team", "share", "unshare"]),
    ("Move", &["import", "export", "backup", "restore"]),
    (
        "For agents and shells",
        &["mcp", "hook", "statusline", "completions", "man"],
    ),
];

const EXAMPLES: &str = "Examples:
  backstory                         search as you type, with a preview
  backstory search retry upload     memories about it
  backstory status                  where work stopped in this project
  backstory resume                  continue the last session";

/// Returns the command line, with the subcommands in groups.
fn command_line() -> clap::Command {
    let command = Arguments::command();
    let mut list = String::new();
    for (title, names) in GROUPS {
        list.push_str(&format!("{BOLD}{title}:{BOLD:#}\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            list.push_str(&format!("  {GOOD}{name:<12}{GOOD:#} {about}\n"));
        }
        list.push('\n');
    }
    command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
        ))
        .after_help(EXAMPLES)
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
    Projects(projects::Projects),
    Sessions(sessions::Sessions),
    Session(session::Show),
    Resume(resume::Resume),
    Index(index::Index),
    Show(show::ShowArguments),
    Timeline(timeline::TimelineArguments),
    Status(status::Status),
    Done(done::Done),
    Remember(remember::Remember),
    Share(team::Share),
    Unshare(team::Unshare),
    Team(team::TeamArgs),
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
    Experiment(experiment::ExperimentArguments),
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
    completions::answer_shell(command_line);
    if std::env::args_os().len() == 1 && picker::is_possible() {
        match engine().and_then(|engine| picker::run(&engine, "")) {
            // Nothing was recorded yet: the help says how to begin.
            Ok(None) => {}
            Ok(Some(status)) => return status.into(),
            Err(error) => return failed(&error),
        }
    }
    let parsed = command_line().try_get_matches().and_then(|matches| {
        json_output::set_invocation(&matches);
        Arguments::from_arg_matches(&matches)
    });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        // Some editors call the hooks of Claude Code's settings without their arguments, and take status 2 as a request to
        // stop the agent.
        Err(_) if std::env::args_os().len() == 1 && is_report_on_stdin() => return ExitCode::SUCCESS,
        Err(error) => {
            // Broken pipe or closed stderr: the exit code has to be enough.
            error.print().ok();
            // Scripts read `-V`, which stays one line.
            if error.kind() == clap::error::ErrorKind::DisplayVersion
                && std::env::args_os().any(|argument| argument == "--version")
            {
                version::print_mismatches();
            }
            return if error.use_stderr() {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    if arguments.no_pager {
        output::turn_pager_off();
    }
    match run(arguments.command) {
        Ok(status) => status.into(),
        Err(error) => failed(&error),
    }
}

/// Reports an error; repairs the database if it is damaged.
fn failed(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    output::print_error(error);
    json_output::print_json_error(error);
    if repair::is_damage(error) {
        rebuild_damaged_database(error);
    }
    ExitCode::FAILURE
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
        Command::Search(arguments) if arguments.is_bare() && picker::is_possible() => {
            match picker::run(&engine()?, "")? {
                Some(status) => Ok(status),
                None => search::run(&engine()?, &arguments),
            }
        }
        Command::Search(arguments) => search::run(&engine()?, &arguments),
        Command::Context(arguments) => context::run(&engine()?, &arguments),
        Command::Why(arguments) => why::run(&engine()?, &arguments),
        Command::Index(arguments) => index::run(&engine()?, &arguments),
        Command::Sessions(arguments) => sessions::run(&engine()?, &arguments),
        Command::Resume(arguments) => resume::run(&engine()?, &arguments),
        Command::Session(arguments) => session::run(&engine()?, &arguments),
        Command::Show(arguments) => show::run(&engine()?, &arguments),
        Command::Timeline(arguments) => timeline::run(&engine()?, &arguments),
        Command::Status(arguments) => status::run(&engine()?, &arguments),
        Command::Done(arguments) => done::run(&engine()?, &arguments),
        Command::Remember(arguments) => remember::run(&engine()?, &arguments),
        Command::Share(arguments) => team::share(&engine()?, &arguments),
        Command::Unshare(arguments) => team::unshare(&engine()?, &arguments),
        Command::Team(arguments) => team::run(&engine()?, &arguments),
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
        Command::Experiment(arguments) => experiment::run(&engine()?, &arguments),
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
        Command::Projects(arguments) => projects::run(&engine()?, &arguments),
        Command::Project(arguments) => project::run(&engine()?, &arguments),
        Command::Open(arguments) => open::run(&engine()?, &arguments),
        Command::Logins(arguments) => logins::run(&engine()?, &arguments),
        Command::Mcp(arguments) => mcp::run(&engine()?, &arguments),
        Command::Doctor(arguments) => doctor::run(&any_engine()?, &arguments),
        Command::Worker(arguments) => worker::run(&engine()?, &arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => completions::man(&arguments, command_line()),
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
        command_line().debug_assert();
    }

    #[test]
    fn every_subcommand_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let command = command_line();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        names.sort_unstable();
        assert_eq!(grouped, names);
    }
}
