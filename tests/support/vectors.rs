//! Test vectors that other programs computed, from the files of `tests/data`. Each file states its origin.

// `include_str!`, because several packages share this module and each has another manifest directory.
const HASHES: &str = include_str!("../data/hashes_tes3_tes4_fo4.txt");
const CONSOLE_HASHES: &str = include_str!("../data/hashes_ps3_xbox360.txt");
const DDS_HEADERS: &str = include_str!("../data/dds_headers.tsv");

/// A line of `hashes_tes3_tes4_fo4.txt`.
pub enum HashVector {
    /// The two words of a path's hash.
    Tes3 { path: Vec<u8>, low: u64, high: u64 },
    /// A folder's hash, and its bytes on an Xbox 360 as hexadecimal digits.
    Tes4Folder { folder: Vec<u8>, hash: u64, xbox: String },
    /// A file name's hash, and its bytes on a PC and on an Xbox 360 as hexadecimal digits.
    Tes4File { file: Vec<u8>, hash: u64, pc: String, xbox: String },
    /// The three parts of a path's hash.
    Fo4 { path: Vec<u8>, stem: u64, extension: u64, folder: u64 },
}

/// All lines of `hashes_tes3_tes4_fo4.txt`.
pub fn hashes() -> Vec<HashVector> {
    let vectors: Vec<_> = lines(HASHES).map(hash_vector).collect();
    assert_eq!(vectors.len(), 77, "lines are missing");
    vectors
}

fn hash_vector(line: &str) -> HashVector {
    let quoted: Vec<&str> = line.split('"').collect();
    let name = unquote(quoted[1]);
    let words: Vec<&str> = quoted[2].split_whitespace().collect();
    match quoted[0].trim() {
        "TES3" => HashVector::Tes3 { path: name, low: hex(words[2]), high: hex(words[4]) },
        "TES4DIR" => HashVector::Tes4Folder { folder: name, hash: hex(words[1]), xbox: words[3].to_owned() },
        "TES4FILE" => HashVector::Tes4File {
            file: name,
            hash: hex(words[1]),
            pc: words[3].to_owned(),
            xbox: words[5].to_owned(),
        },
        "FO4" => HashVector::Fo4 {
            path: name,
            stem: hex(words[2]),
            extension: hex(words[4]),
            folder: hex(words[6]),
        },
        kind => panic!("the vector has an unknown kind: {kind}"),
    }
}

/// A line of `hashes_ps3_xbox360.txt`.
pub struct ConsoleVector {
    pub name: String,
    pub is_folder: bool,
    pub pc: u64,
    pub xbox: u64,
    /// Hash on the PlayStation 3, for textures only. Other names hash as on the PC.
    pub ps3: Option<u64>,
}

/// All lines of `hashes_ps3_xbox360.txt`.
pub fn console_hashes() -> Vec<ConsoleVector> {
    let vector = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |label| words.iter().position(|&word| word == label).map(|at| hex(words[at + 1]));
        ConsoleVector {
            name: words[0].to_owned(),
            is_folder: words[1] == "DIR",
            pc: after("PC").unwrap(),
            xbox: hex(words.last().unwrap()),
            ps3: after("PS3"),
        }
    };
    let vectors: Vec<_> = lines(CONSOLE_HASHES).map(vector).collect();
    assert_eq!(vectors.len(), 27, "lines are missing");
    vectors
}

/// A row of `dds_headers.tsv`.
pub struct DdsRow {
    /// A `DXGI_FORMAT`.
    pub format: u8,
    pub width: u16,
    pub height: u16,
    pub mips: u8,
    pub cube: bool,
    /// The header as hexadecimal digits, or `None` if DirectXTex refuses the texture.
    pub header: Option<String>,
}

/// All rows of `dds_headers.tsv`.
pub fn dds_headers() -> Vec<DdsRow> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u16>().unwrap();
        DdsRow {
            format: u8::try_from(number(0)).unwrap(),
            width: number(1),
            height: number(2),
            mips: u8::try_from(number(3)).unwrap(),
            cube: number(4) == 1,
            header: (fields[5] != "ERR").then(|| fields[6].to_owned()),
        }
    };
    let rows: Vec<_> = lines(DDS_HEADERS).skip(1).map(row).collect();
    assert_eq!(rows.len(), 191 * 3, "rows are missing");
    rows
}

/// The lines of a file without its comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// Decodes `\\` and `\xNN` in a quoted name.
fn unquote(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut out = Vec::new();
    while let [first, tail @ ..] = rest {
        (out, rest) = match (first, tail) {
            (b'\\', [b'\\', tail @ ..]) => ([&out[..], b"\\"].concat(), tail),
            (b'\\', [b'x', a, b, tail @ ..]) => {
                let digits = String::from_utf8(vec![*a, *b]).unwrap();
                ([&out[..], &[u8::from_str_radix(&digits, 16).unwrap()]].concat(), tail)
            }
            _ => ([&out[..], &[*first]].concat(), tail),
        };
    }
    out
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}
