//! `bsafs list`: the files of archives and folders, without a mount.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::{LayoutArg, OpenArgs};
use crate::cli::options::selection::{Selection, path};
use crate::cli::terminal::output::{stdout_for, write_json};
use crate::format::EntryId;
use crate::tree::NodeId;
use crate::vfs::OpenOptions;
use crate::vfs::open::Opened;

/// List the files in archives and folders, as a mount would show them
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Archives, folders, games, and whatever else `mount` takes; where two have a file, the rightmost wins
    #[arg(required = true, value_name = "SOURCE")]
    archives: Vec<PathBuf>,
    /// Sizes in bytes (in the mount, and packed), codec, and archive, in front of each path
    #[arg(short, long)]
    long: bool,
    /// One JSON object a line
    #[arg(long, conflicts_with_all = ["long", "zero"])]
    json: bool,
    /// End each path in a NUL, for `xargs -0`
    #[arg(short = '0', long = "zero")]
    zero: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    layout: LayoutArg,
    #[command(flatten)]
    open: OpenArgs,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line {
    path: String,
    size: u64,
    packed: u64,
    codec: &'static str,
    archive: String,
    /// The stored bytes, which may be in any code page, as hex digits.
    stored_name_hex: String,
    hash: String,
    hidden_copies: usize,
}

impl List {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let options = OpenOptions { layout: self.layout.layout, ..self.open.options() };
        let opened = source_set(&self.archives, options)?.open()?;
        let mut out = stdout_for(self.json || self.zero);
        for (node, entry) in self.selection.files(&opened.tree)? {
            if self.json {
                write_json(&mut out, &line(&opened, node, entry))?;
                continue;
            }
            if self.long {
                let archive =
                    opened.store.path(entry.layer).file_name().unwrap_or_default().to_string_lossy();
                // Of a loose file the look at its size tells both.
                let size = opened.store.size(entry);
                let packing = opened.store.packing(entry);
                let (packed, codec) = (packing.packed, packing.codec.name());
                write!(out, "{size:>12} {packed:>12} {codec:<9} {archive}  ")?;
            }
            out.write_all(&opened.tree.path(node))?;
            out.write_all(if self.zero { b"\0" } else { b"\n" })?;
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}

fn line(opened: &Opened, node: NodeId, entry: EntryId) -> Line {
    // Of a loose file the look at its size tells both.
    let size = opened.store.size(entry);
    let packing = opened.store.packing(entry);
    Line {
        path: path(&opened.tree, node),
        size,
        packed: packing.packed,
        codec: packing.codec.name(),
        archive: opened.store.path(entry.layer).to_string_lossy().into_owned(),
        stored_name_hex: opened.tree.stored_name(node).iter().map(|byte| format!("{byte:02x}")).collect(),
        hash: opened.tree.hash_text(node),
        hidden_copies: opened.tree.hidden(node).len(),
    }
}
