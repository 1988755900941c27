//! Mistakes on the command line, answered with the command to type.

use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use signaldex::Facet;
use signaldex::query::{ErrorCode, InvalidQuery, Parameter, ParameterSet};
use signaldex::text::nearest_name;

use crate::stderr::fail;
use crate::words::{encoded, has_name, quoted};

/// The exit status of wrong usage.
const WRONG_USAGE: i32 = 2;

/// Mistakes that one command may have.
const MISTAKES_MAX: usize = 32;

/// Names that people expect, and the parameters that they mean.
const EXPECTED: [(&str, &str); 28] = [
    ("title", "q"),
    ("text", "q"),
    ("query", "q"),
    ("search", "q"),
    ("keyword", "q"),
    ("keywords", "q"),
    ("phrase", "exact"),
    ("name", "company"),
    ("companyName", "company"),
    ("slug", "companySlug"),
    ("category", "categories"),
    ("from", "dateFrom"),
    ("since", "dateFrom"),
    ("after", "dateFrom"),
    ("to", "dateTo"),
    ("until", "dateTo"),
    ("before", "dateTo"),
    ("stage", "fundingStage"),
    ("round", "fundingStage"),
    ("currency", "fundingCurrency"),
    ("amount", "fundingMin"),
    ("id", "ids"),
    ("count", "countOnly"),
    ("facet", "facets"),
    ("top", "limit"),
    ("n", "limit"),
    ("sort", "order"),
    ("orderBy", "order"),
];

/// Ends the process after wrong usage, with the command to type if it is plain what was meant.
pub(crate) fn refuse_usage<T>(
    mut error: clap::Error,
    typed: &[OsString],
    parse: impl Fn(&[OsString]) -> Result<T, clap::Error>,
) -> ! {
    if let Some(option) = unknown_option(&error)
        && let Some(words) = corrected_words(&option, typed, parse)
    {
        fail(format_args!(
            "error: there is no option {option} here; parameters are written name=value. Type:\n\n  {}\n",
            command_of(&words)
        ));
        std::process::exit(WRONG_USAGE);
    }
    if let Some(fault) = number_fault(&error) {
        fail(format_args!(
            "error: {fault}\n\nFor more information, try '--help'.\n"
        ));
        std::process::exit(WRONG_USAGE);
    }
    // It is the advice to write `--`, after which an option would be looked for as a word.
    error.remove(ContextKind::Suggested);
    error.exit()
}

/// What an option needs whose value is no number, or none of its range. Parsers say it in words of programmers.
fn number_fault(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (option, value) = (
        text(ContextKind::InvalidArg)?,
        text(ContextKind::InvalidValue)?,
    );
    let source = std::error::Error::source(error)?;
    let needed = match source.downcast_ref::<ParseIntError>() {
        Some(error) if *error.kind() == IntErrorKind::PosOverflow => "that is smaller".to_owned(),
        Some(_) => "in digits".to_owned(),
        // A range has no error of its own, but a sentence that begins with the value.
        None => range_needed(source.to_string().strip_prefix(value)?)?,
    };
    Some(format!(
        "{option}: {value:?} is given; a whole number {needed} is needed"
    ))
}

/// The range in a sentence such as ` is not in 1..=64`.
fn range_needed(sentence: &str) -> Option<String> {
    let (min, max) = sentence.strip_prefix(" is not in ")?.split_once("..")?;
    Some(match max.trim_start_matches('=') {
        max if max == u64::MAX.to_string() => format!("at least {min}"),
        max => format!("from {min} to {max}"),
    })
}

/// The option that no command has, if that is the error.
fn unknown_option(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(option) => Some(option.clone()),
        _ => None,
    }
}

/// The arguments with parameters instead of unknown options, if they then parse.
fn corrected_words<T>(
    option: &str,
    typed: &[OsString],
    parse: impl Fn(&[OsString]) -> Result<T, clap::Error>,
) -> Option<Vec<String>> {
    let words = typed
        .iter()
        .skip(1)
        .map(|word| word.to_str().map(str::to_owned));
    let mut words: Vec<String> = words.collect::<Option<_>>()?;
    let mut option = option.to_owned();
    // Each turn replaces one option.
    for _ in 0..MISTAKES_MAX {
        words = without_option(&words, &option)?;
        let arguments = ["signaldex"]
            .into_iter()
            .chain(words.iter().map(String::as_str));
        let arguments: Vec<OsString> = arguments.map(OsString::from).collect();
        match parse(&arguments) {
            Ok(_) => return Some(words),
            Err(error) => option = unknown_option(&error)?,
        }
    }
    None
}

