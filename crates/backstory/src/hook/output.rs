//! Output of a hook: at most one JSON object, and only what the host honors for that event.

use std::{
    io::{self, Write},
    path::Path,
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use backstory_capture::{
    hook_payload::HookPayload,
    host::{DefaultOutput, HostSpec, InjectionTrigger},
    project,
};
use backstory_engine::record::RecordOutcome;
use backstory_engine::{
    before_command::before_command,
    engine::Engine,
    experiment, hook_settings,
    injection_log::{InjectionLog, InjectionRecord},
    project_claims::{self, ClaimState},
    settings::Guard,
};
use backstory_model::{Event, EventKind, is_machine_made, relative_path};
use backstory_recall::{ContextRequest, at_failure, at_file, at_prompt, context, stated_error};
use backstory_store::Store;
use backstory_text::{scan, tokens};

use super::{
    name::Hook,
    receipt_line,
    session_context::{HookOutput, SessionContext, open, project_of},
    tool_lookup::{LookupSubject, ToolLookup},
};

/// Time limit of recall in a hook. Tests run many hooks at once, and without optimization.
const RECALL_TIMEOUT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5_000 } else { 50 });

/// Number of skipped memories that are logged at session start.
const MAX_SKIPPED: usize = 20;

/// Prints the output for an event, recorded or not.
pub(crate) fn print(engine: &Engine, host: &HostSpec, hook: Hook, outcome: &RecordOutcome) {
    let injection = match outcome {
        RecordOutcome::Recorded(event) => injection_for(engine, host, event),
        _ => None,
    };
    let is_start = matches!(
        hook,
        Hook::Record(EventKind::SessionStart | EventKind::UserPromptSubmit)
    );
    match (injection, host.silence) {
        (Some(answer), _) => write(&answer),
        (None, DefaultOutput::AfterWork(text)) if !is_start => write(text),
        (None, DefaultOutput::Always(text)) => write(text),
        (None, _) => {}
    }
}

/// Finds the injection for an event, if the host accepts one then.
fn injection_for(engine: &Engine, host: &HostSpec, event: &Event) -> Option<String> {
    let (trigger, find): (InjectionTrigger, FindInjection<Event>) = match event.kind {
        // The conversation already contains the rules file.
        EventKind::SessionStart if has_rules(host, event) => return None,
        EventKind::SessionStart => (InjectionTrigger::Start, session_start),
        EventKind::UserPromptSubmit => (InjectionTrigger::Prompt, prompt),
        EventKind::PostToolUseFailure => (InjectionTrigger::Failure, failure),
        EventKind::PostToolUse if may_show_error(&event.payload) => (InjectionTrigger::Answer, answer),
        _ => return None,
    };
    with_deadline(engine, host, trigger, event, find)
}

/// Returns true if the project has a rules file that the host reads itself.
fn has_rules(host: &HostSpec, event: &Event) -> bool {
    let root = event
        .project
        .as_ref()
        .map(|facts| facts.worktree.as_ref().unwrap_or(&facts.root));
    host.rules
        .zip(root)
        .is_some_and(|(rules, root)| Path::new(root).join(rules.path).exists())
}

/// Prints what is known about a file or a command before a tool use.
pub(crate) fn print_lookup(engine: &Engine, host: &HostSpec, lookup: &ToolLookup) {
    let (trigger, find): (InjectionTrigger, FindInjection<ToolLookup>) = match lookup.subject {
        LookupSubject::File(_) => (InjectionTrigger::File, file),
        LookupSubject::Command(_) => (InjectionTrigger::Command, command),
    };
    if let Some(text) = with_deadline(engine, host, trigger, lookup, find) {
        write(&text);
    }
}

fn write(text: &str) {
    // The host has closed the pipe, so it does not want the output.
    io::stdout().write_all(text.as_bytes()).ok();
}

/// Finds the injection for an event or a file.
type FindInjection<T> = fn(&Engine, &T) -> Option<HookOutput>;

