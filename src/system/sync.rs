//! The locks of this crate. A panic ends only one request or thread, so a lock that it held stays usable.

use std::sync::{self, LockResult, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// A [`sync::Mutex`] that a panic does not poison.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

/// A [`sync::RwLock`] that a panic does not poison.
#[derive(Debug, Default)]
pub(crate) struct RwLock<T>(sync::RwLock<T>);

/// A [`sync::Condvar`] for [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(sync::Condvar);

impl<T> Mutex<T> {
    /// A lock around a value.
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        unpoisoned(self.0.lock())
    }

    /// The value.
    pub(crate) fn into_inner(self) -> T {
        unpoisoned(self.0.into_inner())
    }
}

impl<T> RwLock<T> {
    /// A lock around a value.
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }

    /// Waits until no thread writes.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        unpoisoned(self.0.read())
    }

    /// Waits until no other thread has the lock.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        unpoisoned(self.0.write())
    }
}

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    /// Gives the lock back until this is notified.
    pub(crate) fn wait<'g, T>(&self, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
        unpoisoned(self.0.wait(guard))
    }

    /// Gives the lock back until this is notified and the condition is false.
    pub(crate) fn wait_while<'g, T>(
        &self,
        guard: MutexGuard<'g, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'g, T> {
        unpoisoned(self.0.wait_while(guard, condition))
    }

    /// Gives the lock back until this is notified, but not for longer than `limit`.
    pub(crate) fn wait_timeout<'g, T>(&self, guard: MutexGuard<'g, T>, limit: Duration) -> MutexGuard<'g, T> {
        unpoisoned(self.0.wait_timeout(guard, limit)).0
    }

    /// Like [`Condvar::wait_while`], but does not wait for longer than `limit`.
    pub(crate) fn wait_timeout_while<'g, T>(
        &self,
        guard: MutexGuard<'g, T>,
        limit: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'g, T> {
        unpoisoned(self.0.wait_timeout_while(guard, limit, condition)).0
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
