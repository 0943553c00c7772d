//! What a hook prints: at most one JSON object, and only what the agent honours for that event.

use std::{
    io::{self, Write},
    path::Path,
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use backstory_capture::{
    hook_payload::HookPayload,
    host::{DefaultOutput, HostSpec, InjectionTrigger, OutputFormat},
    project,
};
use backstory_engine::record::RecordOutcome;
use backstory_engine::{
    engine::Engine,
    injection_log::{InjectionLog, InjectionRecord},
    settings::{self, ContextSettings, hook_cache},
};
use backstory_model::{Event, EventKind, Handle, ProjectIdentity, Timestamp, is_machine_made, relative_path};
use backstory_recall::{ContextRequest, Injection, InjectionTarget, at_failure, at_file, at_prompt, context};
use backstory_store::{BusyTimeout, Store};

use super::{file_lookup::FileLookup, name::Hook};

/// An agent waits no longer than this for what it may be told. Tests run many of us at once, and not optimised.
const RECALL_TIMEOUT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5_000 } else { 50 });

/// So many memories that were left out at the start of a session are noted.
const MAX_SKIPPED: usize = 20;

/// Answers an event that was recorded, or was not.
pub(crate) fn print(engine: &Engine, host: &HostSpec, hook: Hook, outcome: &RecordOutcome) {
    let told = match outcome {
        RecordOutcome::Recorded(event) => injection_for(engine, host, event),
        _ => None,
    };
    let is_start = matches!(
        hook,
        Hook::Record(EventKind::SessionStart | EventKind::UserPromptSubmit)
    );
    match (told, host.silence) {
        (Some(answer), _) => write(&answer),
        (None, DefaultOutput::AfterWork(text)) if !is_start => write(text),
        (None, DefaultOutput::Always(text)) => write(text),
        (None, _) => {}
    }
}

/// Looks for what an event gives occasion to say, if the host listens then.
fn injection_for(engine: &Engine, host: &HostSpec, event: &Event) -> Option<String> {
    let (moment, look): (InjectionTrigger, FindInjection<Event>) = match event.kind {
        // What stands in the file is in the conversation already.
        EventKind::SessionStart if has_rules(host, event) => return None,
        EventKind::SessionStart => (InjectionTrigger::Start, session_start),
        EventKind::UserPromptSubmit => (InjectionTrigger::Prompt, prompt),
        EventKind::PostToolUseFailure => (InjectionTrigger::Failure, failure),
        _ => return None,
    };
    with_deadline(engine, event, host.form(moment)?, look)
}

/// Says whether the project has a file that its host reads by itself.
fn has_rules(host: &HostSpec, event: &Event) -> bool {
    let root = event
        .project
        .as_ref()
        .map(|facts| facts.worktree.as_ref().unwrap_or(&facts.root));
    host.rules
        .zip(root)
        .is_some_and(|(rules, root)| Path::new(root).join(rules.path).exists())
}

/// Answers before a tool is used on a file.
pub(crate) fn print_file(engine: &Engine, host: &HostSpec, look: &FileLookup) {
    let told = host
        .form(InjectionTrigger::File)
        .and_then(|form| with_deadline(engine, look, form, file));
    if let Some(answer) = told {
        write(&answer);
    }
}

fn write(text: &str) {
    // An agent that has closed the pipe does not want to know.
    io::stdout().write_all(text.as_bytes()).ok();
}

/// Looks for what is worth telling about something.
type FindInjection<T> = fn(&Engine, &T) -> Option<HookOutput>;

/// Looks for what is worth telling, and gives up silently when that takes too long.
fn with_deadline<T: Clone + Send + 'static>(
    engine: &Engine,
    about: &T,
    form: OutputFormat,
    look: FindInjection<T>,
) -> Option<String> {
    if !engine.home.database().exists() {
        return None;
    }
    let (send, receive) = channel();
    let (engine, about) = (engine.clone(), about.clone());
    // Not joined: if it is late, the process ends under it. It only reads.
    thread::Builder::new()
        .spawn(move || send.send(look(&engine, &about)))
        .ok()?;
    let answer = receive.recv_timeout(RECALL_TIMEOUT).ok()??;
    // Noted before it is said: rather not said again than said twice.
    answer.log.append(&answer.given).ok()?;
    (!answer.text.is_empty()).then(|| format!("{}\n", form.answer(&answer.text)))
}

/// What is told, and what is noted of it.
struct HookOutput {
    text: String,
    log: InjectionLog,
    given: Vec<InjectionRecord>,
}

/// Opens the store to read. Leaked: the process ends in a moment, and closing takes time.
fn open(engine: &Engine) -> Option<&'static Store> {
    let store = Store::open_read_only(&engine.home.database(), BusyTimeout::Hook).ok()?;
    Some(Box::leak(Box::new(store)))
}

/// Reads what may be said. Those who never set anything about it do not pay for a parser.
fn settings_of(engine: &Engine) -> ContextSettings {
    let text = settings::read(&engine.home.config()).ok().flatten();
    let variables = engine.environment.settings();
    let is_of_context = |(name, _): &(String, String)| name.starts_with("BACKSTORY_CONTEXT_");
    if text.is_none() && !variables.iter().any(is_of_context) {
        return hook_cache::default_context();
    }
    settings::load(&engine.home.config(), text.as_deref(), &variables)
        .0
        .context
}