/// Finds an injection, and gives up silently when that takes longer than [`RECALL_TIMEOUT`].
fn with_deadline<T: Clone + Send + 'static>(
    engine: &Engine,
    host: &HostSpec,
    trigger: InjectionTrigger,
    about: &T,
    find: FindInjection<T>,
) -> Option<String> {
    let form = host.form(trigger)?;
    if !engine.home.database().exists() {
        return None;
    }
    let (send, receive) = channel();
    let (engine, about) = (engine.clone(), about.clone());
    // Not joined: if the thread is late, the process exits under it. It only reads.
    thread::Builder::new()
        .spawn(move || send.send(find(&engine, &about)).is_ok())
        .ok()?;
    let output = receive.recv_timeout(RECALL_TIMEOUT).ok()??;
    // Logged before it is printed: a lost injection is better than one that is injected twice.
    if !output.records.is_empty() {
        output.log.append(&output.records).ok()?;
    }
    let answer = match &output.ask {
        Some(reason) if host.can_ask => form.ask(&output.text, reason),
        // The agent knows the rule, and this host cannot ask the user.
        Some(_) if output.records.is_empty() => return None,
        _ => form.answer(&output.text, output.notice.as_deref())?,
    };
    Some(format!("{answer}\n"))
}

/// Returns the context block. A resumed session already has it in its conversation.
fn session_start(engine: &Engine, event: &Event) -> Option<HookOutput> {
    let source = HookPayload::read(&event.payload)
        .ok()?
        .source()
        .map(|source| source.into_owned());
    let settings = hook_settings::context(engine);
    if !settings.on_start || matches!(source.as_deref(), Some("resume" | "fork")) {
        return None;
    }
    let is_withheld = experiment::is_withheld(&event.session_id, settings.withhold);
    let claimed = event.project.as_ref()?;
    let decision = project_claims::claim(engine, claimed);
    let facts = &decision.apply(claimed.clone());
    let build = |store: &Store| {
        // A session stays with its project, also after a compaction in another folder.
        let project = match store.session_project(&event.session_id)? {
            Some(project) => project,
            None => store.project_of(facts)?,
        };
        let request = ContextRequest {
            project: &project,
            branch: facts.branch.as_deref(),
            compacted_session: (source.as_deref() == Some("compact")).then_some(event.session_id.as_str()),
            is_withheld,
            now: event.at,
        };
        context(store, &request, &settings.limits())
    };
    let block = Store::read_snapshot(&engine.home.database(), build).ok()?;
    let claim = (decision == ClaimState::Pending).then(|| project_claims::notice(engine, claimed));
    if block.is_none() && claim.is_none() {
        return None;
    }
    let block = block.unwrap_or_default();
    let receipt = receipt_line::at_start(engine, &block, event.at);
    let notice: Vec<String> = claim.into_iter().chain(receipt).collect();
    let notice = (!notice.is_empty()).then(|| notice.join("\n"));
    // The first skipped memories were the closest to inclusion; they are enough to explain the selection.
    let mut skipped = 0;
    let logged = block.entries.into_iter().filter(|entry| {
        skipped += usize::from(!entry.is_included);
        entry.is_included || entry.is_withheld || skipped <= MAX_SKIPPED
    });
    let records = logged.map(|entry| InjectionRecord {
        at: event.at,
        moment: "start".to_owned(),
        id: Some(entry.handle.to_string()),
        file: None,
        command: None,
        reason: entry.reason,
        tokens: entry.tokens,
        told: entry.is_included,
        brief: entry.is_title_only,
        withheld: entry.is_withheld,
    });
    Some(HookOutput {
        text: block.text,
        notice,
        ask: None,
        log: InjectionLog::of(&engine.home, &event.session_id),
        records: records.collect(),
    })
}

