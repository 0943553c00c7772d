//! `/settings`: a form for each section of the settings.
//!
//! Controls, ranges and explanations come from the settings themselves; only the section titles are defined here.

use std::sync::Arc;

use axum::{
    extract::{Form, Query, State},
    response::{IntoResponse, Redirect},
};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{
    link,
    setting_labels::label,
    text::inline_text,
    view::{NavItem, Paged, Pairs, View, field, sentence},
};
use crate::{
    access::Credential, browser_logins::BrowserLogin, problem::ApiError, server::Server, stores::run_blocking,
};

/// Sections: name, title, description.
const SECTIONS: [(&str, &str, &str); 9] = [
    ("capture", "Capture", "What the hooks record."),
    ("distill", "Distillation", "How events become memories."),
    ("context", "Context", "Context injection."),
    ("recall", "Recall", "Recall before an action."),
    ("mcp", "Agents", "The tools that agents call."),
    ("worker", "Worker", "The background process."),
    (
        "http",
        "HTTP",
        "Address of the viewer. Restart the worker to apply changes.",
    ),
    ("retention", "Retention", "How long data is kept."),
    ("ui", "Display", "Times and formats."),
];

fn show(settings: &Map<String, Value>, pairs: &Pairs, problem: Option<&ApiError>, logins: &Markup) -> Markup {
    let submitted = field(pairs, "section");
    let find = field(pairs, "find").unwrap_or_default().to_lowercase();
    html! {
        h1 { "Settings" }
        p.lead { "Stored in " code { "config.toml" } " in the home folder. Changes apply immediately." }
        form.search role="search" aria-label="Find a setting" action="/settings" {
            label.unseen for="find" { "Find a setting" }
            div.field {
                input #find type="search" name="find" value=(field(pairs, "find").unwrap_or_default()) placeholder="Find a setting" autocomplete="off" data-find;
                button.quiet { "Find" }
            }
        }
        nav.chips aria-label="Sections" {
            @for (name, title, _) in SECTIONS { a.chip href={ "#" (name) } { (title) } }
        }
        @for (name, title, about) in SECTIONS.into_iter().filter(|(name, ..)| has_match(settings, name, &find)) {
            @let is_submitted = submitted == Some(name);
            section.panel #(name) aria-labelledby={ (name) "-title" } {
                h2 #{ (name) "-title" } { (title) }
                p.muted { (about) }
                @if is_submitted { (outcome(problem)) }
                form method="post" action={ "/settings#" (name) } {
                    input type="hidden" name="section" value=(name);
                    @for (key, setting) in settings.iter().filter(|(key, setting)| section_of(key) == name && is_match(key, setting, &find)) {
                        @let typed = is_submitted.then(|| typed(pairs, key)).flatten().filter(|_| problem.is_some());
                        (control(key, setting, typed.as_ref()))
                    }
                    p.actions { button { "Save" } }
                }
            }
        }
        (logins)
    }
}

/// Returns whether a section has a setting with the searched words.
fn has_match(settings: &Map<String, Value>, section: &str, find: &str) -> bool {
    settings
        .iter()
        .any(|(key, setting)| section_of(key) == section && is_match(key, setting, find))
}

/// Returns whether a setting's name, label or explanation has all searched words.
fn is_match(key: &str, setting: &Value, find: &str) -> bool {
    let about = setting["about"].as_str().unwrap_or_default();
    let text = format!("{key} {} {about}", label(key)).to_lowercase();
    find.split_whitespace().all(|word| text.contains(word))
}

