//! The kind of a signal, and its title and evidence, generated from patterns.

use super::company::Identity;
use super::people::{self, JobRole};
use super::random::Random;
use super::words::{phrase, push_word};

/// The kind of a signal, which is also its category, unless the category is missing.
#[derive(Clone, Copy)]
pub(super) struct StoryKind {
    pub(super) category: &'static str,
    titles: &'static [&'static str],
    evidence: &'static [&'static str],
}

/// A random kind, weighted by share.
pub(super) fn kind(random: &mut Random) -> StoryKind {
    random.weighted(KINDS)
}

/// The values of the slots of patterns.
pub(super) struct Facts<'a> {
    pub(super) company: &'a Identity,
    pub(super) role: JobRole,
    /// Such as `€12.5M`, or `undisclosed`.
    pub(super) amount: &'a str,
    pub(super) stage: &'a str,
}

/// A title of 5 to 12 words; fewer in scripts without spaces.
pub(super) fn title(random: &mut Random, kind: StoryKind, facts: &Facts<'_>) -> String {
    let mut title = String::with_capacity(96);
    if random.below(1000) < FOREIGN_PER_THOUSAND {
        expand(random.pick(FOREIGN_TITLES), facts, random, &mut title);
        return title;
    }
    expand(random.pick(kind.titles), facts, random, &mut title);
    lengthen(random, &mut title);
    if let Some((end, _)) = title.match_indices(' ').nth(MOST_TITLE_WORDS - 1) {
        title.truncate(end);
    }
    title
}

/// One to three sentences.
pub(super) fn evidence(random: &mut Random, kind: StoryKind, facts: &Facts<'_>) -> String {
    let mut evidence = String::with_capacity(288);
    expand(random.pick(kind.evidence), facts, random, &mut evidence);
    for _ in 0..random.pick(REMARK_COUNTS) {
        evidence.push(' ');
        expand(random.pick(REMARKS), facts, random, &mut evidence);
    }
    evidence
}

/// Sentences after the first, mostly one or two.
const REMARK_COUNTS: &[u64] = &[0, 1, 1, 2, 2];

/// Titles per thousand in another language.
const FOREIGN_PER_THOUSAND: u64 = 12;

const MOST_TITLE_WORDS: usize = 12;

/// Adds words until the title has a random target length.
fn lengthen(random: &mut Random, title: &mut String) {
    const CONNECTORS: &[&str] = &[" for", " with", " in", " and", " to", " at", " as"];
    let wanted = 5 + random.below(4) + random.below(4);
    let mut missing = wanted.saturating_sub(word_count(title));
    if missing > 1 {
        title.push_str(random.pick(CONNECTORS));
        missing -= 1;
    }
    while missing > 0 {
        title.push(' ');
        let next = phrase(random);
        if random.chance(30) && word_count(next) <= missing {
            title.push_str(next);
            missing -= word_count(next);
        } else {
            push_word(random, title);
            missing -= 1;
        }
    }
}

fn word_count(text: &str) -> u64 {
    1 + text.bytes().filter(|&byte| byte == b' ').count() as u64
}

/// Appends `pattern` with filled slots such as `{company}`.
fn expand(pattern: &str, facts: &Facts<'_>, random: &mut Random, out: &mut String) {
    let mut rest = pattern;
    while let Some((before, from_slot)) = rest.split_once('{') {
        out.push_str(before);
        let (slot, after) = from_slot
            .split_once('}')
            .expect("a slot of a pattern is closed");
        fill(slot, facts, random, out);
        rest = after;
    }
    out.push_str(rest);
}

fn fill(slot: &str, facts: &Facts<'_>, random: &mut Random, out: &mut String) {
    match slot {
        "company" => out.push_str(facts.company.short_name()),
        "role" => out.push_str(facts.role.title),
        "amount" => out.push_str(facts.amount),
        "stage" => out.push_str(facts.stage),
        "phrase" => out.push_str(phrase(random)),
        "word" => push_word(random, out),
        "place" => push_place(facts.company, random, out),
        "person" => push_person(random, out),
        "number" => out.push_str(&random.logarithmic(10, 9).to_string()),
        unknown => unreachable!("a pattern has no slot named {unknown}"),
    }
}

fn push_place(company: &Identity, random: &mut Random, out: &mut String) {
    match company.country {
        Some(country) if random.chance(60) => out.push_str(random.pick(country.cities)),
        Some(country) => out.push_str(country.name),
        None => out.push_str("Europe"),
    }
}

fn push_person(random: &mut Random, out: &mut String) {
    let (first, last) = people::name(random);
    out.push_str(first);
    out.push(' ');
    out.push_str(last);
}