/// Returns memories that are relevant to a prompt of the user.
fn prompt(engine: &Engine, event: &Event) -> Option<HookOutput> {
    let settings = hook_settings::context(engine);
    let payload = HookPayload::read(&event.payload).ok()?;
    let prompt = payload.prompt()?;
    if !settings.on_prompt || is_machine_made(&prompt) || prompt.trim_start().starts_with('/') {
        return None;
    }
    let facts = event.project.clone()?;
    let here = SessionContext::find(engine, facts, &event.session_id, event.at)?;
    let find = || {
        at_prompt(
            here.store,
            &engine.home.vectors(),
            &prompt,
            &here.target(&settings),
        )
    };
    let injection = here.store.read_transaction(find).ok()??;
    let is_withheld = experiment::is_withheld(&event.session_id, settings.withhold);
    Some(
        here.into_output(engine, "prompt", None, Some(injection))
            .withheld_if(is_withheld),
    )
}

/// Returns the earlier solution of a known failure.
fn failure(engine: &Engine, event: &Event) -> Option<HookOutput> {
    let payload = HookPayload::read(&event.payload).ok()?;
    solution(engine, event, &payload, &payload.error()?)
}

/// Reports whether the answer of a tool call may show an error. Most hooks end here, so it only searches the raw bytes: every
/// form that [`stated_error`] knows ends with a colon.
fn may_show_error(payload: &str) -> bool {
    let payload = payload.as_bytes();
    let has = |sign: &str| scan::find(payload, sign.as_bytes()).is_some();
    // A field has plain quotes; the same word in a file that was read has escaped ones.
    scan::positions(payload, b':').any(|colon| ends_with_error(&payload[..colon]))
        && (has("\"command\"") || has("\"mcp__"))
}

/// Recognizes `KeyError`, `error`, `error[E0308]`, `Exception` and `fatal` before a colon, and a code in color.
fn ends_with_error(before: &[u8]) -> bool {
    const MAX_CODE: usize = 40;
    match before.last() {
        Some(b'r') => before.ends_with(b"rror"),
        Some(b'n') => before.ends_with(b"xception"),
        Some(b'l') => before.ends_with(b"fatal"),
        Some(b']' | b'm') => {
            let recent = &before[before.len().saturating_sub(MAX_CODE)..];
            recent.contains(&b'[') && recent.windows(5).any(|bytes| bytes == b"rror[")
        }
        _ => false,
    }
}

/// Returns the earlier solution of a known error that a command printed, although the tool did not fail: its exit status
/// was lost in a pipe, or the host reports none.
fn answer(engine: &Engine, event: &Event) -> Option<HookOutput> {
    let payload = HookPayload::read(&event.payload).ok()?;
    // Files and search results quote errors of any kind.
    let is_command = payload
        .tool_input()
        .is_some_and(|input| input.command().is_some());
    let is_foreign = payload.tool_name().is_some_and(|name| name.starts_with("mcp__"));
    if !is_command && !is_foreign {
        return None;
    }
    let text = payload.answer_text()?;
    solution(engine, event, &payload, stated_error(&text)?)
}

fn solution(engine: &Engine, event: &Event, payload: &HookPayload<'_>, error: &str) -> Option<HookOutput> {
    let settings = hook_settings::context(engine);
    if !settings.on_error {
        return None;
    }
    let facts = project::locate(payload.cwd()?.as_ref().as_ref()).facts;
    let here = SessionContext::find(engine, facts, &event.session_id, event.at)?;
    let injection = at_failure(here.store, &engine.home.vectors(), error, &here.target(&settings)).ok()??;
    let is_withheld = experiment::is_withheld(&event.session_id, settings.withhold);
    Some(
        here.into_output(engine, "failure", None, Some(injection))
            .withheld_if(is_withheld),
    )
}

