//! Parser for Valve's binary format VDF (`shortcuts.vdf`). A key has a text, a number, or more keys.

/// Maximum depth of nested keys; deeper ones are an error. Steam's list of shortcuts has three levels.
const DEPTH_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryValue<'a> {
    /// A text, which may have any bytes but 0.
    Text(&'a [u8]),
    /// A number of 32 bits.
    Number(u32),
}

/// Calls `visit` with each text and number and the keys that lead to it, outermost first, in file order. On
/// an error, the values before it have been visited.
///
/// # Errors
/// Fails if the bytes end inside a value, or have a kind of value that is not known.
pub fn visit_values<'a>(
    bytes: &'a [u8],
    mut visit: impl FnMut(&[&'a [u8]], BinaryValue<'a>),
) -> Result<(), String> {
    let mut rest = bytes;
    let mut keys: Vec<&[u8]> = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        rest = after;
        if kind == 8 {
            // The list itself ends like the objects in it.
            if keys.pop().is_none() {
                return Ok(());
            }
            continue;
        }
        let key = text(&mut rest)?;
        match kind {
            0 if keys.len() == DEPTH_MAX => return Err(format!("it has more than {DEPTH_MAX} levels")),
            0 => keys.push(key),
            1 => {
                let value = text(&mut rest)?;
                keys.push(key);
                visit(&keys, BinaryValue::Text(value));
                keys.pop();
            }
            2 => {
                let value = u32::from_le_bytes(fixed(&mut rest)?);
                keys.push(key);
                visit(&keys, BinaryValue::Number(value));
                keys.pop();
            }
            // Fractions, pointers and colours have 4 bytes, long numbers 8.
            3 | 4 | 6 => drop(fixed::<4>(&mut rest)?),
            7 | 10 => drop(fixed::<8>(&mut rest)?),
            kind => return Err(format!("a value has the unknown kind {kind}")),
        }
    }
    if keys.is_empty() { Ok(()) } else { Err("it ends inside an object".to_owned()) }
}

/// The bytes up to the next 0.
fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let end = rest.iter().position(|&byte| byte == 0).ok_or("it ends inside a text")?;
    let (text, after) = rest.split_at(end);
    *rest = &after[1..];
    Ok(text)
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], String> {
    let (value, after) = rest.split_first_chunk::<N>().ok_or("it ends inside a number")?;
    *rest = after;
    Ok(*value)
}
