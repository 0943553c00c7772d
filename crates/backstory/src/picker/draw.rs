//! Draws the state. Pure: the same state on the same screen is the same picture.
//!
//! Texts of sessions come from `output::one_line` or `Page`, which remove control characters; the buffer drops what is left.

use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    choices::{KindChoice, Menu, TimeChoice},
    keys::{Action, BINDINGS},
    layout::{Areas, areas},
    row::Row,
    state::{Focus, Picker},
};
use crate::output::{LABEL_WIDTH, Times};

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const ACCENT: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);

/// Draws everything; returns the position of the cursor.
pub(super) fn draw(picker: &Picker, times: &Times, buffer: &mut Buffer, has_color: bool) -> Option<Position> {
    let areas = areas(buffer.area);
    let cursor = query(picker, areas.query, buffer);
    filters(picker, areas.filters, buffer);
    if let Focus::View { scroll } = picker.focus {
        page(picker.selected_page(), scroll, areas.body, buffer);
    } else {
        list(picker, times, areas.list, buffer);
        divider(areas, buffer);
        page(picker.selected_page(), 0, areas.preview, buffer);
    }
    footer(picker, times, areas.footer, buffer);
    match &picker.focus {
        Focus::Menu(menu) => show_menu(menu, areas.body, buffer),
        Focus::Help => show_help(areas.body, buffer),
        Focus::Query | Focus::List | Focus::View { .. } => {}
    }
    if !has_color {
        for cell in &mut buffer.content {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
    }
    cursor.filter(|_| picker.focus == Focus::Query)
}

fn query(picker: &Picker, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    const PROMPT: &str = "❯ ";
    if area.is_empty() {
        return None;
    }
    let right = match (picker.rows.len(), picker.took) {
        (_, None) => String::new(),
        (1, Some(took)) => format!("1 result · {} ms", took.as_millis()),
        (count, Some(took)) => format!("{count} results · {} ms", took.as_millis()),
    };
    let style = if picker.focus == Focus::Query { ACCENT } else { DIM };
    buffer.set_stringn(area.x, area.y, PROMPT, area.width.into(), style);
    let start = area.x + 2.min(area.width);
    let room = usize::from(area.width).saturating_sub(2);
    // A long query scrolls, so that the cursor stays on the screen.
    let before = picker.query.before_cursor();
    let mut hidden = 0;
    while before[hidden..].width() + 1 > room && hidden < before.len() {
        hidden += before[hidden..].chars().next().map_or(1, char::len_utf8);
    }
    let text = &picker.query.text()[hidden..];
    let placeholder = picker.query.text().is_empty();
    if placeholder {
        buffer.set_stringn(start, area.y, "type to search", room, DIM);
    } else {
        buffer.set_stringn(start, area.y, text, room, BOLD);
    }
    let used = if placeholder { 14 } else { text.width() };
    if used + right.width() + 2 <= room {
        let x = area.right() - width_of(&right);
        buffer.set_stringn(x, area.y, &right, room, DIM);
    }
    Some(Position {
        x: (start + width_of(&before[hidden..])).min(area.right().saturating_sub(1)),
        y: area.y,
    })
}

fn filters(picker: &Picker, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let value = |text: &str, is_default: bool| {
        Span::styled(text.to_owned(), if is_default { Style::new() } else { ACCENT })
    };
    let line = Line::from(vec![
        Span::styled("  in ", DIM),
        value(picker.scope_label(), picker.scope == picker.scopes[0].0),
        Span::styled(" · show ", DIM),
        value(picker.kind.label(), picker.kind == KindChoice::Everything),
        Span::styled(" · from ", DIM),
        value(picker.time.label(), picker.time == TimeChoice::Any),
    ]);
    buffer.set_line(area.x, area.y, &line, area.width);
}

fn list(picker: &Picker, times: &Times, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    if picker.rows.is_empty() && picker.took.is_some() {
        nothing(picker, area, buffer);
        return;
    }
    let height = usize::from(area.height);
    // The selection stays in the middle where possible.
    let last = picker.rows.len().saturating_sub(height);
    let first = picker.selected.saturating_sub(height / 2).min(last);
    for (y, (at, item)) in picker
        .rows
        .iter()
        .enumerate()
        .skip(first)
        .take(height)
        .enumerate()
    {
        let y = area.y + u16::try_from(y).unwrap_or(u16::MAX);
        let line = Rect { y, height: 1, ..area };
        row(item, at == picker.selected, picker, times, line, buffer);
    }
}

fn nothing(picker: &Picker, area: Rect, buffer: &mut Buffer) {
    let is_narrow = picker.scope != super::choices::ScopeChoice::All
        || picker.kind != KindChoice::Everything
        || picker.time != TimeChoice::Any;
    let text = if picker.query.text().trim().is_empty() && !is_narrow {
        "  No memories yet.".to_owned()
    } else {
        format!("  Nothing found in {}.", picker.scope_label())
    };
    buffer.set_stringn(area.x, area.y, text, area.width.into(), Style::new());
    if is_narrow && area.height > 1 {
        let hint = "  Alt-s searches elsewhere, Alt-t and Alt-d change the filters.";
        buffer.set_stringn(area.x, area.y + 1, hint, area.width.into(), DIM);
    }
}

fn row(item: &Row, is_selected: bool, picker: &Picker, times: &Times, area: Rect, buffer: &mut Buffer) {
    let mark = if is_selected { "▌" } else { " " };
    buffer.set_stringn(area.x, area.y, mark, area.width.into(), ACCENT);
    let base = match (is_selected, item.is_outdated) {
        (true, _) => BOLD,
        (false, true) => DIM,
        (false, false) => Style::new(),
    };
    let label = Style::from(item.style);
    let x = area.x + 2;
    let room = usize::from(area.width).saturating_sub(2);
    buffer.set_stringn(x, area.y, item.label, room.min(LABEL_WIDTH), label);
    let mut right = Vec::new();
    if item.is_pinned {
        right.push("pinned".to_owned());
    }
    if picker.scope == super::choices::ScopeChoice::All
        && area.width >= 70
        && let Some(project) = &item.project
    {
        right.push(crate::output::one_line(project, 18));
    }
    if area.width >= 46 {
        right.push(format!("{:>10}", times.ago(item.at)));
    }
    let right = right.join("  ");
    let title_x = x + u16::try_from(LABEL_WIDTH).unwrap_or(0) + 1;
    let title_room = area
        .right()
        .saturating_sub(title_x)
        .saturating_sub(if right.is_empty() { 0 } else { width_of(&right) + 1 });
    buffer.set_line(title_x, area.y, &title(item, base, title_room), title_room);
    if !right.is_empty() && area.width > width_of(&right) {
        let x = area.right() - width_of(&right);
        buffer.set_stringn(x, area.y, &right, usize::from(width_of(&right)), DIM);
    }
}

/// Returns the title with the words of the query marked, cut with an ellipsis.
fn title(item: &Row, base: Style, room: u16) -> Line<'static> {
    let marked = base
        .fg(Color::Yellow)
        .add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
    let is_cut = item.title.width() > usize::from(room);
    let mut left = usize::from(room).saturating_sub(usize::from(is_cut));
    let mut spans = Vec::new();
    let mut at = 0;
    let pieces = item
        .marks
        .iter()
        .flat_map(|mark| [(mark.start, base), (mark.end, marked)]);
    for (end, style) in pieces.chain([(item.title.len(), base)]) {
        let mut text = String::new();
        for letter in item.title.get(at..end).unwrap_or_default().chars() {
            let width = letter.encode_utf8(&mut [0; 4]).width();
            if width > left {
                left = 0;
                break;
            }
            left -= width;
            text.push(letter);
        }
        at = end;
        spans.push(Span::styled(text, style));
    }
    if is_cut {
        spans.push(Span::styled("…", base));
    }
    Line::from(spans)
}

