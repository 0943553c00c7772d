//! Layout of all pages: navigation, theme, messages and error pages.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::{Form, FromRequestParts, Request, State},
    http::{StatusCode, header, request::Parts},
    middleware::Next,
    response::{Html, IntoResponse, Redirect, Response},
};
use maud::{DOCTYPE, Markup, html};

use super::{assets, link, text::inline_text, time::TimeFormat};
use crate::{
    access::Credential, login::own_page, pending_deletes::PendingDelete, problem::ApiError, server::Server,
};

/// Fields of a form or a query in order; names may repeat.
pub(super) type Pairs = Vec<(String, String)>;

/// A page, or the error page to show instead.
pub(super) type Paged = Result<Response, PageProblem>;

/// Returns the value of a field, or `None` if it is empty.
pub(super) fn field<'p>(pairs: &'p Pairs, name: &str) -> Option<&'p str> {
    let found = pairs.iter().find(|(known, _)| known == name)?;
    Some(found.1.trim()).filter(|value| !value.is_empty())
}

/// Entries of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NavItem {
    Now,
    Search,
    Sessions,
    Projects,
    Files,
    Recall,
    Context,
    Team,
    Status,
    Settings,
    None,
}

const NAVIGATION: [(NavItem, &str, &str); 10] = [
    (NavItem::Now, "/", "Now"),
    (NavItem::Search, "/search", "Search"),
    (NavItem::Sessions, "/sessions", "Sessions"),
    (NavItem::Projects, "/projects", "Projects"),
    (NavItem::Files, "/files", "Files"),
    (NavItem::Recall, "/recall", "Recall"),
    (NavItem::Context, "/context", "Context"),
    (NavItem::Team, "/team", "Team"),
    (NavItem::Status, "/status", "Health"),
    (NavItem::Settings, "/settings", "Settings"),
];

const KEYS: [(&str, &str); 9] = [
    ("/", "search"),
    ("Ctrl K", "go to a page or a memory"),
    ("j  k", "next or previous item"),
    ("Enter", "open"),
    ("e", "edit"),
    ("p", "pin or unpin"),
    ("n", "show new items"),
    ("←  →", "previous or next turn in a replay"),
    ("?", "keyboard shortcuts"),
];

/// Display settings of a request: time format, theme, pending deletions.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) times: TimeFormat,
    theme: &'static str,
    pending_deletes: Vec<PendingDelete>,
    /// Reading of the monotonic clock, for the countdown of pending deletions.
    now: Duration,
    /// Path and query of the request, to redirect back to.
    pub(super) here: String,
    /// Credential of the request.
    pub(super) credential: Option<Credential>,
}

const THEME_COOKIE: &str = "backstory_theme";
const THEMES: [&str; 3] = ["auto", "light", "dark"];