/// Returns the history of a file, once per session and file.
fn file(engine: &Engine, lookup: &ToolLookup) -> Option<HookOutput> {
    let LookupSubject::File(path) = &lookup.subject else {
        return None;
    };
    let settings = hook_settings::context(engine);
    if !settings.on_file {
        return None;
    }
    let facts = project::locate(lookup.cwd.as_ref()).facts;
    let here = SessionContext::find(engine, facts.clone(), &lookup.session_id, lookup.at)?;
    // In another repository, the same relative path names another file.
    let is_other = facts.key != here.project.id && facts.root != here.project.root;
    let root = if is_other {
        &here.project.root
    } else {
        facts.worktree.as_ref().unwrap_or(&facts.root)
    };
    let path = Path::new(&lookup.cwd).join(path);
    let path = relative_path(&path.to_string_lossy(), [root.as_str()]);
    if here.log.has_file_injection(&path) {
        return None;
    }
    let injection = at_file(here.store, &path, &here.target(&settings)).ok()?;
    let is_withheld = experiment::is_withheld(&lookup.session_id, settings.withhold);
    Some(
        here.into_output(engine, "file", Some(&path), injection)
            .withheld_if(is_withheld),
    )
}

/// Returns the warning about a command that failed before or that the user ruled out: to the agent once per session, to the
/// user each time, because a refused command may be tried again.
fn command(engine: &Engine, lookup: &ToolLookup) -> Option<HookOutput> {
    let LookupSubject::Command(command) = &lookup.subject else {
        return None;
    };
    let guard = hook_settings::recall(engine).guard;
    if guard == Guard::Off {
        return None;
    }
    let store = open(engine)?;
    let facts = || project::locate(lookup.cwd.as_ref()).facts;
    let project = project_of(engine, store, &lookup.session_id, facts)?;
    let warning = before_command(store, &project, command).ok()??;
    let log = InjectionLog::of(&engine.home, &lookup.session_id);
    let is_known = log.has_command_warning(warning.key);
    let asks = warning.is_rule && guard == Guard::Ask;
    if is_known && !asks {
        return None;
    }
    let record = InjectionRecord {
        at: lookup.at,
        moment: "command".to_owned(),
        id: warning.note.map(|note| note.to_string()),
        file: None,
        command: Some(warning.key.get()),
        reason: if warning.is_rule {
            "the user ruled the command out".to_owned()
        } else {
            "the command failed before".to_owned()
        },
        tokens: tokens(&warning.text),
        told: true,
        brief: false,
        withheld: false,
    };
    // What the user ruled out is never withheld.
    let percent = if warning.is_rule {
        0
    } else {
        hook_settings::context(engine).withhold
    };
    let output = HookOutput {
        ask: asks.then(|| format!("backstory: {}", warning.reason)),
        text: warning.text,
        notice: receipt_line::at_recall(engine, &warning.reason),
        log,
        records: if is_known { Vec::new() } else { vec![record] },
    };
    Some(output.withheld_if(experiment::is_withheld(&lookup.session_id, percent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stated_error_passes_the_search_of_the_raw_payload() {
        for output in [
            "KeyError: 'region'",
            "java.lang.IllegalStateException: closed",
            "error: no such file",
            "fatal: not a git repository",
            "error[E0308]: mismatched types",
            "\u{1b}[31merror[E0308]\u{1b}[0m\u{1b}[1m: mismatched types",
        ] {
            let payload = serde_json::json!({"tool_input": {"command": "make"}, "tool_response": output});
            assert!(stated_error(output).is_some(), "{output}");
            assert!(may_show_error(&payload.to_string()), "{output}");
        }
    }

    #[test]
    fn other_output_and_other_tools_pass_no_search() {
        let quiet = serde_json::json!({"tool_input": {"command": "make"}, "tool_response": "item: 3 errors, [ok]: x"});
        let file =
            serde_json::json!({"tool_input": {"file_path": "/w/a"}, "tool_response": "error: no such file"});
        assert!(!may_show_error(&quiet.to_string()));
        assert!(!may_show_error(&file.to_string()));
    }
}
