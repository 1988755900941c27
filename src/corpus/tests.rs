//! White-box tests of `corpus.rs`.

use super::*;
use crate::fixtures;

fn tag_seed(title: &str) -> Vec<u8> {
    let corpus = LocalCorpus::new(fixtures::index([title]));
    corpus.view().tag_seed.to_vec()
}

#[test]
fn indexes_of_equal_sizes_and_generations_share_no_tag() {
    assert_ne!(tag_seed("alpha"), tag_seed("omega"));
}
