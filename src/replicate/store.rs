//! The object store: names, bounded reads, and writes that never overwrite.

use std::fmt::{self, Debug};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use url::Url;

use super::error::{ReplicaError, ReplicaResult as Result};
use super::publication::{MANIFEST_BYTES_MAX, Publication};
use crate::Error;
use crate::digest::Digest;
use crate::text::quoted;

mod listing;

pub(super) use listing::{MARK_LIFE, StoredFile, UnfinishedFile};

/// The folder of manifests.
pub(super) const MANIFESTS: &str = "manifests";

/// The folder of objects.
pub(super) const OBJECTS: &str = "objects";

/// Time limit of a request. The largest carries a part of an object.
const REQUEST_TIME: Duration = Duration::from_secs(60);

/// Bytes per request of an object: large enough that the latency of a cloud store is negligible, small enough to be
/// held in memory.
pub(super) const PIECE_BYTES: u64 = 8 << 20;

/// Digits of a generation in a name, so that names sort by generation.
const GENERATION_DIGITS: usize = 20;

/// A location in an object store for one published index. Clones share everything.
#[derive(Clone)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The address, which identifies the store.
    address: String,
    /// The path, if it is a directory.
    directory: Option<PathBuf>,
}

impl Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a credential, such as a signature of Azure.
        f.debug_struct("Store")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store by its address: `file:///directory` or the path of a directory; `memory:///`; and with the features
    /// of these names `s3://bucket/path`, `gs://bucket/path`, `azure://container/path`. Credentials come from the
    /// environment variables of the vendors' own tools (`AWS_ACCESS_KEY_ID`, `GOOGLE_APPLICATION_CREDENTIALS`,
    /// `AZURE_STORAGE_ACCOUNT_KEY` and so on).
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the address has another form.
    ///
    /// Cost: none; the store is contacted by the first read or write.
    pub fn open(address: &str) -> Result<Store> {
        let Ok(url) = Url::parse(address) else {
            return Store::in_directory(FilePath::new(address));
        };
        if url.scheme() == "file" {
            let path = url.to_file_path();
            let path = path.map_err(|()| invalid(address, "file:///directory is needed"))?;
            return Store::in_directory(&path);
        }
        // Options of other kinds of stores are ignored.
        let (objects, prefix) = object_store::parse_url_opts(
            &url,
            std::env::vars_os().filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.into_string().ok()?))
            }),
        )
        .map_err(|error| invalid(address, &error.to_string()))?;
        Ok(Store {
            objects: Arc::from(objects),
            prefix,
            address: address.to_owned(),
            directory: None,
        })
    }

    /// Creates a store in memory, shared by its clones, for tests.
    pub fn in_memory() -> Store {
        Store::new(Arc::new(InMemory::new()), "memory:///")
    }

    /// Wraps a store that the host has configured. `address` identifies it: the directory of a
    /// [`Replica`](super::Replica) belongs to one address.
    pub fn new(objects: Arc<dyn ObjectStore>, address: impl Into<String>) -> Store {
        Store {
            objects,
            prefix: Path::default(),
            address: address.into(),
            directory: None,
        }
    }

    /// A folder of the store as a store of its own.
    ///
    /// ```
    /// use signaldex::replicate::Store;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> signaldex::replicate::ReplicaResult<()> {
    /// let shard = Store::in_memory().folder("shards/4/0");
    /// assert!(shard.create_manifest(1, b"a manifest".to_vec()).await?);
    /// assert!(!shard.create_manifest(1, b"another".to_vec()).await?);
    /// assert_eq!(shard.generations_above(0).await?, [1]);
    /// assert_eq!(shard.manifest(1).await?, Some(b"a manifest".to_vec()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn folder(&self, name: &str) -> Store {
        let names = name.split('/');
        Store {
            objects: Arc::clone(&self.objects),
            prefix: names.fold(self.prefix.clone(), |path, name| path.join(name)),
            address: format!("{}#{name}", self.address),
            directory: self.directory.as_ref().map(|path| path.join(name)),
        }
    }

    fn in_directory(path: &FilePath) -> Result<Store> {
        let shown = path.display().to_string();
        let path = std::path::absolute(path)
            .map_err(|error| Error::io("find the directory", error).at(path))?;
        let prefix =
            Path::from_absolute_path(&path).map_err(|error| invalid(&shown, &error.to_string()))?;
        Ok(Store {
            // Objects must be durable before the manifest that refers to them.
            objects: Arc::new(LocalFileSystem::new().with_fsync(true)),
            prefix,
            address: format!("file://{}", path.display()),
            directory: Some(path),
        })
    }

    /// The address that identifies this store.
    pub(super) fn identity(&self) -> Digest {
        Digest::of(self.address.as_bytes())
    }

    /// The published generations above a number, ascending.
    ///
    /// # Errors
    /// [`Store`](super::ReplicaErrorKind::Store) if the store refuses or does not answer.
    pub async fn generations_above(&self, generation: u64) -> Result<Vec<u64>> {
        let folder = self.prefix.clone().join(MANIFESTS);
        let last = self.manifest_path(generation);
        let mut listed = self.objects.list_with_offset(Some(&folder), &last);
        let mut generations = Vec::new();
        let doing = "list manifests";
        while let Some(object) = in_time(doing, listed.next()).await? {
            let object = object.map_err(|error| refused(doing, error))?;
            // Files with other names do not belong to signaldex.
            generations.extend(object.location.filename().and_then(generation_of));
        }
        generations.retain(|&found| found > generation);
        generations.sort_unstable();
        Ok(generations)
    }

    /// The bytes of a manifest; `None` if the generation is not published.
    ///
    /// # Errors
    /// [`Store`](super::ReplicaErrorKind::Store) as for [`generations_above`](Self::generations_above), or
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if it has more than 4 MiB.
    pub async fn manifest(&self, generation: u64) -> Result<Option<Vec<u8>>> {
        let doing = format!("read {}", manifest_name(generation));
        let path = self.manifest_path(generation);
        let found = self.objects.get(&path);
        let found = match in_time(&doing, found).await? {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            found => found.map_err(|error| refused(&doing, error))?,
        };
        if found.meta.size > MANIFEST_BYTES_MAX {
            return Err(Error::corrupt(format!(
                "{} has {} bytes; at most {MANIFEST_BYTES_MAX} are allowed",
                manifest_name(generation),
                found.meta.size
            ))
            .into());
        }
        let bytes = in_time(&doing, found.bytes()).await?;
        bytes
            .map(|bytes| Some(bytes.to_vec()))
            .map_err(|error| refused(&doing, error))
    }

    /// Reads the manifest of a generation.
    pub(super) async fn publication(&self, generation: u64) -> Result<Publication> {
        let name = manifest_name(generation);
        let bytes = self.manifest(generation).await?;
        let bytes = bytes.ok_or_else(|| Error::missing(format!("{name} is missing")))?;
        let publication = Publication::decode(&bytes).map_err(|error| error.about(&name))?;
        if publication.generation == generation {
            Ok(publication)
        } else {
            Err(Error::corrupt(format!("{name} is of another generation")).into())
        }
    }

    /// Creates a manifest unless it exists. Returns whether it was created.
    ///
    /// # Errors
    /// [`Store`](super::ReplicaErrorKind::Store) as for [`generations_above`](Self::generations_above).
    pub async fn create_manifest(&self, generation: u64, bytes: Vec<u8>) -> Result<bool> {
        let doing = format!("create {}", manifest_name(generation));
        let path = self.manifest_path(generation);
        let options = PutOptions::from(PutMode::Create);
        let put = self
            .objects
            .put_opts(&path, PutPayload::from(bytes), options);
        match in_time(&doing, put).await? {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(refused(&doing, error)),
        }
    }

    /// The length of an object; `None` if it does not exist.
    pub(super) async fn length_of(&self, object: Digest) -> Result<Option<u64>> {
        let doing = format!("look at {}", object_name(object));
        let path = self.object_path(object);
        let head = self.objects.head(&path);
        match in_time(&doing, head).await? {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(refused(&doing, error)),
        }
    }

    /// Reads a part of an object.
    pub(super) async fn piece(&self, object: Digest, start: u64, end: u64) -> Result<Vec<u8>> {
        let doing = format!("read {}", object_name(object));
        let path = self.object_path(object);
        let bytes = in_time(&doing, self.objects.get_range(&path, start..end)).await?;
        bytes
            .map(|bytes| bytes.to_vec())
            .map_err(|error| refused(&doing, error))
    }

    /// Writes an object in one request.
    pub(super) async fn put(&self, object: Digest, bytes: Vec<u8>) -> Result<()> {
        let doing = format!("write {}", object_name(object));
        let path = self.object_path(object);
        let put = in_time(&doing, self.objects.put(&path, PutPayload::from(bytes))).await?;
        put.map(drop).map_err(|error| refused(&doing, error))
    }

    /// Starts a multipart upload; the object becomes visible when it is completed.
    pub(super) async fn begin(&self, object: Digest) -> Result<Upload> {
        let doing = format!("write {}", object_name(object));
        let path = self.object_path(object);
        let begun = in_time(&doing, self.objects.put_multipart(&path)).await?;
        let parts = begun.map_err(|error| refused(&doing, error))?;
        Ok(Upload { parts, doing })
    }

    fn manifest_path(&self, generation: u64) -> Path {
        let name = format!("{generation:0GENERATION_DIGITS$}");
        self.prefix.clone().join(MANIFESTS).join(name)
    }

    fn object_path(&self, object: Digest) -> Path {
        self.prefix.clone().join(OBJECTS).join(object.to_string())
    }
}