/// Renders the signed-in browsers, each with a button that signs it out.
fn logins(server: &Server, view: &View) -> Markup {
    let logins = server.access.logins().list(server.now());
    let is_this = |login: &BrowserLogin| view.credential == Some(Credential::Cookie(login.id.clone()));
    let end = |id: &str, label: &str| {
        html! {
            form method="post" action="/logins/end" {
                input type="hidden" name="id" value=(id);
                button.quiet { (label) }
            }
        }
    };
    html! {
        section.panel #logins aria-labelledby="logins-title" {
            h2 #logins-title { "Signed-in browsers" }
            p.muted { "A login ends after 30 days. " code { "backstory logins" } " lists them too." }
            @if logins.is_empty() { p { "None." } }
            ul.list {
                @for login in &logins {
                    li.item {
                        p { (inline_text(&login.browser)) @if is_this(login) { " " strong { "(this browser)" } } }
                        p.meta { "since " (view.times.exact(login.created_at())) " until " (view.times.exact(login.expires_at())) }
                        (end(&login.id, "Sign out"))
                    }
                }
            }
            @if logins.len() > 1 { (end("", "Sign out everywhere")) }
        }
    }
}

/// Signs out one browser, or all of them if the form names none.
pub(super) async fn end_login(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let id = field(&pairs, "id").map(ToOwned::to_owned);
    run_blocking(move || {
        let is_ended = |login: &BrowserLogin| id.as_ref().is_none_or(|id| *id == login.id);
        let ended = server.access.logins().end(is_ended);
        ended.map_err(|error| ApiError::unavailable(&error.into()))
    })
    .await?;
    Ok(Redirect::to("/settings#logins").into_response())
}

fn outcome(problem: Option<&ApiError>) -> Markup {
    html! {
        @match problem {
            Some(problem) => {
                div.notice.warn role="alert" {
                    p { (inline_text(&sentence(&problem.message))) }
                    @if let Some(hint) = &problem.hint { p.muted { (inline_text(&sentence(hint))) } }
                }
            }
            None => { div.notice role="status" { p { "Saved." } } }
        }
    }
}

fn section_of(key: &str) -> &str {
    key.split_once('.').map_or(key, |(section, _)| section)
}

/// Returns the submitted value of a setting; several fields of the same name form a list.
fn typed(pairs: &Pairs, key: &str) -> Option<Value> {
    let values: Vec<&str> = pairs
        .iter()
        .filter(|(name, _)| name == key)
        .map(|(_, value)| value.as_str())
        .collect();
    match values.as_slice() {
        [] => None,
        // A switch: the hidden field says "off", and the checkbox after it "on".
        [off, on] if SWITCHES.contains(&(*on, *off)) => Some(Value::from(*on)),
        [one] => Some(Value::from(*one)),
        several => Some(several.iter().filter(|one| !one.is_empty()).copied().collect()),
    }
}

fn control(key: &str, setting: &Value, typed: Option<&Value>) -> Markup {
    let value = typed.unwrap_or(&setting["value"]);
    let source = setting["source"].as_str().unwrap_or_default();
    let is_guarded = setting["guarded"] == true;
    let is_fixed = source == "environment" || is_guarded;
    let name = label(key);
    let about = setting["about"].as_str().unwrap_or_default();
    let control = &setting["control"];
    html! {
        div.setting data-source=(source) data-name=(key) {
            @if control["kind"] == "several" {
                fieldset disabled[is_fixed] aria-describedby={ (key) "-about" } {
                    legend { (name) }
                    input type="hidden" name=(key) value="";
                    @for word in words(&control["of"]) {
                        label.check { input type="checkbox" name=(key) value=(word) checked[words(value).contains(&word)]; (word) }
                    }
                }
            } @else {
                label for=(key) { (name) }
                (input(key, value, control, is_fixed))
            }
            p.muted #{ (key) "-about" } {
                (inline_text(about))
                @match source {
                    _ if is_guarded => { " " strong { "Change it with " code { "backstory config set " (key) " …" } } }
                    "environment" => { " " strong { "Set by " (setting["environment"].as_str().unwrap_or_default()) "; change it there." } }
                    "file" => { " " label.check { input type="checkbox" name="reset" value=(key); "reset to default" } }
                    _ => {}
                }
            }
        }
    }
}

