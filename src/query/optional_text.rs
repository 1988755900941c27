//! Optional text in any form, for setters.

use std::borrow::Cow;

/// Optional text for a filter: `&str`, `String`, `Cow<str>`, references to them, and `Option`s of each.
/// Accepted by setters of [`QueryBuilder`](super::QueryBuilder); no other type implements it.
///
/// ```
/// use signaldex::Query;
///
/// let (keywords, country): (String, Option<String>) = ("robots".into(), None);
/// let query = Query::builder().keywords(&keywords).country(country).build()?;
/// assert_eq!(query.filter(), Query::from_query_string("q=robots")?.filter());
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
pub trait OptionalText: sealed::Sealed {
    /// The text, if any.
    fn text(&self) -> Option<&str>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! texts {
    ($($name:ty),+) => {
        $(
            impl sealed::Sealed for $name {}

            impl OptionalText for $name {
                fn text(&self) -> Option<&str> {
                    Some(self)
                }
            }
        )+
    };
}

texts!(str, String, Cow<'_, str>);

impl<T: OptionalText + ?Sized> sealed::Sealed for &T {}

impl<T: OptionalText + ?Sized> OptionalText for &T {
    fn text(&self) -> Option<&str> {
        (**self).text()
    }
}

impl<T: OptionalText> sealed::Sealed for Option<T> {}

impl<T: OptionalText> OptionalText for Option<T> {
    fn text(&self) -> Option<&str> {
        self.as_ref().and_then(OptionalText::text)
    }
}
