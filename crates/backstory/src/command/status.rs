//! `backstory status`: the state of a project at a glance.

use anstream::println;
use anyhow::Result;
use backstory_capture::host;
use backstory_engine::{
    engine::Engine, injection_log::InjectionLog, time_arg::parse_time_arg, worker_process,
};
use backstory_model::{Handover, Timestamp};
use backstory_recall::OpenItems;
use backstory_serve::api_types::SessionJson;
use backstory_store::{ActivityCounts, Project, Session, SessionFilter, Store};
use serde_json::{Value, json};

use super::{ExitStatus, current_project, done, open_store, project, sessions::status_style};
use crate::{
    json_output::print_json,
    output::{self, BAD, BOLD, DIM, GOOD, Page, Times, count, thousands},
};

/// Show the state of a project: last session, open items, today, health
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory status              the project of the current folder
  backstory status -p shop      another project
  backstory done kqvz           tick off an open item")]
pub(crate) struct Status {
    /// Project: its folder name, a path inside it, or its id
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The most lines of each part of the hand-over.
const MAX_LINES: usize = 3;

/// The most sessions of today whose injections are counted.
const MAX_TODAY: u32 = 200;

/// Everything that the command shows.
struct Report {
    project: Option<ProjectReport>,
    health: Health,
}

struct ProjectReport {
    project: Project,
    last: Option<(Session, Option<Handover>)>,
    items: OpenItems,
    today: ActivityCounts,
    /// Memories injected today, and their tokens.
    injected: (usize, usize),
}

/// The state of the worker and its queue.
struct Health {
    is_running: bool,
    pending: u64,
    failed: u64,
    provider_error: Option<String>,
}

pub(crate) fn run(engine: &Engine, arguments: &Status) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        if arguments.json {
            print_json(json!({"project": null}));
        } else {
            println!("Nothing was recorded yet. `backstory setup` connects your agents.");
        }
        return Ok(ExitStatus::Done);
    };
    let times = Times::new(engine)?;
    let named = match &arguments.project {
        Some(named) => Some(project(engine, &store, named)?),
        None => current_project(engine, &store)?,
    };
    let report = Report {
        project: match named {
            Some(project) => Some(ProjectReport::read(engine, &store, project, &times)?),
            None => None,
        },
        health: Health::read(engine, &store)?,
    };
    if arguments.json {
        print_json(report.json());
    } else {
        let mut page = Page::new(output::width());
        report.write(&mut page, &times);
        page.print(&engine.environment);
    }
    Ok(ExitStatus::Done)
}

impl ProjectReport {
    fn read(engine: &Engine, store: &Store, project: Project, times: &Times) -> Result<Self> {
        let midnight = start_of_day(times)?;
        let sessions = store.sessions(&SessionFilter {
            project: Some(&project),
            after: None,
            limit: MAX_TODAY,
        })?;
        let of_today = sessions
            .iter()
            .filter(|session| session.last_event_at >= midnight);
        let injected = of_today.fold((0, 0), |(count, tokens), session| {
            let (more, of_them) =
                InjectionLog::of(&engine.home, &session.session_id).injected_since(midnight);
            (count + more, tokens + of_them)
        });
        let last = sessions.into_iter().next();
        let handover = last.as_ref().map(|last| store.handover(last.db_id)).transpose()?;
        Ok(Self {
            items: done::list(store, &project, times.now)?,
            today: store.activity_since(Some(&project), midnight)?,
            last: last.map(|last| (last, handover.flatten())),
            injected,
            project,
        })
    }
}

/// Returns the last midnight in the time zone of the user.
fn start_of_day(times: &Times) -> Result<Timestamp> {
    let today = parse_time_arg("today").map_err(anyhow::Error::msg)?;
    Ok(today.timestamp(times.now, &times.zone)?)
}

impl Health {
    fn read(engine: &Engine, store: &Store) -> Result<Self> {
        let queue = store.queue(0)?;
        let spooled = engine.home.spool().pending()?.len() as u64;
        let backoff = store.provider_backoffs()?.into_iter().next();
        Ok(Self {
            is_running: worker_process::is_running(&engine.home),
            pending: queue.pending + queue.processing + spooled,
            failed: queue.failed,
            provider_error: backoff.map(|backoff| {
                format!(
                    "{}: {}",
                    backoff.provider,
                    output::one_line(&backoff.message, 120)
                )
            }),
        })
    }

    fn is_ok(&self) -> bool {
        self.failed == 0 && self.provider_error.is_none()
    }

    fn line(&self) -> String {
        if self.failed > 0 {
            let events = count(self.failed, "event");
            return format!("{events} failed: see `backstory queue`");
        }
        if let Some(error) = &self.provider_error {
            return format!("{error}: see `backstory stats`");
        }
        let worker = match self.is_running {
            true => "worker running",
            false => "worker idle, starts with the next event",
        };
        match self.pending {
            0 => format!("ok, {worker}, nothing pending"),
            pending => format!("ok, {worker}, {} pending", count(pending, "event")),
        }
    }
}

