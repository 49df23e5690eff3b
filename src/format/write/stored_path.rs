//! A path as an archive stores it.

use std::borrow::Cow;

use super::super::encoding::Encoding;
use super::super::hash::{Family, Hash};

/// From this length on, the games' hash functions return 0 for a path or name.
const PATH_MAX: usize = 259;
/// Maximum length of the name of a file or folder. File systems have no longer ones.
const COMPONENT_MAX: usize = 255;
/// Maximum length of the path of a folder in a BSA: one byte states it with its NUL.
const BSA_FOLDER_MAX: usize = 254;
/// From this length on, an extension has no hash in a BSA, dot included.
const EXTENSION_MAX: usize = 15;

/// How a kind of archive stores paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathForm {
    /// A BSA of Morrowind: the whole path in lower case, with `\`.
    Tes3,
    /// Later BSAs: folder and name apart, in lower case, with `\`.
    Tes4,
    /// A BA2: the whole path as it is on the disk, with `/`.
    Ba2,
}

impl PathForm {
    /// The family of the hashes.
    pub fn family(self) -> Family {
        match self {
            Self::Tes3 => Family::Tes3,
            Self::Tes4 => Family::Tes4,
            Self::Ba2 => Family::Fo4,
        }
    }
}

/// A path as an archive stores it, with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPath {
    bytes: Box<[u8]>,
    /// Length of the folder's path; the separator follows it unless it is 0.
    folder: usize,
    hash: Hash,
}

/// Why an archive cannot store a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// It has characters that the code page lacks.
    Encoding,
    /// It is too long for the game.
    TooLong,
    /// The name has no stem, so that the game finds no file of this name: `.gitignore`.
    NoStem,
    /// A name in it ends in a dot or a blank, which Windows removes.
    Ending,
    /// A character has a byte that games take for a separator of folders.
    Separator,
    /// It has a NUL, which ends a name in this kind of archive.
    Nul,
}

impl NameError {
    pub fn words(self) -> &'static str {
        match self {
            Self::Encoding => "the code page of names lacks a character",
            Self::TooLong => "the path is too long",
            Self::NoStem => "the name has nothing before its dot",
            Self::Ending => "a name in its path ends in a dot or a blank",
            Self::Separator => "a character has a byte that games take for a backslash",
            Self::Nul => "the name has a NUL",
        }
    }
}

impl StoredPath {
    /// The path of a file, which has `/` between names. Bytes that are not UTF-8 are taken as they are, if
    /// they are characters of the code page.
    pub fn new(path: &[u8], form: PathForm, encoding: Encoding) -> Result<Self, NameError> {
        let (is_lower, separator) = match form {
            PathForm::Tes3 | PathForm::Tes4 => (true, b'\\'),
            PathForm::Ba2 => (false, b'/'),
        };
        let mut bytes = Vec::with_capacity(path.len());
        let mut folder = 0;
        for (nth, name) in path.split(|&byte| byte == b'/').enumerate() {
            if nth > 0 {
                folder = bytes.len();
                bytes.push(separator);
            }
            let name = stored(name, is_lower, encoding).ok_or(NameError::Encoding)?;
            // In code pages of East Asia, a backslash is the second byte of some characters.
            if name.contains(&b'\\') {
                return Err(NameError::Separator);
            }
            if name.len() > COMPONENT_MAX {
                return Err(NameError::TooLong);
            }
            bytes.extend_from_slice(&name);
        }
        let file = |bytes: &[u8]| -> Vec<u8> { bytes.get(start(folder)..).unwrap_or_default().to_vec() };
        let name = file(&bytes);
        let dot = name.iter().rposition(|&byte| byte == b'.');
        let extension = dot.map_or(0, |dot| name.len().saturating_sub(dot));
        let is_long = bytes.len() > PATH_MAX
            || form == PathForm::Tes4 && (folder > BSA_FOLDER_MAX || extension > EXTENSION_MAX);
        if is_long {
            return Err(NameError::TooLong);
        }
        if name.is_empty() || dot == Some(0) {
            return Err(NameError::NoStem);
        }
        let ends_badly = |name: &[u8]| name.last().is_some_and(|last| matches!(last, b'.' | b' '));
        if bytes.split(|&byte| byte == separator).any(ends_badly) {
            return Err(NameError::Ending);
        }
        let hash = form.family().of(bytes.get(..folder).unwrap_or_default(), &name);
        Ok(Self { bytes: bytes.into(), folder, hash })
    }

