//! The table of codes.

use super::Code;

#[test]
fn the_table_is_in_the_order_of_the_codes() {
    for (index, code) in Code::ALL.into_iter().enumerate() {
        assert_eq!(code as usize, index, "{code:?}");
    }
    assert_eq!(Code::QuotaExceeded.as_str(), "quota_exceeded");
    assert_eq!(Code::QuotaExceeded.status().as_u16(), 402);
    assert_eq!(Code::ChargeUncertain.as_str(), "charge_uncertain");
    assert_eq!(Code::ChargeUncertain.status().as_u16(), 500);
}
