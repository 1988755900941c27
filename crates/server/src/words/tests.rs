//! The examples over the sample corpus, and the section of docs/api.md.

use std::collections::HashSet;

use signaldex::{Query, sample};

use super::*;
use crate::documents::{assert_part, wrapped};

#[test]
fn each_example_finds_and_misses_what_it_says() {
    let index = sample::index().expect("the sample corpus");
    let snapshot = index.snapshot();
    let titles = |query: &str| {
        let query = Query::from_query_string(query).expect(query);
        let mut titles = HashSet::new();
        for page in snapshot.pages(&query, sample::AS_OF) {
            let items = snapshot.records(&page.expect("a page")).expect("records");
            titles.extend(items.iter().map(|item| item.signal.title.to_string()));
        }
        titles
    };
    let all = titles("");
    for example in EXAMPLES {
        let found = titles(example.query);
        let WordExample {
            query,
            finds,
            misses,
            ..
        } = example;
        assert!(found.contains(*finds), "{query} does not find {finds}");
        assert!(!found.contains(*misses), "{query} finds {misses}");
        assert!(all.contains(*misses), "no signal is titled {misses}");
    }
}

#[test]
fn the_guide_has_the_rules_and_the_examples() {
    let mut text = String::new();
    for rule in RULES {
        text.push_str(&format!("{}\n", wrapped(rule, "- ", "  ")));
    }
    text.push_str("\nExamples over the sample corpus:\n\n");
    text.push_str("| rule | query | finds | does not find | why |\n|---|---|---|---|---|\n");
    for example in EXAMPLES {
        let WordExample {
            topic,
            query,
            finds,
            misses,
            reason,
        } = example;
        text.push_str(&format!(
            "| {topic} | `{query}` | {finds} | {misses} | {reason} |\n"
        ));
    }
    assert_part("docs/api.md", "words", &text);
}
