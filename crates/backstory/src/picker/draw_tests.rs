use jiff::tz::TimeZone;

use super::*;
use crate::picker::{
    fixtures::{NOW, place, row, session_row},
    keys::Key,
    search::{Answer, PageRequest},
    styled,
};

/// Draws a state on a screen of some size; returns its rows as text.
fn screen(picker: &mut Picker, width: u16, height: u16) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    let times = Times {
        now: NOW,
        zone: TimeZone::UTC,
    };
    picker.view_height = areas(buffer.area).body.height.into();
    let cursor = draw(picker, &times, &mut buffer, true);
    let mut text = String::new();
    for y in 0..height {
        let mut skip = 0;
        let mut line = String::new();
        for x in 0..width {
            let symbol = buffer.cell((x, y)).map_or("", |cell| cell.symbol());
            if skip == 0 {
                line.push_str(symbol);
                skip = symbol.width().saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    match cursor {
        Some(cursor) => format!("{text}cursor at {},{}\n", cursor.x, cursor.y),
        None => format!("{text}no cursor\n"),
    }
}

fn picker() -> Picker {
    let mut picker = Picker::new(&place(), "retry".to_owned());
    picker.search();
    let mut pinned = row(
        2,
        "Uploads retry three times with a growing pause between attempts",
    );
    pinned.marks = std::iter::once(8..13).collect();
    pinned.is_pinned = true;
    let mut wide = row(
        9,
        "再試行 of an upload: ﬁle ünïcode \u{1b}[31m and more words than fit into a line",
    );
    wide.is_outdated = true;
    wide.label = "discovery";
    picker.answer(Answer::Rows {
        number: 1,
        rows: vec![
            session_row("s1", "Make uploads robust"),
            pinned,
            wide,
            row(400, "Retry"),
        ],
        took: std::time::Duration::from_millis(4),
    });
    let target = picker.rows[0].target.clone();
    picker.answer(Answer::Page {
        of: PageRequest { target, width: 40 },
        lines: styled::lines("The page of the session\n\nwith several lines"),
    });
    picker
}

#[test]
fn the_list_and_its_preview_are_drawn_in_every_size() {
    let mut text = String::new();
    for (width, height) in [(80, 24), (120, 16), (44, 12), (24, 6), (10, 3)] {
        text.push_str(&format!(
            "{width}x{height}\n{}\n",
            screen(&mut picker(), width, height)
        ));
    }
    insta::assert_snapshot!("picker_sizes", text);
    for width in 0..60 {
        for height in 0..30 {
            screen(&mut picker(), width, height);
        }
    }
}

#[test]
fn overlays_and_messages_are_drawn() {
    let mut text = String::new();
    let mut shown = |name: &str, keys: &[Key]| {
        let mut picker = picker();
        for key in keys {
            picker.key(*key, NOW);
        }
        text.push_str(&format!("{name}\n{}\n", screen(&mut picker, 80, 22)));
    };
    shown("help", &[Key::Help]);
    shown("menu", &[Key::Alt('t')]);
    shown("list", &[Key::Tab, Key::Down]);
    shown("view", &[Key::Enter]);
    shown("forget", &[Key::Down, Key::Alt('x')]);
    shown("refused", &[Key::Alt('x')]);
    shown("cleared", &[Key::Escape]);
    insta::assert_snapshot!("picker_overlays", text);
}

#[test]
fn without_colors_no_cell_has_one() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
    let times = Times {
        now: NOW,
        zone: TimeZone::UTC,
    };
    draw(&picker(), &times, &mut buffer, false);
    assert!(
        buffer
            .content
            .iter()
            .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
    );
    draw(&picker(), &times, &mut buffer, true);
    assert!(buffer.content.iter().any(|cell| cell.fg == Color::Cyan));
}
