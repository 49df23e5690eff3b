//! Finds the processes that use a mount: by their current folder, root folder, program, and open
//! or mapped files.
//!
//! Mounts are distinguished by their device numbers, which the kernel knows. So neither a mount
//! that does not answer nor a network disk is asked for anything.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, read_dir};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use serde::Serialize;

use super::process;
use super::sync::Mutex;
use super::text::count;
use crate::named::named;
use crate::shown::Shown;

/// Maximum number of bytes that are read of a process's memory maps.
const MAPS_MAX: u64 = 16 << 20;

/// A process that uses a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    /// The name, which the process may have chosen itself.
    pub(crate) name: String,
    /// The ways in which the process uses the mount, each with a count.
    pub(crate) uses: BTreeMap<Use, usize>,
}

impl Holder {
    /// Returns, for example, `thunar (process 4711: current folder, 2 open files)`.
    pub(crate) fn text(&self) -> String {
        let uses: Vec<String> = self
            .uses
            .iter()
            .map(|(how, &number)| match how {
                Use::OpenFile | Use::MappedFile => count(number, how.text()),
                Use::CurrentFolder | Use::RootFolder | Use::Program => how.text().to_owned(),
            })
            .collect();
        format!("{} (process {}: {})", self.name.shown(), self.pid, uses.join(", "))
    }
}

named! {
    /// How a process uses a mount.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum Use;
    /// The name for users, in the singular.
    fn text;

    CurrentFolder = "current folder";
    RootFolder = "root folder";
    Program = "program";
    OpenFile = "open file";
    MappedFile = "mapped file";
}

/// A device number, major and minor.
type Device = (u32, u32);

/// The processes that use mounts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holders {
    by_device: HashMap<Device, Vec<Holder>>,
    /// Number of processes that this process may not inspect, or not completely.
    pub(crate) unseen: usize,
    /// Whether all other processes were inspected in time.
    pub(crate) is_complete: bool,
}

impl Holders {
    /// Inspects all processes except this one, for at most `limit`.
    pub(crate) fn find(limit: Duration) -> Self {
        let found = Arc::new(Mutex::new(Self::default()));
        let (sender, finished) = mpsc::channel();
        let for_thread = found.clone();
        // The thread is abandoned if it takes too long: inspecting a process may block on its memory.
        let started = thread::Builder::new().spawn(move || {
            let is_complete = look_at_all(&for_thread).is_ok();
            for_thread.lock().is_complete = is_complete;
            let _ = sender.send(());
        });
        if started.is_ok() {
            let _ = finished.recv_timeout(limit);
        }
        let found = found.lock();
        found.clone()
    }

    /// The processes that use the mount with a device number, as the mount table writes it.
    pub(crate) fn of(&self, device: &str) -> &[Holder] {
        let number = device
            .split_once(':')
            .and_then(|(major, minor)| Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?)));
        number.and_then(|number| self.by_device.get(&number)).map_or(&[], Vec::as_slice)
    }
}

/// Maximum number of programs that a line names.
const USERS_NAMED: usize = 4;

/// Names the first programs that use a mount, and counts the others. `None` if none was found.
pub(crate) fn users_of(holders: &[Holder]) -> Option<String> {
    let named: Vec<String> = holders.iter().take(USERS_NAMED).map(Holder::text).collect();
    let more = match holders.len() - named.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (!named.is_empty()).then(|| named.join(", ") + &more)
}

/// Time limit for finding the processes that use a mount that ends.
const ENDING_TIME: Duration = Duration::from_secs(1);

/// Says which programs use a mount at the moment when it is detached. To be logged once that is done.
pub(crate) fn stopped_in_use(device: &str) -> String {
    let users = users_of(Holders::find(ENDING_TIME).of(device)).unwrap_or_else(|| "a program".to_owned());
    format!("stopped while {users} used the mount, which is detached now; its files cannot be read any more")
}

fn look_at_all(found: &Mutex<Holders>) -> io::Result<()> {
    for (pid, folder) in process::others()? {
        let seen = look_at(&folder);
        // What waits for the lock must not wait for a process.
        let is_unseen = !seen.is_whole && process::runs_program(&folder);
        let name = if seen.uses.is_empty() { String::new() } else { name_of(&folder) };
        let mut found = found.lock();
        found.unseen += usize::from(is_unseen);
        for (device, uses) in seen.uses {
            let name = name.clone();
            found.by_device.entry(device).or_default().push(Holder { pid, name, uses });
        }
    }
    let mut found = found.lock();
    found.by_device.values_mut().for_each(|holders| holders.sort_unstable_by_key(|it| it.pid));
    Ok(())
}

