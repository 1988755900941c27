//! Numbers in LEB128, as the state file stores lists of ids and histograms: seven bits a byte, the lowest first, the last byte without the high bit.

/// Appends a number.
pub(crate) fn push(output: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        output.push(number as u8 | 0x80);
        number >>= 7;
    }
    output.push(number as u8);
}

/// Takes a number from the front; `None` if it has more than 64 bits or is truncated.
pub(crate) fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7F);
        // The tenth byte can hold only one bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_comes_back(numbers in prop::collection::vec(any::<u64>(), 0..9)) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|&number| push(&mut bytes, number));
            let mut rest = bytes.as_slice();
            for number in numbers {
                prop_assert_eq!(take(&mut rest), Some(number));
            }
            prop_assert_eq!(take(&mut rest), None);
        }
    }

    #[test]
    fn a_number_of_65_bits_is_none() {
        let mut bytes = [0xFF; 10];
        bytes[9] = 2;
        assert_eq!(take(&mut bytes.as_slice()), None);
        bytes[9] = 1;
        assert_eq!(take(&mut bytes.as_slice()), Some(u64::MAX));
        assert_eq!(take(&mut [0x80; 12].as_slice()), None);
    }
}
