//! Generates companies: the identity used in titles, and the whole record.

use std::borrow::Cow;

use super::calendar::recent_moment;
use super::places::{self, Country};
use super::random::{Random, Zipf};
use super::words::{phrase, push_brand};
use signaldex::Company;

/// Separates the random streams of companies from those of signals.
const STREAM: u64 = 1;

/// The identity of a company, as used in other records.
pub(super) struct Identity {
    /// The whole name, including the legal form.
    pub(super) name: String,
    /// The length of the part of `name` used in headlines, in bytes.
    short_length: usize,
    /// Unique within the corpus, because it ends with the company's number.
    pub(super) slug: String,
    pub(super) country: Option<Country>,
    /// The random stream after the identity.
    random: Random,
}

impl Identity {
    /// The identity of the company with a number. Costs two allocations.
    pub(super) fn of(seed: u64, index: u64) -> Identity {
        let mut random = Random::of_record(seed, STREAM, index);
        let mut name = String::with_capacity(40);
        push_brand(&mut random, &mut name);
        let mut slug = name.to_ascii_lowercase();
        if random.chance(70) {
            name.push(' ');
            name.push_str(random.pick(TRADES));
        }
        let mut short_length = name.len();
        if random.chance(4) {
            name = adorned(&mut random, &name);
            short_length = name.len();
        }
        if random.chance(40) {
            name.push_str(LEGAL_FORM_RANKS.pick(&mut random, LEGAL_FORMS));
        }
        slug.push('-');
        push_base_36(index, &mut slug);
        let country = random.chance(96).then(|| places::country(&mut random));
        Identity {
            name,
            short_length,
            slug,
            country,
            random,
        }
    }

    /// The name in headlines, without the legal form.
    pub(super) fn short_name(&self) -> &str {
        &self.name[..self.short_length]
    }
}

/// The whole record of the company with a number.
pub(super) fn company(seed: u64, index: u64) -> Company<'static> {
    let Identity {
        name,
        slug,
        country,
        mut random,
        ..
    } = Identity::of(seed, index);
    let random = &mut random;
    let industry = random
        .chance(95)
        .then(|| INDUSTRY_RANKS.pick(random, INDUSTRIES));
    let located = country.filter(|_| random.chance(90));
    let mut company = Company::new(slug, name);
    company.about = random
        .chance(85)
        .then(|| about(random, &company.name, industry).into());
    company.tagline = random.chance(70).then(|| tagline(random).into());
    company.logo_url = random
        .chance(80)
        .then(|| format!("https://logos.example/{}.png", company.slug).into());
    company.country = country.map(|country| country.name.into());
    company.city = located.map(|country| Cow::Borrowed(random.pick(country.cities)));
    company.employees = employees(random);
    company.industry = industry.map(Cow::Borrowed);
    company.founded_year = random.chance(88).then(|| founded_year(random));
    company.linkedin_url = random
        .chance(75)
        .then(|| format!("https://www.linkedin.com/company/{}", company.slug).into());
    company.updated_at = random.chance(97).then(|| recent_moment(random));
    company
}

/// Appends a number in base 36.
pub(super) fn push_base_36(mut number: u64, out: &mut String) {
    /// Base-36 digits of the largest `u64`.
    const MOST_DIGITS: usize = 13;
    let mut digits = [b'0'; MOST_DIGITS];
    let mut start = MOST_DIGITS;
    loop {
        start -= 1;
        digits[start] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize];
        number /= 36;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[start..].iter().map(|&digit| char::from(digit)));
}

/// The name in one of several spellings that break careless parsers.
fn adorned(random: &mut Random, name: &str) -> String {
    match random.below(8) {
        0 => format!("{name} \"Next\""),
        1 => format!("{name}, Sons & Co"),
        2 => format!("O'{name}"),
        3 => format!("{name}'s Kitchen"),
        4 => format!("Société {name}"),
        5 => format!("{name} Größenwerk"),
        6 => format!("{name} 株式会社"),
        _ => format!("Группа {name}"),
    }
}

