//! Tallies against the rows of postings and companies.

use roaring::RoaringBitmap;

use super::DeletedTally;
use crate::encoding::posting::PostingId;
use crate::encoding::row::Row;
use crate::fixtures::{self, Random, Records};
use crate::query::Facet;
use crate::segment::Segment;

const SIGNALS: u64 = 3_000;

/// About one row in `n`.
fn one_in(n: u32, segment: &Segment, random: &mut Random) -> RoaringBitmap {
    let rows = 0..segment.row_count();
    rows.filter(|_| random.below(n) == 0).collect()
}

fn check(segment: &Segment, tally: &DeletedTally, deleted: &RoaringBitmap) {
    let count = |rows: &mut dyn Iterator<Item = Row>| {
        rows.filter(|row| deleted.contains(row.0)).count() as u64
    };
    let of_companies = Facet::OF_COMPANY.map(|facet| segment.facet(facet).len());
    let all = segment.views().postings.entries.len();
    let of_rows = all - of_companies.iter().sum::<usize>();
    for posting in (0..of_rows as u32).map(PostingId) {
        let expected = count(&mut segment.posting(posting).expect("a whole segment").rows());
        assert_eq!(tally.of_posting(posting), expected, "{posting:?}");
    }
    for company in segment.companies() {
        let expected = count(
            &mut segment
                .company_rows(company)
                .expect("a whole segment")
                .iter()
                .copied(),
        );
        assert_eq!(tally.of_company(company), expected, "{company:?}");
    }
}

#[test]
fn a_tally_counts_the_deleted_rows_of_each_posting_and_company() {
    let segment = fixtures::segment(&Records::new(SIGNALS, 5));
    let mut random = Random::new(7);
    let few = one_in(50, &segment, &mut random);
    let of_few = DeletedTally::of(&segment, &few).expect("a whole segment");
    let of_few = of_few.expect("few rows");
    check(&segment, &of_few, &few);
    let more = &few | one_in(3, &segment, &mut random);
    let of_more = of_few.with(&segment, &more, &few);
    let of_more = of_more.expect("a whole segment").expect("few rows");
    check(&segment, &of_more, &more);
}