fn divider(areas: Areas, buffer: &mut Buffer) {
    let symbol = if areas.divider.height > 1 { "│" } else { "─" };
    for position in areas.divider.positions() {
        buffer.set_stringn(position.x, position.y, symbol, 1, DIM);
    }
}

fn page(lines: Option<&[Line<'static>]>, scroll: usize, area: Rect, buffer: &mut Buffer) {
    let lines = lines.unwrap_or_default().iter().skip(scroll);
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

fn footer(picker: &Picker, times: &Times, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let line = if let Some(message) = &picker.message {
        let color = if message.is_error {
            Color::Red
        } else {
            Color::Green
        };
        Line::from(Span::styled(message.text.clone(), Style::new().fg(color)))
    } else if let Some(pending) = picker.pending.last() {
        let undo = if picker.focus == Focus::Query {
            "Alt-u"
        } else {
            "u"
        };
        let seconds = pending.due.since(times.now).as_millis().div_ceil(1000);
        Line::from(vec![
            Span::styled(format!("deleting in {seconds} s "), Style::new().fg(Color::Red)),
            Span::styled(undo, BOLD),
            Span::raw(" undo  "),
            Span::styled(pending.title.clone(), DIM),
        ])
    } else {
        keys(picker, usize::from(area.width))
    };
    buffer.set_line(area.x, area.y, &line, area.width);
}

/// Returns the keys of the current focus, as many as fit.
fn keys(picker: &Picker, width: usize) -> Line<'static> {
    let actions = |prefix: &str| -> Vec<(String, &'static str)> {
        let shown = BINDINGS.iter().filter(|binding| binding.action != Action::Undo);
        shown
            .map(|binding| (format!("{prefix}{}", binding.letter), binding.name))
            .collect()
    };
    let key = |key: &str, name: &'static str| (key.to_owned(), name);
    let mut list = Vec::new();
    // The way out and the help come first: they stay when the others do not fit.
    match &picker.focus {
        Focus::Query => {
            let leave = if picker.query.text().is_empty() {
                "quit"
            } else {
                "clear"
            };
            list.extend([
                key("Enter", "show"),
                key("Tab", "keys"),
                key("F1", "help"),
                key("Esc", leave),
            ]);
            list.extend(actions("Alt-"));
        }
        Focus::List => {
            list.extend([
                key("Enter", "show"),
                key("/", "type"),
                key("?", "help"),
                key("q", "quit"),
            ]);
            list.extend(actions(""));
        }
        Focus::View { scroll } => {
            let lines = picker.selected_page().map_or(0, <[_]>::len);
            if lines > picker.view_height {
                let end = (scroll + picker.view_height).min(lines);
                list.push((format!("{}-{end}", scroll + 1), "of the page"));
            }
            list.extend([key("Esc", "back"), key("n", "next"), key("?", "help")]);
            list.extend(actions("").into_iter().take(6));
        }
        Focus::Menu(_) => list.extend([key("Enter", "choose"), key("Esc", "back")]),
        Focus::Help => list.push(key("any key", "back")),
    }
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, name) in list {
        let needed = key.width() + name.width() + 3;
        if used + needed > width + 2 {
            break;
        }
        used += needed;
        spans.push(Span::styled(key, BOLD));
        spans.push(Span::styled(format!(" {name}  "), DIM));
    }
    Line::from(spans)
}

