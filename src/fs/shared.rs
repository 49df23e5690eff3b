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

/// Names that were told to the kernel with a lifetime, and are not found by a comparison of two views: absent ones, and
/// spellings that are not the stored ones. Beyond this many, names have no lifetime, until the kernel was asked to drop some.
const TOLD_MAX: usize = 1 << 18;
/// Bytes that these may take.
const TOLD_BYTES_MAX: usize = 32 << 20;

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
    /// The number of the current view. It is stored while `told` is locked.
    current: AtomicU32,
    /// The same once the kernel was told of it.
    pub(crate) announced: AtomicU32,
    told: Mutex<Told>,
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

#[derive(Debug, Default)]
struct Told {
    names: HashSet<NameIn>,
    bytes: usize,
    /// Whether a name was refused.
    is_full: bool,
}

impl Shared {
    pub(crate) fn new(spellings: Spellings, presentation: Presentation, modified: SystemTime) -> Self {
        let (host, requests, retired) = Default::default();
        let (current, announced, told, last_reload, early_numbers, on_change) = Default::default();
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
            told,
            last_reload,
            early_numbers,
            on_change,
        }
    }

    /// Whether a view is the current one.
    pub(crate) fn is_current(&self, view: u32) -> bool {
        self.current.load(Ordering::SeqCst) == view
    }

    /// Records a name whose answer is of a view; returns whether it may have a lifetime.
    pub(crate) fn tell(&self, view: u32, parent: u64, name: &[u8]) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // A later view was told of the names so far, this one not among them.
        let is_lasting = self.is_current(view) && told.insert((parent, Box::from(name)));
        drop(told);
        if !is_lasting && let Some(host) = self.host.get() {
            host.drop_surplus_names();
        }
        is_lasting
    }

    /// Some of the names, where there is no room for more: the kernel is to drop them.
    pub(crate) fn take_surplus(&self) -> Vec<NameIn> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.is_full {
            return Vec::new();
        }
        told.is_full = false;
        let taken: Vec<NameIn> = told.names.iter().take(told.names.len() / 4).cloned().collect();
        taken.iter().for_each(|name| told.remove(name));
        taken
    }

    /// Makes a view the current one by `swap`, and takes the names that were told of those before.
    pub(crate) fn change_view(&self, view: u32, swap: impl FnOnce()) -> HashSet<NameIn> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        self.current.store(view, Ordering::SeqCst);
        swap();
        std::mem::take(&mut *told).names
    }

    /// Puts names back whose answers are as before.
    pub(crate) fn tell_again(&self, names: impl IntoIterator<Item = NameIn>) -> Vec<NameIn> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        names.into_iter().filter(|name| !told.insert(name.clone())).collect()
    }
}

impl Told {
    /// Whether there was room for it.
    fn insert(&mut self, name: NameIn) -> bool {
        if self.names.contains(&name) {
            return true;
        }
        let bytes = self.bytes + bytes(&name);
        self.is_full |= self.names.len() >= TOLD_MAX || bytes > TOLD_BYTES_MAX;
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
        let mut told = Told::default();
        let name = |n: u64| (n, Box::from(vec![b'x'; 1 << 20]));
        let fit = (0..).take_while(|&n| told.insert(name(n))).count();
        assert!(told.bytes <= TOLD_BYTES_MAX && fit == 31, "{fit}");
        assert!(told.insert(name(0)) && !told.insert(name(99)), "what was told is told");
        told.is_full = false;
        told.remove(&name(0));
        assert!(told.insert(name(99)) && !told.insert(name(100)));
    }
}