/// The words with what an unknown option means in its place.
fn without_option(words: &[String], option: &str) -> Option<Vec<String>> {
    let command = words.first()?;
    let position = words.iter().position(|word| {
        let rest = word.strip_prefix(option);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })?;
    let name = option.strip_prefix("--")?;
    let (before, after) = (&words[..position], &words[position + 1..]);
    let join = |meant: Vec<String>, after: &[String]| Some([before, &meant[..], after].concat());
    if let Some(meant) = format_for(command, name) {
        return join(meant, after);
    }
    let inline = words[position].strip_prefix(option)?.strip_prefix('=');
    let following = after.first().filter(|word| !word.starts_with('-'));
    let (value, after) = match (inline, following) {
        (Some(value), _) => (value, after),
        (None, Some(value)) => (value.as_str(), &after[1..]),
        (None, None) => ("true", after),
    };
    join(meant_by(command, name, value)?, after)
}

/// The option for a format that was written as an option of its own.
fn format_for(command: &str, name: &str) -> Option<Vec<String>> {
    let format = match (command, name) {
        (
            "search" | "aggregate" | "companies" | "options" | "signal" | "company" | "stats"
            | "usage" | "keys" | "people" | "searches",
            "json",
        ) => "json",
        ("search" | "aggregate" | "companies" | "export", "ndjson" | "jsonl")
        | ("export", "json") => "ndjson",
        ("search" | "aggregate" | "companies" | "export", "csv") => "csv",
        ("search" | "companies", "ids") => "ids",
        // What is printed is JSON in any case.
        (_, "json") => return Some(Vec::new()),
        _ => return None,
    };
    Some(vec!["--format".to_owned(), format.to_owned()])
}

/// The words for a name with a value: parameters, or an option of the command.
fn meant_by(command: &str, name: &str, value: &str) -> Option<Vec<String>> {
    let meant = parameter_meant_by(name);
    if command == "export" && meant == Some("limit") {
        return Some(vec!["--max-items".to_owned(), value.to_owned()]);
    }
    let value = if value.contains(['&', '%', '+', '#']) {
        encoded(value)
    } else {
        value.to_owned()
    };
    let pairs: Vec<String> = match (name, meant) {
        ("date" | "day", _) => vec![format!("dateFrom={value}"), format!("dateTo={value}")],
        ("funding", _) if value.parse::<f64>().is_ok() => vec![format!("fundingMin={value}")],
        ("funding", _) if ["true", "yes", "1", "funding"].contains(&value.as_str()) => {
            vec!["categories=funding".to_owned()]
        }
        ("funding", _) => vec![format!("fundingStage={value}")],
        (_, Some("countOnly")) => vec!["countOnly=true".to_owned()],
        (_, Some("facets")) => vec![format!("facets={}", facets_meant_by(&value))],
        (_, Some(parameter)) => vec![format!("{parameter}={value}")],
        (_, None) => return None,
    };
    Some(vec![pairs.join("&")])
}

/// The parameter of this name, of one that people expect, or of a similar one.
fn parameter_meant_by(name: &str) -> Option<&'static str> {
    let same = |known: &str| known.eq_ignore_ascii_case(&name.replace(['-', '_'], ""));
    let mut expected = EXPECTED.iter();
    let expected = expected.find(|(expected, _)| same(expected));
    let names = || {
        ParameterSet::SEARCH
            .iter()
            .map(Parameter::name)
            .chain(["facets"])
    };
    let exact = names().find(|known| same(known));
    let meant = exact.or(expected.map(|(_, parameter)| *parameter));
    meant.or_else(|| nearest_name(name, names()))
}

/// Names of lists of values, where those of parameters were written.
fn facets_meant_by(value: &str) -> String {
    let lists = || Facet::ALL.iter().map(|facet| facet.description().options);
    let meant = |item: &str| {
        let is_of = |facet: &&Facet| facet.parameter().name() == item;
        let of_parameter = Facet::ALL.iter().find(is_of);
        let list = of_parameter.map(|facet| facet.description().options);
        let list = list.or_else(|| nearest_name(item, lists()));
        list.unwrap_or(item).to_owned()
    };
    let items: Vec<String> = value.split(',').map(str::trim).map(meant).collect();
    items.join(",")
}

/// The words of the command line with the faults of a query corrected, if it is plain what was meant.
pub(crate) fn corrected_query(words: &[String], invalid: &InvalidQuery) -> Option<Vec<String>> {
    let command = words.first()?;
    let is_unknown = |name: &str| {
        let mut errors = invalid.errors().iter();
        errors.any(|error| error.code == ErrorCode::UnknownParameter && error.parameter == name)
    };
    let mut corrected = Vec::new();
    for word in words {
        if !has_name(word) {
            corrected.push(word.clone());
            continue;
        }
        let (mut pairs, mut options): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for pair in word.split('&') {
            match pair.split_once('=') {
                // An ampersand within a value.
                None if is_unknown(pair) => {
                    let before = pairs.last_mut()?;
                    before.push_str(&format!("%26{pair}"));
                }
                Some((name, value)) if is_unknown(name) => {
                    let meant = meant_by(command, name, value)?;
                    let is_option = meant.len() > 1;
                    if is_option { &mut options } else { &mut pairs }.extend(meant);
                }
                Some(("facets", value)) => {
                    pairs.push(format!("facets={}", facets_meant_by(value)));
                }
                _ => pairs.push(pair.to_owned()),
            }
        }
        if !pairs.is_empty() {
            corrected.push(pairs.join("&"));
        }
        corrected.append(&mut options);
    }
    (corrected != words).then_some(corrected)
}

