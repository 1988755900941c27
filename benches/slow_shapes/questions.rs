//! The slowest of the other questions: companies with eight conditions of phrases, tens of thousands of groups with
//! quartiles, and pages by value of what has one of many rare phrases.

use signaldex::query::{CompanyQuery, Order, ParameterSet};
use signaldex::{AggregateQuery, Currency, ErrorKind, Query, Snapshot, sample};

use crate::shapes::Draw;
use crate::{Result, Slowest, WHOLE, least, page_time};

/// Queries drawn of each kind of companies and pages.
const DRAWS: usize = 300;
/// Conditions of each kind.
const CONDITIONS: usize = 4;
/// Phrases of a query by value.
const PHRASES: usize = 50;

/// What groups all signals into very many groups; what is refused as too many is left out.
const GROUPS: [&str; 6] = [
    "by=day,countries&measures=companies,sum,p25,median,p75",
    "by=day,industries&measures=companies,sum,p25,median,p75",
    "by=day,categories&measures=companies,sum,p25,median,p75",
    "by=day,fundingStages&measures=companies,sum,p25,median,p75",
    "by=week,countries&measures=companies,sum,p25,median,p75",
    "by=company&measures=sum,p25,median,p75&limit=1000",
];

/// Prints the slowest of each kind.
///
/// # Errors
/// A query is refused.
pub(crate) fn print(snapshot: &Snapshot, draw: &mut Draw<'_>) -> Result<()> {
    let mut slowest = Slowest::default();
    for _ in 0..DRAWS {
        let text = conditions(draw);
        let query = CompanyQuery::from_query_string(&text)?;
        let time = least(|| drop(snapshot.companies(&query, sample::AS_OF).expect(WHOLE)));
        slowest.note("companies with eight conditions of phrases", &text, time);
        let query = by_value(draw)?;
        let time = page_time(snapshot, &query);
        slowest.note("page by value under 50 rare phrases", &query, time);
    }
    for text in GROUPS {
        let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
        let answer = match snapshot.aggregate(&query, sample::AS_OF) {
            Err(error) if error.kind() == ErrorKind::TooManyGroups => continue,
            answer => answer?,
        };
        let time = least(|| drop(snapshot.aggregate(&query, sample::AS_OF).expect(WHOLE)));
        let shape = format!("{} groups with quartiles", answer.totals.groups);
        slowest.note(&shape, &text, time);
    }
    slowest.print("other question");
    Ok(())
}

/// A query of as many conditions as there may be, each of many phrases.
fn conditions(draw: &mut Draw<'_>) -> String {
    let mut of_kind = |min: &str| {
        let condition = |_| format!("(any={};{min})", draw.any_phrases());
        let all: Vec<String> = (0..CONDITIONS).map(condition).collect();
        all.join(",")
    };
    format!(
        "has={}&hasNot={}&order=-matches",
        of_kind("min=0"),
        of_kind("min=1000")
    )
}

/// A page by date or amount of what has one of many phrases, few of which match much.
fn by_value(draw: &mut Draw<'_>) -> Result<Query> {
    let builder = Query::builder().any(draw.rare_phrases(PHRASES));
    let builder = if draw.one_of_two() {
        builder.order(Order::LatestDate)
    } else {
        builder
            .order(Order::LargestAmount)
            .funding_currency(Currency::new("USD"))
    };
    Ok(builder.build()?)
}
