//! `bsafs info`: what an archive is.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::open::{self, CACHE_SIZE, Opening};
use super::{count, human};

/// Tell what archives are: format, version, flags, counts, codecs, sizes, and what is peculiar about them
#[derive(Args, Debug)]
pub(super) struct Info {
    /// Archives
    #[arg(required = true, value_name = "ARCHIVE")]
    archives: Vec<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    opening: Opening,
}

/// What is told of one archive.
#[derive(Serialize)]
struct Facts {
    archive: String,
    format: &'static str,
    /// Left out where the format has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    kind: &'static str,
    games: &'static str,
    platform: &'static str,
    flags: u32,
    flag_names: Vec<&'static str>,
    folders: usize,
    files: usize,
    archive_bytes: u64,
    /// Bytes of all files as a mount shows them.
    bytes: u64,
    /// Files by codec.
    codecs: BTreeMap<&'static str, usize>,
    peculiarities: Vec<String>,
}

impl Info {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let mut out = super::out();
        for archive in &self.archives {
            let facts = self.facts(archive)?;
            match self.json {
                true => super::json(&mut out, &facts)?,
                false => facts.write(&mut out)?,
            }
        }
        out.flush()?;
        Ok(Exit::Ok)
    }

    fn facts(&self, archive: &std::path::Path) -> Result<Facts, Failure> {
        let mut opened = open::open(&[archive.to_owned()], &self.opening, CACHE_SIZE)?;
        let mut codecs = BTreeMap::new();
        let (mut files, mut bytes) = (0, 0);
        for (_, entry) in opened.tree.entries() {
            *codecs.entry(opened.store.packing(entry).codec.name()).or_insert(0) += 1;
            files += 1;
            bytes += opened.store.size(entry);
        }
        let description = opened.descriptions.remove(0);
        let about = description.about;
        Ok(Facts {
            archive: archive.display().to_string(),
            format: about.format,
            version: (about.version != 0).then_some(about.version),
            kind: about.kind,
            games: about.games,
            platform: about.platform,
            flags: about.flags,
            flag_names: about.flag_names,
            folders: opened.tree.len() as usize - files - 1,
            files,
            archive_bytes: opened.store.archive_bytes(),
            bytes,
            codecs,
            peculiarities: description
                .notes
                .iter()
                .map(|note| format!("{} (offset {})", note.what, note.at))
                .collect(),
        })
    }
}

impl Facts {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let kind = if self.kind.is_empty() { String::new() } else { format!(" {}", self.kind) };
        writeln!(out, "{}", self.archive)?;
        let version = self.version.map_or_else(String::new, |version| format!(", version {version}"));
        writeln!(out, "  format         {}{kind}{version} ({})", self.format, self.games)?;
        writeln!(out, "  platform       {}", self.platform)?;
        if !self.flag_names.is_empty() {
            writeln!(out, "  flags          {:#x}: {}", self.flags, self.flag_names.join(", "))?;
        }
        writeln!(out, "  holds          {} in {}", count(self.files, "file"), count(self.folders, "folder"))?;
        writeln!(
            out,
            "  sizes          {} unpacked, {} in the archive",
            human(self.bytes),
            human(self.archive_bytes)
        )?;
        let codecs: Vec<String> =
            self.codecs.iter().map(|(codec, files)| format!("{codec}: {files}")).collect();
        writeln!(out, "  codecs         {}", codecs.join(", "))?;
        for what in &self.peculiarities {
            writeln!(out, "  peculiar       {what}")?;
        }
        Ok(())
    }
}
