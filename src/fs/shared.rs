//! What all views of a mount have together.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use super::early_numbers::EarlyNumbers;
use super::invalidation::{Invalidation, NameIn};
use super::last_reload::LastReload;
use super::presentation::Presentation;
use super::requests::Requests;
use super::retired::Retired;
use super::sources::MountedSource;
use crate::tree::Spellings;

/// Maximum number of names that the kernel may have cached and that a comparison of two views does not find: absent ones, and
/// spellings that are not the stored ones. Further names get no lifetime until the kernel was asked to drop some.
const EXPOSED_MAX: usize = 1 << 18;
/// Bytes that these may take.
const EXPOSED_BYTES_MAX: usize = 32 << 20;

/// What serves a mounted file system: the connection to the kernel, and threads for work that no request waits for.
pub(crate) trait Host: fmt::Debug + Send + Sync {
    /// Has the kernel drop something. Waits until the kernel has no LOOKUP and no listing of these folders under way.
    fn invalidate(&self, invalidation: &Invalidation);

    /// Has the kernel drop [`View::surplus_names`](super::view::View::surplus_names) soon; does not wait.
    fn drop_surplus_names(&self);

    /// Has the [cache of decoded extents](crate::content::Store::trim) brought back to its size soon; does not wait.
    fn trim_cache(&self);
}

/// What all views of a mount have together.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) spellings: Spellings,
    pub(crate) presentation: Presentation,
    /// Of folders that only archives have: when the newest archive or loose folder was last changed before the mount.
    pub(crate) modified: SystemTime,
    /// Set once it is mounted; tests have none.
    pub(crate) host: OnceLock<Box<dyn Host>>,
    pub(crate) started: Instant,
    /// When it was mounted, by the clock.
    pub(crate) since: SystemTime,
    /// What the mount was made from; set once.
    pub(crate) sources: OnceLock<Vec<MountedSource>>,
    pub(crate) requests: Requests,
    pub(crate) retired: Retired,
    /// The number of the current view. It is stored while `exposed` is locked.
    current: AtomicU32,
    /// The number of the last view whose changes the kernel was notified of.
    pub(crate) announced: AtomicU32,
    exposed: Mutex<ExposedNames>,
    pub(crate) last_reload: Mutex<LastReload>,
    pub(crate) early_numbers: EarlyNumbers,
    /// Called where a read finds that a source changed; set once.
    pub(crate) on_change: OnceLock<OnChange>,
}

/// A function that does not wait.
pub(crate) struct OnChange(pub(crate) Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for OnChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnChange")
    }
}

/// Names that the kernel may have cached.
#[derive(Debug, Default)]
struct ExposedNames {
    names: HashSet<NameIn>,
    bytes: usize,
    /// Whether a name was refused.
    is_full: bool,
}

impl Shared {
    pub(crate) fn new(spellings: Spellings, presentation: Presentation, modified: SystemTime) -> Self {
        let (host, requests, retired) = Default::default();
        let (current, announced, exposed, last_reload, early_numbers, on_change) = Default::default();
        let (started, since) = (Instant::now(), SystemTime::now());
        let sources = Default::default();
        Self {
            spellings,
            presentation,
            modified,
            host,
            started,
            since,
            sources,
            requests,
            retired,
            current,
            announced,
            exposed,
            last_reload,
            early_numbers,
            on_change,
        }
    }

    /// Whether a view is the current one.
    pub(crate) fn is_current(&self, view: u32) -> bool {
        self.current.load(Ordering::SeqCst) == view
    }

    /// Records that the kernel may cache the answer that a view gives for a name; returns whether it may.
    pub(crate) fn record_exposed(&self, view: u32, parent: u64, name: &[u8]) -> bool {
        let mut exposed = self.exposed.lock().unwrap_or_else(PoisonError::into_inner);
        // A later view took the names that were recorded before it, and this name was not among them.
        let is_lasting = self.is_current(view) && exposed.insert((parent, Box::from(name)));
        drop(exposed);
        if !is_lasting && let Some(host) = self.host.get() {
            host.drop_surplus_names();
        }
        is_lasting
    }

    /// Takes some of the names if there is no room for more: the kernel must drop them.
    pub(crate) fn take_surplus(&self) -> Vec<NameIn> {
        let mut exposed = self.exposed.lock().unwrap_or_else(PoisonError::into_inner);
        if !exposed.is_full {
            return Vec::new();
        }
        exposed.is_full = false;
        let taken: Vec<NameIn> = exposed.names.iter().take(exposed.names.len() / 4).cloned().collect();
        taken.iter().for_each(|name| exposed.remove(name));
        taken
    }

    /// Makes a view the current one by `swap`, and takes the names that were recorded for earlier views.
    pub(crate) fn change_view(&self, view: u32, swap: impl FnOnce()) -> HashSet<NameIn> {
        let mut exposed = self.exposed.lock().unwrap_or_else(PoisonError::into_inner);
        self.current.store(view, Ordering::SeqCst);
        swap();
        std::mem::take(&mut *exposed).names
    }

    /// Records names again whose answers are as before; returns those for which there is no room.
    pub(crate) fn record_exposed_again(&self, names: impl IntoIterator<Item = NameIn>) -> Vec<NameIn> {
        let mut exposed = self.exposed.lock().unwrap_or_else(PoisonError::into_inner);
        names.into_iter().filter(|name| !exposed.insert(name.clone())).collect()
    }
}

impl ExposedNames {
    /// Whether there was room for it.
    fn insert(&mut self, name: NameIn) -> bool {
        if self.names.contains(&name) {
            return true;
        }
        let bytes = self.bytes + bytes(&name);
        self.is_full |= self.names.len() >= EXPOSED_MAX || bytes > EXPOSED_BYTES_MAX;
        if self.is_full {
            return false;
        }
        self.bytes = bytes;
        self.names.insert(name)
    }

    fn remove(&mut self, name: &NameIn) {
        if self.names.remove(name) {
            self.bytes -= bytes(name);
        }
    }
}

/// What a name takes, without the table.
fn bytes(name: &NameIn) -> usize {
    size_of::<NameIn>() + name.1.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_full_has_room_again_once_some_of_its_names_were_taken() {
        let mut exposed = ExposedNames::default();
        let name = |n: u64| (n, Box::from(vec![b'x'; 1 << 20]));
        let fit = (0..).take_while(|&n| exposed.insert(name(n))).count();
        assert!(exposed.bytes <= EXPOSED_BYTES_MAX && fit == 31, "{fit}");
        assert!(exposed.insert(name(0)) && !exposed.insert(name(99)), "a recorded name is recorded");
        exposed.is_full = false;
        exposed.remove(&name(0));
        assert!(exposed.insert(name(99)) && !exposed.insert(name(100)));
    }
}