/// A multipart upload in progress.
#[derive(Debug)]
pub(super) struct Upload {
    parts: Box<dyn object_store::MultipartUpload>,
    doing: String,
}

impl Upload {
    /// Sends the next part.
    pub(super) async fn send(&mut self, bytes: Vec<u8>) -> Result<()> {
        let sent = in_time(&self.doing, self.parts.put_part(PutPayload::from(bytes))).await?;
        sent.map_err(|error| refused(&self.doing, error))
    }

    /// Makes the object visible.
    pub(super) async fn complete(mut self) -> Result<()> {
        let completed = in_time(&self.doing, self.parts.complete()).await?;
        completed
            .map(drop)
            .map_err(|error| refused(&self.doing, error))
    }

    /// Aborts the upload. Parts that stay are left to the store's rules for unfinished uploads.
    pub(super) async fn abandon(mut self) {
        let _ = in_time(&self.doing, self.parts.abort()).await;
    }
}

/// The name of a manifest, for messages.
pub(super) fn manifest_name(generation: u64) -> String {
    format!("manifests/{generation:0GENERATION_DIGITS$}")
}

/// The name of an object, for messages.
pub(super) fn object_name(object: Digest) -> String {
    format!("objects/{object}")
}

fn generation_of(name: &str) -> Option<u64> {
    let is_ours = name.len() == GENERATION_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    is_ours.then(|| name.parse().ok())?
}

/// Applies the time limit to a request.
async fn in_time<T>(doing: &str, request: impl Future<Output = T>) -> Result<T> {
    let answer = tokio::time::timeout(REQUEST_TIME, request).await;
    answer.map_err(|error| {
        ReplicaError::store(
            format!("cannot {doing}: the store did not answer in time"),
            error,
        )
    })
}

/// Converts an error of the store.
fn refused(doing: &str, error: object_store::Error) -> ReplicaError {
    let reason = match &error {
        object_store::Error::NotFound { .. } => "there is no such object",
        object_store::Error::PermissionDenied { .. } => "the store does not permit it",
        object_store::Error::Unauthenticated { .. } => "the store does not accept the credentials",
        object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. } => {
            "the store does not know how"
        }
        _ => "the store refused or could not be reached",
    };
    ReplicaError::store(format!("cannot {doing}: {reason}"), error)
}

fn invalid(address: &str, reason: &str) -> Error {
    Error::invalid(format!(
        "STORE-URL: {} is not a store: {reason}; allowed are a directory, file:///directory, \
         memory:///, and in builds with their features s3://bucket/path, gs://bucket/path and \
         azure://container/path",
        quoted(address)
    ))
}

#[cfg(test)]
mod tests;