fn input(key: &str, value: &Value, control: &Value, is_fixed: bool) -> Markup {
    let about = format!("{key}-about");
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(_) => words(value).join("\n"),
        other => other.to_string(),
    };
    html! {
        @match control["kind"].as_str() {
            Some("number") => {
                input #(key) type="number" name=(key) value=(text) min=[control["min"].as_u64()] max=[control["max"].as_u64()]
                    aria-describedby=(about) disabled[is_fixed];
            }
            Some("choice") if switch(control).is_some() => {
                @let (on, off) = switch(control).unwrap_or_default();
                span.switch {
                    input type="hidden" name=(key) value=(off) disabled[is_fixed];
                    input #(key) type="checkbox" role="switch" name=(key) value=(on) checked[text == on] aria-describedby=(about) disabled[is_fixed];
                }
            }
            Some("choice") => {
                select #(key) name=(key) aria-describedby=(about) disabled[is_fixed] {
                    @for word in words(&control["of"]) { option value=(word) selected[word == text] { (word) } }
                }
            }
            Some("list") => {
                textarea #(key) name=(key) rows=(text.lines().count().clamp(2, 8)) aria-describedby=(about) disabled[is_fixed]
                    placeholder="one per line" { (text) }
            }
            _ => { input #(key) name=(key) value=(text) aria-describedby=(about) disabled[is_fixed] autocomplete="off"; }
        }
    }
}

/// Values of settings that are on or off.
const SWITCHES: [(&str, &str); 2] = [("true", "false"), ("on", "off")];

/// Returns the values of a choice that is a switch.
fn switch(control: &Value) -> Option<(&'static str, &'static str)> {
    let values = words(&control["of"]);
    SWITCHES
        .into_iter()
        .find(|(on, off)| values.iter().map(String::as_str).eq([*on, *off]))
}

fn words(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(ToOwned::to_owned))
        .collect()
}

async fn current(server: &Arc<Server>) -> Result<Map<String, Value>, ApiError> {
    match server.settings().await? {
        Value::Object(settings) => Ok(settings),
        _ => Ok(Map::new()),
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Query(pairs): Query<Pairs>) -> Paged {
    let main = show(&current(&server).await?, &pairs, None, &logins(&server, &view));
    Ok(view.page("Settings", NavItem::Settings, &main))
}

/// Saves the changed settings of one section, all or none.
pub(super) async fn save(State(server): State<Arc<Server>>, view: View, Form(pairs): Form<Pairs>) -> Paged {
    let section = field(&pairs, "section").unwrap_or_default();
    let settings = current(&server).await?;
    let of_section = settings
        .iter()
        .filter(|(key, setting)| section_of(key) == section && setting["source"] != "environment");
    let mut changes = Map::new();
    for (key, setting) in of_section {
        let is_reset = pairs.iter().any(|(name, value)| name == "reset" && value == key);
        if is_reset {
            changes.insert(key.clone(), Value::Null);
        } else if let Some(value) = typed(&pairs, key)
            .map(|typed| as_value(typed, &setting["control"]))
            .filter(|value| *value != setting["value"])
        {
            changes.insert(key.clone(), value);
        }
    }
    if section.is_empty() {
        return Err(ApiError::bad("no section in the form").into());
    }
    if !changes.is_empty()
        && let Err(problem) = server.change_settings(changes, view.credential.clone()).await
    {
        let main = show(&settings, &pairs, Some(&problem), &logins(&server, &view));
        let page = view.page("Settings", NavItem::Settings, &main);
        return Ok((problem.status, page).into_response());
    }
    let to = format!(
        "{}#{section}",
        link::with_query("/settings", &[("section", section)])
    );
    Ok(Redirect::to(&to).into_response())
}

/// Converts a submitted value to the type of the setting.
fn as_value(typed: Value, control: &Value) -> Value {
    match (control["kind"].as_str(), typed) {
        (Some("list"), Value::String(text)) => text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect(),
        (Some("several"), Value::String(text)) => text.split_whitespace().collect(),
        (Some("number"), Value::String(text)) => match text.trim().parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        },
        (Some("choice"), Value::String(text)) if text == "true" => true.into(),
        (Some("choice"), Value::String(text)) if text == "false" => false.into(),
        (_, typed) => typed,
    }
}
