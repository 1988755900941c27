//! Generates signals from their numbers.

use std::borrow::Cow;

use super::Corpus;
use super::calendar::moments;
use super::company::{Identity, push_base_36};
use super::people::{self, JobRole};
use super::random::{Random, Zipf};
use super::story::{self, FUNDING, Facts, HIRING};
use signaldex::{Currency, Funding, Hiring, Signal, SignalId};

/// Separates the random streams of signals from those of companies.
const STREAM: u64 = 2;

/// The signal at `index`, which is less than the corpus's number of signals.
pub(super) fn signal(corpus: &Corpus, index: u64) -> Signal<'static> {
    let random = &mut Random::of_record(corpus.seed(), STREAM, index);
    let id = id(random, index, corpus.signal_count());
    let company = Identity::of(corpus.seed(), corpus.company_ranks().sample(random));
    let moments = moments(random, index, corpus.signal_count());
    let kind = story::kind(random);
    let role = people::role(random);
    let funding = (kind.category == FUNDING).then(|| funding(random));
    let amount = funding.as_ref().map_or("$2M".into(), headline_amount);
    let stage = funding
        .as_ref()
        .and_then(|funding| funding.stage.as_deref())
        .unwrap_or("new");
    let facts = Facts {
        company: &company,
        role,
        amount: &amount,
        stage,
    };
    let title = story::title(random, kind, &facts);
    let evidence = random
        .chance(95)
        .then(|| Cow::Owned(story::evidence(random, kind, &facts)));
    let author = random.chance(55).then(|| author(random));
    let mut signal = Signal::new(id, company.slug, title);
    signal.slug = slug(&signal.title, id).into();
    signal.evidence = evidence;
    signal.category = (random.below(1000) >= 12).then_some(Cow::Borrowed(kind.category));
    signal.date = random.chance(98).then_some(moments.date);
    signal.published_at = random.chance(99).then_some(moments.published_at);
    signal.updated_at = random.chance(80).then_some(moments.updated_at);
    signal.activity_url = random.chance(75).then(|| activity_url(random, id).into());
    if let Some(author) = author {
        signal.author_title = random.chance(80).then(|| author.position.into());
        signal.author_url = random.chance(60).then(|| author.url(id).into());
        signal.author_name = Some(author.name().into());
    }
    signal.hiring = (kind.category == HIRING).then(|| hiring(random, role));
    signal.funding = funding;
    signal
}

/// Ascending ids with gaps; the last ones exceed 2^63, and the very last is the maximum.
fn id(random: &mut Random, index: u64, signals: u64) -> SignalId {
    /// Average distance of ids.
    const STRIDE: u64 = 1009;
    /// The number of such signals at the end of a corpus of at least a thousand.
    const HUGE: u64 = 4;
    let after = signals - 1 - index;
    let jitter = random.below(STRIDE);
    let number = if signals >= 1000 && after < HUGE {
        SignalId::MAX.get() - after * 100_000_000_000_000_007
    } else {
        1_000_000_000 + index * STRIDE + jitter
    };
    SignalId::new(number).expect("ids of a corpus are positive and at most the maximum")
}

