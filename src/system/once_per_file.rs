//! Results of work on files and folders, each once, whatever links lead to it. A mod may have thousands of
//! links to one archive, and an instance of a mod manager thousands of links to one mod.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;

use super::covered::uncovered;
use super::sync::Mutex;
use crate::system::disk_id::DiskId;

/// The results so far. `K` says which file it is, and what else the result depends on.
#[derive(Debug)]
pub(crate) struct OncePerFile<T, K = DiskId> {
    results: Mutex<HashMap<K, Arc<Mutex<Option<T>>>>>,
}

impl<T, K> Default for OncePerFile<T, K> {
    fn default() -> Self {
        Self { results: Mutex::default() }
    }
}

impl<T: Clone, K: Eq + Hash> OncePerFile<T, K> {
    /// The result for a file. `make` is called if there is none, and its error is not kept. Other threads
    /// that need the result wait.
    pub(crate) fn get<E>(&self, file: K, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let results = || self.results.lock();
        let result = results().entry(file).or_default().clone();
        let mut result = result.lock();
        if let Some(known) = &*result {
            return Ok(known.clone());
        }
        let made = make()?;
        *result = Some(made.clone());
        Ok(made)
    }

    /// The result for a file, or what `make` returns if the file is not known.
    pub(crate) fn of(&self, file: Option<K>, make: impl FnOnce() -> T) -> T {
        let Some(file) = file else { return make() };
        match self.get(file, || Ok::<_, Infallible>(make())) {
            Ok(result) => result,
        }
    }

    pub(crate) fn clear(&self) {
        self.results.lock().clear();
    }
}

impl<T: Clone> OncePerFile<T> {
    /// As [`Self::get`], for the file that a path leads to. A file that cannot be statted has no result.
    pub(crate) fn at<E>(&self, path: &Path, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match std::fs::metadata(uncovered(path)) {
            Ok(file) => self.get(DiskId::from(&file), make),
            Err(_) => make(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_share_a_result_and_errors_are_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        let results = OncePerFile::default();
        assert_eq!(results.at(&path("link"), || Err("damaged")), Err("damaged"));
        assert_eq!(results.at(&path("file"), || Ok::<_, Infallible>(1)), Ok(1));
        assert_eq!(results.at(&path("link"), || Ok::<_, Infallible>(2)), Ok(1));
        assert_eq!(results.at(&path("none"), || Ok::<_, Infallible>(3)), Ok(3));
        results.clear();
        assert_eq!(results.at(&path("link"), || Ok::<_, Infallible>(4)), Ok(4));
    }
}
