//! Targets of a load.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::signal::{Company, Signal, SignalId};
use crate::{Error, IndexBuilder, Result, Snapshot, Writer};

/// The target of a load: an [`IndexBuilder`] or a [`Writer`].
/// Implement it for a target of your own, such as several indexes.
pub trait Sink {
    /// Adds a company, which replaces an earlier one with the same slug. Returns whether there is one.
    ///
    /// # Errors
    /// An error that does not concern this record alone; it ends the load.
    fn add_company(&mut self, company: &Company<'_>) -> Result<bool>;

    /// Adds a signal, which replaces an earlier one with the same id. Returns whether there is one.
    ///
    /// # Errors
    /// [`UnknownCompany`](crate::ErrorKind::UnknownCompany), which rejects only this record, or an error that does
    /// not concern this record alone and ends the load.
    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool>;

    /// Whether a signal of this company would be added.
    ///
    /// # Errors
    /// The company cannot be looked up.
    fn has_company(&mut self, slug: &str) -> Result<bool>;
}

impl Sink for IndexBuilder {
    fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        IndexBuilder::add_company(self, company)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        IndexBuilder::add_signal(self, signal)
    }

    fn has_company(&mut self, slug: &str) -> Result<bool> {
        Ok(IndexBuilder::has_company(self, slug))
    }
}

impl Sink for Writer {
    fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        let is_known = Writer::has_company(self, &company.slug)?;
        self.upsert_company(company).map(|()| is_known)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        let is_known = self.has_signal(signal.id)?;
        self.upsert_signal(signal).map(|()| is_known)
    }

    fn has_company(&mut self, slug: &str) -> Result<bool> {
        Writer::has_company(self, slug)
    }
}

/// A target that keeps nothing but keys, to check files without building an index.
///
/// ```
/// use signaldex::json::{CheckSink, Loader, OnInvalid};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("companies");
///
/// std::fs::write(&path, "slug,name,employees\nacme,Acme GmbH,120\nother,Other,many\n")?;
/// let mut loader = Loader::new(OnInvalid::Skip);
/// loader.companies(&path, &mut CheckSink::default())?;
/// assert_eq!(loader.report().rejected, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Memory: the slugs of the companies, and 16 bytes a signal.
#[derive(Debug, Default)]
pub struct CheckSink {
    slugs: HashSet<String>,
    ids: HashSet<SignalId>,
    /// The index that the files would change.
    index: Option<Arc<Snapshot>>,
}

impl CheckSink {
    /// Checks files against an index that they would change.
    ///
    /// ```
    /// use signaldex::json::{CheckSink, Sink};
    ///
    /// let index = signaldex::Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&signaldex::Company::new("acme", "Acme GmbH"))?;
    /// writer.commit()?;
    /// assert!(CheckSink::over(index.snapshot()).has_company("acme")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over(index: Arc<Snapshot>) -> CheckSink {
        CheckSink {
            index: Some(index),
            ..CheckSink::default()
        }
    }
}

impl Sink for CheckSink {
    fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        let is_known = self.has_company(&company.slug)?;
        self.slugs.insert(company.slug.to_string());
        Ok(is_known)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        if !self.has_company(&signal.company_slug)? {
            return Err(Error::unknown_company(&signal.company_slug));
        }
        let is_new = self.ids.insert(signal.id);
        let is_known = match &self.index {
            Some(index) => index.signal(signal.id)?.is_some(),
            None => false,
        };
        Ok(is_known || !is_new)
    }

    fn has_company(&mut self, slug: &str) -> Result<bool> {
        match &self.index {
            _ if self.slugs.contains(slug) => Ok(true),
            Some(index) => index.has_company(slug),
            None => Ok(false),
        }
    }
}

/// The companies that a load rejected, and whether each would have been kept with its invalid cells as null.
pub(super) type RejectedCompanies = HashMap<String, bool>;
