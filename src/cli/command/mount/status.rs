//! `bsafs status`: prints what a running daemon has done.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use indicatif::BinaryBytes;

use super::mounts::{self, write_how};
use crate::cli::exit::{Exit, Failure};
use crate::cli::terminal::output::{duration, stdout_for};
use crate::cli::terminal::report::how_to_update;
use crate::cli::ui::Ui;
use crate::daemon::mountpoint::has_no_daemon;
use crate::fs::{self, WatchCounts};
use crate::limits::CACHE_BEYOND;
use crate::mounts::mount_status::{MountStatus, status_of};
use crate::shown::Shown;
use crate::system::text::{count, layers};

/// Print what the daemon of a mount has done: requests, cache, bytes, errors and reloads
#[derive(Args, Debug)]
pub(crate) struct Status {
    /// Mountpoints of bsafs
    #[arg(required_if_eq("json", "true"), value_name = "MOUNTPOINT")]
    mountpoints: Vec<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Print one line, and fail as for a dead mount if the kernel says that this one is dead
    #[arg(long, hide = true, value_name = "IDENTITY")]
    is_dead: Option<String>,
    /// Wait for the daemon of exactly this mount without a time limit. Other commands, which have one, run
    /// this
    #[arg(long, hide = true, value_name = "IDENTITY")]
    direct: Option<String>,
}

impl Status {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        if let Some(identity) = &self.is_dead {
            // The time limit of the command that runs this begins here.
            let mut out = stdout_for(true);
            writeln!(out, "asking").and_then(|()| out.flush())?;
            let is_dead = self.mountpoints.iter().any(|path| has_no_daemon(path, identity));
            return Ok(if is_dead { Exit::Unavailable } else { Exit::Ok });
        }
        if self.mountpoints.is_empty() && !self.json {
            return mounts::list_instead(ui, "name a mount: bsafs status MOUNTPOINT");
        }
        let mut out = stdout_for(self.json);
        for path in &self.mountpoints {
            let status = match &self.direct {
                Some(identity) => MountStatus::read(path, identity)?,
                None => status_of(path)?,
            };
            if self.json { out.json(&status)? } else { out.text(|out| write(out, path, &status))? }
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}

fn write(out: &mut impl Write, path: &Path, status: &MountStatus) -> std::io::Result<()> {
    let fs::DaemonStatus {
        pid,
        version,
        uptime,
        since: _,
        archives,
        encodings,
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
    let (path, version, time) = (path.shown(), version.shown(), duration(*uptime));
    writeln!(out, "{path}  (bsafs {version}, process {pid}, mounted for {time})")?;
    if let Some(user) = status.claimed_by {
        writeln!(out, "  owner      user {user}, whose daemon says:")?;
    }
    if let Some(sources) = status.sources_text() {
        writeln!(out, "  sources    {sources}")?;
    }
    write_how(out, status)?;
    if let Some(edit) = &status.edit {
        writeln!(out, "  edits      go to {}", edit.shown())?;
    }
    if let Some(remount) = &status.remount {
        writeln!(out, "  static     {}", how_to_update(remount))?;
    }
    writeln!(out, "  holds      {} in {}", count(*files, "file"), layers(*archives, *folders))?;
    if !encodings.is_empty() {
        let encodings: Vec<String> = encodings
            .iter()
            .map(|(name, archives)| format!("{} in {}", name.shown(), count(*archives, "archive")))
            .collect();
        writeln!(out, "  names      {}; the others are ASCII", encodings.join(", "))?;
    }
    let kinds: Vec<String> = requests
        .iter()
        .filter(|(_, number)| **number > 0)
        .map(|(kind, n)| format!("{} {n}", kind.shown()))
        .collect();
    for odd in &status.odd {
        writeln!(out, "  odd        {}", odd.to_string().shown())?;
    }
    writeln!(out, "  requests   {} ({})", status.requests(), kinds.join(", "))?;
    writeln!(out, "  cache      {}", of_cache(cache))?;
    writeln!(out, "  decoded    {}", BinaryBytes(*decoded_bytes))?;
    writeln!(out, "  read       {} from the disk", BinaryBytes(*read_bytes))?;
    writeln!(out, "  errors     {errors}")?;
    writeln!(out, "  watches    {}{}", count(watches.watched, "folder"), unwatched(watches))?;
    if *pending_names > 0 {
        writeln!(out, "  pending    {} changed on the disk", count(*pending_names, "name"))?;
    }
    let ago = |at| {
        let at = UNIX_EPOCH.checked_add(Duration::from_secs(at));
        duration(at.and_then(|at| at.elapsed().ok()).unwrap_or_default().as_secs())
    };
    if last_reload.is_running {
        let since = ago(last_reload.began);
        writeln!(out, "  reloading  for {since}; until it is done, the previous contents stay mounted")?;
    }
    if last_reload.count == 0 {
        return Ok(());
    }
    let what = last_reload.what.shown();
    writeln!(out, "  changes    {views} followed; last reload {} ago: {what}", ago(last_reload.at))
}

fn of_cache(cache: &fs::CacheStatus) -> String {
    let more = BinaryBytes(CACHE_BEYOND);
    let beyond = format!(" (while readers are amid compressed files, up to {more} more, for 5 s)");
    let beyond = if cache.bytes > cache.budget { &*beyond } else { "" };
    format!("{} of {}{beyond}, {} hits", BinaryBytes(cache.bytes), BinaryBytes(cache.budget), cache.hits)
}

/// The used folders and those without a watch, for the line of watched folders.
fn unwatched(watches: &WatchCounts) -> String {
    let WatchCounts { used, polled, why_polled, .. } = watches;
    if *polled == 0 {
        return String::new();
    }
    let why = if why_polled.is_empty() { String::new() } else { format!(": {}", why_polled.shown()) };
    let interval = fs::POLLING_INTERVAL;
    format!(", {used} of them in use; {polled} more are checked every {interval} seconds{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_beyond_its_limit_is_explained() {
        let text = |bytes| of_cache(&fs::CacheStatus { bytes, budget: 64 << 20, hits: 3 });
        assert_eq!(text(1 << 20), "1.00 MiB of 64.00 MiB, 3 hits");
        let beyond = "(while readers are amid compressed files, up to 256.00 MiB more, for 5 s)";
        assert_eq!(text(140_429_000), format!("133.92 MiB of 64.00 MiB {beyond}, 3 hits"));
    }
}
