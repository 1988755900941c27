//! White-box tests of `corpus.rs`.

use super::*;
use signaldex::{Company, IndexBuilder, Signal, SignalId};

fn tag_seed(title: &str) -> Vec<u8> {
    let mut builder = IndexBuilder::in_memory();
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a company");
    let signal = Signal::new(SignalId::MIN, "acme", title);
    builder.add_signal(&signal).expect("a signal");
    let corpus = LocalCorpus::new(builder.finish().expect("an index"));
    corpus.view().tag_seed.to_vec()
}

#[test]
fn indexes_of_equal_sizes_and_generations_share_no_tag() {
    assert_ne!(tag_seed("alpha"), tag_seed("omega"));
}
