//! White-box tests of `corpus.rs`.

use super::*;
use crate::{Company, IndexBuilder, Signal};

fn tag_seed(title: &str) -> Vec<u8> {
    let mut builder = IndexBuilder::in_memory();
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("memory");
    let signal = Signal::new(SignalId::MIN, "acme", title.to_owned());
    builder.add_signal(&signal).expect("memory");
    let index = builder.finish().expect("memory");
    LocalCorpus::new(index).view().tag_seed.to_vec()
}

#[test]
fn indexes_of_equal_sizes_and_generations_share_no_tag() {
    assert_ne!(tag_seed("alpha"), tag_seed("omega"));
}
