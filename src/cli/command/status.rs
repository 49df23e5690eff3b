//! `bsafs status`: prints what a running daemon has done.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use indicatif::BinaryBytes;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior, setsid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::{duration, stdout_for, write_json};
use crate::fs;
use crate::mounts::status::MountStatus;
use crate::system::text::{count, layers};

/// Print what the daemon of a mount has done: requests, cache, bytes, errors and reloads
#[derive(Args, Debug)]
pub(crate) struct Status {
    /// Mountpoints of bsafs
    #[arg(required = true, value_name = "MOUNTPOINT")]
    mountpoints: Vec<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// For root: first become the user and group that own the mount, because only they can access it
    #[arg(long, hide = true, value_name = "UID:GID", value_parser = parse_owner)]
    as_owner: Option<(u32, u32)>,
}

impl Status {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        if let Some(owner) = self.as_owner {
            become_owner(owner)
                .map_err(|errno| Failure::new(Exit::NoPermission, format!("--as-owner: {errno}")))?;
        }
        let mut out = stdout_for(self.json);
        for path in &self.mountpoints {
            let status = MountStatus::read(path)?;
            match self.json {
                true => write_json(&mut out, &status)?,
                false => write(&mut out, path, &status)?,
            }
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}

fn parse_owner(text: &str) -> Result<(u32, u32), &'static str> {
    let numbers = text.split_once(':').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
    numbers.filter(|&(uid, gid)| uid != u32::MAX && gid != u32::MAX).ok_or("expected two numbers, UID:GID")
}

/// Makes this process, which has one thread, continue as another user. That user could trace a
/// process started under their ID, and would get root's terminal. A process that takes the ID later
/// can forbid tracing.
fn become_owner((uid, gid): (u32, u32)) -> Result<(), Errno> {
    // Leaves root's terminal. Fails if this process leads a process group, which `status::ask` avoids.
    let _ = setsid();
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

fn write(out: &mut impl Write, path: &Path, status: &MountStatus) -> std::io::Result<()> {
    let fs::DaemonStatus {
        pid,
        version,
        uptime,
        since: _,
        archives,
        folders,
        files,
        requests,
        cache,
        decoded_bytes,
        read_bytes,
        errors,
        views,
        last_reload,
        watches,
        pending_names,
    } = &status.status;
    writeln!(out, "{}  (bsafs {version}, process {pid}, mounted for {})", path.display(), duration(*uptime))?;
    if let Some(sources) = status.sources_text() {
        writeln!(out, "  sources    {sources}")?;
    }
    if let Some(edit) = &status.edit {
        writeln!(out, "  edits      go to {edit}")?;
    }
    writeln!(out, "  holds      {} in {}", count(*files, "file"), layers(*archives, *folders))?;
    let kinds: Vec<String> =
        requests.iter().filter(|(_, number)| **number > 0).map(|(kind, n)| format!("{kind} {n}")).collect();
    writeln!(out, "  requests   {} ({})", requests.values().sum::<u64>(), kinds.join(", "))?;
    writeln!(
        out,
        "  cache      {} of {}, {} hits",
        BinaryBytes(cache.bytes),
        BinaryBytes(cache.budget),
        cache.hits
    )?;
    writeln!(out, "  decoded    {}", BinaryBytes(*decoded_bytes))?;
    writeln!(out, "  read       {} from the disk", BinaryBytes(*read_bytes))?;
    writeln!(out, "  errors     {errors}")?;
    writeln!(out, "  watches    {}{}", count(watches.watched, "folder"), polled(watches.polled))?;
    if *pending_names > 0 {
        writeln!(out, "  pending    {} changed on the disk", count(*pending_names, "name"))?;
    }
    let ago = |at| duration((UNIX_EPOCH + Duration::from_secs(at)).elapsed().unwrap_or_default().as_secs());
    if last_reload.is_running {
        let since = ago(last_reload.began);
        writeln!(out, "  reloading  for {since}; until it is done, the previous contents stay mounted")?;
    }
    if last_reload.count == 0 {
        return Ok(());
    }
    let what = &last_reload.what;
    writeln!(out, "  changes    {views} followed; last reload {} ago: {what}", ago(last_reload.at))
}

/// The folders without a watch, for the line of watched folders.
fn polled(folders: usize) -> String {
    match folders {
        0 => String::new(),
        _ => format!("; {folders} more are checked every {} seconds", fs::POLLING_INTERVAL),
    }
}
