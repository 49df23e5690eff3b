//! The thread that watches the disk. It records what changed, and makes the kernel drop changed names at
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use super::disks::Disks;
use super::follow::{Follower, Trigger, WAKE, add_checked};
use super::polling::Polling;
use crate::fs::FileSystem;
use crate::system::asleep;
use crate::system::covered::uncovered;
use crate::system::disk_id::DiskId;
use crate::system::mountinfo::{MountEntry, open_table};
use crate::system::sync::Mutex;
use crate::vfs::opening::reopening::DiskChanges;
use crate::watch::{DiskEvent, Watcher};

impl Follower {
    /// Starts the threads, after mounting. `opening_began` is the time at which the opening of the sources
    /// began, and `mounts` is what was mounted then. The threads run until the file system is dropped or
    /// watching fails.
    pub(crate) fn start(mut self, opening_began: SystemTime, mounts: Vec<MountEntry>) -> std::io::Result<()> {
        self.disks = Disks::new(mounts);
        self.disks.learn_of_none();
        if let Some(fs) = self.fs.upgrade().filter(|_| self.is_watching) {
            let (of_reads, of_lookups) = (self.trigger.clone(), self.trigger.clone());
            fs.on_change(move |folder| {
                of_reads.record_found(|changes| folder.into_iter().for_each(|it| changes.add(it.into())));
            });
            fs.on_wait(move || of_lookups.hurry());
            let (of_naps, wake) = (self.trigger.clone(), self.signal.wake.try_clone()?);
            asleep::on_change(move || {
                of_naps.record_nap();
                // If the socket is full, the thread that watches wakes anyway.
                let _ = (&wake).write(&[WAKE]);
            });
            let of_uses = self.trigger.clone();
            fs.on_use(move || of_uses.record_use());
        }
        let signal = self.signal.received.try_clone()?;
        let (fs, trigger, watcher) = (self.fs.clone(), self.trigger.clone(), self.watcher.clone());
        let polling = self.polling.clone();
        // Opened before the table is read for the first time, so that no change is missed.
        let mount_table = open_table().ok().filter(|_| self.is_watching);
        if self.is_watching {
            self.trigger.record_mounts();
        }
        let watching = WatchThread { fs, trigger, watcher, polling, signal, mount_table };
        thread::Builder::new().name("watch".into()).spawn(move || watching.run())?;
        thread::Builder::new().name("reload".into()).spawn(move || self.run(opening_began))?;
        Ok(())
    }
}

/// What the thread needs. The thread that reloads changes the watches.
#[derive(Debug)]
struct WatchThread {
    fs: Weak<FileSystem>,
    trigger: Arc<Trigger>,
    watcher: Arc<Watcher>,
    polling: Arc<Mutex<Polling>>,
    /// Can be read after SIGUSR1.
    signal: UnixStream,
    /// `None` without `/proc`.
    mount_table: Option<File>,
}

impl WatchThread {
    /// Runs until the file system is dropped or watching fails.
    fn run(mut self) {
        while !self.trigger.is_over() {
            if let Err(error) = self.step() {
                self.trigger.end();
                return log::error!(
                    "changes on the disk are no longer followed: {error}; to see changes, unmount and \
                     mount again"
                );
            }
        }
    }

    /// Takes all bytes that were sent. Returns whether a signal requested a reload.
    fn take_signals(&mut self) -> bool {
        let (mut bytes, mut is_requested) = ([0; 64], false);
        while let Ok(len) = self.signal.read(&mut bytes)
            && len > 0
        {
            is_requested |= bytes[..len].iter().any(|&byte| byte != WAKE);
        }
        is_requested
    }

    /// Waits for events, a signal, or the next check of folders without a watch.
    fn step(&mut self) -> io::Result<()> {
        let due = self.polling.lock().due();
        let table = self.mount_table.as_ref().map(AsFd::as_fd);
        let woken = self.watcher.wait(self.signal.as_fd(), table, due)?;
        let Some(fs) = self.fs.upgrade() else {
            self.trigger.end();
            return Ok(());
        };
        if woken.is_readable && self.take_signals() {
            self.trigger.request();
        }
        if self.trigger.take_nap() {
            self.trigger.record_mounts();
        }
        if woken.are_mounts {
            self.trigger.record_mounts();
            // Other programs may mount all the time.
            thread::sleep(UNCOUNTED_PAUSE);
        }
        if woken.has_events {
            let (mut counts, mut is_lost) = (false, Ok(false));
            let mut files = BTreeMap::new();
            let mut touched: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
            self.trigger.note(|changes| {
                is_lost = self.watcher.read_events(|event| {
                    counts = true;
                    record_event(&fs, changes, event);
                    let Some(name) = event.name else { return };
                    if event.is_write || event.is_close {
                        touched.entry(event.folder.to_owned()).or_default().insert(name.to_owned());
                    }
                    if event.is_write || event.is_of_attributes {
                        let file = (event.folder.to_owned(), name.to_owned());
                        *files.entry(file).or_default() |= event.is_write;
                    }
                });
                // The reload that follows takes these, so they are noted before it can begin.
                for (folder, names) in &touched {
                    fs.record_touched_files(folder, names.iter().map(|name| name.as_bytes()));
                }
                counts
            });
            if is_lost? {
                fs.events_were_lost();
                self.trigger.record_found(DiskChanges::add_anywhere);
            }
            // Requests may need the lock of the trigger, so nothing that may hang is done under it.
            for ((folder, name), is_write) in files {
                let (fs, at) = (fs.clone(), folder.clone());
                // If the disk is asleep, its folders are listed again later.
                asleep::at(&folder, move || {
                    if is_write {
                        fs.record_written_file(&at, name.as_bytes());
                    }
                    if let Ok(found) = std::fs::metadata(uncovered(&at.join(&name))) {
                        fs.record_archive_event(DiskId::from(&found), is_write);
                    }
                });
            }
            if !counts {
                thread::sleep(UNCOUNTED_PAUSE);
            }
        }
        let changed = self.polling.lock().step(&self.watcher);
        if !changed.is_empty() {
            self.trigger.note(|changes| {
                for folder in &changed {
                    add_checked(changes, &self.watcher, Path::new(folder));
                }
                true
            });
        }
        Ok(())
    }
}

/// Pause after events that do not count. Other files in a folder may be written to all the time.
const UNCOUNTED_PAUSE: Duration = Duration::from_millis(20);

fn record_event(fs: &FileSystem, changes: &mut DiskChanges, event: &DiskEvent<'_>) {
    let DiskEvent { folder, name, meaning, .. } = event;
    if meaning.is_link {
        changes.add_anywhere();
    }
    if meaning.is_plan {
        changes.add_plan();
    }
    let Some(name) = name else {
        // The folder itself is gone, so the folder above it must be listed again, too.
        folder.parent().into_iter().for_each(|parent| changes.add(parent.into()));
        return changes.add((*folder).into());
    };
    if meaning.is_way {
        changes.add_moved(folder.join(name));
    }
    if meaning.is_content || meaning.is_file {
        changes.add((*folder).into());
    }
    if meaning.is_content && meaning.is_of_names {
        fs.record_changed_name(folder, name.as_bytes(), event.is_new_folder);
    }
}
