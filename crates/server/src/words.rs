//! How words match, for API clients: rules in words, and examples over the sample corpus that a test runs.
//!
//! `/docs` and docs/api.md show the same; `signaldex::text` has the analysis.

use signaldex::query::Parameter;

/// The title of the section.
pub(super) const TITLE: &str = "How words match";
/// The end of links to the section.
pub(super) const ANCHOR: &str = "how-words-match";

/// The rules, with what is typed in backticks.
pub(super) const RULES: &[&str] = &[
    "Titles and company names are searched by whole words. Letter case, accents on Latin letters (ü is u, ł is l, ß is ss) \
     and the signs ™ ® © do not matter. There is no stemming: `engineer` does not find engineers.",
    "A star directly after a word of at least three letters or digits makes a prefix word: `robot*` finds every word that \
     begins so.",
    "A phrase in quotes finds its words next to each other, in this order. Straight quotes, curly ones, « and » are alike.",
    "A minus sign or dash right before a word or quote excludes it, in `q` alone; `exclude` is for all that is unwanted.",
    "Parameters are combined with AND, and so are the words of `q` and `all`; `any` combines its words with OR. `AND`, `OR` \
     and `NOT` themselves are words.",
    "A word with a hyphen, an `&`, or a dot between letters is the phrase of its parts: `AI-powered`, `R&D`, `cars.com`. An \
     acronym is one word without its dots (`U.S.` is `us`), and numbers keep their dots and commas (`3.5`, `1,000`).",
    "Apostrophes are left out (`O'Reilly` is `oreilly`) and a possessive `'s` is dropped. A single word also finds the form \
     with it (`mcdonalds` finds McDonald's) and what follows an article (`ia` finds l'IA).",
    "A single letter keeps a `+`, `++` or `#` directly after it: `C++`, `C#`.",
    "Each Chinese character, Japanese kanji and Korean syllable is a word, so part of a Korean word finds it. Other Japanese \
     words are found whole.",
    "`companies` takes whole names as people write them: legal forms such as GmbH or Inc., `&` for `and`, `.com`, accents, \
     spaces and punctuation may differ, but names whose legal forms contradict each other are two companies. An item may \
     also be a slug, and the slug of one company may be the name of another; `companySlug` is exact.",
    "Not done: similar spellings, synonyms, transliteration (`nuernberg`), accents of Greek and Cyrillic, other spellings of \
     numbers (`1000000` is not `1,000,000`), words run together (`cofounder` is not `co-founder`).",
];

/// A query over the sample corpus.
pub(super) struct WordExample {
    pub(super) topic: &'static str,
    /// The query string, decoded.
    pub(super) query: &'static str,
    /// A title that it finds.
    pub(super) finds: &'static str,
    /// A title that it does not find.
    pub(super) misses: &'static str,
    pub(super) reason: &'static str,
}

pub(super) const EXAMPLES: &[WordExample] = &[
    WordExample {
        topic: "whole words",
        query: "q=robot",
        finds: "Golondra enters the U.S. market with a robot arm for small workshops",
        misses: "Regulator clears Islewright Robotics in Vietnam",
        reason: "`robotics` is another word",
    },
    WordExample {
        topic: "plurals",
        query: "any=robot robots",
        finds: "Now available: picking robots by Rookhaven Robotics",
        misses: "Regulator clears Islewright Robotics in Vietnam",
        reason: "name each form that you want, or use a prefix word",
    },
    WordExample {
        topic: "phrases",
        query: "q=\"series a\"",
        finds: "Emberly announces €13M Series A led by Pomelora Ventures",
        misses: "株式会社ミナトロボ secures JPY 11B Series C for a robot arm for small workshops",
        reason: "both words, but not next to each other",
    },
    WordExample {
        topic: "hyphens",
        query: "q=pre-seed",
        finds: "Morgentau Aerospace secures £690K Pre-Seed for a delivery drone",
        misses: "Kieferhof Media announces €4.7M Seed led by Fennmark Ventures",
        reason: "the phrase `pre seed`; `preseed` is another word",
    },
    WordExample {
        topic: "dots",
        query: "q=us market",
        finds: "Golondra enters the U.S. market with a robot arm for small workshops",
        misses: "U.S. Tidewater Supply named finalist for the Founders' Prize 2025",
        reason: "an acronym is one word without its dots; both words must occur",
    },
    WordExample {
        topic: "accents",
        query: "q=grossenwahn",
        finds: "Größenwahn Games acquires Nettlefold",
        misses: "Xylora ships version 3.4 with better support for machine learning",
        reason: "ö is o and ß is ss; `groessenwahn` finds nothing",
    },
    WordExample {
        topic: "C++, C#",
        query: "q=C++",
        finds: "Valewood Cloud brings a test runner for C++ to Israel",
        misses: "Nightjarra Games announces £53M Series C led by Lindwurmer Ventures",
        reason: "a letter with its sign is a word; elsewhere a plus sign is `%2B` in a URL",
    },
    WordExample {
        topic: "numbers",
        query: "q=1,000",
        finds: "Tamarindo Work raises $12M Series A to help 1,000 employers hire",
        misses: "Pinegrove Agri raises $1.4M Pre-Seed to bring soil sensors to 20,000 farms",
        reason: "a number is one word as it is written; `1000` finds neither",
    },
    WordExample {
        topic: "exclusion",
        query: "q=robots -robotics",
        finds: "Join Opalinden Automation as Senior Machine Learning Engineer and help bring robots to small workshops",
        misses: "Join Bluehollow Robotics as Senior Product Owner and help bring robots to small workshops",
        reason: "the title has the excluded word, too",
    },
    WordExample {
        topic: "AND, OR",
        query: "any=drone robots",
        finds: "Wrenfield Space brings a delivery drone to Poland",
        misses: "Regulator clears Islewright Robotics in Vietnam",
        reason: "`any` needs one of the words; `q=drone robots` needs both, `q=drone OR robots` the word `or`, too",
    },
    WordExample {
        topic: "prefixes",
        query: "q=robot*",
        finds: "Regulator clears Islewright Robotics in Vietnam",
        misses: "Wrenfield Space brings a delivery drone to Poland",
        reason: "every word that begins so: `robot`, `robots`, `robotics`",
    },
    WordExample {
        topic: "apostrophes",
        query: "q=ohanlons",
        finds: "Kavya Sandoval joins O'Hanlon's Kitchen, Ltd. as Head of Sales",
        misses: "U.S. Tidewater Supply named finalist for the Founders' Prize 2025",
        reason: "`o'hanlon`, `o’hanlon’s` and `ohanlon` find the same",
    },
    WordExample {
        topic: "legal forms",
        query: "companies=Sao Bento Agro",
        finds: "Series A: São Bento Agro S.A. lands $7.5M for crop monitoring",
        misses: "Wrenfield Agri enters the U.S. market with drought-tolerant seeds",
        reason: "the legal form may be missing, but not another word of the name",
    },
    WordExample {
        topic: "Korean",
        query: "q=바이",
        finds: "한빛 바이오 brings an enzyme platform to Spain",
        misses: "Zephyrine Silicon, 시리즈 A $31M 투자 유치",
        reason: "each syllable is a word, and `바이` the phrase of two",
    },
];

/// Whether [`RULES`] say what the values of a parameter find.
pub(super) fn concern(parameter: Parameter) -> bool {
    matches!(
        parameter,
        Parameter::Q
            | Parameter::All
            | Parameter::Exact
            | Parameter::Any
            | Parameter::Exclude
            | Parameter::Company
            | Parameter::Companies
    )
}

#[cfg(test)]
mod tests;
