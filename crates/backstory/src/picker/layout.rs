//! Divides the screen: query, filters, list, preview and footer, for every size.

use ratatui_core::layout::Rect;

/// The parts of the screen. Parts for which there is no room are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) query: Rect,
    pub(super) filters: Rect,
    pub(super) list: Rect,
    /// The line between list and preview.
    pub(super) divider: Rect,
    pub(super) preview: Rect,
    pub(super) footer: Rect,
    /// List and preview together, for the full view.
    pub(super) body: Rect,
}

/// From this width on, the preview is beside the list.
const SIDE_BY_SIDE: u16 = 110;

/// The least height of list and preview for a preview below the list.
const MIN_STACKED: u16 = 11;

/// Divides a screen.
pub(super) fn areas(screen: Rect) -> Areas {
    let row = |y: u16| Rect {
        y: screen.y + y,
        height: u16::from(y < screen.height),
        ..screen
    };
    let mut areas = Areas {
        query: row(0),
        filters: if screen.height > 4 {
            row(1)
        } else {
            Rect::default()
        },
        footer: if screen.height > 3 {
            row(screen.height - 1)
        } else {
            Rect::default()
        },
        ..Areas::default()
    };
    let top = 1 + areas.filters.height;
    let body = Rect {
        y: screen.y + top,
        height: screen.height.saturating_sub(top + areas.footer.height),
        ..screen
    };
    areas.body = body;
    areas.list = body;
    if screen.width >= SIDE_BY_SIDE && body.height >= 3 {
        let left = body.width / 2;
        areas.list.width = left - 1;
        areas.divider = Rect {
            x: body.x + left,
            width: 1,
            ..body
        };
        areas.preview = Rect {
            x: body.x + left + 2,
            width: body.width - left - 2,
            ..body
        };
    } else if body.height >= MIN_STACKED {
        areas.list.height = (body.height - 1) / 2;
        areas.divider = Rect {
            y: body.y + areas.list.height,
            height: 1,
            ..body
        };
        areas.preview = Rect {
            y: areas.divider.y + 1,
            height: body.height - areas.list.height - 1,
            ..body
        };
    }
    areas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_on_the_screen_and_do_not_overlap() {
        for width in 0..200 {
            for height in 0..60 {
                let screen = Rect::new(0, 0, width, height);
                let areas = areas(screen);
                let parts = [
                    areas.query,
                    areas.filters,
                    areas.list,
                    areas.divider,
                    areas.preview,
                    areas.footer,
                ];
                for (at, part) in parts.iter().enumerate() {
                    assert!(
                        part.is_empty() || part.right() <= width && part.bottom() <= height,
                        "{width}x{height}: {part:?}"
                    );
                    let overlaps =
                        |other: &Rect| !part.is_empty() && !other.is_empty() && part.intersects(*other);
                    assert!(
                        !parts[at + 1..].iter().any(overlaps),
                        "{width}x{height}: {part:?}"
                    );
                }
            }
        }
    }
}