impl Report {
    fn write(&self, page: &mut Page, times: &Times) {
        match &self.project {
            Some(project) => project.write(page, times),
            None => {
                page.line("This project has no memories yet.");
                page.line(format_args!(
                    "{DIM}--project names another; `backstory projects` lists them{DIM:#}\n"
                ));
            }
        }
        let style = if self.health.is_ok() { GOOD } else { BAD };
        page.line(format_args!(
            "{BOLD}{:<10}{BOLD:#} {style}{}{style:#}",
            "Health",
            self.health.line()
        ));
    }

    fn json(&self) -> Value {
        let mut fields = match &self.project {
            Some(project) => project.json(),
            None => json!({"project": null}),
        };
        fields["health"] = json!({
            "ok": self.health.is_ok(),
            "worker_running": self.health.is_running,
            "pending": self.health.pending,
            "failed": self.health.failed,
            "provider_error": self.health.provider_error,
        });
        fields
    }
}

impl ProjectReport {
    fn write(&self, page: &mut Page, times: &Times) {
        let room = page.width.saturating_sub(2);
        let name = output::one_line(&self.project.name, 60);
        let id = output::one_line(
            &self.project.id,
            room.saturating_sub(name.chars().count() + 2).max(10),
        );
        page.line(format_args!("{BOLD}{name}{BOLD:#}  {DIM}{id}{DIM:#}"));
        if let Some((session, handover)) = &self.last {
            write_session(page, session, handover.as_ref(), times);
        }
        if self.items.open.is_empty() {
            page.line(format_args!("\n{BOLD}Open{BOLD:#}       nothing"));
        } else {
            page.line(format_args!(
                "\n{BOLD}Open{BOLD:#}       {DIM}tick off: backstory done {}{DIM:#}",
                self.items.open[0].key.short()
            ));
            let mut items = Page::new(room);
            done::write_open(&mut items, &self.items.open, times);
            for line in items.text.lines() {
                page.line(format_args!("  {line}"));
            }
        }
        let today = &self.today;
        page.line(format_args!(
            "\n{BOLD}Today{BOLD:#}      {}, {}, {}",
            count(today.sessions, "session"),
            count(today.turns, "turn"),
            match today.memories {
                1 => "1 memory".to_owned(),
                number => format!("{} memories", thousands(number)),
            }
        ));
        let (memories, tokens) = self.injected;
        page.line(match memories {
            0 => format!("{BOLD}Recalled{BOLD:#}   nothing today"),
            _ => format!(
                "{BOLD}Recalled{BOLD:#}   {} today, about {} tokens",
                count(memories as u64, "memory").replace("memorys", "memories"),
                thousands(tokens as u64)
            ),
        });
    }

    fn json(&self) -> Value {
        let (memories, tokens) = self.injected;
        let last = self.last.as_ref().map(|(session, handover)| {
            let mut fields = json!(SessionJson::from(session.clone()));
            fields["handover"] = json!(handover);
            fields
        });
        let items = |items: &[_]| -> Vec<Value> { items.iter().map(done::item_json).collect() };
        json!({
            "project": self.project,
            "last_session": last,
            "open": items(&self.items.open),
            "done": items(&self.items.done),
            "today": {
                "sessions": self.today.sessions,
                "turns": self.today.turns,
                "memories": self.today.memories,
            },
            "injected": {"memories": memories, "tokens": tokens},
        })
    }
}

fn write_session(page: &mut Page, session: &Session, handover: Option<&Handover>, times: &Times) {
    let agent = host::find(&session.host).map_or(session.host.as_str(), |host| host.title);
    let style = status_style(session.status);
    let branch = session.branch.as_deref();
    let branch = branch.map(|branch| format!(" on {}", output::one_line(branch, 40)));
    page.line(format_args!(
        "\n{BOLD}Last{BOLD:#}       {} · {agent}{} · {style}{}{style:#}",
        times.ago(session.last_event_at),
        branch.unwrap_or_default(),
        session.status
    ));
    let title = session.title.as_deref().or(session.first_prompt.as_deref());
    if let Some(title) = title {
        for line in output::wrap(title, page.width.saturating_sub(2)).iter().take(2) {
            page.line(format_args!("  {line}"));
        }
    }
    // Requests repeat the title, and open work follows as items.
    let sections = handover.into_iter().flat_map(Handover::sections);
    for (label, lines) in sections.filter(|(label, _)| !["asked", "open"].contains(label)) {
        for (at, line) in lines.iter().take(MAX_LINES).enumerate() {
            let label = if at == 0 { label } else { "" };
            let text = output::one_line(line, page.width.saturating_sub(14).max(20));
            page.line(format_args!("  {DIM}{label:<9}{DIM:#}  {text}"));
        }
    }
    let short: String = session.session_id.chars().take(8).collect();
    page.line(format_args!("  {DIM}continue: backstory resume {short}{DIM:#}"));
}
