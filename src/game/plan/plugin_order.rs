//! Decides the order in which plugins load.
//!
//! Early plugins load first, then masters, then the others. Within each group, listed plugins keep
//! the order of the list and unlisted ones follow by time. If a master needs a plugin that would
//! load later, that plugin moves before it. If it needs several, the one that it names last loads
//! first: Fallout: New Vegas inserts each at the position that the master had, before the ones that
//! it has moved (a decompilation; the other games have the same engine). libloadorder's document
//! leaves the order open.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::active::{Listed, Plugin};
use crate::game::caseless::fold;
use crate::game::titles::title::{OrderRule, PluginRules};

/// Indexes of all plugins in load order. Inactive plugins count, as they can move others.
pub(crate) fn order(rules: &PluginRules, listed: &Listed, plugins: &[Plugin]) -> Vec<usize> {
    let index: HashMap<&str, usize> =
        plugins.iter().enumerate().map(|(at, plugin)| (plugin.folded.as_str(), at)).collect();
    let written = as_listed(rules, listed, plugins, &index);
    match rules.order {
        OrderRule::AsWritten => written,
        _ => with_needed_first(&by_kind(rules, listed, plugins, &index, &written), plugins, &index),
    }
}

/// Listed plugins, followed by the others by time.
fn as_listed(
    rules: &PluginRules,
    listed: &Listed,
    plugins: &[Plugin],
    index: &HashMap<&str, usize>,
) -> Vec<usize> {
    let mut is_placed = vec![false; plugins.len()];
    let mut place = |at: &usize| !std::mem::replace(&mut is_placed[*at], true);
    let mut order = Vec::with_capacity(plugins.len());
    if rules.order != OrderRule::Times {
        // If a name is listed twice, its last line counts.
        let at = |name: &String| index.get(fold(name).as_str()).copied();
        order.extend(listed.order.iter().rev().filter_map(at).filter(&mut place));
        order.reverse();
    }
    let mut rest: Vec<usize> = (0..plugins.len()).filter(place).collect();
    rest.sort_by(|&a, &b| by_time(&plugins[a], &plugins[b]));
    order.extend(rest);
    order
}

/// Compares by time. Plugins with equal times are in reverse order of name.
fn by_time(a: &Plugin, b: &Plugin) -> Ordering {
    a.changed.cmp(&b.changed).then(b.folded.cmp(&a.folded))
}

/// Groups plugins into early ones, masters, others and blueprints. Each group keeps its order.
fn by_kind(
    rules: &PluginRules,
    listed: &Listed,
    plugins: &[Plugin],
    index: &HashMap<&str, usize>,
    written: &[usize],
) -> Vec<usize> {
    let mut early = HashMap::new();
    for name in &listed.early {
        if let Some(&at) = index.get(fold(name).as_str()) {
            let place = early.len();
            early.entry(at).or_insert(place);
        }
    }
    let kind = |at: &usize| match (early.get(at), &plugins[*at]) {
        // An early blueprint comes first only among the blueprints.
        (place, plugin) if plugin.is_blueprint && rules.blueprints => (3, *place.unwrap_or(&usize::MAX)),
        (Some(place), _) => (0, *place),
        (None, plugin) => (if plugin.is_master { 1 } else { 2 }, 0),
    };
    let mut order = written.to_vec();
    order.sort_by_key(kind);
    order
}

/// Moves the plugins that a master needs before it, in the reverse order of its header.
fn with_needed_first(order: &[usize], plugins: &[Plugin], index: &HashMap<&str, usize>) -> Vec<usize> {
    let mut is_placed = vec![false; plugins.len()];
    let mut is_waiting = vec![false; plugins.len()];
    let mut ordered = Vec::with_capacity(order.len());
    for &start in order {
        // A plugin, and how many of its masters were already visited.
        let mut stack = vec![(start, 0)];
        while let Some((at, looked)) = stack.pop() {
            if is_placed[at] {
                continue;
            }
            let plugin = &plugins[at];
            let master = plugin.is_master.then(|| plugin.header.masters.iter().rev().nth(looked)).flatten();
            let Some(master) = master else {
                is_placed[at] = true;
                ordered.push(at);
                continue;
            };
            is_waiting[at] = true;
            stack.push((at, looked + 1));
            if let Some(&needed) = index.get(fold(master).as_str())
                && !is_placed[needed]
                // Two plugins may need each other.
                && !is_waiting[needed]
                // Only another blueprint can move a blueprint.
                && (plugin.is_blueprint || !plugins[needed].is_blueprint)
            {
                stack.push((needed, 0));
            }
        }
    }
    ordered
}
