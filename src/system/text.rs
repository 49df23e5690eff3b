//! Text that messages share: counts, sizes, and the reasons of system errors.

use std::io;
use std::path::Path;

use super::memory;
use crate::shown::Shown;

/// A number with its noun: `1 file`, `2 files`, `2 meshes`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    let ending = match number {
        1 => "",
        _ if thing.ends_with("sh") || thing.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{number} {thing}{ending}")
}

/// A number of bytes in the largest unit that divides it: `4 MiB`, `9 bytes`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        _ if bytes == 0 => "0 bytes".to_owned(),
        30.. => format!("{} GiB", bytes >> 30),
        20.. => format!("{} MiB", bytes >> 20),
        10.. => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

/// Bytes as hex digits in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes the escapes of a URI, such as `%20`. An invalid escape is kept.
pub(crate) fn from_uri(mut text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    while let Some((&first, rest)) = text.split_first() {
        let digit = |at: usize| rest.get(at).and_then(|it| char::from(*it).to_digit(16));
        let escaped = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => Some((high * 16 + low) as u8),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(first));
        text = if escaped.is_some() { &rest[2..] } else { rest };
    }
    bytes
}

/// Numbers of archives and folders: `1 archive`, `2 folders`, `1 archive and 2 folders`.
pub(crate) fn layers(archives: usize, folders: usize) -> String {
    match (archives, folders) {
        (_, 0) => count(archives, "archive"),
        (0, _) => count(folders, "folder"),
        _ => format!("{} and {}", count(archives, "archive"), count(folders, "folder")),
    }
}

/// Why a path could not be opened, read or written.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        _ if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            "too many open files: every archive stays open; raise the limit with `ulimit -n`".to_owned()
        }
        io::ErrorKind::OutOfMemory => memory::not_enough(),
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder; give a file in it".to_owned(),
        io::ErrorKind::CrossesDevices => {
            "another file system is mounted there, which this user cannot enter".to_owned()
        }
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        _ => error.to_string(),
    }
}

/// Why a process or a thread could not be started.
pub(crate) fn reason_not_started(error: &io::Error) -> String {
    match error.kind() {
        // EAGAIN.
        io::ErrorKind::WouldBlock => {
            "the limit of processes and threads is reached: end other processes of this user, or raise the \
             limit with `ulimit -u` (of a service: TasksMax=, of a container: --pids-limit)"
                .to_owned()
        }
        _ => reason(error),
    }
}

/// Why a file or folder could not be made.
pub(crate) fn reason_not_made(path: &Path, error: &io::Error) -> String {
    match (missing_parent(path), error.kind()) {
        (Some(missing), io::ErrorKind::NotFound) => missing,
        (_, io::ErrorKind::PermissionDenied) => "permission denied".to_owned(),
        (_, io::ErrorKind::AlreadyExists) => "a file or folder with this name already exists".to_owned(),
        _ => error.to_string(),
    }
}

/// A message that names the first missing folder in a path; `None` if its parent exists.
pub(crate) fn missing_parent(path: &Path) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    let missing = absolute.ancestors().skip(1).take_while(|folder| !folder.exists()).last()?;
    Some(format!("the folder {} does not exist", missing.shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_has_its_plural() {
        let counts = [(1, "mesh"), (0, "mesh"), (2, "mesh"), (2, "file")].map(|(it, thing)| count(it, thing));
        assert_eq!(counts, ["1 mesh", "0 meshes", "2 meshes", "2 files"]);
    }

    #[test]
    fn a_size_is_exact_in_its_unit() {
        let sizes = [0, 9, 1 << 10, 1000, 1536, 4 << 20, 1 << 30].map(size);
        assert_eq!(sizes, ["0 bytes", "9 bytes", "1 KiB", "1000 bytes", "1536 bytes", "4 MiB", "1 GiB"]);
    }

    #[test]
    fn a_limit_of_processes_is_told_from_other_reasons() {
        let limit = reason_not_started(&rustix::io::Errno::AGAIN.into());
        assert!(limit.contains("the limit of processes and threads is reached"), "{limit}");
        let other = io::Error::from(rustix::io::Errno::NOENT);
        assert_eq!(reason_not_started(&other), reason(&other));
    }
}
