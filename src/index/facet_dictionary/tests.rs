//! Counts by number against counts by text.

use super::*;
use crate::fixtures::{Random, Records};
use crate::{Index, IndexBuilder};

const SHARDS: usize = 5;

fn index_of(records: &Records, shard: usize) -> Index {
    let mut builder = IndexBuilder::in_memory();
    let companies = records.companies.iter().enumerate();
    let own = companies.filter(|(number, _)| number % SHARDS == shard);
    let slugs: Vec<&str> = own.clone().map(|(_, company)| &*company.slug).collect();
    for (number, company) in own {
        let mut company = company.clone();
        // Another spelling of the same value in every third shard, and a value that only one shard has.
        if let Some(country) = &company.country
            && shard.is_multiple_of(3)
        {
            company.country = Some(country.to_uppercase().into());
        }
        if number == 3 {
            company.industry = Some("Shipyards".into());
        }
        builder.add_company(&company).expect("a company");
    }
    let signals = records.signals.iter();
    for signal in signals.filter(|signal| slugs.contains(&&*signal.company_slug)) {
        builder.add_signal(signal).expect("a signal");
    }
    builder.finish().expect("an index")
}

/// Shards with a second segment and deletions.
fn shards(records: &Records) -> Vec<Arc<Snapshot>> {
    let more = Records::new(200, 77);
    let shard = |shard: usize| {
        let index = index_of(records, shard);
        let mut writer = index.writer().expect("a writer");
        for signal in records
            .signals
            .iter()
            .filter(|signal| signal.id.get() % 7 == 0)
        {
            if index.snapshot().contains(signal.id).expect("whole") {
                writer.delete_signal(signal.id).expect("a deletion");
            }
        }
        for (number, company) in more.companies.iter().enumerate() {
            if number % SHARDS == shard {
                writer.upsert_company(company).expect("a company");
            }
        }
        writer.commit().expect("a commit");
        index.snapshot()
    };
    (0..SHARDS).map(shard).collect()
}

/// The meaning: labels with counts of all shards, added up by text.
fn by_text(shards: &[Arc<Snapshot>], filter: &Filter, asked: &[Facet]) -> Facets {
    let mut facets = Facets::default();
    for &facet in asked {
        let mut values = Vec::new();
        for shard in shards {
            let of_shard = shard
                .facets_of(filter, Records::AS_OF, asked)
                .expect("whole");
            let counts = of_shard.values(facet).iter();
            values.extend(counts.map(|value| (value.label().to_owned(), value.count())));
        }
        facets.set(facet, values);
    }
    facets
}

#[test]
fn counts_by_number_are_those_by_text() {
    let shards = shards(&Records::new(2_000, 5));
    let dictionary = FacetDictionary::new(shards.clone());
    let random = &mut Random::new(9);
    for round in 0..100 {
        let words = [
            "",
            "q=raises",
            "q=w3",
            "q=w3 -w1",
            "country=germany&q=w2",
            "categories=funding",
        ];
        let filter = Filter::from_query_string(random.word(&words)).expect("a filter");
        let asked: Vec<Facet> = Facet::ALL
            .into_iter()
            .filter(|_| random.chance(60))
            .collect();
        let mut counters = dictionary.counters();
        // Some shards are counted by themselves and sent as texts, as by another node.
        for (shard, snapshot) in shards.iter().enumerate() {
            if random.chance(30) {
                let facets = snapshot.facets_of(&filter, Records::AS_OF, &asked);
                dictionary.add_facets(&mut counters, &facets.expect("whole"));
            } else {
                let mut own = dictionary.counters();
                let counted = dictionary.count(shard, &filter, Records::AS_OF, &asked, &mut own);
                counted.expect("whole");
                counters.add(own);
            }
        }
        let expected = by_text(&shards, &filter, &asked);
        assert_eq!(
            dictionary.facets(&counters),
            expected,
            "{round}: {filter:?}"
        );
    }
}

#[test]
fn labels_that_no_snapshot_has_are_counted_by_text() {
    let shards = shards(&Records::new(500, 5));
    let (known, unknown) = shards.split_at(2);
    let dictionary = FacetDictionary::new(known.to_vec());
    let mut counters = dictionary.counters();
    let filter = Filter::default();
    for shard in 0..known.len() {
        let counted = dictionary.count(shard, &filter, Records::AS_OF, &Facet::ALL, &mut counters);
        counted.expect("whole");
    }
    for shard in unknown {
        let facets = shard.facets(&filter, Records::AS_OF).expect("whole");
        dictionary.add_facets(&mut counters, &facets);
    }
    assert_eq!(
        dictionary.facets(&counters),
        by_text(&shards, &filter, &Facet::ALL)
    );
}

#[test]
fn a_wrong_snapshot_and_foreign_counters_are_refused() {
    let dictionary = FacetDictionary::new(shards(&Records::new(200, 5)));
    let count = |snapshot: usize, counters: &mut FacetCounters| {
        let filter = Filter::default();
        dictionary.count(snapshot, &filter, Records::AS_OF, &Facet::ALL, counters)
    };
    let error = count(SHARDS, &mut dictionary.counters()).expect_err("no such snapshot");
    assert!(error.to_string().contains("no snapshot 5"), "{error}");
    let mut foreign = FacetDictionary::new(Vec::new()).counters();
    let error = count(0, &mut foreign).expect_err("foreign counters");
    assert!(error.to_string().contains("another dictionary"), "{error}");
}
