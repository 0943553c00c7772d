//! Pins, verdicts and supersessions.

use backstory_protocol::{FeedbackAnswer, PullLine};

use crate::{person::Person, team_server::TeamServer};

#[test]
fn a_view_is_one_per_person_and_travels_with_the_changes() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "writer"), "Ben");
    let project = ana.project("example.org/app");
    let record = ana.share(&project, "one");
    let other = ana.share(&project, "two");
    let path = format!("/v1/projects/{}/feedback", project.id);
    let view = serde_json::json!({"feedback": [
        {"memory": record.id, "verdict": 1},
        {"memory": record.id, "pinned": true, "verdict": -1, "superseded_by": other.id},
        {"memory": "00000000000000000000000000000001", "verdict": 1},
    ]});
    let stored: FeedbackAnswer = ben.post(&path, &view).json();
    assert_eq!((stored.stored, stored.head), (1, 3));
    // The same again changes nothing.
    let again: FeedbackAnswer = ben.post(&path, &view).json();
    assert_eq!((again.stored, again.head), (1, 3));
    let PullLine::Feedback(3, pulled) = ana.pull(&project, 2, "").changes[0] else {
        panic!("feedback");
    };
    assert_eq!((pulled.account, pulled.memory), (Some(ben.account), record.id));
    assert_eq!(
        (pulled.pinned, pulled.verdict, pulled.superseded_by),
        (true, -1, Some(other.id))
    );
    // Somebody who joins later learns of it from the snapshot.
    assert!(matches!(
        ana.snapshot(&project).changes[..],
        [.., PullLine::Feedback(3, _)]
    ));
    // Taking a view back is a change, and a view that never was is none.
    let none = serde_json::json!({"feedback": [{"memory": record.id}, {"memory": other.id}]});
    assert_eq!(ben.post(&path, &none).json::<FeedbackAnswer>().head, 4);
    assert_eq!(ana.post(&path, &none).json::<FeedbackAnswer>().head, 4);
}
