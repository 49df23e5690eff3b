//! Builder of the archives of Arena and Daggerfall.

/// The kind of an archive, which decides its header and its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Arena's `GLOBAL.BSA`.
    Arena,
    /// Daggerfall, with a directory of names.
    Names,
    /// Daggerfall, with a directory of numbers.
    Numbers,
}

/// Builds an archive. Data and directory are in the order of addition.
#[derive(Clone, Debug)]
pub struct Legacy {
    kind: Kind,
    files: Vec<LegacyFile>,
    file_count: Option<u16>,
    directory_kind: Option<u16>,
    tail: Vec<u8>,
}

/// A file of a [`Legacy`] archive.
#[derive(Clone, Debug)]
pub struct LegacyFile {
    name: Vec<u8>,
    number: u32,
    flag: u16,
    data: Vec<u8>,
    size: Option<u32>,
}

impl Legacy {
    /// An archive without files.
    pub fn new(kind: Kind) -> Self {
        Self { kind, files: Vec::new(), file_count: None, directory_kind: None, tail: Vec::new() }
    }

    /// Adds a file to an archive of names. The name is padded to twelve bytes with NULs.
    pub fn file(self, name: impl AsRef<[u8]>, data: impl Into<Vec<u8>>) -> Self {
        self.add(LegacyFile {
            name: name.as_ref().to_vec(),
            number: 0,
            flag: 0,
            data: data.into(),
            size: None,
        })
    }

    /// Adds a file to an archive of numbers.
    pub fn number(self, number: u32, data: impl Into<Vec<u8>>) -> Self {
        self.add(LegacyFile { name: Vec::new(), number, flag: 0, data: data.into(), size: None })
    }

    fn add(mut self, file: LegacyFile) -> Self {
        self.files.push(file);
        self
    }

    /// Sets the flag of the file added last.
    pub fn flag(mut self, flag: u16) -> Self {
        self.files.last_mut().unwrap().flag = flag;
        self
    }

    /// Sets the size that the directory states for the file added last.
    pub fn size(mut self, stated: u32) -> Self {
        self.files.last_mut().unwrap().size = Some(stated);
        self
    }

    /// Sets how many files the header states.
    pub fn file_count(mut self, stated: u16) -> Self {
        self.file_count = Some(stated);
        self
    }

    /// Sets the second word of Daggerfall's header, which states the kind of directory.
    pub fn directory_kind(mut self, stated: u16) -> Self {
        self.directory_kind = Some(stated);
        self
    }

    /// Adds bytes after the directory.
    pub fn tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.tail = bytes.into();
        self
    }

    /// Builds the archive.
    pub fn build(&self) -> Vec<u8> {
        let mut out = self.file_count.unwrap_or(self.files.len() as u16).to_le_bytes().to_vec();
        let kind = match self.kind {
            Kind::Arena => None,
            Kind::Names => Some(0x0100_u16),
            Kind::Numbers => Some(0x0200),
        };
        if let Some(kind) = kind {
            out.extend(self.directory_kind.unwrap_or(kind).to_le_bytes());
        }
        self.files.iter().for_each(|file| out.extend_from_slice(&file.data));
        for file in &self.files {
            if self.kind == Kind::Numbers {
                out.extend(file.number.to_le_bytes());
            } else {
                assert!(file.name.len() <= 12, "a DOS name has twelve characters at most");
                let mut name = file.name.clone();
                name.resize(12, 0);
                out.extend(name);
                out.extend(file.flag.to_le_bytes());
            }
            out.extend(file.size.unwrap_or(file.data.len() as u32).to_le_bytes());
        }
        out.extend_from_slice(&self.tail);
        out
    }
}
