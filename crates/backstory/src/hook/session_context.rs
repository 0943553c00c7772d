//! The session that a hook injects into: its project, what it was told before, and the output for it.
//!
//! Reads the store only. An experiment that withholds recall drops the text here and keeps the records.

use std::collections::HashSet;

use backstory_engine::{
    engine::Engine,
    injection_log::{InjectionLog, InjectionRecord},
    project_claims,
    settings::ContextSettings,
};
use backstory_model::{Handle, ProjectIdentity, Timestamp};
use backstory_recall::{Injection, InjectionTarget};
use backstory_store::{BusyTimeout, Project, Store};

use super::receipt_line;

/// Holds the text of an injection and its log records.
pub(super) struct HookOutput {
    pub(super) text: String,
    /// Line for the user alone.
    pub(super) notice: Option<String>,
    /// Reason to ask the user before the tool call.
    pub(super) ask: Option<String>,
    pub(super) log: InjectionLog,
    pub(super) records: Vec<InjectionRecord>,
}

impl HookOutput {
    /// Keeps the records and drops the text, if an experiment withholds recall from the session.
    pub(super) fn withheld_if(mut self, is_withheld: bool) -> Self {
        if is_withheld {
            self.text.clear();
            self.notice = None;
            self.ask = None;
            for record in &mut self.records {
                record.withheld = record.told;
                record.told = false;
            }
        }
        self
    }
}

/// Opens the store read-only. Leaked: the process exits soon, and closing takes time.
pub(super) fn open(engine: &Engine) -> Option<&'static Store> {
    let store = Store::open_read_only(&engine.home.database(), BusyTimeout::Hook).ok()?;
    Some(Box::leak(Box::new(store)))
}

/// Finds the project of a session. An agent that changes folders in mid-session stays with the project in which the session
/// began: a folder must not choose the memories that are recalled. Only before the first event was ingested, the folder
/// decides.
pub(super) fn project_of(
    engine: &Engine,
    store: &Store,
    session_id: &str,
    facts: impl FnOnce() -> ProjectIdentity,
) -> Option<Project> {
    match store.session_project(session_id).ok()? {
        Some(project) => Some(project),
        None => {
            let facts = project_claims::resolve(engine, facts());
            store.project_with_id(&facts.key).ok()?
        }
    }
}

/// Holds the session that receives the injection, and its project.
pub(super) struct SessionContext {
    pub(super) store: &'static Store,
    pub(super) project: Project,
    pub(super) branch: Option<String>,
    pub(super) session_id: String,
    pub(super) log: InjectionLog,
    pub(super) injected: HashSet<Handle>,
    pub(super) now: Timestamp,
}

impl SessionContext {
    /// Finds the project and the log of a session.
    pub(super) fn find(
        engine: &Engine,
        facts: ProjectIdentity,
        session_id: &str,
        at: Timestamp,
    ) -> Option<Self> {
        let store = open(engine)?;
        let log = InjectionLog::of(&engine.home, session_id);
        let branch = facts.branch.clone();
        let project = project_of(engine, store, session_id, || facts)?;
        Some(Self {
            project,
            branch,
            store,
            session_id: session_id.to_owned(),
            injected: log.injected(),
            log,
            now: at,
        })
    }

    pub(super) fn target(&self, settings: &ContextSettings) -> InjectionTarget<'_> {
        InjectionTarget {
            project: &self.project,
            branch: self.branch.as_deref(),
            session_id: &self.session_id,
            injected: &self.injected,
            now: self.now,
            tokens: settings.prompt_tokens as usize,
        }
    }

    pub(super) fn into_output(
        self,
        engine: &Engine,
        trigger: &str,
        file: Option<&str>,
        injection: Option<Injection>,
    ) -> HookOutput {
        let entry = |id: Option<Handle>, reason: String, tokens: usize| InjectionRecord {
            at: self.now,
            moment: trigger.to_owned(),
            id: id.map(|id| id.to_string()),
            file: file.map(ToOwned::to_owned),
            command: None,
            reason,
            tokens,
            told: id.is_some(),
            brief: false,
            withheld: false,
        };
        let Some(injection) = injection else {
            let nothing = entry(None, "no relevant memories".to_owned(), 0);
            return HookOutput {
                text: String::new(),
                notice: None,
                ask: None,
                records: vec![nothing],
                log: self.log,
            };
        };
        let records = injection
            .memories
            .into_iter()
            .map(|(handle, reason, tokens)| entry(Some(handle), reason, tokens))
            .collect();
        HookOutput {
            text: injection.text,
            notice: receipt_line::at_recall(engine, &injection.headline),
            ask: None,
            log: self.log,
            records,
        }
    }
}