/// What happened before in this project. A resumed session has it in its conversation already.
fn session_start(engine: &Engine, event: &Event) -> Option<HookOutput> {
    let source = HookPayload::read(&event.payload)
        .ok()?
        .source()
        .map(|source| source.into_owned());
    let settings = settings_of(engine);
    if !settings.on_start || matches!(source.as_deref(), Some("resume" | "fork")) {
        return None;
    }
    let facts = event.project.as_ref()?;
    let look = |store: &Store| {
        let project = store.project_of(facts)?;
        let situation = ContextRequest {
            project: &project,
            branch: facts.branch.as_deref(),
            compacted_session: (source.as_deref() == Some("compact")).then_some(event.session_id.as_str()),
            now: event.at,
        };
        context(store, &situation, &settings.limits())
    };
    let told = Store::read_snapshot(&engine.home.database(), look).ok()??;
    // Of what is left out the first are enough to tell why: they were the nearest to being told.
    let mut left_out = 0;
    let noted = told.entries.into_iter().filter(|entry| {
        left_out += usize::from(!entry.is_included);
        entry.is_included || left_out <= MAX_SKIPPED
    });
    let given = noted.map(|entry| InjectionRecord {
        at: event.at,
        moment: "start".to_owned(),
        id: Some(entry.handle.to_string()),
        file: None,
        reason: entry.reason,
        tokens: entry.tokens,
        told: entry.is_included,
        brief: entry.is_title_only,
    });
    Some(HookOutput {
        text: told.text,
        log: InjectionLog::of(&engine.home, &event.session_id),
        given: given.collect(),
    })
}

/// What bears on a prompt of a person.
fn prompt(engine: &Engine, event: &Event) -> Option<HookOutput> {
    let settings = settings_of(engine);
    let payload = HookPayload::read(&event.payload).ok()?;
    let prompt = payload.prompt()?;
    if !settings.on_prompt || is_machine_made(&prompt) || prompt.trim_start().starts_with('/') {
        return None;
    }
    let here = SessionContext::find(engine, event.project.as_ref()?, &event.session_id, event.at)?;
    let look = || {
        at_prompt(
            here.store,
            &engine.home.vectors(),
            &prompt,
            &here.listener(&settings),
        )
    };
    let said = here.store.read_transaction(look).ok()??;
    Some(here.answer("prompt", None, Some(said)))
}

/// How a failure was solved that was seen before.
fn failure(engine: &Engine, event: &Event) -> Option<HookOutput> {
    let settings = settings_of(engine);
    let payload = HookPayload::read(&event.payload).ok()?;
    let error = payload.error()?;
    if !settings.on_error {
        return None;
    }
    let facts = project::locate(payload.cwd()?.as_ref().as_ref()).facts;
    let here = SessionContext::find(engine, &facts, &event.session_id, event.at)?;
    let said = at_failure(
        here.store,
        &engine.home.vectors(),
        &error,
        &here.listener(&settings),
    )
    .ok()??;
    Some(here.answer("failure", None, Some(said)))
}

/// What is known about a file; asked once per session and file.
fn file(engine: &Engine, look: &FileLookup) -> Option<HookOutput> {
    let settings = settings_of(engine);
    if !settings.on_file {
        return None;
    }
    let facts = project::locate(look.cwd.as_ref()).facts;
    let here = SessionContext::find(engine, &facts, &look.session_id, look.at)?;
    let path = Path::new(&look.cwd).join(&look.path);
    let path = relative_path(
        &path.to_string_lossy(),
        [facts.worktree.as_deref().unwrap_or(&facts.root)],
    );
    if here.log.has_file_injection(&path) {
        return None;
    }
    let said = at_file(here.store, &path, &here.listener(&settings)).ok()?;
    Some(here.answer("file", Some(&path), said))
}

/// The session that is spoken to, and where it is.
struct SessionContext {
    store: &'static Store,
    project: backstory_store::Project,
    session_id: String,
    log: InjectionLog,
    told: std::collections::HashSet<Handle>,
    now: Timestamp,
}

impl SessionContext {
    fn find(engine: &Engine, facts: &ProjectIdentity, session_id: &str, at: Timestamp) -> Option<Self> {
        let store = open(engine)?;
        let log = InjectionLog::of(&engine.home, session_id);
        Some(Self {
            project: store.project_with_id(&facts.key).ok()??,
            store,
            session_id: session_id.to_owned(),
            told: log.injected(),
            log,
            now: at,
        })
    }

    fn listener(&self, settings: &ContextSettings) -> InjectionTarget<'_> {
        InjectionTarget {
            project: &self.project,
            session_id: &self.session_id,
            given: &self.told,
            now: self.now,
            tokens: settings.prompt_tokens as usize,
        }
    }

    fn answer(self, moment: &str, file: Option<&str>, said: Option<Injection>) -> HookOutput {
        let entry = |id: Option<Handle>, reason: String, tokens: usize| InjectionRecord {
            at: self.now,
            moment: moment.to_owned(),
            id: id.map(|id| id.to_string()),
            file: file.map(ToOwned::to_owned),
            reason,
            tokens,
            told: id.is_some(),
            brief: false,
        };
        let Some(said) = said else {
            let nothing = entry(
                None,
                "nothing is known that is worth an interruption".to_owned(),
                0,
            );
            return HookOutput {
                text: String::new(),
                given: vec![nothing],
                log: self.log,
            };
        };
        let given = said
            .memories
            .into_iter()
            .map(|(handle, reason, tokens)| entry(Some(handle), reason, tokens))
            .collect();
        HookOutput {
            text: said.text,
            log: self.log,
            given,
        }
    }
}
