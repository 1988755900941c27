//! An index that changes at random, beside its naive model.

use std::collections::BTreeSet;

use super::disk::Disk;
use super::model::{Model, empty_index, random_company, random_signal};
use crate::CompanyDeletion;
use crate::fixtures::Random;
use crate::index::{Index, Writer};
use crate::signal::{Company, SignalId};

const WHOLE: &str = "the disk is whole";

/// An index with its writer and its model.
pub(super) struct RandomIndex {
    pub(super) index: Index,
    writer: Writer,
    pub(super) model: Model,
    /// The signals that ever were written.
    pub(super) written: BTreeSet<SignalId>,
}

impl RandomIndex {
    /// An index after one to eight random commits.
    pub(super) fn new(random: &mut Random) -> RandomIndex {
        let index = empty_index(&Disk::default());
        let mut random_index = RandomIndex {
            writer: index.writer().expect("nobody else writes"),
            model: Model::default(),
            written: BTreeSet::new(),
            index,
        };
        for _ in 0..1 + random.below(8) {
            random_index.disturb(random);
        }
        random_index
    }

    /// Changes some signals, companies and values, and commits or merges.
    pub(super) fn disturb(&mut self, random: &mut Random) {
        for _ in 0..random.below(6) {
            self.change(random);
        }
        self.writer.commit().expect(WHOLE);
        if random.below(12) == 0 {
            self.writer.compact().expect(WHOLE);
        }
    }

    fn change(&mut self, random: &mut Random) {
        let (writer, model) = (&mut self.writer, &mut self.model);
        if model.companies.is_empty() || random.below(6) == 0 {
            let company = random_profile(random);
            writer.upsert_company(&company).expect("a valid company");
            model.companies.insert(company.slug.to_string(), company);
        }
        let slugs: Vec<&String> = model.companies.keys().collect();
        let slug = (*random.pick(&slugs)).clone();
        let signal = random_signal(random, &slug);
        match random.below(16) {
            0 => {
                let deletion = CompanyDeletion::Cascade;
                writer.delete_company(&slug, deletion).expect(WHOLE);
                model.companies.remove(&slug);
                model
                    .signals
                    .retain(|_, signal| signal.company_slug != slug);
            }
            1..=3 => {
                writer.delete_signal(signal.id).expect(WHOLE);
                model.signals.remove(&signal.id);
            }
            _ => {
                writer.upsert_signal(&signal).expect("a known company");
                self.written.insert(signal.id);
                model.signals.insert(signal.id, signal);
            }
        }
    }
}

/// A random company with a city and a year, or without.
fn random_profile(random: &mut Random) -> Company<'static> {
    let mut company = random_company(random);
    let cities = ["Berlin", " berlin", "São Paulo", " "];
    company.city = random
        .chance(80)
        .then(|| random.word(&cities).to_owned().into());
    company.founded_year = random.chance(80).then(|| 1998 + random.below(4_i64));
    if random.chance(20) {
        company.employees = None;
    }
    company
}

/// A setting of the environment, a number.
pub(super) fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}
