//! Operations for pruning: listings with sizes and ages, removal, and markers.

use std::path::{Path as FilePath, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};

use super::{Store, generation_of, in_time, refused};
use crate::Error;
use crate::digest::Digest;
use crate::replicate::error::ReplicaResult as Result;

/// The folder of markers of running prunes.
const MARKS: &str = "pruning";

/// How long a marker is valid without renewal. A killed prune leaves one.
pub(in crate::replicate) const MARK_LIFE: Duration = Duration::from_secs(600);

/// A file in a store.
#[derive(Clone, Debug)]
pub(in crate::replicate) struct StoredFile {
    path: Path,
    pub(in crate::replicate) bytes: u64,
    /// When it was written, by the store's clock.
    pub(in crate::replicate) written: SystemTime,
}

/// An unfinished upload in a directory. Listings of the store do not show it.
#[derive(Clone, Debug)]
pub(in crate::replicate) struct UnfinishedFile {
    pub(in crate::replicate) path: PathBuf,
    pub(in crate::replicate) bytes: u64,
    pub(in crate::replicate) written: SystemTime,
}

impl StoredFile {
    fn of(meta: object_store::ObjectMeta) -> StoredFile {
        // Times before 1970 come from damaged disks and count as old.
        let millis = u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0);
        StoredFile {
            path: meta.location,
            bytes: meta.size,
            written: UNIX_EPOCH + Duration::from_millis(millis),
        }
    }

    /// The object, if its name is that of one.
    pub(in crate::replicate) fn object(&self) -> Option<Digest> {
        self.path.filename().and_then(Digest::parse)
    }

    /// The generation, if its name is that of a manifest.
    pub(in crate::replicate) fn generation(&self) -> Option<u64> {
        self.path.filename().and_then(generation_of)
    }

    /// The path in the store, for messages.
    pub(in crate::replicate) fn name(&self, store: &Store) -> String {
        let rest = self.path.prefix_match(&store.prefix);
        let rest = rest.map(|parts| {
            parts
                .map(|part| part.as_ref().to_owned())
                .collect::<Vec<_>>()
        });
        rest.map_or_else(|| self.path.to_string(), |parts| parts.join("/"))
    }
}

impl Store {
    /// Lists a folder, in no particular order.
    pub(in crate::replicate) async fn listed(&self, folder: &str) -> Result<Vec<StoredFile>> {
        let doing = format!("list {folder}");
        let path = self.prefix.clone().join(folder);
        let mut listed = self.objects.list(Some(&path));
        let mut found = Vec::new();
        while let Some(meta) = in_time(&doing, listed.next()).await? {
            found.push(StoredFile::of(
                meta.map_err(|error| refused(&doing, error))?,
            ));
        }
        Ok(found)
    }

    /// The subfolders named by numbers, ascending. Others do not belong to signaldex.
    pub(in crate::replicate) async fn numbered_folders(&self, folder: &str) -> Result<Vec<u32>> {
        let doing = format!("list {folder}");
        let path = folder
            .split('/')
            .fold(self.prefix.clone(), |path, name| path.join(name));
        let listed = in_time(&doing, self.objects.list_with_delimiter(Some(&path))).await?;
        let listed = listed.map_err(|error| refused(&doing, error))?;
        let name = |path: &Path| path.filename().and_then(|name| name.parse().ok());
        let mut numbers: Vec<u32> = listed.common_prefixes.iter().filter_map(name).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// An object's entry in a listing; `None` if it does not exist.
    pub(in crate::replicate) async fn stored(&self, object: Digest) -> Result<Option<StoredFile>> {
        self.look_at(&self.object_path(object)).await
    }

    async fn look_at(&self, path: &Path) -> Result<Option<StoredFile>> {
        let doing = format!("look at {path}");
        match in_time(&doing, self.objects.head(path)).await? {
            Ok(meta) => Ok(Some(StoredFile::of(meta))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(refused(&doing, error)),
        }
    }

    /// Removes listed files. A file that has already gone is not an error.
    pub(in crate::replicate) async fn remove(&self, stored: &[&StoredFile]) -> Result<()> {
        let doing = "remove what is not needed";
        let paths: Vec<_> = stored
            .iter()
            .map(|stored| Ok(stored.path.clone()))
            .collect();
        let removed = self
            .objects
            .delete_stream(futures_util::stream::iter(paths).boxed());
        let removed = removed.filter(|removed| {
            let is_gone = matches!(removed, Err(object_store::Error::NotFound { .. }));
            std::future::ready(!is_gone)
        });
        let removed = in_time(doing, removed.try_for_each(|_| std::future::ready(Ok(())))).await?;
        removed.map_err(|error| refused(doing, error))
    }

    /// Unfinished uploads in a folder, if the store is a directory. Cloud stores have their own rules for them.
    pub(in crate::replicate) fn unfinished(&self, folder: &str) -> Result<Vec<UnfinishedFile>> {
        let Some(directory) = &self.directory else {
            return Ok(Vec::new());
        };
        let folder = directory.join(folder);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("list the directory", error).at(&folder).into()),
        };
        let mut unfinished = Vec::new();
        for entry in entries {
            let entry =
                entry.map_err(|error| Error::io("list the directory", error).at(&folder))?;
            // An upload that has just been completed no longer exists under this name.
            if is_unfinished(&entry.path())
                && let Ok(metadata) = entry.metadata()
                && let Ok(written) = metadata.modified()
            {
                unfinished.push(UnfinishedFile {
                    path: entry.path(),
                    bytes: metadata.len(),
                    written,
                });
            }
        }
        Ok(unfinished)
    }

    /// Sets or renews a marker. Returns the store's time.
    pub(in crate::replicate) async fn mark(&self, name: &str) -> Result<SystemTime> {
        let doing = "mark the store as being pruned";
        let path = self.mark_path(name);
        let put = in_time(
            doing,
            self.objects.put(&path, PutPayload::from_static(b"prune\n")),
        )
        .await?;
        put.map_err(|error| refused(doing, error))?;
        let mark = self.look_at(&path).await?;
        let mark = mark.ok_or_else(|| Error::missing("the mark of this prune was removed"))?;
        Ok(mark.written)
    }

    /// Removes a marker.
    pub(in crate::replicate) async fn unmark(&self, name: &str) -> Result<()> {
        let doing = "remove the mark of the prune";
        match in_time(doing, self.objects.delete(&self.mark_path(name))).await? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(refused(doing, error)),
        }
    }

    /// The markers other than one, and whether each is still valid.
    pub(in crate::replicate) async fn marks(
        &self,
        but: Option<&str>,
        now: SystemTime,
    ) -> Result<Vec<(StoredFile, bool)>> {
        let mut marks = self.listed(MARKS).await?;
        marks.retain(|mark| mark.path.filename() != but);
        let counts = |mark: &StoredFile| mark.written + MARK_LIFE > now;
        Ok(marks
            .into_iter()
            .map(|mark| (mark.clone(), counts(&mark)))
            .collect())
    }

    fn mark_path(&self, name: &str) -> Path {
        self.prefix.clone().join(MARKS).join(name)
    }
}

/// Whether a file has the name of an unfinished upload of `object_store`: `<name>#<number>`.
fn is_unfinished(path: &FilePath) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name
        .and_then(|name| name.split_once('#'))
        .map(|(_, number)| number);
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
