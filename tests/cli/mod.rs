//! Every command that needs no mount, run as a user runs it: output, exit codes, written files.

mod about; // info and verify
mod conflicts; // conflicts
mod content; // cat and extract
mod diff; // diff
pub(crate) mod documents; // help, manual, completions
mod folders; // folders of loose files
mod games; // games
mod listing; // list
mod needs; // needs: which files meshes name
mod options; // profiles and -o
mod output; // where commands write: links, other users, names of pictures
mod pack; // pack: every kind of archive, and what is refused
mod pack_game; // pack: what changes in a game, and edited folders
mod pack_sources; // pack: that no file of a source is lost
mod pack_writing; // pack: determinism, kills, full disks, existing archives
mod pages; // conflicts --html and diff --html
mod schema; // schema, and that the output of each command follows it
mod structure; // verify and info: what is odd about the tables
mod terminal; // hostile names on a terminal
mod thumbnail; // thumbnail
mod unseen; // what could not be looked at, in every command
mod usage; // mistyped commands, messages, --quiet
mod which; // which --in
mod whiteouts; // folders with marks of deleted files, as layers

use crate::support::content::{noise, text};
use crate::support::pack as packing;
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Tes4, Tes4File};

/// An archive of good files and one that cannot be decoded, `sound/bad.wav`.
fn with_a_bad_file() -> Vec<u8> {
    Tes4::new(104)
        .flags(FOLDER_NAMES | FILE_NAMES | PACKED)
        .file("scripts\\source", "Main.psc", text(1, 3_000))
        .file("scripts", "main.pex", noise(2, 2_000))
        .add("sound", Tes4File::new("bad.wav", text(3, 9_000)).stream(noise(4, 4_000)))
        .file("sound", "good.wav", text(5, 10_000))
        .build()
}

/// An archive of a good file and one whose checksum is wrong, `sound/wrong.wav`. Also returns what
/// bsafs says of the wrong file, and its content.
fn with_a_wrong_checksum() -> (Vec<u8>, String, Vec<u8>) {
    let content = text(3, 9_000);
    let stream = packing::with_wrong_checksum(packing::zlib(&content));
    let stored = u32::from_be_bytes(*stream.last_chunk().unwrap());
    let computed = stored ^ 1;
    let what = format!(
        "the zlib stream is damaged: its Adler-32 is {stored:08X}, but its data has {computed:08X} \
         (data at offset "
    );
    let archive = Tes4::new(104)
        .flags(FOLDER_NAMES | FILE_NAMES | PACKED)
        .file("sound", "good.wav", text(5, 10_000))
        .add("sound", Tes4File::new("wrong.wav", &content[..]).stream(stream));
    (archive.build(), what, content)
}

/// An archive whose listing is larger than a pipe's buffer.
fn with_many_files() -> Vec<u8> {
    let name = |nth: usize| format!("{nth:06}_{}.txt", "x".repeat(80));
    (0..6_000).fold(Tes4::new(104), |archive, nth| archive.file("many", name(nth), b"")).build()
}
