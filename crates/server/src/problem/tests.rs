//! The table of codes.

use super::ProblemCode;

#[test]
fn the_table_is_in_the_order_of_the_codes() {
    for (index, code) in ProblemCode::ALL.into_iter().enumerate() {
        assert_eq!(code as usize, index, "{code:?}");
    }
    assert_eq!(ProblemCode::QuotaExceeded.as_str(), "quota_exceeded");
    assert_eq!(ProblemCode::QuotaExceeded.status().as_u16(), 402);
    assert_eq!(ProblemCode::ChargeUncertain.as_str(), "charge_uncertain");
    assert_eq!(ProblemCode::ChargeUncertain.status().as_u16(), 500);
}
