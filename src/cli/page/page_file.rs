//! The file of a page.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::BinaryBytes;

use super::contents::Contents;
use super::html::{BEGINNING, Page};
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::opener;
use crate::cli::surroundings::check_memory;
use crate::cli::terminal::output::stdout;
use crate::cli::terminal::unseen::Unseen;
use crate::limits::{PAGE_PICTURES_MAX, PAGE_TEXT_MAX};
use crate::shown::Shown;
use crate::system::output_place::OutputPlace;
use crate::system::text::count;
use crate::system::walk::Missing;

/// The place of a page. It was free, or had an older page.
pub(crate) struct PageFile<'p> {
    path: &'p Path,
    place: OutputPlace,
}

impl<'p> PageFile<'p> {
    /// Finds the place of a page. Fails if another file is there: a user who forgets FILE would otherwise
    /// lose the first source.
    pub(super) fn prepare(path: &'p Path) -> Result<Self, Failure> {
        let place = OutputPlace::of(path, Missing::Fail);
        let place = place.map_err(|error| Failure::not_made("the page", path, &error))?;
        let file = Self { path, place };
        match file.place.find_alike(BEGINNING.as_bytes()) {
            Ok(_) => Ok(file),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let what = format!(
                    "cannot create the page {}: {error}, and only a page of bsafs is replaced; give another \
                     FILE",
                    path.shown()
                );
                Err(Failure::new(Exit::CannotCreate, what))
            }
            Err(error) => Err(Failure::not_made("the page", path, &error)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.path
    }

    /// Writes a page. Returns its length in bytes.
    pub(super) fn write(&self, page: &Page) -> Result<u64, Failure> {
        let mut len = 0;
        let written = self.place.replace_alike(BEGINNING.as_bytes(), |file| {
            let mut out = BufWriter::with_capacity(1 << 16, &mut *file);
            page.write(&mut out)?;
            out.flush()?;
            drop(out);
            len = file.metadata()?.len();
            Ok(())
        });
        written.map_err(|error| Failure::not_made("the page", self.path, &error))?;
        Ok(len)
    }
}

// The options `--html` and `--open`.

/// Options of commands that write a page.
#[derive(Args, Debug)]
pub(crate) struct PageArgs {
    /// Write a page with pictures of the textures instead, for a browser
    ///
    /// An existing file is replaced only if it is such a page. `bsafs help pages` says more.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Do not read the files for the page to find out which are equal and what differs
    #[arg(long, requires = "html", conflicts_with = "compare")]
    no_compare: bool,
    /// Open the page in the browser
    #[arg(id = "open_page", long = "open", requires = "html")]
    open: bool,
}

impl PageArgs {
    /// What root does instead of writing pictures of what another user's links lead to. Everybody may read a
    /// page.
    pub(crate) fn advice_to_root(&self) -> Option<&'static str> {
        self.html.as_ref().map(|_| "run the command as that user")
    }

    /// Whether a page says which files are equal and what differs.
    pub(crate) fn is_compared(&self) -> bool {
        !self.no_compare
    }

    /// The file to write, if the user wants a page. Fails early if it cannot be written.
    pub(crate) fn file(&self) -> Result<Option<PageFile<'_>>, Failure> {
        let file = self.html.as_deref().map(PageFile::prepare).transpose()?;
        if file.is_some() {
            check_memory(PAGE_PICTURES_MAX + PAGE_TEXT_MAX)?;
        }
        Ok(file)
    }

    /// Makes the pictures of a page, writes it, and opens it if the user wants that. Adds the textures that
    /// could not be read.
    pub(crate) fn write(
        &self,
        file: &PageFile<'_>,
        contents: Contents,
        unseen: &mut Unseen,
        is_quiet: bool,
    ) -> Result<(), Failure> {
        let page = Page::of(contents);
        unseen.add(page.unread());
        let len = file.write(&page)?;
        if !is_quiet {
            Self::report(file, &page, len)?;
        }
        if !self.open {
            return Ok(());
        }
        let absolute = file.path().canonicalize();
        let absolute = absolute.map_err(|error| Failure::io(Exit::Io, file.path(), &error))?;
        opener::open(&absolute, "browser").map_err(|what| {
            Failure::new(Exit::Unavailable, format!("wrote {}, but {what}", file.path().shown()))
        })
    }

    /// Prints what was written, and what the page has no room for.
    fn report(file: &PageFile<'_>, page: &Page, len: u64) -> Result<(), OutputError> {
        let mut out = stdout();
        let (path, files, len) = (file.path().shown(), count(page.listed(), "file"), BinaryBytes(len));
        writeln!(out, "wrote {path}: {files}, {} ({len})", count(page.pictures(), "picture"))?;
        if let Some(note) = page.note() {
            writeln!(out, "{note}")?;
        }
        out.flush()
    }
}