/// The words with a phrase in quotes where a shell took them, if there is such a word.
pub(crate) fn with_phrase(words: &[String], typed: &str) -> Option<Vec<String>> {
    let (name, text) = match typed.split_once('=') {
        Some((name @ ("q" | "all"), text)) if has_name(typed) => (Some(name), text),
        _ if has_name(typed) => return None,
        _ => (None, typed),
    };
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_alphanumeric()) && !word.contains(['&', '='])
    };
    let count = text.split_whitespace().count();
    let is_phrase = count > 1 && !text.contains(['"', '“', '”', '«', '»', '*']);
    if !is_phrase || !text.split_whitespace().all(is_word) {
        return None;
    }
    let phrase = match name {
        Some(name) => format!("{name}=\"{text}\""),
        None => format!("\"{text}\""),
    };
    let replaced = words
        .iter()
        .map(|word| if word == typed { &phrase } else { word });
    Some(replaced.cloned().collect())
}

/// The command to type for these words, quoted for a shell.
pub(crate) fn command_of(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("signaldex {}", words.join(" "))
}

/// The arguments of this process, if they are text.
pub(crate) fn typed_words() -> Option<Vec<String>> {
    let words = std::env::args_os().skip(1);
    words.map(|word| word.into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn options_become_the_parameters_that_were_meant() {
        let table = [
            ("search DIR --limit 5", "--limit", "search DIR limit=5"),
            (
                "search DIR --country=Germany a",
                "--country",
                "search DIR country=Germany a",
            ),
            (
                "search DIR --company-slug acme",
                "--company-slug",
                "search DIR companySlug=acme",
            ),
            (
                "search DIR --json a",
                "--json",
                "search DIR --format json a",
            ),
            ("search DIR --count", "--count", "search DIR countOnly=true"),
            (
                "export DIR --limit 5 a",
                "--limit",
                "export DIR --max-items 5 a",
            ),
            ("export DIR --json", "--json", "export DIR --format ndjson"),
            (
                "options DIR --facets country",
                "--facets",
                "options DIR facets=countries",
            ),
        ];
        for (typed, option, expected) in table {
            assert_eq!(without_option(&words(typed), option), Some(words(expected)));
        }
        assert_eq!(
            without_option(&words("search DIR --zzzzzzz 5"), "--zzzzzzz"),
            None
        );
    }

    #[test]
    fn a_number_out_of_range_is_answered_with_the_range() {
        use clap::builder::RangedU64ValueParser;
        let command = || {
            let number = |name: &'static str| clap::Arg::new(name).long(name);
            let [some, any] = [
                RangedU64ValueParser::<u64>::new(),
                RangedU64ValueParser::new(),
            ];
            clap::Command::new("signaldex")
                .arg(number("some").value_parser(some.range(1..=32)))
                .arg(number("any").value_parser(any.range(1..)))
        };
        for (option, value, needed) in [
            ("--some", "0", "from 1 to 32"),
            ("--any", "0", "at least 1"),
            ("--any", "one", "in digits"),
            ("--any", "", "in digits"),
            ("--any", "99999999999999999999", "that is smaller"),
        ] {
            let error = command().try_get_matches_from(["signaldex", option, value]);
            let fault = number_fault(&error.expect_err(value)).expect(value);
            let expected = format!("{value:?} is given; a whole number {needed} is needed");
            assert!(
                fault.starts_with(option) && fault.ends_with(&expected),
                "{fault}"
            );
        }
    }

    #[test]
    fn what_an_option_says_in_its_own_words_stays() {
        let refuse = |_: &str| Err::<String, _>("use 1 to 64 letters, digits, -, _ and .");
        let zone = clap::Arg::new("zone").long("zone").value_parser(refuse);
        let command = clap::Command::new("signaldex").arg(zone);
        let error = command.try_get_matches_from(["signaldex", "--zone", "a b"]);
        assert_eq!(number_fault(&error.expect_err("a space")), None);
    }

    #[test]
    fn a_phrase_whose_quotes_the_shell_took_gets_them_back() {
        let typed = ["search", "DIR", "series a"].map(str::to_owned);
        let phrase = with_phrase(&typed, "series a").expect("two words");
        assert_eq!(command_of(&phrase), "signaldex search DIR '\"series a\"'");
        for other in [
            "robotics",
            "\"series a\"",
            "series -a",
            "robot* arm",
            "country=South Korea",
        ] {
            let typed = ["search", "DIR", other].map(str::to_owned);
            assert_eq!(with_phrase(&typed, other), None, "{other}");
        }
    }
}
