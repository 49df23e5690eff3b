//! Every command that needs no mount, as users run it: output, exit codes, and files written.

mod about; // info and verify
mod content; // cat and extract
mod documents; // help, manual, completions
mod listing; // list

use crate::support::content::{noise, text};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

/// An archive with one file that cannot be decoded, `sound/bad.wav`, between good ones.
fn with_a_bad_file() -> Vec<u8> {
    Tes4::new(104)
        .flags(FOLDER_NAMES | FILE_NAMES | PACKED)
        .file("scripts\\source", "Main.psc", text(1, 3_000))
        .file("scripts", "main.pex", noise(2, 2_000))
        .add("sound", Tes4File::new("bad.wav", text(3, 9_000)).stream(noise(4, 4_000)))
        .file("sound", "good.wav", text(5, 10_000))
        .build()
}

/// An archive whose listing is larger than the buffer of a pipe.
fn with_many_files() -> Vec<u8> {
    let name = |nth: usize| format!("{nth:06}_{}.txt", "x".repeat(80));
    (0..6_000).fold(Tes4::new(104), |archive, nth| archive.file("many", name(nth), b"")).build()
}
