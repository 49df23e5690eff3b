//! The options `--html` and `--open`.

use std::path::PathBuf;

use clap::Args;
use indicatif::BinaryBytes;

use super::contents::Contents;
use super::html::Page;
use super::page_file::PageFile;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::opener;
use crate::cli::surroundings::check_memory;
use crate::cli::terminal::output::stdout;
use crate::limits::{PAGE_PICTURES_MAX, PAGE_TEXT_MAX};
use crate::shown::Shown;
use crate::system::text::count;

/// Options of commands that write a page.
#[derive(Args, Debug)]
pub(crate) struct PageArgs {
    /// Write a page with pictures of the textures instead, for a browser
    ///
    /// An existing file is replaced only if it is such a page. `bsafs help pages` says more.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
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

    /// The file to write, if the user wants a page. Fails early if it cannot be written.
    pub(crate) fn file(&self) -> Result<Option<PageFile<'_>>, Failure> {
        let file = self.html.as_deref().map(PageFile::prepare).transpose()?;
        if file.is_some() {
            check_memory(PAGE_PICTURES_MAX + PAGE_TEXT_MAX)?;
        }
        Ok(file)
    }

    /// Makes the pictures of a page, writes it, and opens it if the user wants that.
    pub(crate) fn write(
        &self,
        file: &PageFile<'_>,
        contents: Contents,
        is_quiet: bool,
    ) -> Result<(), Failure> {
        let page = Page::of(contents);
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
        for note in page.notes() {
            writeln!(out, "{note}")?;
        }
        out.flush()
    }
}
