//! Whether all engines give the same answers, and whether these are right.

use signaldex::{Facets, Found, sample};

use crate::Result;
use crate::corpus::{Asked, Corpus};
use crate::engine::{Engine, FacetAnswer, PAGE, Tally};
use crate::engines::Kind;
use crate::question::{Question, Start};
use crate::record::Dictionary;

/// What a question is answered.
#[derive(Debug, PartialEq)]
struct Answer {
    first: Vec<u64>,
    middle: Vec<u64>,
    count: u64,
    facets: Option<Tally>,
}

/// Compares all engines with the plain meaning of queries over a small corpus.
pub fn against_scan(signals: u64) -> Result<()> {
    let corpus = Corpus::generated(signals);
    std::fs::create_dir_all(corpus.folder())?;
    corpus.build(true)?;
    let asked = corpus.questions()?;
    let engines = corpus.open(&Kind::ALL, &asked.dictionary)?;
    let snapshot = corpus.snapshot()?;
    let records: Vec<Found<'_>> = snapshot.scan().collect::<signaldex::Result<_>>()?;
    let mut questions = 0;
    for class in &asked.classes {
        for question in &class.questions {
            let expected = scanned(&records, question, &asked.dictionary);
            compare(
                &engines,
                question,
                &asked.dictionary,
                class.class,
                &expected,
            )?;
            questions += 1;
        }
    }
    println!("{questions} queries over {signals} signals: all engines agree with a scan");
    Ok(())
}

/// Compares all engines with each other.
pub fn agreement(engines: &[(Kind, Box<dyn Engine>)], asked: &Asked) -> Result<()> {
    let [(_, first), others @ ..] = engines else {
        return Ok(());
    };
    for class in &asked.classes {
        eprintln!("comparing answers: {}", class.class);
        for question in &class.questions {
            let expected = answer(&**first, question, &asked.dictionary)?;
            compare(others, question, &asked.dictionary, class.class, &expected)?;
        }
    }
    Ok(())
}

fn compare(
    engines: &[(Kind, Box<dyn Engine>)],
    question: &Question,
    dictionary: &Dictionary,
    class: &str,
    expected: &Answer,
) -> Result<()> {
    for (kind, engine) in engines {
        let found = answer(&**engine, question, dictionary)?;
        let is_same_count = found.count == expected.count;
        let is_same_page =
            !kind.has_pages() || (found.first == expected.first && found.middle == expected.middle);
        let is_same_tally = found.facets.is_none() || found.facets == expected.facets;
        if !(is_same_count && is_same_page && is_same_tally) {
            let wanted = &question.wanted;
            return Err(format!(
                "{} answers a query of class `{class}` differently: {} matches instead of {}, \
                 same pages: {is_same_page}, same facets: {is_same_tally}; {wanted:?}",
                kind.name(),
                found.count,
                expected.count,
            )
            .into());
        }
    }
    Ok(())
}

fn answer(engine: &dyn Engine, question: &Question, dictionary: &Dictionary) -> Result<Answer> {
    let mut prepared = engine.prepare(question)?;
    Ok(Answer {
        first: prepared.page(Start::First)?.ids(),
        middle: prepared.page(Start::Middle)?.ids(),
        count: prepared.count()?,
        facets: prepared.facets()?.tally(dictionary),
    })
}

/// The answer that the plain meaning of a query gives.
fn scanned(records: &[Found<'_>], question: &Question, dictionary: &Dictionary) -> Answer {
    let filter = question.first.filter();
    let newest_first = records.iter().rev();
    let ids: Vec<u64> = newest_first
        .filter(|found| filter.matches(&found.signal, &found.company, sample::AS_OF))
        .map(|found| found.signal.id.get())
        .collect();
    let page = |start| {
        let before = question.before(start);
        let behind = ids
            .iter()
            .filter(|&&id| before.is_none_or(|before| id < before));
        behind.copied().take(PAGE).collect()
    };
    let pairs = records.iter().map(|found| (&found.signal, &found.company));
    let facets = Facets::of(pairs, filter, sample::AS_OF);
    Answer {
        first: page(Start::First),
        middle: page(Start::Middle),
        count: ids.len() as u64,
        facets: FacetAnswer::Labelled(facets).tally(dictionary),
    }
}
