//! `backstory done`: ticks off open items of a project.

use anstream::println;
use anyhow::{Result, bail};
use backstory_engine::{engine::Engine, error::HintedError};
use backstory_model::{OpenItemKey, Timestamp};
use backstory_recall::{ContextRequest, OpenItem, OpenItems, open_items};
use backstory_store::{Project, Store};
use serde_json::{Value, json};

use super::{ExitStatus, current_project, open_store, project};
use crate::{
    json_output::print_json,
    output::{self, BOLD, DIM, GOOD, Page, Times},
};

/// Tick off open items
///
/// Open items are next steps that sessions left in the project of the current folder. A ticked item leaves the context of
/// new sessions, hand-overs and the viewer, and stays ticked when its session is distilled again. Without ITEM it lists the
/// open items.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory done                    list open items
  backstory done kqvz               tick one off by its key
  backstory done coupon test        tick off the one that has these words
  backstory done --undo kqvz        open it again")]
pub(crate) struct Done {
    /// Keys of items, or words that one item contains
    #[arg(value_name = "ITEM")]
    items: Vec<String>,
    /// Open ticked items again
    #[arg(long, short)]
    undo: bool,
    /// Project: its folder name, a path inside it, or its id
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Done) -> Result<ExitStatus> {
    let Some(mut store) = open_store(engine)? else {
        bail!(HintedError::new("nothing was recorded yet").hint("`backstory demo` shows an example"));
    };
    let project = match &arguments.project {
        Some(named) => project(engine, &store, named)?,
        None => current_project(engine, &store)?.ok_or_else(|| {
            HintedError::new("this project has no memories yet")
                .hint("--project names another; `backstory projects` lists them")
        })?,
    };
    let now = engine.clock.timestamp();
    let items = list(&store, &project, now)?;
    if arguments.items.is_empty() {
        if arguments.json {
            print_json(items_json(&items, &project));
        } else {
            list_page(&items, &project, &Times::new(engine)?).print(&engine.environment);
        }
        return Ok(ExitStatus::Done);
    }
    let among = if arguments.undo { &items.done } else { &items.open };
    let chosen = choose(among, &arguments.items)?;
    let keys: Vec<OpenItemKey> = chosen.iter().map(|item| item.key).collect();
    if arguments.undo {
        store.reopen(&project, &keys)?;
    } else {
        store.tick_off(&project, &keys, now)?;
    }
    if arguments.json {
        let name = if arguments.undo { "open" } else { "done" };
        let items: Vec<Value> = chosen.iter().map(|item| item_json(item)).collect();
        print_json(json!({ name: items }));
        return Ok(ExitStatus::Done);
    }
    let verb = if arguments.undo { "Open again" } else { "Done" };
    for item in &chosen {
        println!(
            "{GOOD}{verb}:{GOOD:#} {}",
            output::one_line(&item.text, output::width() - verb.len() - 2)
        );
    }
    if !arguments.undo {
        let keys: Vec<String> = keys.iter().map(|key| key.short()).collect();
        println!("{DIM}undo: backstory done --undo {}{DIM:#}", keys.join(" "));
    }
    Ok(ExitStatus::Done)
}

/// Lists the open and the ticked items of a project.
pub(crate) fn list(store: &Store, project: &Project, now: Timestamp) -> Result<OpenItems> {
    let request = ContextRequest {
        project,
        branch: None,
        compacted_session: None,
        is_withheld: false,
        now,
    };
    Ok(open_items(store, &request)?)
}

/// Finds the items that the user names: each by its key, or one by its words.
fn choose<'i>(items: &'i [OpenItem], named: &[String]) -> Result<Vec<&'i OpenItem>> {
    let by_key = |name: &String| -> Vec<&OpenItem> {
        let is_key = name.len() >= 2;
        let matching = items.iter().filter(|item| item.key.starts_with(name));
        matching.filter(|_| is_key).collect()
    };
    let mut chosen = Vec::new();
    for name in named {
        match by_key(name).as_slice() {
            [one] => chosen.push(*one),
            _ => return by_words(items, named),
        }
    }
    Ok(chosen)
}

/// Finds the only item that contains all words.
fn by_words<'i>(items: &'i [OpenItem], words: &[String]) -> Result<Vec<&'i OpenItem>> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let has_words = |item: &&OpenItem| {
        let text = item.text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let found: Vec<&OpenItem> = items.iter().filter(has_words).collect();
    let named = words.join(" ");
    match found.as_slice() {
        [_] => Ok(found),
        [] => bail!(
            HintedError::new(format_args!("no item has the key or the words `{named}`"))
                .hint("`backstory done` lists open and ticked items")
        ),
        several => {
            let lines: Vec<String> = several
                .iter()
                .map(|item| format!("{} {}", item.key.short(), output::one_line(&item.text, 60)))
                .collect();
            bail!(
                HintedError::new(format_args!("`{named}` matches {} items", several.len()))
                    .hint(format_args!("name one by its key: {}", lines.join("; ")))
            )
        }
    }
}

pub(crate) fn items_json(items: &OpenItems, project: &Project) -> Value {
    let list = |items: &[OpenItem]| -> Vec<Value> { items.iter().map(item_json).collect() };
    json!({"project": project.id, "open": list(&items.open), "done": list(&items.done)})
}

pub(crate) fn item_json(item: &OpenItem) -> Value {
    json!({
        "key": item.key.to_string(),
        "text": item.text,
        "summary": item.summary,
        "branch": item.branch,
        "created_at": output::rfc3339(item.created_at),
    })
}

fn list_page(items: &OpenItems, project: &Project, times: &Times) -> Page {
    let mut page = Page::new(output::width());
    if items.open.is_empty() {
        page.line(format_args!(
            "No open items in {}.",
            output::one_line(&project.name, 60)
        ));
    }
    write_open(&mut page, &items.open, times);
    if !items.done.is_empty() {
        page.line(format_args!("\n{BOLD}Ticked off{BOLD:#}"));
        for item in &items.done {
            let text = output::one_line(&item.text, page.width - 6);
            page.line(format_args!("{DIM}{:<4}  {text}{DIM:#}", item.key.short()));
        }
    }
    if let Some(first) = items.open.first() {
        page.line(format_args!(
            "{DIM}tick off: backstory done {}{DIM:#}",
            first.key.short()
        ));
    }
    page
}

/// Writes open items, each with its key.
pub(crate) fn write_open(page: &mut Page, items: &[OpenItem], times: &Times) {
    /// Width of the key and the space after it.
    const KEY: usize = 6;
    let room = page.width.saturating_sub(KEY).max(20);
    for item in items {
        let when = times.ago(item.created_at);
        let mut lines = output::wrap(&item.text, room);
        let last = lines.pop().unwrap_or_default();
        let mut key = item.key.short();
        for line in lines {
            page.line(format_args!("{BOLD}{key:<4}{BOLD:#}  {line}"));
            key.clear();
        }
        let fits = last.chars().count() + 2 + when.chars().count() <= room;
        let gap = if fits { "  " } else { "\n      " };
        page.line(format_args!(
            "{BOLD}{key:<4}{BOLD:#}  {last}{DIM}{gap}{when}{DIM:#}"
        ));
    }
}
