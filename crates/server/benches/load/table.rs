//! Results as tables in Markdown.

use std::fmt::Write;
use std::time::Duration;

use crate::goals::{Bound, Goal, median, median_time};
use crate::pace::{Measured, Turn};

/// Medians over the turns, a line a number of connections, a group of columns a program.
pub(crate) fn of(measured: &Measured) -> String {
    let programs = measured
        .values()
        .next()
        .map_or(0, |level| level.programs.len());
    let mut text = "| connections |".to_owned();
    for number in 0..programs {
        let name = match (programs, number) {
            (1, _) => String::new(),
            (2, 0) => "before: ".to_owned(),
            (2, _) => "after: ".to_owned(),
            _ => format!("{}: ", number + 1),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, " {name}requests/s | p50, ms | p99, ms | CPU, µs |");
    }
    text.push_str(" constant body: requests/s | p50, ms | p99, ms | CPU, µs |");
    text.push_str("\n|--:|");
    text.push_str(&"--:|".repeat(4 * (programs + 1)));
    for (connections, level) in measured {
        let _ = write!(text, "\n| {connections} |");
        for turns in level.programs.iter().chain([&level.constant]) {
            let rate = median(turns.iter().map(|turn| turn.per_second).collect());
            let milliseconds =
                |of: fn(&Turn) -> Duration| median_time(turns, of).as_secs_f64() * 1e3;
            let (p50, p99) = (milliseconds(|turn| turn.p50), milliseconds(|turn| turn.p99));
            let cpu = median_time(turns, |turn| turn.cpu).as_secs_f64() * 1e6;
            let _ = write!(text, " {rate:.0} | {p50:.2} | {p99:.2} | {cpu:.0} |");
        }
    }
    text.push('\n');
    text
}

/// What each goal asks for and what was measured.
pub(crate) fn of_goals(goals: &[Goal]) -> String {
    let mut text = "| goal | bound | measured | |\n|---|--:|--:|---|\n".to_owned();
    for goal in goals {
        let bound = match goal.bound {
            Bound::AtLeast(min) => format!("≥ {min}"),
            Bound::AtMost(max) => format!("≤ {max}"),
        };
        let verdict = if goal.is_met() { "met" } else { "**missed**" };
        let (name, measured) = (&goal.name, goal.measured);
        let _ = writeln!(text, "| {name} | {bound} | {measured:.2} | {verdict} |");
    }
    text
}
