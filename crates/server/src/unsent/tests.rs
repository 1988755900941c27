//! White-box tests of `unsent.rs`.

use axum::body::{Body, HttpBody};
use axum::http::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use proptest::prelude::*;

use super::*;
use crate::{Admin, AdminSettings, Limits, Service, State, Today};

const BYTES_MAX: u64 = 1000;

#[test]
fn answers_have_room_up_to_the_bound_and_give_it_back() {
    let unsent = Unsent::new(BYTES_MAX);
    let first = unsent.room_for(600).expect("room");
    assert!(unsent.room_for(401).is_none());
    let second = unsent.room_for(400).expect("room to the byte");
    assert!(unsent.room_for(1).is_none());
    let first = first.hold(vec![b'a'; 500]);
    assert_eq!(unsent.bytes(), 900);
    drop(second);
    // A part of an answer keeps all of it.
    let rest = first.slice(499..);
    drop(first);
    assert_eq!(unsent.bytes(), 500);
    drop(rest);
    assert_eq!(unsent.bytes(), 0);
}

#[test]
fn pages_of_the_dashboard_are_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let index = signaldex::sample::index().expect("the sample corpus");
    let service = Service::new(index, state, Today::Clock, Limits::default()).expect("a service");
    let admin = Admin::new(service.clone(), AdminSettings::default()).router();
    let request = Request::get("/sign-in").body(Body::empty());
    let answer = TowerToHyperService::new(admin).call(request.expect("a request"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let answer = runtime.block_on(answer).expect("an answer");
    let length = answer.body().size_hint().exact().expect("a length");
    assert!(length > 500, "{length}");
    assert_eq!(service.0.unsent.bytes(), length);
    drop(answer);
    assert_eq!(service.0.unsent.bytes(), 0);
}

#[test]
fn an_answer_above_the_bound_has_room_alone() {
    let unsent = Unsent::new(BYTES_MAX);
    let large = unsent.room_for(5000).expect("the only one");
    assert!(unsent.room_for(1).is_none());
    drop(large);
    let small = unsent.room_for(1).expect("room");
    assert!(unsent.room_for(5000).is_none());
    drop(small);
}

proptest! {
    /// Answers come, are made and are sent in any order: the bytes are always those of the answers that there
    /// are, and room is refused exactly where the bound would be exceeded.
    #[test]
    fn bytes_are_those_of_the_answers(steps in prop::collection::vec((0_u8..3, 0_usize..700), 1..60)) {
        let unsent = Unsent::new(BYTES_MAX);
        let (mut rooms, mut answers): (Vec<Room>, Vec<Bytes>) = (Vec::new(), Vec::new());
        for (step, number) in steps {
            let before = unsent.bytes();
            match step {
                0 => match unsent.room_for(number) {
                    Some(room) => {
                        prop_assert!(before == 0 || before + number as u64 <= BYTES_MAX);
                        rooms.push(room);
                    }
                    None => prop_assert!(before + number as u64 > BYTES_MAX),
                },
                1 if !rooms.is_empty() => {
                    let room = rooms.swap_remove(number % rooms.len());
                    let length = room.bytes as usize;
                    answers.push(room.hold(vec![0; length - length / 3]));
                }
                2 if !answers.is_empty() => drop(answers.swap_remove(number % answers.len())),
                _ => {}
            }
            let of_rooms: u64 = rooms.iter().map(|room| room.bytes).sum();
            let of_answers: usize = answers.iter().map(Bytes::len).sum();
            prop_assert_eq!(unsent.bytes(), of_rooms + of_answers as u64);
        }
    }
}
