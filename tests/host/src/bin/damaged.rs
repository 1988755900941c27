//! Asks damaged indexes everything. A panic of this program ends it: its profile aborts. So each answer is right or an
//! error that names a file, and the last line is printed, or a file of an index can end a host.

use std::fs;
use std::path::{Path, PathBuf};

use signaldex::json::{write_csv_item, write_signal};
use signaldex::query::Order;
use signaldex::{
    Company, CompanyDeletion, Facet, Filter, Funding, Index, IndexBuilder, Position, Query, Result,
    SavedSearches, Signal, SignalId, Snapshot,
};
use time::macros::date;
use time::{Date, Duration};

type Outcome<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const TODAY: Date = date!(2026 - 06 - 30);

/// One bit in this many is flipped, of each file.
const STRIDE: usize = 1_000;

/// One damaged index in this many is also written to.
const WRITTEN_ONE_IN: usize = 4;

/// Signals of the first commit, and of the second.
const SIGNALS: [u64; 2] = [400, 40];

const QUERIES: [&str; 14] = [
    "",
    "q=series",
    "q=\"series a\" -robots",
    "exact=head of sales",
    "any=robots \"series a\"",
    "company=labs",
    "companies=company-3,company-4",
    "companySlug=company-5",
    "country=Germany&industry=Software&size=1-49",
    "categories=funding&days=90",
    "dateFrom=2026-01-01&dateTo=2026-03-01",
    "fundingMin=1000",
    "ids=1,17,399,410",
    "country=Nowhere",
];

fn main() -> Outcome {
    let directory = std::env::temp_dir().join(format!("signaldex-damaged-{}", std::process::id()));
    let whole = directory.join("whole");
    build(&whole)?;
    let copy = directory.join("copy");
    copied(&whole, &copy)?;
    let expected = ask(&copy, true);
    fs::remove_dir_all(&copy)?;
    if let Some((_, Err(error))) = expected.iter().find(|(_, answer)| answer.is_err()) {
        return Err(format!("a whole index: {error}").into());
    }
    let (mut right, mut errors, mut cases) = (0_u64, 0_u64, 0);
    for file in files(&whole)? {
        let bytes = fs::read(&file)?;
        for bit in (0..bytes.len() * 8).step_by(STRIDE) {
            copied(&whole, &copy)?;
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let name = file.file_name().ok_or("a name")?;
            fs::write(copy.join(name), damaged)?;
            let answers = ask(&copy, cases % WRITTEN_ONE_IN == 0);
            for (question, answer) in answers {
                match answer {
                    Ok(answer) => {
                        let same = expected.iter().find(|(other, _)| *other == question);
                        let is_right =
                            same.is_some_and(|(_, same)| same.as_ref().ok() == Some(&answer));
                        assert!(is_right, "{name:?}, bit {bit}, {question}: {answer}");
                        right += 1;
                    }
                    Err(error) => {
                        assert!(
                            error.path().is_some(),
                            "{name:?}, bit {bit}, {question}: {error}"
                        );
                        errors += 1;
                    }
                }
            }
            fs::remove_dir_all(&copy)?;
            cases += 1;
        }
    }
    fs::remove_dir_all(&directory)?;
    assert!(errors > 0 && right > errors, "{right} and {errors}");
    println!("{cases} damaged indexes: {right} right answers, {errors} errors, no end");
    Ok(())
}

/// Two segments, deletions, and commits enough for a file of their digests.
fn build(directory: &Path) -> Outcome {
    let mut builder = IndexBuilder::in_directory(directory)?;
    for number in 0..20 {
        builder.add_company(&company(number))?;
    }
    for id in 1..=SIGNALS[0] {
        builder.add_signal(&signal(id)?)?;
    }
    let mut writer = builder.finish()?.writer()?;
    for id in SIGNALS[0] + 1..=SIGNALS[0] + SIGNALS[1] {
        writer.upsert_signal(&signal(id)?)?;
    }
    for id in [3, 50, 51, 200] {
        writer.delete_signal(SignalId::new(id).ok_or("an id")?)?;
    }
    writer.commit()?;
    for _ in 0..70 {
        writer.upsert_signal(&signal(1)?)?;
        writer.commit()?;
    }
    writer.wait_for_merges();
    Ok(())
}

fn company(number: u64) -> Company<'static> {
    let mut company = Company::new(
        format!("company-{number}"),
        format!("Company {number} Labs"),
    );
    company.country = Some(["Germany", "France", "Iceland"][number as usize % 3].into());
    company.industry = Some(["Software", "Fishing"][number as usize % 2].into());
    company.employees = Some(number as i64 * 13);
    company
}

fn signal(id: u64) -> Outcome<Signal<'static>> {
    const TITLES: [&str; 5] = [
        "raises a Series A round for robots",
        "hires a head of sales",
        "opens a plant that makes robots",
        "raises a Series B round",
        "looks for engineers who like series of prototypes",
    ];
    let number = id as usize;
    let title = format!("Company {} {}", id % 20, TITLES[number * 7 % 5]);
    let signal_id = SignalId::new(id).ok_or("an id")?;
    let mut signal = Signal::new(signal_id, format!("company-{}", id % 20), title);
    signal.evidence = Some(format!("What was written about it, in {} words", id * 31).into());
    signal.category = Some(["funding", "hiring", "expansion"][number % 3].into());
    signal.date = (id % 9 != 0).then_some(TODAY - Duration::days((id * 37 % 400) as i64));
    if id % 3 == 0 {
        signal.funding = Some(Funding {
            amount: Some((id * 1_000) as f64),
            ..Funding::default()
        });
    }
    Ok(signal)
}