fn about(random: &mut Random, name: &str, industry: Option<&str>) -> String {
    let field = industry.unwrap_or("its field");
    let (first, second) = (phrase(random), phrase(random));
    match random.below(3) {
        0 => format!("{name} builds {first} and {second} products for {field}."),
        1 => format!("Teams in {field} use {name} to bring {first} into their daily work."),
        _ => format!("{name} is a company in {field}. We believe in {first} and {second}."),
    }
}

fn tagline(random: &mut Random) -> String {
    let what = phrase(random);
    match random.below(3) {
        0 => format!("The future of {what}"),
        1 => format!("{what}, made simple"),
        _ => format!("Better {what} for everyone"),
    }
}

/// A number of employees in one of the buckets, sometimes at its bounds, or none.
fn employees(random: &mut Random) -> Option<i64> {
    const BOUNDS: &[u64] = &[1, 49, 50, 100, 101, 500, 501];
    let number = match random.below(100) {
        0..12 => return None,
        12..15 => random.pick(BOUNDS),
        15..58 => 1 + random.below(49),
        58..74 => 50 + random.below(51),
        74..90 => 101 + random.below(400),
        _ => random.logarithmic(501, 8),
    };
    Some(number as i64)
}

fn founded_year(random: &mut Random) -> i64 {
    2026 - random.logarithmic(1, 7) as i64
}

/// Suffixes of names by industry.
const TRADES: &[&str] = &[
    "Robotics",
    "Systems",
    "Labs",
    "Health",
    "Energy",
    "Software",
    "Analytics",
    "Foods",
    "Bio",
    "Logistics",
    "Capital",
    "Therapeutics",
    "Mobility",
    "Networks",
    "Security",
    "Cloud",
    "Media",
    "Games",
    "Motors",
    "Semiconductors",
    "Payments",
    "AI",
    "Materials",
    "Space",
    "Studio",
    "Pharma",
    "Insurance",
    "Learning",
    "Travel",
    "Technologies",
    "Group",
    "Water",
    "Data",
    "Works",
];

const LEGAL_FORMS: &[&str] = &[
    ", Inc.",
    " GmbH",
    " Ltd",
    " LLC",
    " SAS",
    " B.V.",
    " AB",
    " S.A.",
    " AG",
    " Oy",
    " Pty Ltd",
    " ApS",
    ", Ltd.",
    " GmbH & Co. KG",
    " S.p.A.",
    " K.K.",
    " Sp. z o.o.",
    " Ltda.",
];

const LEGAL_FORM_RANKS: Zipf = Zipf::new(LEGAL_FORMS.len() as u64, 2);

const INDUSTRY_RANKS: Zipf = Zipf::new(INDUSTRIES.len() as u64, 2);

/// All industries, most frequent first.
const INDUSTRIES: &[&str] = &[
    "Software",
    "Financial Services",
    "Biotechnology",
    "Information Technology & Services",
    "Hospitals & Health Care",
    "Internet",
    "Marketing & Advertising",
    "Renewable Energy",
    "Computer & Network Security",
    "Logistics & Supply Chain",
    "Retail",
    "Medical Devices",
    "Machinery",
    "Automotive",
    "Education",
    "Real Estate",
    "Insurance",
    "Telecommunications",
    "Pharmaceuticals",
    "Food & Beverages",
    "Human Resources",
    "Consumer Electronics",
    "Semiconductors",
    "Aviation & Aerospace",
    "Entertainment",
    "Industrial Automation",
    "Oil, Gas & Mining",
    "Construction",
    "Chemicals",
    "Legal Services",
    "Media Production",
    "Computer Games",
    "Leisure, Travel & Tourism",
    "Apparel & Fashion",
    "Cosmetics",
    "Farming",
    "Environmental Services",
    "Banking",
    "Venture Capital & Private Equity",
    "Public Safety",
    "Sports",
    "Wine & Spirits",
    "Furniture",
    "Packaging & Containers",
    "Maritime",
    "Glass, Ceramics & Concrete",
    "Non-profit Organization Management",
    "Textiles",
    "Arts, Crafts & \"Makers\"",
    "Museums & Institutions",
    "Recherche & Développement",
    "Defense & Space",
    "Veterinary",
];
