//! `backstory resume`: continues a session in its agent.

use std::{path::PathBuf, process::Command};

use anstream::println;
use anyhow::{Context as _, Result, bail};
use backstory_capture::host;
use backstory_engine::{engine::Engine, error::HintedError};
use backstory_model::Handle;
use backstory_recall::{Query, Searcher};
use backstory_store::{Filter, Scope, Session, SessionError, SessionFilter, Store};
use backstory_system::replace_process;
use serde_json::json;

use super::{
    ExitStatus, open_store,
    scope::{ProjectScope, ScopeArguments},
};
use crate::{
    json_output::print_json,
    output::{self, DIM, Times},
};

/// Continue a session in its agent
///
/// Without words, the last session of the project of the current folder. With words, the session whose memories match them
/// best. Starts the agent in the folder of the session, such as `claude --resume ID`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory resume                    the last session of this project
  backstory resume retry upload       the session about it
  backstory resume 3f9a               by the start of its id
  backstory resume S12                the session of a memory
  backstory resume --print coupons    print the command instead")]
pub(crate) struct Resume {
    /// Words, the id of a session or a prefix of it, or a handle such as S12
    #[arg(value_name = "WORDS|ID")]
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Print the command instead of running it
    #[arg(long)]
    print: bool,
    /// Print the session and the command as JSON
    #[arg(long)]
    json: bool,
}

/// A command that continues a session.
pub(crate) struct ResumeCommand {
    program: PathBuf,
    arguments: Vec<String>,
    folder: Option<PathBuf>,
}

pub(crate) fn run(engine: &Engine, arguments: &Resume) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        bail!(HintedError::new("nothing was recorded yet").hint("`backstory demo` shows an example"));
    };
    let session = find(engine, &store, arguments)?;
    let command = command_of(engine, &session);
    if arguments.json {
        let line = command.as_ref().ok().map(ResumeCommand::shell_line);
        let folder = session.cwd.clone();
        print_json(
            json!({"session_id": session.session_id, "host": session.host, "cwd": folder, "command": line}),
        );
        return Ok(ExitStatus::Done);
    }
    let command = command?;
    if arguments.print {
        println!("{}", command.shell_line());
        return Ok(ExitStatus::Done);
    }
    let title = session.title.as_deref().or(session.first_prompt.as_deref());
    anstream::eprintln!(
        "{DIM}{} · {}{DIM:#}",
        Times::new(engine)?.ago(session.last_event_at),
        output::one_line(title.unwrap_or(&session.session_id), output::width() - 14)
    );
    resume(engine, &session)
}

/// Finds the session that the user means.
fn find(engine: &Engine, store: &Store, arguments: &Resume) -> Result<Session> {
    let searched = arguments.scope.find(engine, store)?;
    let project = match &searched {
        ProjectScope::Nowhere if arguments.words.is_empty() => bail!(
            HintedError::new("this project has no sessions yet")
                .hint("--all takes the last session of any project")
        ),
        ProjectScope::Project(project) => Some(project),
        // An id or a handle names a session of any project.
        ProjectScope::Everywhere | ProjectScope::Nowhere => None,
    };
    let by_id = |id: &str| store.session(id).map_err(|error| unknown_session(&error));
    match arguments.words.as_slice() {
        [] => {
            let filter = SessionFilter {
                project,
                after: None,
                limit: 1,
            };
            let last = store.sessions(&filter)?.into_iter().next();
            Ok(last.context("no sessions yet")?)
        }
        [word]
            if word
                .parse::<Handle>()
                .is_ok_and(|handle| store.exists(handle).unwrap_or(false)) =>
        {
            let handle: Handle = word.parse()?;
            let memory = store.memory(handle)?.context("no such memory")?;
            let session = memory.record.session_id;
            by_id(&session.context("this memory belongs to no session")?)
        }
        [word] if !matches!(store.session(word), Err(SessionError::Unknown(_))) => by_id(word),
        words => {
            let zone = engine.zone();
            let query = Query {
                text: &words.join(" "),
                scope: project.map_or(Scope::Everywhere, Scope::Project),
                filter: &Filter::default(),
                limit: 20,
                now: engine.clock.timestamp(),
                zone: &zone,
            };
            let hits = Searcher::new(store, &engine.home.vectors())?.search(&query)?;
            let session = hits.into_iter().find_map(|hit| hit.memory.record.session_id);
            let unknown = || {
                HintedError::new(format_args!("no session matches `{}`", words.join(" ")))
                    .hint("`backstory sessions` lists them; --all searches all projects")
            };
            by_id(&session.ok_or_else(unknown)?)
        }
    }
}

fn unknown_session(error: &SessionError) -> anyhow::Error {
    HintedError::new(format_args!("{error}"))
        .hint("`backstory sessions` lists them")
        .into()
}

/// Returns the command that continues a session. Fails if its agent has none, or is not installed here.
pub(crate) fn command_of(engine: &Engine, session: &Session) -> Result<ResumeCommand> {
    let spec = host::find(&session.host);
    let title = spec.map_or(session.host.as_str(), |spec| spec.title);
    let Some([name, before @ ..]) = spec.and_then(|spec| spec.resume) else {
        bail!(
            HintedError::new(format_args!("{title} cannot continue a session by its id")).hint(format_args!(
                "`backstory session {}` shows it",
                session.session_id
            ))
        );
    };
    // Ids come from transcripts: one that looks like an option would change what the agent does.
    if session.session_id.starts_with('-') {
        bail!("the id of this session is not valid");
    }
    let Some(program) = engine.environment.find_program(name) else {
        bail!(
            HintedError::new(format_args!("`{name}` is not on the search path")).hint(format_args!(
                "install {title}, then run `{name} {} {}`",
                before.join(" "),
                session.session_id
            ))
        );
    };
    // Agents keep sessions by the folder in which they began.
    let folder = session.cwd.as_ref().or(session.worktree.as_ref());
    Ok(ResumeCommand {
        program,
        arguments: before
            .iter()
            .map(|argument| (*argument).to_owned())
            .chain([session.session_id.clone()])
            .collect(),
        folder: folder.map(PathBuf::from),
    })
}

impl ResumeCommand {
    /// Returns the command for a shell.
    fn shell_line(&self) -> String {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let command = format!("{name} {}", self.arguments.join(" "));
        match &self.folder {
            Some(folder) => format!("cd {} && {command}", host::shell_word(&folder.to_string_lossy())),
            None => command,
        }
    }
}

/// Continues a session in its agent: this process becomes the agent.
pub(crate) fn resume(engine: &Engine, session: &Session) -> Result<ExitStatus> {
    let ResumeCommand {
        program,
        arguments,
        folder,
    } = command_of(engine, session)?;
    if let Some(folder) = folder.as_deref().filter(|folder| !folder.is_dir()) {
        bail!(
            HintedError::new(format_args!(
                "the folder of the session is gone: {}",
                folder.display()
            ))
            .hint("agents find a session only in the folder in which it began")
        );
    }
    #[expect(clippy::disallowed_methods, reason = "found on the search path of the user")]
    let mut command = Command::new(&program);
    command.args(arguments);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let status =
        replace_process(&mut command).with_context(|| format!("could not start {}", program.display()))?;
    Ok(if status.success() {
        ExitStatus::Done
    } else {
        ExitStatus::Failed
    })
}
