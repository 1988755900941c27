//! Types that have a text of their own: why a text is none of theirs, and the same text for serde.

/// Defines why a text is not one of some type. Every such error is named `Parse...Error`, says in its
/// `Display` what is allowed, and repeats nothing of the text.
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

/// Serialises types as what their `Display` writes and their `FromStr` reads, in every format.
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
