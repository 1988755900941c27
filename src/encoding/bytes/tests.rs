//! White-box tests of `encoding/bytes.rs`.

use super::*;

#[test]
fn appended_bytes_are_in_order_and_not_printed() {
    let mut aligned = AlignedBytes::default();
    for bytes in [&b"0123456789"[..], b"", b"abc"] {
        aligned.append(bytes);
    }
    assert_eq!(&*aligned, b"0123456789abc");
    assert_eq!(format!("{aligned:?}"), "Owned(13 bytes)");
    assert_eq!(format!("{:?}", Bytes::copy(&aligned)), "Owned(13 bytes)");
    assert!(aligned.as_ptr().addr().is_multiple_of(8));
}
