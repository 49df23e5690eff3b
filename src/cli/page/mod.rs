//! The pages of `conflicts --html` and `diff --html`: one HTML file with pictures, which a browser shows
//! without a network and without a script.
//!
//! Names, reasons and pictures on a page come from strangers. Three things keep them in their place:
//! templates escape all text; names are printed as everywhere ([`crate::shown`]), and in elements that keep
//! the direction of text inside; and the page forbids the browser everything but its own style, by its hash,
//! and pictures in the page itself.
//!
//! A command makes [`contents::Contents`], which have no HTML. [`pictures`] makes pictures of its textures
//! until the page is full. [`html`] has the templates. All text of a page is in memory, in two parts with
//! limits: pictures, and the rest.

pub(crate) mod conflict_page;
pub(crate) mod contents;
pub(crate) mod difference_page;
mod html;
pub(crate) mod page_file;
mod pictures;