impl View {
    async fn new(server: &Arc<Server>, parts: &Parts) -> Self {
        // Without settings the page falls back to the default time zone.
        let settings = server.settings().await.unwrap_or_default();
        let cookies = parts.headers.get_all(header::COOKIE).iter();
        let chosen = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == THEME_COOKIE)
            .and_then(|(_, value)| THEMES.into_iter().find(|theme| *theme == value));
        Self {
            times: TimeFormat::new(server.now(), &settings),
            theme: chosen.unwrap_or("auto"),
            pending_deletes: server.pending_deletes.list(),
            now: server.engine.clock.monotonic(),
            here: parts
                .uri
                .path_and_query()
                .map_or_else(|| "/".to_owned(), ToString::to_string),
            credential: parts.extensions.get().cloned(),
        }
    }

    /// Renders a page: layout, navigation and `main`.
    pub(super) fn page(&self, title: &str, here: NavItem, main: &Markup) -> Response {
        let page = html! {
            (DOCTYPE)
            html lang="en" data-theme=(self.theme) {
                head {
                    meta charset="utf-8";
                    title { (title) " · backstory" }
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    link rel="icon" type="image/svg+xml" href=(assets::url("icon.svg"));
                    link rel="stylesheet" href=(assets::url("style.css"));
                    script src=(assets::url("app.js")) defer {}
                }
                body {
                    a.skip href="#main" { "Skip to content" }
                    (self.side(here))
                    main #main tabindex="-1" { (main) }
                    (self.messages())
                    (keys())
                    (palette())
                }
            }
        };
        Html(page.into_string()).into_response()
    }

    fn side(&self, here: NavItem) -> Markup {
        let next = THEMES[(THEMES.iter().position(|theme| *theme == self.theme).unwrap_or(0) + 1) % 3];
        html! {
            header.side {
                a.brand href="/" { span.mark aria-hidden="true" {} "backstory" }
                form.quick role="search" action="/search" {
                    label.unseen for="quick" { "Search memories" }
                    input #quick type="search" name="q" placeholder="Search" autocomplete="off" data-search;
                    kbd aria-hidden="true" { "/" }
                    ul.suggest hidden {}
                }
                nav aria-label="Pages" {
                    ul {
                        @for (item, href, name) in NAVIGATION {
                            li { a href=(href) aria-current=[(item == here).then_some("page")] { (name) } }
                        }
                    }
                }
                div.foot {
                    span.live data-live-state hidden { "live" }
                    form method="post" action="/theme" data-theme-form {
                        input type="hidden" name="to" value=(self.here);
                        button.plain name="theme" value=(next) title="Theme: light, dark or system" {
                            span.prefix { "Theme:" } " " span data-theme-name { (self.theme) }
                        }
                    }
                    button.plain type="button" data-keys hidden { "Shortcuts " kbd { "?" } }
                }
            }
        }
    }

    /// Renders pending deletions with an undo button.
    fn messages(&self) -> Markup {
        html! {
            div #going role="status" aria-label="Messages" {
                @for one in &self.pending_deletes {
                    div.toast data-key=(one.handle) {
                        span {
                            "Forgetting " (inline_text(&one.title)) " in "
                            span data-countdown { (one.due.saturating_sub(self.now).as_secs() + 1) } " s"
                        }
                        form method="post" action={ (link::memory(one.handle)) "/keep" } {
                            input type="hidden" name="to" value=(link::memory(one.handle));
                            button { "Undo" }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the command palette, which the script fills and opens.
fn palette() -> Markup {
    html! {
        dialog #palette aria-label="Go to a page or a memory" {
            input type="search" aria-label="Page or words" placeholder="Go to a page, or search memories" autocomplete="off";
            ul {}
        }
    }
}

fn keys() -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keyboard shortcuts" }
            dl.keys {
                @for (key, does) in KEYS {
                    dt { @for one in key.split("  ") { kbd { (one) } " " } }
                    dd { (does) }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

impl FromRequestParts<Arc<Server>> for View {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Self, Infallible> {
        Ok(Self::new(server, parts).await)
    }
}

/// An error that is rendered as a page.
#[derive(Clone, Debug)]
pub(super) struct PageProblem(ApiError);

impl<P: Into<ApiError>> From<P> for PageProblem {
    fn from(problem: P) -> Self {
        Self(problem.into())
    }
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        response.extensions_mut().insert(self.0);
        response
    }
}

/// Replaces error responses by error pages with the usual layout.
pub(super) async fn render_problems(
    State(server): State<Arc<Server>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let original = parts.clone();
    let mut response = next.run(Request::from_parts(parts, body)).await;
    match response.extensions_mut().remove::<ApiError>() {
        Some(problem) => problem_page(&server, &original, &problem).await,
        None => response,
    }
}

/// Renders an error page.
pub(crate) async fn problem_page(server: &Arc<Server>, request: &Parts, problem: &ApiError) -> Response {
    let view = View::new(server, request).await;
    let heading = match problem.status {
        StatusCode::NOT_FOUND => "Page not found",
        StatusCode::SERVICE_UNAVAILABLE => "The database is unavailable",
        _ => "Request failed",
    };
    let main = html! {
        h1 { (heading) }
        p.lead { (inline_text(&sentence(&problem.message))) }
        @if let Some(hint) = &problem.hint { p.muted { (inline_text(&sentence(hint))) } }
        p { a.button href="/search" { "Search memories" } " " a.button.quiet href="/" { "Go to start page" } }
    };
    (problem.status, view.page(heading, NavItem::None, &main)).into_response()
}

/// Turns a message into a sentence: capital first letter, final period.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|first| first.to_uppercase().to_string())
        .unwrap_or_default();
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Stores the theme in a cookie.
pub(super) async fn set_theme(Form(pairs): Form<Pairs>) -> Response {
    const YEAR: u32 = 365 * 24 * 3600;
    let requested = field(&pairs, "theme").unwrap_or_default();
    let theme = THEMES
        .into_iter()
        .find(|theme| *theme == requested)
        .unwrap_or("auto");
    let cookie = format!("{THEME_COOKIE}={theme}; Path=/; SameSite=Strict; Max-Age={YEAR}");
    let to = own_page(field(&pairs, "to").unwrap_or_default());
    ([(header::SET_COOKIE, cookie)], Redirect::to(&to)).into_response()
}

/// Redirects to the page that the form names in `to`, else to `otherwise`.
pub(super) fn redirect_back(pairs: &Pairs, otherwise: &str) -> Response {
    Redirect::to(&own_page(field(pairs, "to").unwrap_or(otherwise))).into_response()
}

/// Returns the names of projects, given key and name of each. Equal names get the end of the key: folders are often called alike.
pub(super) fn distinct_names<'p>(projects: impl Iterator<Item = (&'p str, &'p str)>) -> Vec<String> {
    let projects: Vec<(&str, &str)> = projects.collect();
    let is_alike = |name: &str| projects.iter().filter(|(_, other)| *other == name).count() > 1;
    let full = |key: &str, name: &str| {
        let parent = key.trim_end_matches('/').rsplit('/').nth(1);
        parent.map_or_else(|| name.to_owned(), |parent| format!("{parent}/{name}"))
    };
    projects
        .iter()
        .map(|(key, name)| {
            if is_alike(name) {
                full(key, name)
            } else {
                (*name).to_owned()
            }
        })
        .collect()
}

/// Formats a count with its noun and thousands separators.
pub(super) fn plural(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { several })
}

/// Formats a number with thousands separators.
pub(super) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + 4);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_thousands_separators_and_the_right_noun() {
        assert_eq!(plural(1, "turn", "turns"), "1 turn");
        assert_eq!(plural(1_234_567, "turn", "turns"), "1,234,567 turns");
        assert_eq!(plural(999, "turn", "turns"), "999 turns");
    }

    #[test]
    fn projects_with_the_same_name_are_told_apart() {
        let projects = [
            ("/home/ada/cli", "cli"),
            ("/home/bob/cli/", "cli"),
            ("github.com/acme/web", "web"),
        ];
        assert_eq!(
            distinct_names(projects.into_iter()),
            ["ada/cli", "bob/cli", "web"]
        );
    }

    #[test]
    fn a_message_becomes_a_sentence() {
        assert_eq!(sentence("no note with id N5"), "No note with id N5.");
        assert_eq!(sentence(""), ".");
    }
}
