//! `bsafs status`: what a running daemon has done.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use indicatif::BinaryBytes;

use super::exit::{Exit, Failure};
use super::mountpoint::resolve_mountpoint;
use super::output::{count, stdout_for};
use crate::fs::{self, STATUS_LINK, mountinfo};

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
            let text = read_status(path)?;
            if self.json {
                writeln!(out, "{text}")?;
                continue;
            }
            let status = serde_json::from_str(&text).map_err(|error| {
                Failure::new(
                    Exit::Data,
                    format!("{}: the daemon's answer cannot be read: {error}", path.display()),
                )
            })?;
            write(&mut out, path, &status)?;
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}

/// The status as the daemon sends it, in JSON.
pub(super) fn read_status(path: &Path) -> Result<String, Failure> {
    let mountpoint = resolve_mountpoint(path);
    if !mountinfo::mounted_at(&mountpoint).is_some_and(|mounted| mounted.is_ours()) {
        return Err(Failure::new(Exit::NoInput, format!("{}: no mount of bsafs is there", path.display())));
    }
    let text = std::fs::read_link(mountpoint.join(STATUS_LINK)).map_err(|error| {
        Failure::new(Exit::Io, format!("{}: the daemon does not answer: {error}", path.display()))
    })?;
    Ok(text.to_string_lossy().into_owned())
}

fn write(out: &mut impl Write, path: &Path, status: &fs::Status) -> std::io::Result<()> {
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
    } = status;
    writeln!(out, "{}  (bsafs {version}, process {pid}, mounted for {})", path.display(), duration(*uptime))?;
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
    if last_reload.count == 0 {
        return Ok(());
    }
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(last_reload.at);
    let ago = duration(since.elapsed().unwrap_or_default().as_secs());
    let what = &last_reload.what;
    writeln!(out, "  views      {}; reloaded {} ago: {what}", views + 1, ago)
}

/// A number of seconds in units that are read easily.
fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_printed_in_its_two_largest_units() {
        let printed = [0, 59, 61, 3661, 90_061].map(duration);
        assert_eq!(printed, ["0 s", "59 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
    }
}
