//! Content for test files. A seed gives the same bytes on every machine and in every run.

/// Marsaglia's xorshift, a random number generator.
pub struct Xorshift(u64);

impl Xorshift {
    /// A generator with any seed, 0 included.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// `length` bytes of words and lines, which compress to about a fifth.
pub fn text(seed: u64, length: usize) -> Vec<u8> {
    const WORDS: [&str; 12] = [
        "guar",
        "kwama",
        "daedra",
        "Vvardenfell",
        "cliff",
        "racer",
        "ash",
        "storm",
        "iron",
        "skooma",
        "of",
        "the",
    ];
    let mut random = Xorshift::new(seed);
    let mut out = Vec::with_capacity(length + 16);
    while out.len() < length {
        let number = random.next() >> 20;
        out.extend_from_slice(WORDS[number as usize % WORDS.len()].as_bytes());
        out.push(if number & 0x700 == 0 { b'\n' } else { b' ' });
    }
    out.truncate(length);
    out
}

/// `length` bytes like the blocks of a texture: eight bytes at a time, most of them repeated. They
/// compress to less than half.
pub fn texels(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Xorshift::new(seed);
    let mut palette = [0u64; 16];
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        let number = random.next();
        let block = &mut palette[(number >> 60) as usize];
        if number & 3 == 0 || *block == 0 {
            *block = number;
        }
        out.extend_from_slice(&block.to_le_bytes());
    }
    out.truncate(length);
    out
}

/// `length` bytes that do not compress.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Xorshift::new(seed);
    std::iter::repeat_with(|| (random.next() >> 32) as u8).take(length).collect()
}
