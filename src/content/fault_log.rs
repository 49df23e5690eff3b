//! Which of many failing reads are logged.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::EntryError;

/// Failing reads that are less far apart are one outage.
const OUTAGE_GAP: Duration = Duration::from_secs(600);

/// The faults of one layer that were logged: the first of each entry, and of an outage, which concerns all
/// entries, the first of any.
#[derive(Debug, Default)]
pub(super) struct FaultLog {
    entries: Mutex<HashSet<u32>>,
    /// When the system last refused a read.
    outage: Mutex<Option<Instant>>,
}

impl FaultLog {
    /// Records a fault of an entry; returns whether it is the first.
    pub(super) fn is_first(&self, entry: u32) -> bool {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).insert(entry)
    }

    /// Records that the system refused a read; returns whether that begins an outage.
    pub(super) fn begins_outage(&self) -> bool {
        let mut last = self.outage.lock().unwrap_or_else(PoisonError::into_inner);
        last.replace(Instant::now()).is_none_or(|last| last.elapsed() > OUTAGE_GAP)
    }
}

/// Files whose bytes are served although they are suspect (`--salvage`), with the first fault of each until
/// it is taken. A file is the number of an archive and an entry in it.
#[derive(Debug, Default)]
pub(super) struct Salvaged(Mutex<HashMap<(u32, u32), Option<EntryError>>>);

impl Salvaged {
    /// Records a fault that is to be logged, unless one of this file was recorded before.
    pub(super) fn record(&self, file: (u32, u32), fault: EntryError) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.entry(file).or_insert(Some(fault));
    }

    /// The recorded fault of a file, once.
    pub(super) fn take(&self, file: (u32, u32)) -> Option<EntryError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&file)?.take()
    }
}
