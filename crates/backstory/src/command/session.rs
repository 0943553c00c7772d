//! `backstory session`: shows one session, turn by turn.

use anyhow::{Result, bail};
use backstory_engine::engine::Engine;
use backstory_engine::error::HintedError;
use backstory_model::{Handover, MemoryKind};
use backstory_serve::api_types;
use backstory_store::{Memory, Session, SessionError, Store, StoreError, Turn};
use serde_json::{Map, Value, json};

use super::{ExitStatus, open_store, sessions, show::write_handover};
use crate::{
    json_output::print_json,
    output::{self, BAD, BOLD, DIM, LABEL_WIDTH, Page, Times},
};

/// Show one session, turn by turn
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory session 3f9a   by the start of its id")]
pub(crate) struct Show {
    /// The session's id, or a prefix of it
    #[arg(id = "session", value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A prompt can be the title; the rest of it is shown at its turn.
const MAX_TITLE_LINES: usize = 3;

/// Holds everything that is shown of a session.
pub(crate) struct SessionView {
    session: Session,
    handover: Option<Handover>,
    turns: Vec<TurnView>,
}

/// Holds a turn with its memories.
struct TurnView {
    turn: Turn,
    /// Observations, including those of other sessions that the turn confirmed.
    observations: Vec<Memory>,
    summary: Option<Memory>,
}

impl SessionView {
    pub(crate) fn read(store: &Store, session: Session) -> Result<Self, StoreError> {
        let mut by_turn = store.memories_by_turn(&session)?;
        for (turn, mut repeated) in store.sightings_by_turn(&session)? {
            by_turn.entry(turn).or_default().append(&mut repeated);
        }
        let mut turns = Vec::new();
        for turn in store.turns(&session)? {
            let mut handles = by_turn.remove(&turn.id).unwrap_or_default();
            handles.sort_unstable();
            let mut view = TurnView {
                turn,
                observations: Vec::new(),
                summary: None,
            };
            for handle in handles {
                let memory = store.memory(handle)?;
                if handle.kind == MemoryKind::Summary {
                    view.summary = view.summary.or(memory);
                } else {
                    view.observations.extend(memory);
                }
            }
            turns.push(view);
        }
        Ok(Self {
            handover: store.handover(session.db_id)?,
            session,
            turns,
        })
    }
}

pub(crate) fn run(engine: &Engine, arguments: &Show) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        let error = SessionError::Unknown(arguments.id.clone());
        bail!(HintedError::new(error).hint("nothing was recorded yet"));
    };
    let session = match store.session(&arguments.id) {
        Ok(session) => session,
        Err(error) => {
            bail!(HintedError::new(format_args!("{error}")).hint("`backstory sessions` lists them"))
        }
    };
    let story = SessionView::read(&store, session)?;
    if arguments.json {
        print_json(as_json(&story));
    } else {
        let mut page = Page::new(output::width());
        write(&mut page, &story, &Times::new(engine)?);
        page.print(&engine.environment);
    }
    Ok(ExitStatus::Done)
}

fn as_json(story: &SessionView) -> Value {
    let mut fields = json!(api_types::SessionJson::from(story.session.clone()));
    let turns: Vec<Value> = story
        .turns
        .iter()
        .map(|view| {
            let mut fields = turn_json(&view.turn);
            let observations: Vec<Value> = view.observations.iter().map(observation_json).collect();
            fields["observations"] = observations.into();
            fields["summary"] = view.summary.as_ref().map_or(Value::Null, |summary| {
                let summary = &summary.record;
                json!({
                    "investigated": summary.investigated,
                    "learned": summary.learned,
                    "completed": summary.completed,
                    "next_steps": summary.next_steps,
                    "notes": summary.notes,
                })
            });
            fields
        })
        .collect();
    fields["turns"] = turns.into();
    fields["handover"] = json!(story.handover);
    fields
}

fn observation_json(memory: &Memory) -> Value {
    let record = &memory.record;
    json!({
        "id": memory.handle.id,
        "type": record.type_name,
        "title": record.title,
        "subtitle": record.subtitle,
        "narrative": record.narrative,
        "facts": record.facts,
        "files_modified": record.files_modified,
        "rejected": memory.rejected,
    })
}

