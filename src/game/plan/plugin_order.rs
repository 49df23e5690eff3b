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

#[cfg(test)]
mod tests {
    use super::super::active::{Listed, Plugin};
    use super::super::plugin::Header;
    use super::order;
    use crate::game::caseless::fold;
    use crate::game::titles::title;

    /// Creates a plugin; a name that ends in `.esm` makes it a master.
    fn plugin(name: &str, time: i64, masters: &[&str]) -> Plugin {
        Plugin {
            name: name.to_owned(),
            folded: fold(name),
            header: Header { flags: 0, masters: masters.iter().map(|it| (*it).to_owned()).collect() },
            changed: (time, 0),
            is_master: name.ends_with(".esm"),
            is_blueprint: name.starts_with("Blueprint"),
        }
    }

    fn ordered(id: &str, early: &[&str], listed: &[&str], plugins: &[Plugin]) -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let listed = Listed { early: owned(early), order: owned(listed), ..Listed::default() };
        let order = order(&title(id).unwrap().plugins, &listed, plugins);
        order.into_iter().map(|at| plugins[at].name.clone()).collect()
    }

    #[test]
    fn old_games_order_plugins_by_time_then_backwards_by_name() {
        let plugins = [
            plugin("c.esp", 2, &[]),
            plugin("B.esp", 2, &[]),
            plugin("z.esm", 9, &[]),
            plugin("d.esp", 1, &[]),
        ];
        assert_eq!(ordered("oblivion", &[], &["c.esp"], &plugins), ["z.esm", "d.esp", "c.esp", "B.esp"]);
    }

    #[test]
    fn plugins_of_starfield_with_equal_times_load_backwards_by_name() {
        let plugins = [plugin("a.esm", 1, &[]), plugin("B.esm", 1, &[]), plugin("c.esm", 0, &[])];
        assert_eq!(ordered("starfield", &[], &[], &plugins), ["c.esm", "B.esm", "a.esm"]);
    }

    #[test]
    fn masters_load_before_other_plugins_except_in_the_remaster() {
        let plugins = [plugin("a.esp", 0, &[]), plugin("m.esm", 0, &[]), plugin("E.esm", 0, &[])];
        let list = ["a.esp", "m.esm"];
        assert_eq!(ordered("skyrimse", &["e.ESM", "gone.esm"], &list, &plugins), ["E.esm", "m.esm", "a.esp"]);
        assert_eq!(ordered("oblivion-remastered", &[], &list, &plugins), ["a.esp", "m.esm", "E.esm"]);
    }

    #[test]
    fn a_plugin_is_moved_before_a_master_that_needs_it() {
        let plugins = [
            plugin("a.esm", 0, &["b.esm", "x.esp"]),
            plugin("b.esm", 0, &["C.esm"]),
            plugin("c.esm", 0, &[]),
            plugin("x.esp", 0, &["y.esp"]),
            plugin("y.esp", 0, &[]),
            plugin("w.esp", 0, &["y.esp"]),
        ];
        let list = ["a.esm", "b.esm", "c.esm", "w.esp", "x.esp", "y.esp"];
        let expected = ["x.esp", "c.esm", "b.esm", "a.esm", "w.esp", "y.esp"];
        assert_eq!(ordered("skyrimse", &[], &list, &plugins), expected);
    }

    #[test]
    fn of_several_plugins_that_a_master_needs_the_one_it_names_last_loads_first() {
        let plugins =
            [plugin("m.esm", 0, &["x.esm", "y.esp"]), plugin("x.esm", 1, &[]), plugin("y.esp", 2, &[])];
        assert_eq!(ordered("falloutnv", &[], &[], &plugins), ["y.esp", "x.esm", "m.esm"]);
        // Plugins that load earlier anyway keep their order.
        let list = ["x.esm", "m.esm", "y.esp"];
        assert_eq!(ordered("skyrimse", &[], &list, &plugins), ["x.esm", "y.esp", "m.esm"]);
    }

    #[test]
    fn masters_that_need_each_other_cause_no_endless_loop() {
        let plugins = [plugin("a.esm", 0, &["b.esm", "a.esm"]), plugin("b.esm", 0, &["a.esm"])];
        assert_eq!(ordered("skyrimse", &[], &["a.esm", "b.esm"], &plugins), ["b.esm", "a.esm"]);
    }

    #[test]
    fn a_plugin_that_is_listed_twice_loads_at_its_last_position() {
        let plugins = [plugin("a.esp", 0, &[]), plugin("b.esp", 0, &[])];
        assert_eq!(ordered("skyrimse", &[], &["a.esp", "b.esp", "A.esp"], &plugins), ["b.esp", "a.esp"]);
    }

    #[test]
    fn blueprints_load_last_and_are_ordered_only_among_themselves() {
        let plugins = [
            plugin("a.esm", 0, &["BlueprintA.esm"]),
            plugin("BlueprintA.esm", 0, &["BlueprintB.esm"]),
            plugin("BlueprintB.esm", 1, &[]),
            plugin("x.esp", 0, &[]),
        ];
        let expected = ["a.esm", "x.esp", "BlueprintB.esm", "BlueprintA.esm"];
        assert_eq!(ordered("starfield", &["BlueprintA.esm"], &[], &plugins), expected);
        let plugins = [plugin("BlueprintC.esm", 0, &[]), plugin("BlueprintD.esm", 1, &[])];
        let order = ordered("starfield", &["BlueprintD.esm"], &["BlueprintC.esm"], &plugins);
        assert_eq!(
            order,
            ["BlueprintD.esm", "BlueprintC.esm"],
            "an early blueprint must load before other blueprints"
        );
    }

    #[test]
    fn a_long_chain_of_masters_is_ordered_quickly() {
        let name = |n: usize| format!("{n}.esm");
        let plugins: Vec<_> = (0..50_000).map(|n| plugin(&name(n), 0, &[&name(n + 1)])).collect();
        let list: Vec<_> = (0..50_000).map(name).collect();
        let list: Vec<_> = list.iter().map(String::as_str).collect();
        assert_eq!(ordered("skyrimse", &[], &list, &plugins)[0], "49999.esm");
    }
}
