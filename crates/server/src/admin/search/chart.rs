//! The bar chart of matches by date: its unit, its bars, and the search that each bar narrows to.

use std::collections::BTreeMap;

use time::{Date, Month};

use super::query_text::QueryText;
use crate::admin::failed::Failed;
use crate::admin::figures;
use signaldex::query::{GroupBy, TimeUnit};
use signaldex::{AggregateQuery, Filter, KeyValue, Snapshot};

/// Matches within at most this number of days are shown by day.
const DAYS_MAX: usize = 31;
/// Matches within more months are shown by year.
const MONTHS_MAX: usize = 36;
/// Years with a bar of their own; all earlier ones share one.
const YEARS_MAX: usize = 40;

/// Matches by date.
pub(super) struct Chart {
    pub(super) unit: &'static str,
    pub(super) bars: Vec<ChartBar>,
    /// The number of matches without a date; empty if there are none.
    pub(super) undated: String,
}

/// The matches of a period.
pub(super) struct ChartBar {
    /// The period as aggregates name it, such as `2026-03`.
    pub(super) period: String,
    /// The label below the bar.
    pub(super) label: String,
    /// The month or year that begins with this bar; otherwise empty.
    pub(super) heading: String,
    pub(super) count: String,
    /// The count in at most four characters; empty for none.
    pub(super) short_count: String,
    /// Percentage of the highest bar.
    pub(super) height: u64,
    /// The search of these matches alone, unless it is the one shown or there are none.
    pub(super) link: Option<String>,
}

/// The numbers of matches by the first day of their period, and of those without a date.
struct PeriodCounts {
    periods: BTreeMap<Date, u64>,
    undated: u64,
}

impl Chart {
    /// The chart of the matches of a filter, which `text` is a search for.
    pub(super) fn of(
        snapshot: &Snapshot,
        filter: &Filter,
        text: &QueryText,
        today: Date,
    ) -> Result<Chart, Failed> {
        let months = PeriodCounts::by(snapshot, filter, TimeUnit::Month, today)?;
        let undated = match months.undated {
            0 => String::new(),
            undated => figures::grouped(undated),
        };
        let (unit, periods) = match months.range(TimeUnit::Month).len() {
            ..=2 => {
                let days = PeriodCounts::by(snapshot, filter, TimeUnit::Day, today)?;
                if days.range(TimeUnit::Day).len() <= DAYS_MAX {
                    (TimeUnit::Day, days)
                } else {
                    (TimeUnit::Month, months)
                }
            }
            3..=MONTHS_MAX => (TimeUnit::Month, months),
            _ => (TimeUnit::Year, months.by_year()),
        };
        Ok(Chart {
            unit: unit.as_str(),
            bars: periods.bars(unit, text),
            undated,
        })
    }
}

impl PeriodCounts {
    fn by(
        snapshot: &Snapshot,
        filter: &Filter,
        unit: TimeUnit,
        today: Date,
    ) -> Result<PeriodCounts, Failed> {
        let query = by(filter, unit)?;
        let mut counts = PeriodCounts {
            periods: BTreeMap::new(),
            undated: 0,
        };
        for group in snapshot.aggregate(&query, today)?.groups {
            match group.key.first() {
                Some(Some(KeyValue::Time(period))) => {
                    counts
                        .periods
                        .insert(period.first_day(), group.figures.count);
                }
                _ => counts.undated += group.figures.count,
            }
        }
        Ok(counts)
    }

    fn by_year(&self) -> PeriodCounts {
        let mut years = BTreeMap::new();
        for (day, count) in &self.periods {
            *years.entry(first_of(TimeUnit::Year, *day)).or_default() += count;
        }
        PeriodCounts {
            periods: years,
            undated: self.undated,
        }
    }

    /// The first days of all periods from the first with matches to the last. No longer than the chart has bars for: of
    /// more, there are the last.
    fn range(&self, unit: TimeUnit) -> Vec<Date> {
        let max = match unit {
            TimeUnit::Year => YEARS_MAX,
            TimeUnit::Month => MONTHS_MAX + 1,
            _ => DAYS_MAX + 1,
        };
        let Some((&first, &last)) = self
            .periods
            .first_key_value()
            .zip(self.periods.last_key_value())
            .map(|((first, _), (last, _))| (first, last))
        else {
            return Vec::new();
        };
        let before = |day: &Date| day.previous_day().map(|day| first_of(unit, day));
        let days = std::iter::successors(Some(last), before);
        let mut days: Vec<Date> = days.take_while(|day| *day >= first).take(max).collect();
        days.reverse();
        days
    }