fn files(directory: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Outcome<_>>()?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

fn copied(whole: &Path, copy: &Path) -> Outcome {
    fs::create_dir_all(copy)?;
    for file in files(whole)? {
        fs::copy(&file, copy.join(file.file_name().ok_or("a name")?))?;
    }
    Ok(())
}

/// Every question with its answer. Writing comes last, because it changes what is answered.
fn ask(directory: &Path, writes: bool) -> Vec<(String, Result<String>)> {
    let index = match Index::open(directory) {
        Ok(index) => index,
        Err(error) => return vec![("open".to_owned(), Err(error))],
    };
    let snapshot = index.snapshot();
    let mut answers = Vec::new();
    for text in QUERIES {
        let query = Query::from_query_string(text).expect("a valid query");
        answers.extend(
            questions(&snapshot, &query).map(|(name, answer)| (format!("{name} {text:?}"), answer)),
        );
    }
    answers.extend(others(&snapshot).map(|(name, answer)| (name.to_owned(), answer)));
    if writes {
        answers.push(("write".to_owned(), write(&index)));
    }
    answers
}

fn questions<'q>(
    snapshot: &Snapshot,
    query: &'q Query,
) -> impl Iterator<Item = (&'static str, Result<String>)> + use<'q> {
    let filter = query.filter();
    let page = snapshot.search(query, TODAY);
    let ids = |page: &signaldex::Page| format!("{:?}", page.ids().collect::<Vec<_>>());
    let records = match &page {
        Ok(page) => snapshot.records(page).map(|items| format!("{items:?}")),
        Err(_) => snapshot.search(query, TODAY).map(|page| ids(&page)),
    };
    let some = [Facet::Country, Facet::Category];
    let explained = snapshot.explain(query, TODAY);
    let matches = || snapshot.matches(filter, TODAY, Order::OldestFirst);
    let pages = snapshot.pages(query, TODAY).take(3);
    let changes = snapshot.changes(filter, TODAY, &Position::START);
    let changes = changes.expect("a position of every index");
    [
        ("search", page.map(|page| ids(&page))),
        ("records", records),
        (
            "count",
            snapshot.count(filter, TODAY).map(|count| count.to_string()),
        ),
        (
            "facets",
            snapshot
                .facets(filter, TODAY)
                .map(|facets| format!("{facets:?}")),
        ),
        (
            "facets of",
            snapshot
                .facets_of(filter, TODAY, &some)
                .map(|facets| format!("{facets:?}")),
        ),
        (
            "explain",
            explained.map(|explained| explained.matches.to_string()),
        ),
        (
            "named companies",
            snapshot
                .named_companies(filter)
                .map(|values| format!("{values:?}")),
        ),
        ("matches", all(matches())),
        ("ids", all(matches().ids())),
        ("pages", all(pages.map(|page| page.map(|page| ids(&page))))),
        ("changes", all(changes)),
        ("lines", lines(matches())),
    ]
    .into_iter()
}

fn others(snapshot: &Snapshot) -> impl Iterator<Item = (&'static str, Result<String>)> {
    let id = SignalId::new(17).expect("an id");
    let searches = SavedSearches::for_index(snapshot, TODAY).and_then(|mut searches| {
        let filter = Filter::from_query_string("q=series").expect("a valid filter");
        searches.insert("series", filter);
        let matched = searches.matching(snapshot, &Position::START, TODAY);
        all(matched.expect("a position of every index"))
    });
    [
        (
            "signal",
            snapshot.signal(id).map(|found| format!("{found:?}")),
        ),
        (
            "company",
            snapshot
                .company("company-3")
                .map(|profile| format!("{profile:?}")),
        ),
        ("contains", snapshot.contains(id).map(|is| is.to_string())),
        (
            "has company",
            snapshot.has_company("company-3").map(|has| has.to_string()),
        ),
        (
            "company count",
            snapshot.company_count().map(|count| count.to_string()),
        ),
        (
            "statistics",
            snapshot
                .statistics()
                .map(|figures| figures.signals.to_string()),
        ),
        ("scan", all(snapshot.scan())),
        ("companies", all(snapshot.scan_companies())),
        ("saved searches", searches),
        ("check", snapshot.check().map(|()| String::new())),
        ("verify", snapshot.verify().map(|()| String::new())),
    ]
    .into_iter()
}

/// What an iterator gives, unless an item is an error.
fn all<T: std::fmt::Debug>(items: impl Iterator<Item = Result<T>>) -> Result<String> {
    let items: Vec<T> = items.collect::<Result<_>>()?;
    Ok(format!("{items:?}"))
}

/// The lines of an export, in both formats.
fn lines(items: signaldex::Matches<'_>) -> Result<String> {
    let mut text = Vec::new();
    for item in items {
        let item = item?;
        write_signal(&mut text, &item.signal);
        write_csv_item(&mut text, &item.signal, &item.company_name);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Changes the index and merges its segments.
fn write(index: &Index) -> Result<String> {
    let mut writer = index.writer()?;
    writer.upsert_company(&company(3))?;
    writer.delete_company("company-4", CompanyDeletion::Cascade)?;
    writer.delete_signal(SignalId::new(10).expect("an id"))?;
    writer.commit()?;
    writer.compact()?;
    let query = Query::from_query_string("q=series").expect("a valid query");
    let snapshot = index.snapshot();
    Ok(format!(
        "{:?}",
        snapshot.search(&query, TODAY)?.ids().collect::<Vec<_>>()
    ))
}
