//! Names of loose files that changed on the disk, until a view with the change is served.
//!
//! A LOOKUP of a changed name waits for that view, because the current view would answer what is no longer
//! true. It waits without a worker: its answer is stored here. After a second at the latest it is given
//! from the view that is current then, and the kernel does not cache it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{MutexGuard, OnceLock};

use crate::fs::callback::OnWait;
use crate::system::sync::Mutex;
use crate::tree::Ino;

/// A folder's inode number, and a name in the folder.
pub(crate) type NameIn = (Ino, Box<[u8]>);

/// An answer that waits for a view. It is given when this is dropped.
pub(crate) type Waiting = Box<dyn Send>;

/// The pending names, and the answers that wait for them.
#[derive(Debug, Default)]
pub(crate) struct PendingNames {
    table: Mutex<PendingTable>,
    /// Number of names. It is 0 nearly always, and then no request takes the lock.
    count: AtomicUsize,
    /// Called when an answer begins to wait; set once.
    pub(crate) on_wait: OnceLock<OnWait>,
}

#[derive(Default)]
struct PendingTable {
    /// The number of reloads that had begun when a name was added, by folder (own number) and folded name.
    names: HashMap<NameIn, u64>,
    waiting: Vec<(NameIn, Ino, Waiting)>,
    reloads: u64,
}

impl fmt::Debug for PendingTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} names, {} answers", self.names.len(), self.waiting.len())
    }
}

impl PendingNames {
    /// Adds a name in a folder. Returns false if it was pending already.
    pub(crate) fn add(&self, folder: Ino, name: &[u8]) -> bool {
        let mut table = self.lock();
        let reloads = table.reloads;
        let is_new = table.names.insert((folder, folded(name)), reloads).is_none();
        self.count.store(table.names.len(), Ordering::SeqCst);
        is_new
    }

    /// Whether a name in a folder is pending.
    pub(crate) fn contains(&self, folder: Ino, name: &[u8]) -> bool {
        !self.is_empty() && self.lock().names.contains_key(&(folder, folded(name)))
    }

    /// Whether no name is pending.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// The number of pending names.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Stores an answer to a LOOKUP of a pending name. `parent` is the number under which the folder was
    /// looked up. If the name is no longer pending, the answer is given at once.
    pub(crate) fn wait(&self, folder: Ino, parent: Ino, name: &[u8], answer: Waiting) {
        let key = (folder, folded(name));
        let mut table = self.lock();
        if !table.names.contains_key(&key) {
            drop(table);
            return drop(answer);
        }
        table.waiting.push((key, parent, answer));
        drop(table);
        if let Some(on_wait) = self.on_wait.get() {
            (on_wait.0)();
        }
    }

    /// Whether an answer waits to a LOOKUP in the folder with this number.
    pub(crate) fn is_waited_for(&self, parent: Ino) -> bool {
        !self.is_empty() && self.lock().waiting.iter().any(|(_, of, _)| *of == parent)
    }

    /// Records that a reload begins, which will notice what changed until now.
    pub(crate) fn begin_reload(&self) {
        self.lock().reloads += 1;
    }

    /// Records that the last reload ended. The names that were added before it are no longer pending, and
    /// their answers are given.
    pub(crate) fn end_reload(&self) {
        let mut table = self.lock();
        let PendingTable { names, waiting, reloads } = &mut *table;
        names.retain(|_, added| added == reloads);
        let given: Vec<_> = waiting.extract_if(.., |(key, ..)| !names.contains_key(key)).collect();
        self.count.store(names.len(), Ordering::SeqCst);
        drop(table);
        drop(given);
    }

    fn lock(&self) -> MutexGuard<'_, PendingTable> {
        self.table.lock()
    }
}

fn folded(name: &[u8]) -> Box<[u8]> {
    name.to_ascii_lowercase().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    const FOLDER: Ino = Ino(7);
    const OTHER: Ino = Ino(8);

    /// An answer that notes that it was given.
    struct Noted(Arc<AtomicBool>);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    fn wait(pending: &PendingNames, folder: Ino, name: &[u8]) -> impl Fn() -> bool + use<> {
        let given: Arc<AtomicBool> = Arc::default();
        pending.wait(folder, folder, name, Box::new(Noted(given.clone())));
        move || given.load(Ordering::SeqCst)
    }

    #[test]
    fn an_answer_waits_for_the_reload_that_began_after_the_change() {
        let pending = PendingNames::default();
        pending.begin_reload();
        assert!(pending.add(FOLDER, b"A.txt") && !pending.add(FOLDER, b"a.TXT"));
        let is_given = wait(&pending, FOLDER, b"a.txt");
        pending.end_reload();
        assert!(!is_given() && pending.contains(FOLDER, b"a.txt"), "an earlier reload answered");
        pending.begin_reload();
        assert!(pending.is_waited_for(FOLDER) && !pending.is_waited_for(OTHER));
        pending.end_reload();
        assert!(is_given() && pending.is_empty());
    }

    #[test]
    fn a_name_that_is_not_pending_is_answered_at_once() {
        let pending = PendingNames::default();
        pending.add(FOLDER, b"a.txt");
        assert!(wait(&pending, FOLDER, b"b.txt")() && wait(&pending, OTHER, b"a.txt")());
        assert_eq!(pending.len(), 1);
    }
}
