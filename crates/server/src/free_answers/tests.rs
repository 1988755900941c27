//! White-box tests of `free_answers.rs`.

use super::*;

#[test]
fn what_is_not_recorded_is_kept_and_what_is_not_given_does_not_count() {
    let answers = FreeAnswers::default();
    let month = Month::of_number(202_611);
    let (first, unrecorded) = answers.take(1, month);
    assert_eq!(unrecorded, 1);
    let (second, unrecorded) = answers.take(1, month);
    assert_eq!(unrecorded, 2);
    assert!(answers.start_recording().is_empty());
    first.give();
    drop(second);
    assert_eq!(answers.start_recording(), [((1, month), 1)]);
    assert!(answers.start_recording().is_empty());
    answers.keep((1, month), 1);
    assert_eq!(answers.start_recording(), [((1, month), 1)]);
    answers.settle((1, month), 1);
    assert!(answers.lock().is_empty());
}