    /// The path of a file of another archive, of which `folder` and `file` are the stored bytes. They are
    /// kept, and so is the hash if the other archive has hashes of the same family. Otherwise only capital
    /// letters and separators change, if the new archive has others. That changes no hash.
    pub fn kept(
        (folder, file): (&[u8], &[u8]),
        (family, hash): (Family, Hash),
        form: PathForm,
    ) -> Result<Self, NameError> {
        let is_same = family == form.family();
        let mut bytes = match folder {
            // The name of the root.
            b"" | b"." => file.to_vec(),
            folder => [folder, b"\\", file].concat(),
        };
        if !is_same && form != PathForm::Ba2 {
            bytes.make_ascii_lowercase();
            bytes.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'\\');
        }
        let folder = match folder {
            b"" | b"." => bytes.iter().rposition(|byte| matches!(byte, b'/' | b'\\')).unwrap_or(0),
            folder => folder.len(),
        };
        let longest = if form == PathForm::Ba2 { usize::from(u16::MAX) } else { usize::MAX };
        if bytes.len() > longest
            || form == PathForm::Tes4 && folder > BSA_FOLDER_MAX
            || !is_same && bytes.len() > PATH_MAX
        {
            return Err(NameError::TooLong);
        }
        if form != PathForm::Ba2 && bytes.contains(&0) {
            return Err(NameError::Nul);
        }
        let kept = Self { bytes: bytes.into(), folder, hash };
        let hash = if is_same { hash } else { form.family().of(kept.folder(), kept.name()) };
        Ok(Self { hash, ..kept })
    }

    /// The whole path.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The folder's path; empty for the root.
    pub fn folder(&self) -> &[u8] {
        self.bytes.get(..self.folder).unwrap_or_default()
    }

    pub fn name(&self) -> &[u8] {
        self.bytes.get(start(self.folder)..).unwrap_or_default()
    }

    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Extension without the dot, in lower case; empty if there is none.
    pub fn extension(&self) -> Vec<u8> {
        let name = self.name();
        let dot = name.iter().rposition(|&byte| byte == b'.');
        let extension = dot.and_then(|dot| name.get(dot..)?.get(1..)).unwrap_or_default();
        extension.to_ascii_lowercase()
    }

    /// The first name of the path, in lower case; empty for a file in the root.
    pub fn top(&self) -> Vec<u8> {
        let folder = self.folder();
        let top = folder.split(|byte| matches!(byte, b'\\' | b'/')).next().unwrap_or_default();
        top.to_ascii_lowercase()
    }
}

/// Where the name begins behind a folder's path of this length.
fn start(folder: usize) -> usize {
    if folder == 0 { 0 } else { folder.saturating_add(1) }
}

/// The stored bytes of a name. Only ASCII letters are lowered, as the games do.
fn stored(name: &[u8], is_lower: bool, encoding: Encoding) -> Option<Cow<'_, [u8]>> {
    let Ok(text) = std::str::from_utf8(name) else {
        encoding.decode(name)?;
        return Some(if is_lower { name.to_ascii_lowercase().into() } else { name.into() });
    };
    let text = if is_lower { text.to_ascii_lowercase().into() } else { Cow::Borrowed(text) };
    encoding.encode(text.as_bytes()).map(|bytes| Cow::Owned(bytes.into_owned()))
}
