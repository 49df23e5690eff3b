//! `bsafs status`: what a running daemon has done.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use indicatif::BinaryBytes;

use super::exit::{Exit, Failure};
use super::mount_status::MountStatus;
use super::output::{count, duration, stdout_for, write_json};
use crate::fs;

/// Print what the daemon behind a mount has done: requests by kind, cache, bytes decoded and read, errors
#[derive(Args, Debug)]
pub(super) struct Status {
    /// Folders that archives are mounted on
    #[arg(required = true, value_name = "MOUNTPOINT")]
    mountpoints: Vec<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
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

fn write(out: &mut impl Write, path: &Path, status: &MountStatus) -> std::io::Result<()> {
    let fs::Status {
        pid,
        version,
        uptime,
        since: _,
        archives,
        files,
        requests,
        cache,
        decoded_bytes,
        read_bytes,
        errors,
        views,
        last_reload,
        overlay,
    } = &status.status;
    writeln!(out, "{}  (bsafs {version}, process {pid}, mounted for {})", path.display(), duration(*uptime))?;
    if let Some(sources) = status.sources_text() {
        writeln!(out, "  sources    {sources}")?;
    }
    if let Some(overlay) = overlay {
        writeln!(out, "  overlay    {overlay}")?;
    }
    writeln!(out, "  holds      {} in {}", count(*files, "file"), count(*archives, "archive"))?;
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
    writeln!(out, "  read       {} from archives", BinaryBytes(*read_bytes))?;
    writeln!(out, "  errors     {errors}")?;
    let ago = |at| duration((UNIX_EPOCH + Duration::from_secs(at)).elapsed().unwrap_or_default().as_secs());
    if last_reload.is_running {
        let since = ago(last_reload.began);
        writeln!(out, "  reloading  for {since}; what was mounted before is served meanwhile")?;
    }
    if last_reload.count == 0 {
        return Ok(());
    }
    let what = &last_reload.what;
    writeln!(out, "  views      {}; reloaded {} ago: {what}", views + 1, ago(last_reload.at))
}