    fn bars(&self, unit: TimeUnit, text: &QueryText) -> Vec<ChartBar> {
        let range = self.range(unit);
        let Some(&start) = range.first() else {
            return Vec::new();
        };
        let count = |day: &Date| self.periods.get(day).copied().unwrap_or(0);
        let earlier = self.periods.range(..start).map(|(_, count)| count).sum();
        let highest = range.iter().map(count).max().unwrap_or(0).max(earlier);
        let mut bars = Vec::with_capacity(range.len() + 1);
        if earlier > 0 {
            let period = format!("before {}", unit.period(start));
            let end = start.previous_day().unwrap_or(start);
            let link = narrowed(text, None, end);
            bars.push(ChartBar::of(period, "before", (earlier, highest), link));
        }
        for (index, day) in range.iter().enumerate() {
            let link = narrowed(text, Some(*day), last_of(unit, *day));
            let period = unit.period(*day).to_string();
            let (label, heading) = labels(unit, *day, index == 0);
            let bar = ChartBar::of(period, &label, (count(day), highest), link);
            bars.push(ChartBar { heading, ..bar });
        }
        bars
    }
}

impl ChartBar {
    /// A bar of some matches, beside the highest one.
    fn of(
        period: String,
        label: &str,
        (count, highest): (u64, u64),
        link: Option<String>,
    ) -> ChartBar {
        ChartBar {
            period,
            label: label.to_owned(),
            heading: String::new(),
            count: figures::grouped(count),
            short_count: figures::short(count),
            // Few matches beside many are visible, too.
            height: figures::percent(count, highest).max(u64::from(count > 0)),
            link: link.filter(|_| count > 0),
        }
    }
}

/// The query for matches by period.
pub(super) fn by(filter: &Filter, unit: TimeUnit) -> Result<AggregateQuery, Failed> {
    let query = AggregateQuery::builder(filter.clone()).by([GroupBy::Time(unit)]);
    query.build().map_err(|invalid| Failed::of(&invalid))
}

fn first_of(unit: TimeUnit, day: Date) -> Date {
    unit.period(day).first_day()
}

fn last_of(unit: TimeUnit, first: Date) -> Date {
    let (year, month) = (first.year(), first.month());
    let last = match unit {
        TimeUnit::Month => first.replace_day(month.length(year)),
        TimeUnit::Year => Date::from_calendar_date(year, Month::December, 31),
        _ => Ok(first),
    };
    last.unwrap_or(first)
}

/// The search within dates as well; `None` if it is the same. Dates that are narrower already stay.
fn narrowed(text: &QueryText, from: Option<Date>, to: Date) -> Option<String> {
    let (from, to) = (from.map(|day| day.to_string()), Some(to.to_string()));
    let known = |name| text.value(name).map(str::to_owned);
    let (known_from, known_to) = (known("dateFrom"), known("dateTo"));
    // Dates of four digits of the year compare as texts.
    let from = known_from.clone().max(from);
    let to = [known_to.clone(), to].into_iter().flatten().min();
    if from == known_from && to == known_to {
        return None;
    }
    let mut text = text.without("cursor").without("page");
    for (name, day) in [("dateFrom", from), ("dateTo", to)] {
        if let Some(day) = day {
            text = text.with(name, &day);
        }
    }
    Some(text.link())
}

/// The label of a bar, and the month or year that begins with it.
fn labels(unit: TimeUnit, day: Date, is_first: bool) -> (String, String) {
    let (year, month) = (day.year(), day.month());
    let month_name: String = month.to_string().chars().take(3).collect();
    let if_begins = |begins: bool, name: String| {
        if begins || is_first {
            name
        } else {
            String::new()
        }
    };
    match unit {
        TimeUnit::Day => (day.day().to_string(), if_begins(day.day() == 1, month_name)),
        TimeUnit::Month => (
            month_name,
            if_begins(month == Month::January, format!("{year:04}")),
        ),
        _ => (format!("{year:04}"), String::new()),
    }
}

#[cfg(test)]
mod tests;