fn show_menu(menu: &Menu, body: Rect, buffer: &mut Buffer) {
    let longest = menu.labels.iter().map(|label| label.width()).max().unwrap_or(0);
    let width = longest.max(menu.of.title().len() + 2) + 6;
    let area = boxed(menu.of.title(), width, menu.labels.len(), body, buffer);
    let height = usize::from(area.height);
    let first = (menu.selected + 1).saturating_sub(height);
    for (y, (at, label)) in (area.y..).zip(menu.labels.iter().enumerate().skip(first).take(height)) {
        let (mark, style) = if at == menu.selected {
            ("▌ ", ACCENT)
        } else {
            ("  ", Style::new())
        };
        buffer.set_stringn(area.x, y, format!("{mark}{label}"), area.width.into(), style);
    }
}

fn show_help(body: Rect, buffer: &mut Buffer) {
    let mut lines: Vec<(String, String)> = [
        (
            "type",
            "search: words, names, meaning, \"last week\", \"what is open\"",
        ),
        ("Enter", "show it in full; Esc goes back"),
        ("Tab", "move between the query and the list"),
    ]
    .map(|(key, help)| (key.to_owned(), help.to_owned()))
    .into();
    lines.extend(BINDINGS.iter().map(|binding| {
        (
            format!("{}  Alt-{}", binding.letter, binding.letter),
            binding.help.to_owned(),
        )
    }));
    lines.push(("Ctrl-Z".to_owned(), "suspend".to_owned()));
    lines.push((
        "Ctrl-C".to_owned(),
        "quit; what is marked for deletion is deleted".to_owned(),
    ));
    let width = lines.iter().map(|(_, help)| help.width()).max().unwrap_or(0) + 13;
    let title = "Keys: letters in the list, Alt while typing";
    let area = boxed(title, width + 4, lines.len(), body, buffer);
    for (y, (key, help)) in (area.y..area.bottom()).zip(lines) {
        let line = Line::from(vec![Span::styled(format!("{key:<10} "), BOLD), Span::raw(help)]);
        buffer.set_line(area.x, y, &line, area.width);
    }
}

/// Draws an empty box in the middle of an area; returns the room inside.
fn boxed(title: &str, width: usize, lines: usize, body: Rect, buffer: &mut Buffer) -> Rect {
    let width = u16::try_from(width).unwrap_or(u16::MAX).min(body.width);
    let height = u16::try_from(lines + 2).unwrap_or(u16::MAX).min(body.height);
    if width < 4 || height < 3 {
        return Rect::default();
    }
    let area = Rect {
        x: body.x + (body.width - width) / 2,
        y: body.y + (body.height - height) / 2,
        width,
        height,
    };
    let inside = usize::from(width) - 2;
    for y in area.y..area.bottom() {
        let line = if y == area.y {
            let title = crate::output::one_line(title, inside.saturating_sub(2));
            format!(
                "╭ {title} {}╮",
                "─".repeat(inside.saturating_sub(title.width() + 2))
            )
        } else if y + 1 == area.bottom() {
            format!("╰{}╯", "─".repeat(inside))
        } else {
            format!("│{}│", " ".repeat(inside))
        };
        for x in area.x..area.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
            }
        }
        buffer.set_stringn(area.x, y, line, width.into(), Style::new());
    }
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: width - 4,
        height: height - 2,
    }
}

fn width_of(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