/// A readable name for URLs: the title's ASCII letters and digits, and the id.
fn slug(title: &str, id: SignalId) -> String {
    /// Bytes of the title in a slug.
    const LONGEST: usize = 48;
    let mut slug = String::with_capacity(LONGEST + 16);
    for byte in title.bytes().filter(u8::is_ascii) {
        if slug.len() == LONGEST {
            break;
        }
        if byte.is_ascii_alphanumeric() {
            slug.push(char::from(byte.to_ascii_lowercase()));
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    if !slug.is_empty() && !slug.ends_with('-') {
        slug.push('-');
    }
    push_base_36(id.get(), &mut slug);
    slug
}

fn activity_url(random: &mut Random, id: SignalId) -> String {
    const PLACES: &[&str] = &[
        "news.example/story",
        "jobs.example/view",
        "press.example/release",
        "posts.example/p",
    ];
    let mut url = format!("https://{}/", random.pick(PLACES));
    push_base_36(id.get(), &mut url);
    url
}

/// The author of a signal.
struct Author {
    first_name: &'static str,
    surname: &'static str,
    position: &'static str,
}

fn author(random: &mut Random) -> Author {
    let (first_name, surname) = people::name(random);
    Author {
        first_name,
        surname,
        position: people::position(random),
    }
}

impl Author {
    fn name(&self) -> String {
        format!("{} {}", self.first_name, self.surname)
    }

    fn url(&self, id: SignalId) -> String {
        let mut url = String::from("https://people.example/in/");
        url.extend(self.surname.chars().filter(char::is_ascii_alphanumeric));
        url.push('-');
        push_base_36(id.get() % 99_991, &mut url);
        url
    }
}

/// A stage with its typical amounts.
#[derive(Clone, Copy)]
struct Stage {
    name: &'static str,
    lowest_amount: u64,
    /// The number of doublings from the lowest to the highest amount.
    doublings: u64,
}

fn funding(random: &mut Random) -> Funding<'static> {
    let stage = random.weighted(STAGES);
    let amount = random.chance(92).then(|| amount(random, stage));
    Funding {
        stage: random.chance(94).then_some(Cow::Borrowed(stage.name)),
        amount,
        currency: random.chance(96).then(|| currency(random)),
    }
}

/// Mostly two significant digits, as in announcements; some exact to the cent, and a few zero.
fn amount(random: &mut Random, stage: Stage) -> f64 {
    let amount = random.logarithmic(stage.lowest_amount, stage.doublings);
    match random.below(200) {
        0 => 0.0,
        1..8 => amount as f64 + random.below(100) as f64 / 100.0,
        _ => {
            let step = 10_u64.pow(amount.ilog10() - 1);
            (amount / step * step) as f64
        }
    }
}

fn currency(random: &mut Random) -> Currency {
    const CODES: &[(u64, &str)] = &[
        (54, "USD"),
        (25, "EUR"),
        (12, "GBP"),
        (2, "INR"),
        (2, "SEK"),
        (2, "CHF"),
        (1, "JPY"),
        (1, "CAD"),
        (1, "AUD"),
    ];
    Currency::new(random.weighted(CODES)).expect("the codes of the list are well-formed")
}

/// An amount in the form of headlines, such as `€12.5M`; `undisclosed` if there is none.
fn headline_amount(funding: &Funding<'_>) -> String {
    let Some(amount) = funding.amount else {
        return "undisclosed".into();
    };
    let symbol = match funding.currency.as_ref().map(Currency::as_str) {
        Some("USD") => "$",
        Some("EUR") => "€",
        Some("GBP") => "£",
        Some("JPY") => "¥",
        Some(_) => "~",
        None => "",
    };
    // In tenths of the unit, because announcements have at most one decimal.
    let (tenths, unit) = match amount as u64 {
        0..1_000_000 => (amount as u64 / 100, 'K'),
        1_000_000..1_000_000_000 => (amount as u64 / 100_000, 'M'),
        _ => (amount as u64 / 100_000_000, 'B'),
    };
    match tenths % 10 {
        0 => format!("{symbol}{}{unit}", tenths / 10),
        tenth => format!("{symbol}{}.{tenth}{unit}", tenths / 10),
    }
}

#[allow(clippy::needless_update)] // The generator may leave a new attribute out.
fn hiring(random: &mut Random, role: JobRole) -> Hiring<'static> {
    const TYPES: &[(u64, &str)] = &[
        (50, "new-role"),
        (20, "team-growth"),
        (15, "replacement"),
        (10, "leadership-search"),
        (5, "hiring-spree"),
    ];
    const EMPLOYMENTS: &[(u64, &str)] = &[
        (75, "full-time"),
        (10, "part-time"),
        (10, "contract"),
        (5, "temporary"),
    ];
    const ARRANGEMENTS: &[(u64, &str)] = &[(35, "on-site"), (35, "hybrid"), (30, "remote")];
    let employment_type = match role.seniority {
        "intern" => "internship",
        _ => random.weighted(EMPLOYMENTS),
    };
    Hiring {
        hiring_type: random
            .chance(80)
            .then(|| Cow::Borrowed(random.weighted(TYPES))),
        job_function: random
            .chance(95)
            .then_some(Cow::Borrowed(role.job_function)),
        seniority: random.chance(88).then_some(Cow::Borrowed(role.seniority)),
        employment_type: random.chance(85).then_some(Cow::Borrowed(employment_type)),
        work_arrangement: random
            .chance(70)
            .then(|| Cow::Borrowed(random.weighted(ARRANGEMENTS))),
        ..Hiring::default()
    }
}

/// The distribution of signals over companies, flattened so that the first has a few in a thousand.
pub(super) const fn company_ranks(companies: u64) -> Zipf {
    Zipf::new(companies, 40)
}

const fn stage(name: &'static str, lowest_amount: u64, doublings: u64) -> Stage {
    Stage {
        name,
        lowest_amount,
        doublings,
    }
}

/// The stages with their shares in percent.
const STAGES: &[(u64, Stage)] = &[
    (10, stage("Pre-Seed", 50_000, 5)),
    (28, stage("Seed", 300_000, 5)),
    (22, stage("Series A", 2_000_000, 4)),
    (12, stage("Series B", 8_000_000, 4)),
    (6, stage("Series C", 20_000_000, 4)),
    (2, stage("Series D", 40_000_000, 4)),
    (1, stage("Series E", 80_000_000, 4)),
    (7, stage("Grant", 20_000, 7)),
    (5, stage("Debt Financing", 500_000, 8)),
    (3, stage("Private Equity", 5_000_000, 7)),
    (2, stage("Convertible Note", 100_000, 5)),
    (1, stage("Post-IPO Equity", 10_000_000, 8)),
    (1, stage("Bridge, Extended", 500_000, 4)),
];
