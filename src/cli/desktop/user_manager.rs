//! The user's systemd manager, which ends its services when the session ends.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::system::root_only::first_other_user;
use crate::system::subprocess::Program;

/// How long a service may take to start, in seconds. Reading a game on a slow disk takes a minute.
const START_SECONDS: u64 = 300;
/// Environment variables passed to the service: where programs look for files, and the log level.
/// The manager's own environment may be older than the user's settings.
const VARIABLES: [&str; 5] = ["HOME", "PATH", "RUST_LOG", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

pub(crate) fn is_running() -> bool {
    let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|it| it.is_absolute())
    else {
        return false;
    };
    let user = rustix::process::geteuid();
    let socket = folder.join("systemd/private");
    // `su` leaves another user's XDG_RUNTIME_DIR in the environment, so check the owner. A link in a folder
    // of that user may lead to a socket of root's.
    std::fs::symlink_metadata(&socket)
        .is_ok_and(|socket| socket.file_type().is_socket() && socket.uid() == user.as_raw())
        && (!user.is_root() || first_other_user(&socket).is_none())
}

/// Runs this program as a transient service, and returns when the service reports that it is ready.
///
/// # Errors
/// Why the service did not start, as a sentence. The service's own errors are in the journal.
pub(crate) fn start(arguments: &[OsString]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut run = Program::of_desktop("systemd-run")
        .args(["--user", "--quiet", "--collect", "--service-type=notify"])
        .arg(format!("--unit=bsafs-open-{}-{now}", std::process::id()))
        .arg("--description=Bethesda archives opened on the desktop")
        // SIGTERM unmounts as soon as nothing is open. The SIGHUP that follows unmounts at once.
        // systemd/bsafs@.service does the same.
        .arg("--property=SendSIGHUP=yes")
        .arg("--property=TimeoutStopSec=5")
        .arg(format!("--property=TimeoutStartSec={START_SECONDS}"));
    for name in VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            let mut setting = OsString::from(format!("--setenv={name}="));
            setting.push(value);
            run = run.arg(setting);
        }
    }
    run = run.arg("--").arg(program).args(arguments.iter().map(escape_dollars));
    match run.output_within(Duration::from_secs(START_SECONDS + 10)) {
        Ok(Some(output)) if output.status.success() => Ok(()),
        Ok(Some(output)) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Ok(None) => Err("systemd-run did not finish in time".into()),
        Err(error) => Err(format!("systemd-run: {error}")),
    }
}

/// Escapes `$`, because the manager replaces `$NAME` in arguments by variables and `$$` by `$`.
fn escape_dollars(argument: &OsString) -> OsString {
    let mut bytes = Vec::with_capacity(argument.len());
    for &byte in argument.as_bytes() {
        bytes.extend_from_slice(if byte == b'$' { b"$$" } else { std::slice::from_ref(&byte) });
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_in_a_name_is_escaped_for_systemd() {
        let passed = |argument: &str| escape_dollars(&argument.into());
        assert_eq!(passed("/games/$HOME ${x}.bsa"), "/games/$$HOME $${x}.bsa");
        assert_eq!(passed("/games/a.bsa"), "/games/a.bsa");
    }
}
