//! All tests that stand outside the source, in one program: a module for each layer, from the bottom up.

// A test that fails says so by panicking.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod support;

mod layering; // which part of the crate may import which

mod format; // what the parsers make of tables, honest or not

mod robustness; // damage of every kind, all the way through