/// The kinds with their shares in percent.
#[rustfmt::skip]
const KINDS: &[(u64, StoryKind)] = &[
    (25, StoryKind {
        category: "hiring",
        titles: &[
            "{company} is hiring a {role}",
            "{role} wanted at {company}",
            "{role} in {place}",
            "Join {company} as {role}",
            "We're looking for a {role}",
            "{company} opens {number} roles in {place}",
            "{role} (remote)",
            "{company}'s team needs a {role}",
        ],
        evidence: &[
            "{company} published an opening for a {role} in {place}.",
            "The careers page of {company} lists a {role} who knows {phrase} and {phrase}.",
            "\"We are growing and need a {role} for {phrase},\" writes {person} of {company}.",
        ],
    }),
    (14, StoryKind {
        category: "launch",
        titles: &[
            "{company} launches {phrase} {word}",
            "{company} unveils new {word} for {phrase}",
            "Introducing {company} {word}",
            "{company} brings {phrase} to {place}",
            "Now live: {phrase} by {company}",
        ],
        evidence: &[
            "{company} has launched a product for {phrase}, available from today in {place}.",
            "The new {word} of {company} combines {phrase} with {phrase}.",
        ],
    }),
    (12, StoryKind {
        category: FUNDING,
        titles: &[
            "{company} raises {amount} {stage}",
            "{company} closes {amount} {stage} round",
            "{company} secures {amount} in {stage} funding",
            "{amount} {stage} for {company}",
            "{stage}: {company} lands {amount}",
            "{company} announces {stage} led by {person}",
        ],
        evidence: &[
            "{company} has raised {amount} in a {stage} round to expand its {phrase} business.",
            "The {stage} of {amount} brings {company} closer to {phrase}, says {person}.",
            "According to a filing, {company} received {amount} from existing investors.",
        ],
    }),
    (11, StoryKind {
        category: "partnership",
        titles: &[
            "{company} partners with {word} {word}",
            "{company} and {word} join forces on {phrase}",
            "Strategic partnership: {company} and {word}",
            "{company} signs {phrase} agreement",
        ],
        evidence: &[
            "{company} and its new partner will work on {phrase} for customers in {place}.",
            "The partnership covers {phrase} and runs for {number} months.",
        ],
    }),
    (9, StoryKind {
        category: "product",
        titles: &[
            "{company} adds {phrase} to {word}",
            "{company} releases {word} {word} update",
            "What's new in {company}: {phrase}",
            "{company} integrates {phrase} and {word}",
        ],
        evidence: &[
            "The latest release of {company} adds {phrase} and improves {word} by {number} percent.",
            "Customers had asked for {phrase}; it is now part of every plan of {company}.",
        ],
    }),
    (8, StoryKind {
        category: "expansion",
        titles: &[
            "{company} expands to {place}",
            "{company} opens {word} in {place}",
            "{company} enters {word} market",
            "New {word} for {company} in {place}",
        ],
        evidence: &[
            "{company} opens an office in {place} with {number} people, most of them in {phrase}.",
            "After a year of growth in {phrase}, {company} moves into {place}.",
        ],
    }),
    (6, StoryKind {
        category: "leadership",
        titles: &[
            "{company} appoints {person} as {role}",
            "{person} joins {company} as {role}",
            "{person} steps down at {company}",
            "{company} names new {role}",
        ],
        evidence: &[
            "{person} becomes {role} of {company} and will lead {phrase}.",
            "{company} announced that {person} takes over {phrase} from {person}.",
        ],
    }),
    (4, StoryKind {
        category: "acquisition",
        titles: &[
            "{company} acquires {word} {word}",
            "{company} to buy {word} unit",
            "{company} completes acquisition of {word}",
        ],
        evidence: &[
            "{company} has agreed to acquire a maker of {phrase} with {number} employees.",
            "The acquisition gives {company} access to {phrase} and customers in {place}.",
        ],
    }),
    (4, StoryKind {
        category: "award",
        titles: &[
            "{company} wins {word} award for {phrase}",
            "{company} named leader in {phrase}",
            "{company} among top {number} in {word}",
        ],
        evidence: &[
            "A jury in {place} honoured {company} for its work on {phrase}.",
            "{company} was chosen from {number} entries, {person} said.",
        ],
    }),
    (3, StoryKind {
        category: "event",
        titles: &[
            "Meet {company} at {word} summit",
            "{company} hosts {phrase} conference in {place}",
            "Webinar: {phrase} with {person}",
        ],
        evidence: &[
            "{company} invites customers to {place} to talk about {phrase}.",
            "{person} speaks about {phrase} before {number} guests.",
        ],
    }),
    (2, StoryKind {
        category: "research",
        titles: &[
            "{company} publishes study on {phrase}",
            "Research by {company}: {phrase} and {word}",
        ],
        evidence: &[
            "The study of {company} looks at {phrase} in {number} firms and finds {word} ahead.",
            "{person} and colleagues describe a method for {phrase}.",
        ],
    }),
    (2, StoryKind {
        category: "regulation",
        titles: &[
            "{company} receives {word} approval in {place}",
            "Regulator clears {company}'s {word}",
            "{company} certified for {phrase}",
        ],
        evidence: &[
            "The authority in {place} has approved the {phrase} of {company}.",
            "{company} now meets the rules for {phrase}, an auditor confirmed.",
        ],
    }),
];

/// The category of signals with funding details.
pub(super) const FUNDING: &str = "funding";

/// The category of signals with hiring attributes.
pub(super) const HIRING: &str = "hiring";

const FOREIGN_TITLES: &[&str] = &[
    "{company}が{amount}の資金調達を実施",
    "{company}、東京に新オフィスを開設",
    "機械学習エンジニア募集中 {company}",
    "{company} привлекла {amount} на развитие",
    "Компания {company} открывает офис в Москве",
    "{company} ищет разработчика машинного обучения",
    "{company} 완료 시리즈 A 투자 유치",
    "{company} 宣布完成 {amount} 融资",
    "{company} lève {amount} pour accélérer à l'étranger",
    "{company} eröffnet Büro für künstliche Intelligenz in Köln",
    "شركة {company} تعلن عن جولة تمويل",
];

/// Sentences that fit any story.
const REMARKS: &[&str] = &[
    "The company, based in {place}, works on {phrase}.",
    "\"This is a big step for {phrase} and for our {word} customers,\" said {person}.",
    "Analysts expect {word} and {phrase} to grow by {number} percent.",
    "Terms were not disclosed.",
    "More than {number} customers in {place} use its {phrase} and {word} tools today.",
    "It follows last year's work on {phrase}, {word} and {word}.",
    "See the announcement for details on {phrase} & {word}.",
];

#[cfg(test)]
mod tests;
