//! The promises of a corpus: the same bytes everywhere, and the shape of real records.

use std::collections::{HashMap, HashSet};

use super::Corpus;
use signaldex::text;
use signaldex::{Company, ErrorKind, Hiring, Signal, SignalId, SizeBucket};

const SIGNALS: u64 = 100_000;

fn corpus() -> Corpus {
    Corpus::new(SIGNALS, 1).unwrap()
}

/// The share of `signals` of which `holds` is true, in percent.
fn percent(holds: impl Fn(&Signal<'_>) -> bool) -> f64 {
    let count = corpus().signals().filter(|signal| holds(signal)).count();
    count as f64 * 100.0 / SIGNALS as f64
}

/// Every field as text whose form no other crate decides.
fn signal_text(signal: &Signal<'_>) -> String {
    let funding = signal.funding.as_ref().map(|funding| {
        let currency = funding
            .currency
            .map(|currency| currency.as_str().to_owned());
        (&funding.stage, funding.amount.map(f64::to_bits), currency)
    });
    let hiring = signal.hiring.as_ref().map(|hiring| {
        let Hiring {
            hiring_type,
            job_function,
            seniority,
            employment_type,
            work_arrangement,
        } = hiring;
        [
            hiring_type,
            job_function,
            seniority,
            employment_type,
            work_arrangement,
        ]
    });
    format!(
        "{} {:?} {:?} {funding:?} {hiring:?}",
        signal.id.get(),
        (
            &signal.slug,
            &signal.title,
            &signal.evidence,
            &signal.category,
            &signal.company_slug
        ),
        (
            signal.date.map(|date| date.to_julian_day()),
            signal.published_at.map(|instant| instant.unix_timestamp()),
            signal.updated_at.map(|instant| instant.unix_timestamp()),
            &signal.activity_url,
            &signal.author_name,
            &signal.author_title,
            &signal.author_url,
        ),
    )
}

fn company_text(company: &Company<'_>) -> String {
    format!(
        "{:?} {:?}",
        (
            &company.slug,
            &company.name,
            &company.about,
            &company.tagline,
            &company.logo_url
        ),
        (
            &company.country,
            &company.city,
            company.employees,
            &company.industry,
            company.founded_year,
            &company.linkedin_url,
            company.updated_at.map(|instant| instant.unix_timestamp()),
        ),
    )
}

#[test]
fn the_same_size_and_seed_give_the_same_bytes_for_ever() {
    let corpus = Corpus::new(2000, 42).unwrap();
    let mut checksum = 0;
    for company in corpus.companies() {
        checksum = crc32c::crc32c_append(checksum, company_text(&company).as_bytes());
    }
    for signal in corpus.signals() {
        checksum = crc32c::crc32c_append(checksum, signal_text(&signal).as_bytes());
    }
    assert_eq!(checksum, 0x20ca_2b44, "{checksum:#010x}");
}

#[test]
fn seeds_differ() {
    let titles = |seed| {
        let corpus = Corpus::new(100, seed).unwrap();
        corpus
            .signals()
            .map(|signal| signal.title.into_owned())
            .collect::<HashSet<_>>()
    };
    assert_eq!(titles(1), titles(1));
    assert!(titles(1).intersection(&titles(2)).count() < 3);
}

#[test]
fn sizes_have_bounds() {
    for refused in [0, Corpus::MOST_SIGNALS + 1, u64::MAX] {
        assert!(
            Corpus::new(refused, 1).unwrap_err().kind() == ErrorKind::Invalid,
            "{refused}"
        );
    }
    let smallest = Corpus::new(1, 1).unwrap();
    assert_eq!(
        (smallest.signals().count(), smallest.companies().count()),
        (1, 1)
    );
    let largest = Corpus::new(Corpus::MOST_SIGNALS, 1).unwrap();
    assert_eq!(
        largest.signal(Corpus::MOST_SIGNALS - 1).unwrap().id,
        SignalId::MAX
    );
    assert_eq!(largest.signal(Corpus::MOST_SIGNALS), None);
    assert!(largest.company(largest.company_count() - 1).is_some());
    assert_eq!(largest.company(largest.company_count()), None);
}

#[test]
fn a_record_can_be_had_by_its_position() {
    let corpus = Corpus::new(500, 9).unwrap();
    for (index, signal) in (0..).zip(corpus.signals()) {
        assert_eq!(corpus.signal(index), Some(signal));
    }
    for (index, company) in (0..).zip(corpus.companies()) {
        assert_eq!(corpus.company(index), Some(company));
    }
}

#[test]
fn ids_ascend_with_gaps_up_to_the_greatest() {
    let ids: Vec<u64> = corpus().signals().map(|signal| signal.id.get()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
    let consecutive = ids.windows(2).filter(|pair| pair[1] - pair[0] == 1).count();
    assert!(consecutive < ids.len() / 100);
    assert_eq!(ids.iter().filter(|&&id| id > 1 << 63).count(), 4);
    assert_eq!(ids.last(), Some(&SignalId::MAX.get()));
}

#[test]
fn dates_grow_with_ids_and_have_a_late_tail() {
    let corpus = corpus();
    let dates: Vec<i64> = corpus
        .signals()
        .filter_map(|signal| signal.date)
        .map(|date| (corpus.as_of() - date).whole_days())
        .collect();
    assert!(dates.iter().all(|&age| (0..=2007 + 400).contains(&age)));
    let medians: Vec<i64> = dates
        .chunks_exact(dates.len() / 50)
        .map(|chunk| {
            let mut chunk = chunk.to_vec();
            chunk.sort_unstable();
            chunk[chunk.len() / 2]
        })
        .collect();
    assert!(
        medians.is_sorted_by(|earlier, later| earlier > later),
        "{medians:?}"
    );
    let mut youngest = i64::MAX;
    let late = dates
        .iter()
        .filter(|&&age| {
            youngest = youngest.min(age);
            age > youngest + 30
        })
        .count();
    let late_percent = late * 100 / dates.len();
    assert!((3..=6).contains(&late_percent), "{late_percent}");
}

#[test]
fn moments_are_in_order_and_not_in_the_future() {
    let corpus = corpus();
    for signal in corpus.signals() {
        let published = signal.published_at.or(signal.updated_at);
        let updated = signal.updated_at.or(published);
        assert!(published <= updated, "{signal:?}");
        let days = [
            signal.date,
            published.map(|p| p.date()),
            updated.map(|u| u.date()),
        ];
        assert!(days.iter().flatten().is_sorted(), "{signal:?}");
        assert!(
            days.iter().flatten().all(|&day| day <= corpus.as_of()),
            "{signal:?}"
        );
    }
}

#[test]
fn shares_are_as_described() {
    let within = |name: &str, share: f64, range: std::ops::RangeInclusive<f64>| {
        assert!(range.contains(&share), "{name}: {share} not in {range:?}");
    };
    within("funding", percent(|s| s.funding.is_some()), 11.0..=13.0);
    within("hiring", percent(|s| s.hiring.is_some()), 24.0..=26.0);
    within("no date", percent(|s| s.date.is_none()), 1.0..=3.0);
    within("no category", percent(|s| s.category.is_none()), 0.5..=2.0);
    within("no evidence", percent(|s| s.evidence.is_none()), 3.0..=7.0);
    let in_dollars = |signal: &Signal<'_>| {
        let currency = signal.funding.as_ref().and_then(|funding| funding.currency);
        currency.is_some_and(|currency| currency.as_str() == "USD")
    };
    within("dollars", percent(in_dollars), 5.5..=7.0);
    let beyond_latin = |c: char| c > '\u{24f}' && c.is_alphabetic();
    within("not ASCII", percent(|s| !s.title.is_ascii()), 5.0..=15.0);
    within(
        "not Latin",
        percent(|s| s.title.contains(beyond_latin)),
        0.5..=3.0,
    );
    within(
        "series a",
        percent(|s| s.title.contains("Series A")),
        1.5..=3.5,
    );
    within(
        "machine learning",
        percent(|s| s.title.contains("machine learning")),
        1.0..=5.0,
    );
}

#[test]
fn lengths_are_as_described() {
    let (mut words, mut evidence, mut with_evidence) = (0, 0, 0);
    for signal in corpus().signals() {
        let title_words = signal.title.split(' ').count();
        assert!(title_words <= 12, "{}", signal.title);
        words += title_words;
        evidence += signal.evidence.as_ref().map_or(0, |text| text.len());
        with_evidence += usize::from(signal.evidence.is_some());
    }
    let mean_words = words as f64 / SIGNALS as f64;
    let mean_evidence = evidence / with_evidence;
    assert!((7.5..8.5).contains(&mean_words), "{mean_words}");
    assert!((150..250).contains(&mean_evidence), "{mean_evidence}");
}

#[test]
fn the_vocabulary_is_that_of_a_large_text() {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for signal in corpus().signals() {
        text::analyze(&signal.title, |term| {
            *counts.entry(term.to_owned()).or_default() += 1
        });
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all: usize = counts.iter().sum();
    let head: usize = counts.iter().take(counts.len() / 100).sum();
    let head_share = head as f64 / all as f64;
    let once = counts.iter().filter(|&&count| count == 1).count();
    let once_share = once as f64 / counts.len() as f64;
    assert!((10_000..30_000).contains(&counts.len()), "{}", counts.len());
    assert!((0.5..0.8).contains(&head_share), "{head_share}");
    assert!((0.4..0.6).contains(&once_share), "{once_share}");
}

#[test]
fn the_vocabulary_grows_with_the_corpus() {
    let distinct = |signals| {
        let mut terms = HashSet::new();
        for signal in Corpus::new(signals, 1).unwrap().signals() {
            text::analyze(&signal.title, |term| {
                terms.insert(term.to_owned());
            });
        }
        terms.len() as f64
    };
    let growth = distinct(64_000) / distinct(16_000);
    assert!((1.5..2.5).contains(&growth), "{growth}");
}

#[test]
fn companies_are_skewed_varied_and_named_by_signals() {
    let corpus = corpus();
    let mut signals: HashMap<String, u64> = corpus
        .companies()
        .map(|company| (company.slug.into_owned(), 0))
        .collect();
    assert_eq!(signals.len() as u64, corpus.company_count());
    for signal in corpus.signals() {
        *signals
            .get_mut(signal.company_slug.as_ref())
            .expect("the company exists") += 1;
    }
    let most = signals.values().max().copied().unwrap_or_default();
    assert!((SIGNALS / 500..SIGNALS / 100).contains(&most), "{most}");
    assert!(signals.values().any(|&count| count == 0));
    let distinct = |key: fn(Company<'static>) -> Option<String>| {
        corpus.companies().map(key).collect::<HashSet<_>>()
    };
    assert_eq!(distinct(|c| c.country.map(Into::into)).len(), 82 + 1);
    assert_eq!(distinct(|c| c.industry.map(Into::into)).len(), 53 + 1);
    let sizes: HashSet<_> = corpus
        .companies()
        .map(|c| c.employees.map(SizeBucket::of))
        .collect();
    assert_eq!(sizes.len(), 4 + 1);
    assert!(
        corpus
            .companies()
            .any(|company| company.name.contains(['"', ',']))
    );
    assert!(
        corpus
            .companies()
            .any(|company| company.name.contains("株式会社"))
    );
}

#[test]
fn amounts_are_finite_and_not_negative() {
    let fundings: Vec<_> = corpus()
        .signals()
        .filter_map(|signal| signal.funding)
        .collect();
    assert!(fundings.iter().any(|funding| funding.amount.is_none()));
    assert!(fundings.iter().any(|funding| funding.stage.is_none()));
    assert!(fundings.iter().any(|funding| funding.currency.is_none()));
    let amounts: Vec<f64> = fundings
        .iter()
        .filter_map(|funding| funding.amount)
        .collect();
    assert!(
        amounts
            .iter()
            .all(|amount| amount.is_finite() && *amount >= 0.0)
    );
    for (low, high) in [(0.0, 1.0), (1e4, 1e6), (1e6, 1e7), (1e7, 1e8), (1e8, 1e10)] {
        assert!(
            amounts.iter().any(|amount| (low..high).contains(amount)),
            "{low}..{high}"
        );
    }
}