fn turn_json(turn: &Turn) -> Value {
    let mut fields = match serde_json::to_value(turn) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.insert("started_at".to_owned(), output::rfc3339(turn.started_at).into());
    fields.insert("ended_at".to_owned(), turn.ended_at.map(output::rfc3339).into());
    Value::Object(fields)
}

/// Writes a session turn by turn.
pub(crate) fn write(page: &mut Page, story: &SessionView, times: &Times) {
    let session = &story.session;
    let width = page.width;
    let style = sessions::status_style(session.status);
    let title = session.title.as_deref().or(session.first_prompt.as_deref());
    for line in output::wrap(title.unwrap_or("(no prompt)"), width)
        .iter()
        .take(MAX_TITLE_LINES)
    {
        page.line(format_args!("{BOLD}{line}{BOLD:#}"));
    }
    page.line(format_args!(
        "{DIM}session {} · {DIM:#}{style}{}{style:#}",
        output::one_line(&session.session_id, 128),
        session.status
    ));
    let mut line = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let value = output::one_line(value, width.saturating_sub(10));
            page.line(format_args!("{DIM}{name:<9}{DIM:#} {value}"));
        }
    };
    line(
        "project",
        Some(&format!("{} ({})", session.project, session.project_id)),
    );
    line("branch", session.branch.as_deref());
    line("worktree", session.worktree.as_deref());
    line("agent", Some(&session.host));
    line("started", Some(&times.moment(session.started_at)));
    line("last", Some(&times.moment(session.last_event_at)));
    line("events", Some(&session.events.to_string()));
    line("outcome", session.subtitle.as_deref());
    if let Some(handover) = &story.handover {
        page.line(format_args!("\n{BOLD}Hand-over{BOLD:#}"));
        write_handover(page, handover);
    }
    for turn in &story.turns {
        write_turn(page, turn);
    }
}

fn write_turn(page: &mut Page, view: &TurnView) {
    let turn = &view.turn;
    let width = page.width.max(40);
    let prompt = match (&turn.prompt, turn.machine_made) {
        (None, _) => "(prompt not recorded)".to_owned(),
        (Some(_), true) => "(started by the agent)".to_owned(),
        (Some(prompt), false) => output::one_line(prompt, width - 5),
    };
    page.line(format_args!("\n{BOLD}{:>3}{BOLD:#}. {prompt}", turn.number));
    let mut facts = vec![output::count(turn.tools, "tool use")];
    if turn.subagent_tools > 0 {
        facts.push(format!("{} by sub-agents", turn.subagent_tools));
    }
    let failures = match turn.failures {
        0 => String::new(),
        failures => format!(", {BAD}{failures} failed{BAD:#}"),
    };
    let open = if turn.ended_at.is_none() {
        ", still open"
    } else {
        ""
    };
    page.line(format_args!(
        "     {DIM}{}{DIM:#}{failures}{DIM}{open}{DIM:#}",
        facts.join(", ")
    ));
    for memory in &view.observations {
        let record = &memory.record;
        let (label, style) = output::label(record, memory.rejected);
        page.line(format_args!(
            "     {style}{label:<LABEL_WIDTH$}{style:#} {} {DIM}#{}{DIM:#}",
            output::one_line(record.headline(), width - 25),
            memory.handle
        ));
        for fact in &record.facts {
            page.line(format_args!(
                "        {DIM}·{DIM:#} {}",
                output::one_line(fact, width - 10)
            ));
        }
        if !record.files_modified.is_empty() {
            page.line(format_args!(
                "        {DIM}{}{DIM:#}",
                output::one_line(&record.files_modified.join(", "), width - 8)
            ));
        }
    }
    if let Some(summary) = &view.summary {
        let record = &summary.record;
        let fields = [
            ("learned", &record.learned),
            ("next", &record.next_steps),
            ("note", &record.notes),
        ];
        for (name, text) in fields {
            if let Some(text) = text {
                page.line(format_args!(
                    "     {BOLD}{name}:{BOLD:#} {}",
                    output::one_line(text, width - 7 - name.len())
                ));
            }
        }
    }
}
