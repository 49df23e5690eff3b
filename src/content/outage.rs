//! Which of many failing reads of one layer is reported: the first of an outage.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failing reads that are less far apart are one outage, which is reported once.
const OUTAGE_GAP: Duration = Duration::from_secs(600);

/// When the system last refused a read of a layer.
#[derive(Debug, Default)]
pub(super) struct Outage(Mutex<Option<Instant>>);

impl Outage {
    /// Records a refusal; returns whether it begins an outage.
    pub(super) fn is_new(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.replace(Instant::now()).is_none_or(|last| last.elapsed() > OUTAGE_GAP)
    }
}
