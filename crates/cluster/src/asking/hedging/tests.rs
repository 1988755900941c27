//! The bound on second attempts.

use super::*;

#[test]
fn one_question_in_twenty_has_a_second_attempt_at_most() {
    let attempts = SecondAttempts::new();
    assert!(!attempts.0.withdraw());
    let (mut questions, mut second) = (0, 0);
    for _ in 0..1_000 {
        attempts.0.deposit();
        questions += 1;
        second += usize::from(attempts.0.withdraw());
        assert!(second * 20 <= questions, "{second} of {questions}");
    }
    assert!(second * 21 >= questions, "{second} of {questions}");
}