/// What was found out about a process.
#[derive(Default)]
struct ProcessUses {
    uses: HashMap<Device, BTreeMap<Use, usize>>,
    is_whole: bool,
}

impl ProcessUses {
    fn add(&mut self, device: io::Result<Device>, how: Use) {
        match device {
            // Mounts without a disk have major number 0.
            Ok(device @ (0, _)) => *self.uses.entry(device).or_default().entry(how).or_default() += 1,
            Ok(_) => {}
            Err(error) => self.note(&error),
        }
    }

    /// Only a refusal makes the result incomplete. A process that has ended uses nothing, nor does
    /// a thread of the kernel, which has no program.
    fn note(&mut self, error: &io::Error) {
        self.is_whole &= error.kind() != io::ErrorKind::PermissionDenied;
    }
}

fn look_at(process: &Path) -> ProcessUses {
    let mut seen = ProcessUses { is_whole: true, ..ProcessUses::default() };
    for (name, how) in [("cwd", Use::CurrentFolder), ("root", Use::RootFolder), ("exe", Use::Program)] {
        seen.add(device_of(&process.join(name)), how);
    }
    match read_dir(process.join("fd")) {
        Ok(files) => files.flatten().for_each(|file| seen.add(device_of(&file.path()), Use::OpenFile)),
        Err(error) => seen.note(&error),
    }
    match File::open(process.join("maps")) {
        Ok(maps) => {
            let mut program_and_files: Vec<(Device, u64)> = BufReader::new(maps.take(MAPS_MAX))
                .split(b'\n')
                .map_while(Result::ok)
                .filter_map(|line| mapped_file(&line))
                .collect();
            program_and_files.sort_unstable();
            program_and_files.dedup();
            for (device, _) in program_and_files {
                seen.add(Ok(device), Use::MappedFile);
            }
        }
        Err(error) => seen.note(&error),
    }
    seen
}

/// The device of what a link in `/proc` leads to. The kernel answers without asking a daemon or a disk.
fn device_of(link: &Path) -> io::Result<Device> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let stat = statx(CWD, link, flags, StatxFlags::empty())?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor))
}

/// Parses device (in hexadecimal) and inode number of a mapped file from a line
/// `begin-end permissions offset major:minor inode path`.
fn mapped_file(line: &[u8]) -> Option<(Device, u64)> {
    let mut fields = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty()).skip(3);
    let (major, minor) = std::str::from_utf8(fields.next()?).ok()?.split_once(':')?;
    let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let inode = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    (inode != 0).then_some((device, inode))
}

fn name_of(folder: &Path) -> String {
    let name = process::file_in_proc(&folder.join("comm")).unwrap_or_default();
    name.strip_suffix('\n').unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_maps_of_files_have_a_device() {
        let line = b"7f00-7f01 r--p 00000000 00:1f 42                         /mnt/a b.dds";
        assert_eq!(mapped_file(line), Some(((0, 0x1f), 42)));
        assert_eq!(mapped_file(b"7f00-7f01 rw-p 00000000 00:00 0 [heap]"), None);
        assert_eq!(mapped_file(b""), None);
    }

    #[test]
    fn a_process_is_found_by_its_current_folder() {
        // The current folder is in proc, which has no disk either.
        let mut child = Command::new("cat")
            .current_dir("/proc/self")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cannot start cat");
        // With qemu, `spawn` returns before the process has changed its folder. So wait for an answer.
        let (mut input, mut output) = child.stdin.take().zip(child.stdout.take()).expect("cat has no pipes");
        input.write_all(b"x").expect("cannot write to cat");
        output.read_exact(&mut [0]).expect("cat does not answer");
        let seen = look_at(Path::new(&format!("/proc/{}", child.id())));
        let proc = device_of(Path::new("/proc")).expect("cannot stat /proc");
        assert_eq!(seen.uses.get(&proc).and_then(|uses| uses.get(&Use::CurrentFolder)), Some(&1));
        drop(input);
        child.wait().expect("cannot wait for cat");
    }
}
