//! Macros for types with a text form: their parse errors, and serde through it.

/// Defines the parse error of a type. By convention it is named `Parse...Error`, its `Display` says what
/// is allowed, and it repeats none of the input.
macro_rules! parse_error {
    ($name:ident, $doc:literal, $allowed:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub struct $name;

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($allowed)
            }
        }

        impl std::error::Error for $name {}
    };
}

/// Serialises types through `Display` and `FromStr`, in every format.
#[cfg(feature = "serde")]
macro_rules! serde_as_text {
    ($($name:ty),+) => {
        $(
            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Self, D::Error> {
                    let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                    text.parse().map_err(serde::de::Error::custom)
                }
            }
        )+
    };
}

/// Serialises types as the digits of their text form, and as the value within in binary formats. Needs `Display` and
/// `parse`; `Debug` is the text form, too.
macro_rules! serde_as_digits {
    ($name:ident, $malformed:literal) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return serde::Deserialize::deserialize(deserializer).map($name);
                }
                let text = String::deserialize(deserializer)?;
                $name::parse(&text).ok_or_else(|| serde::de::Error::custom($malformed))
            }
        }
    };
}
