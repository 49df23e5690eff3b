//! Reads values from the YAML files of Lutris and Bottles, with the keys that lead to them.

use saphyr_parser::{Event, Parser};

/// Maximum depth of nested nodes; deeper ones are an error.
const DEPTH_MAX: usize = 32;

/// A node that has begun but not ended.
enum OpenNode {
    /// If `awaits_value` is set, the last key waits for its value. Otherwise the next node is a key.
    Mapping {
        awaits_value: bool,
    },
    Sequence,
}

/// Calls `visit` with each value of the first document and the keys that lead to it, outermost
/// first, in file order. Values in a sequence have the keys of the sequence. Aliases are not
/// followed. On an error, the values before it have been visited.
pub fn visit_values(text: &str, mut visit: impl FnMut(&[String], &str)) -> Result<(), String> {
    let mut open: Vec<OpenNode> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, _) = event.map_err(|error| error.to_string())?;
        let is_deep = open.len() == DEPTH_MAX;
        match (event, open.last_mut()) {
            (Event::Scalar(key, ..), Some(OpenNode::Mapping { awaits_value: awaits_value @ false })) => {
                keys.push(key.into_owned());
                *awaits_value = true;
            }
            (Event::Scalar(value, ..), _) => {
                visit(&keys, &value);
                end_value(&mut open, &mut keys);
            }
            (
                Event::MappingStart(..) | Event::SequenceStart(..) | Event::Alias(_),
                Some(OpenNode::Mapping { awaits_value: false }),
            ) => return Err("a key is not text".to_owned()),
            (Event::MappingStart(..) | Event::SequenceStart(..), _) if is_deep => {
                return Err(format!("it has more than {DEPTH_MAX} levels"));
            }
            (Event::MappingStart(..), _) => open.push(OpenNode::Mapping { awaits_value: false }),
            (Event::SequenceStart(..), _) => open.push(OpenNode::Sequence),
            (Event::MappingEnd | Event::SequenceEnd, _) => {
                open.pop();
                end_value(&mut open, &mut keys);
            }
            (Event::Alias(_), _) => end_value(&mut open, &mut keys),
            (Event::DocumentEnd, _) => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

/// Ends a value. The next node of a mapping is then a key.
fn end_value(open: &mut [OpenNode], keys: &mut Vec<String>) {
    if let Some(OpenNode::Mapping { awaits_value }) = open.last_mut() {
        *awaits_value = false;
        keys.pop();
    }
}
