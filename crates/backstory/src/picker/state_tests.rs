use backstory_model::{MemoryKind, ProjectId};
use backstory_store::Project;

use super::*;
use crate::picker::{
    fixtures::{NOW, place, row, session_row},
    keys::Key,
};

fn picker() -> Picker {
    let mut picker = Picker::new(&place(), String::new());
    picker.page_width = 40;
    let first = picker.search();
    assert!(matches!(first, Effect::Search(SearchRequest { number: 1, .. })));
    picker.answer(rows(
        1,
        vec![row(1, "one"), row(2, "two"), session_row("s1", "three")],
    ));
    picker
}

fn rows(number: u64, rows: Vec<Row>) -> Answer {
    Answer::Rows {
        number,
        rows,
        took: Duration::from_millis(3),
    }
}

fn press(picker: &mut Picker, keys: &[Key]) -> Vec<Effect> {
    keys.iter().flat_map(|key| picker.key(*key, NOW)).collect()
}

fn handle(id: i64) -> Handle {
    Handle {
        kind: MemoryKind::Observation,
        id,
    }
}

#[test]
fn letters_go_into_the_query_and_every_change_searches() {
    let mut picker = picker();
    let effects = press(&mut picker, &[Key::Letter('y'), Key::Letter('r'), Key::Left]);
    let texts: Vec<&str> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Search(request) => request.text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["y", "yr"]);
    assert!(picker.is_waiting());
}

#[test]
fn only_the_newest_answer_counts_and_rows_stay_until_it_arrives() {
    let mut picker = picker();
    press(&mut picker, &[Key::Letter('a'), Key::Letter('b')]);
    assert_eq!(picker.rows.len(), 3, "nothing flickers");
    picker.answer(rows(3, vec![row(9, "newest")]));
    picker.answer(rows(2, vec![row(8, "older")]));
    assert_eq!(picker.rows[0].title, "newest");
    assert_eq!(picker.rows.len(), 1);
}

#[test]
fn the_list_and_alt_have_the_same_actions() {
    let copy = [Effect::Copy(Target::Memory(handle(1)))];
    assert_eq!(press(&mut picker(), &[Key::Alt('y')]), copy);
    let mut in_list = picker();
    assert_eq!(press(&mut in_list, &[Key::Tab, Key::Letter('y')]), copy);
    let mut in_view = picker();
    assert_eq!(press(&mut in_view, &[Key::Enter, Key::Letter('y')]), copy);
    assert_eq!(in_view.focus, Focus::View { scroll: 0 });
    assert_eq!(
        press(&mut picker(), &[Key::Alt('p')]),
        [Effect::SetPinned(handle(1), true)]
    );
    assert_eq!(press(&mut picker(), &[Key::Alt('e')]), [Effect::Edit(handle(1))]);
    assert_eq!(
        press(&mut picker(), &[Key::Alt('r')]),
        [Effect::Resume("s1".to_owned())]
    );
}

#[test]
fn moving_asks_for_the_page_once() {
    let mut picker = picker();
    let page = |id| PageRequest {
        target: Target::Memory(handle(id)),
        width: 40,
    };
    assert_eq!(press(&mut picker, &[Key::Down]), [Effect::Page(page(2))]);
    assert_eq!(picker.want_page(), []);
    let of = page(2);
    picker.answer(Answer::Page {
        of,
        lines: vec![Line::from("two")],
    });
    assert_eq!(picker.selected_page(), Some(&[Line::from("two")][..]));
    assert_eq!(picker.want_page(), []);
    assert_eq!(press(&mut picker, &[Key::Up]), [Effect::Page(page(1))]);
    assert_eq!(picker.selected_page(), None, "not the page of another row");
    assert_eq!(press(&mut picker, &[Key::Up]), [], "already wanted");
}

#[test]
fn a_deletion_waits_and_can_be_undone() {
    let mut picker = picker();
    press(&mut picker, &[Key::Alt('x')]);
    assert_eq!(picker.rows.len(), 2);
    assert_eq!(picker.due(Some(NOW)), []);
    // A search that still finds it does not show it.
    picker.answer(rows(5, vec![row(1, "one"), row(2, "two")]));
    assert_eq!(picker.rows.len(), 1);
    let effects = press(&mut picker, &[Key::Alt('u')]);
    assert!(matches!(effects[..], [Effect::Search(_)]));
    assert_eq!(picker.due(Some(NOW + UNDO_TIME)), []);

    picker.answer(rows(6, vec![row(1, "one"), row(2, "two")]));
    press(&mut picker, &[Key::Tab, Key::Letter('x')]);
    assert_eq!(picker.due(Some(NOW + UNDO_TIME)), [Effect::Forget(handle(1))]);
    assert_eq!(picker.due(None), [], "once");
    picker.answer(rows(7, vec![row(1, "one")]));
    assert_eq!(picker.rows, []);
}

