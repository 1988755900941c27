//! Columns of companies that are no lists of values: city, founding year, and number of employees.

use std::ops::RangeInclusive;

use super::ensure::ensure;
use crate::Result;
use crate::encoding::column::{Column, NO_CODE};
use crate::encoding::dictionary::Strings;
use crate::encoding::row::{CompanyNumber, Row};
use crate::signal::Company;
use crate::text;

/// An empty range of codes. Its ends fit in the narrowest column, whose width they are compared in.
const NO_CODES: RangeInclusive<u32> = RangeInclusive::new(1, 0);

/// The columns of the companies of a segment, including those without rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompanyAttributes<'a> {
    pub(crate) cities: CityColumn<'a>,
    pub(crate) founded: NumberColumn<'a>,
    pub(crate) employees: NumberColumn<'a>,
}

/// A city for each company.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CityColumn<'a> {
    pub(super) codes: Column<'a>,
    /// The keys of cities, ascending: code `n` means that at index `n - 1`.
    pub(super) keys: Strings<'a>,
}

/// A number for each company.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberColumn<'a> {
    pub(super) codes: Column<'a>,
    /// Ascending: code `n` means the number at index `n - 1`.
    pub(super) numbers: &'a [i64],
}

/// The index of the code of a company, if it has a value.
fn index_of(codes: Column<'_>, company: CompanyNumber) -> Option<usize> {
    // A column of companies has the encoding of one of rows.
    let code = codes.get(Row(company.0)).checked_sub(1);
    code.map(|index| index as usize)
}

/// The key of a city, under which cities are compared.
pub(super) fn city_key(city: &str) -> std::borrow::Cow<'_, str> {
    text::fold_value(city)
}

impl<'a> CityColumn<'a> {
    /// The codes of the companies.
    pub(crate) fn codes(&self) -> Column<'a> {
        self.codes
    }

    /// The key of a company's city.
    pub(super) fn get(&self, company: CompanyNumber) -> Option<&'a str> {
        index_of(self.codes, company).map(|index| self.keys.get(index))
    }

    /// The code of a key, alone in a range; an empty range if no company has it.
    ///
    /// Cost: a binary search.
    pub(crate) fn codes_of(&self, key: &str) -> RangeInclusive<u32> {
        let (mut start, mut end) = (0, self.keys.len());
        // Invariant: the keys before `start` are smaller, those from `end` on are not.
        while start < end {
            let middle = start + (end - start) / 2;
            if self.keys.bytes(middle) < key.as_bytes() {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        if self.keys.find(start) != Some(key.as_bytes()) {
            return NO_CODES;
        }
        let code = start as u32 + 1;
        code..=code
    }

    fn validate(&self) -> Result<()> {
        self.keys.validate_ends()?;
        self.keys.validate_text()?;
        self.keys.validate_order()?;
        ensure(!self.keys.has_repeats(), "a city has two codes")?;
        self.codes.validate(self.keys.len())
    }
}

impl<'a> NumberColumn<'a> {
    /// The codes of the companies.
    pub(crate) fn codes(&self) -> Column<'a> {
        self.codes
    }

    pub(super) fn get(&self, company: CompanyNumber) -> Option<i64> {
        index_of(self.codes, company).map(|index| self.numbers[index])
    }

    /// The codes of the numbers within bounds, both inclusive; an empty range if there are none. The code of companies
    /// without the number is never among them.
    pub(crate) fn codes_of(&self, min: Option<i64>, max: Option<i64>) -> RangeInclusive<u32> {
        let count = |test: &dyn Fn(i64) -> bool| self.numbers.partition_point(|&it| test(it));
        let before = min.map_or(0, |min| count(&|number| number < min));
        let end = max.map_or(self.numbers.len(), |max| count(&|number| number <= max));
        if before < end {
            before as u32 + 1..=end as u32
        } else {
            NO_CODES
        }
    }

    fn validate(&self) -> Result<()> {
        let ascend = self.numbers.is_sorted_by(|a, b| a < b);
        ensure(ascend, "the numbers of companies are out of order")?;
        self.codes.validate(self.numbers.len())
    }
}

impl CompanyAttributes<'_> {
    /// Checks that codes have values, which ascend.
    pub(super) fn validate(&self) -> Result<()> {
        self.cities.validate()?;
        self.founded.validate()?;
        self.employees.validate()
    }

    /// Whether the columns have the values of a record.
    pub(super) fn are_of(&self, number: CompanyNumber, company: &Company<'_>) -> bool {
        let key = company.city.as_deref().map(city_key);
        self.cities.get(number) == key.as_deref()
            && self.founded.get(number) == company.founded_year
            && self.employees.get(number) == company.employees
    }
}

/// The sorted values of some companies, and the code of each company.
pub(super) fn coded<T: Copy + Ord>(of_companies: &[Option<T>]) -> (Vec<T>, Vec<u32>) {
    let mut values: Vec<T> = of_companies.iter().copied().flatten().collect();
    values.sort_unstable();
    values.dedup();
    // Every value of a company is among the values, so the index is exact.
    let code = |value: T| values.partition_point(|&other| other < value) as u32 + 1;
    let codes = of_companies.iter();
    let codes = codes.map(|value| value.map_or(NO_CODE, code)).collect();
    (values, codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_codes_are_those_of_the_values_within() {
        let numbers = [3, 5, 9];
        let column = NumberColumn {
            codes: Column::One(&[0, 1, 3]),
            numbers: &numbers,
        };
        for min in (0..12).map(Some).chain([None]) {
            for max in (0..12).map(Some).chain([None]) {
                let codes = column.codes_of(min, max);
                let is_within = |number: i64| {
                    min.is_none_or(|min| min <= number) && max.is_none_or(|max| number <= max)
                };
                for (number, code) in numbers.into_iter().zip(1..) {
                    assert_eq!(codes.contains(&code), is_within(number), "{min:?} {max:?}");
                }
                assert!(!codes.contains(&NO_CODE));
            }
        }
        let keys = Strings::new(&[0, 1, 3], b"bcd");
        let cities = CityColumn {
            codes: Column::One(&[0, 2, 3]),
            keys,
        };
        for (key, expected) in [
            ("", 1..=1),
            ("a", NO_CODES),
            ("b", 2..=2),
            ("cd", 3..=3),
            ("x", NO_CODES),
        ] {
            assert_eq!(cities.codes_of(key), expected, "{key:?}");
        }
        assert_eq!(cities.get(CompanyNumber(1)), Some("b"));
        assert_eq!(column.get(CompanyNumber(0)), None);
    }
}
