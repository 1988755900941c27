//! White-box tests of `segment/verify.rs`.

use super::*;
use crate::encoding::dictionary::Strings;
use crate::segment::SegmentBuilder;
use crate::signal::SignalId;

#[test]
fn a_value_has_to_be_found_by_the_key_of_its_label() {
    let mut builder = SegmentBuilder::new(Vec::new()).unwrap();
    let mut company = Company::new("acme", "Acme");
    company.country = Some("Germany".into());
    builder.add_company(&company).unwrap();
    let signal = Signal::new(SignalId::MIN, "acme", "Hiring");
    builder.add_signal(&signal).unwrap();
    let segment = Segment::from_bytes(&builder.finish().unwrap()).unwrap();
    let view = *segment.facet(Facet::Country);
    assert!(verify_keys(Facet::Country, &view).is_ok());
    let labels = Strings::new(&[7], b"Germane");
    let altered = FacetView { labels, ..view };
    let error = verify_keys(Facet::Country, &altered).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a value of Country is found by another key"
    );
}