#[test]
fn leaving_deletes_what_is_pending() {
    let mut picker = picker();
    press(&mut picker, &[Key::Alt('x'), Key::Alt('x')]);
    assert_eq!(
        picker.due(None),
        [Effect::Forget(handle(1)), Effect::Forget(handle(2))]
    );
}

#[test]
fn a_session_is_resumed_and_not_deleted_by_one_key() {
    let mut picker = picker();
    press(&mut picker, &[Key::Down, Key::Down]);
    assert_eq!(
        press(&mut picker, &[Key::Alt('r')]),
        [Effect::Resume("s1".to_owned())]
    );
    for letter in ['x', 'p', 'e'] {
        assert_eq!(press(&mut picker, &[Key::Alt(letter)]), []);
        assert!(picker.message.as_ref().is_some_and(|message| message.is_error));
    }
    assert_eq!(picker.rows.len(), 3);
}

#[test]
fn menus_change_the_filters() {
    let mut picker = picker();
    let effects = press(&mut picker, &[Key::Alt('s'), Key::Down, Key::Enter]);
    assert!(
        matches!(&effects[..], [Effect::Search(request)] if request.scope == ScopeChoice::Branch),
        "{effects:?}"
    );
    let effects = press(&mut picker, &[Key::Alt('t'), Key::Letter('b'), Key::Enter]);
    assert!(
        matches!(&effects[..], [Effect::Search(request)]
            if request.kind == KindChoice::Type(backstory_model::ObservationType::Bugfix)),
        "{effects:?}"
    );
    let effects = press(&mut picker, &[Key::Alt('d'), Key::Up, Key::Enter]);
    assert!(
        matches!(&effects[..], [Effect::Search(request)] if request.time == TimeChoice::Year),
        "{effects:?}"
    );
    assert_eq!(press(&mut picker, &[Key::Alt('d'), Key::Escape]), []);
    assert_eq!(picker.focus, Focus::Query);
}

#[test]
fn escape_clears_before_it_leaves() {
    let mut picker = picker();
    press(&mut picker, &[Key::Letter('a')]);
    assert!(matches!(
        press(&mut picker, &[Key::Escape])[..],
        [Effect::Search(_)]
    ));
    assert_eq!(press(&mut picker, &[Key::Escape]), [Effect::Quit]);
    let mut viewing = self::picker();
    assert_eq!(press(&mut viewing, &[Key::Enter, Key::Escape]), []);
    assert_eq!(press(&mut viewing, &[Key::Control('c')]), [Effect::Quit]);
    assert_eq!(press(&mut viewing, &[Key::Tab, Key::Letter('q')]), [Effect::Quit]);
}

#[test]
fn a_long_page_scrolls_to_its_end_and_no_further() {
    let mut picker = picker();
    picker.view_height = 10;
    let of = PageRequest {
        target: Target::Memory(handle(1)),
        width: 40,
    };
    picker.answer(Answer::Page {
        of,
        lines: vec![Line::from("x"); 25],
    });
    press(&mut picker, &[Key::Enter, Key::PageDown, Key::Down]);
    assert_eq!(picker.focus, Focus::View { scroll: 10 });
    press(&mut picker, &[Key::PageDown, Key::PageDown, Key::Down]);
    assert_eq!(picker.focus, Focus::View { scroll: 15 });
    press(&mut picker, &[Key::Home, Key::Up]);
    assert_eq!(picker.focus, Focus::View { scroll: 0 });
}

#[test]
fn without_a_project_everything_is_searched() {
    let picker = Picker::new(&Place::default(), String::new());
    assert_eq!(picker.scope_label(), "all projects");
    let unknown_branch = Place {
        project: Some(Project {
            db_id: ProjectId::new(1),
            id: "p".to_owned(),
            name: "p".to_owned(),
            root: "/p".to_owned(),
        }),
        branch: None,
    };
    assert_eq!(Picker::new(&unknown_branch, String::new()).scopes.len(), 2);
}
