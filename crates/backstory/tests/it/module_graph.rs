//! Reads the dependencies between the modules of a crate from its source text, and finds cycles among them.
//!
//! An edge is a path that starts with `crate`, `super`, `self` or the name of a child module, in a `use` declaration or in
//! code. A path through a re-export (`pub use`) leads to the module that defines the item, and a re-export itself is no edge:
//! otherwise every crate root would be part of a cycle. Tests are ignored.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Path of a module in its crate, such as `["worker", "run"]`. The crate root is empty.
type Module = Vec<String>;

/// Modules of one crate and their dependencies.
#[derive(Default)]
pub(crate) struct ModuleGraph {
    sources: BTreeMap<Module, Source>,
    edges: BTreeMap<Module, BTreeSet<Module>>,
}

/// References of a source file.
#[derive(Default)]
struct Source {
    /// Items that are re-exported here, by name, and their paths.
    exports: BTreeMap<String, Vec<String>>,
    /// Paths of private imports and of references in code.
    references: Vec<Vec<String>>,
}

impl ModuleGraph {
    /// Reads the source folder of a crate.
    pub(crate) fn read(src: &Path) -> Self {
        let mut texts = BTreeMap::new();
        read_folder(src, &mut Vec::new(), &mut texts);
        let mut graph = Self::default();
        for (module, text) in &texts {
            let children = texts.keys().filter(|other| is_child(other, module));
            let children: BTreeSet<&str> = children
                .filter_map(|child| child.last())
                .map(String::as_str)
                .collect();
            graph.sources.insert(module.clone(), parse(text, &children));
        }
        for (module, source) in &graph.sources {
            let targets = source
                .references
                .iter()
                .filter_map(|path| graph.resolve(module, path, 0));
            let targets = targets.filter(|target| target != module).collect();
            graph.edges.insert(module.clone(), targets);
        }
        graph
    }

    /// Returns the module that defines the item at a path, as seen from a module.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        const MAX_DEPTH: usize = 16;
        let mut at = from.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                let mut module = at.clone();
                module.push(child.to_owned());
                // Another crate.
                if !self.sources.contains_key(&module) {
                    return None;
                }
            }
        }
        while let Some((part, after)) = rest.split_first() {
            at.push(part.clone());
            if !self.sources.contains_key(&at) {
                at.pop();
                let export = self.sources.get(&at)?.exports.get(part);
                return match export.filter(|_| depth < MAX_DEPTH) {
                    Some(export) => {
                        let path: Vec<String> = export.iter().chain(after).cloned().collect();
                        self.resolve(&at, &path, depth + 1).or(Some(at))
                    }
                    None => Some(at),
                };
            }
            rest = after;
        }
        Some(at)
    }

    /// Returns the groups of modules that depend on each other.
    pub(crate) fn cycles(&self) -> Vec<Vec<String>> {
        let reach = |start: &Module| {
            let mut seen = BTreeSet::new();
            let mut open: Vec<&Module> = self.edges[start].iter().collect();
            while let Some(module) = open.pop() {
                if seen.insert(module.clone()) {
                    open.extend(self.edges.get(module).into_iter().flatten());
                }
            }
            seen
        };
        let reachable: BTreeMap<&Module, BTreeSet<Module>> =
            self.edges.keys().map(|module| (module, reach(module))).collect();
        let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
        for (module, targets) in &reachable {
            let group = targets.iter().filter(|other| reachable[other].contains(*module));
            let group: Vec<String> = group.map(name).collect();
            if group.len() > 1 {
                groups.insert(group);
            }
        }
        groups.into_iter().collect()
    }
}

fn name(module: &Module) -> String {
    if module.is_empty() {
        "crate".to_owned()
    } else {
        module.join("::")
    }
}

fn is_child(module: &Module, parent: &Module) -> bool {
    module.len() == parent.len() + 1 && module.starts_with(parent)
}

fn read_folder(folder: &Path, at: &mut Module, texts: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if matches!(stem.as_str(), "tests" | "testing") {
            continue;
        }
        if path.is_dir() {
            at.push(stem);
            read_folder(&path, at, texts);
            at.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut module = at.clone();
            if !matches!(stem.as_str(), "lib" | "main" | "mod") {
                module.push(stem);
            }
            texts.insert(module, fs::read_to_string(path).unwrap());
        }
    }
}

/// Finds the paths in a source file.
fn parse(text: &str, children: &BTreeSet<&str>) -> Source {
    let mut source = Source::default();
    let product = text.split("#[cfg(test)]").next().unwrap();
    let mut code = String::new();
    let mut declaration = String::new();
    for line in product.lines() {
        let line = line.split("//").next().unwrap();
        let start = line.trim_start();
        let is_use = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
            .iter()
            .any(|word| start.starts_with(word));
        if is_use || !declaration.is_empty() {
            declaration.push_str(line);
            declaration.push(' ');
            if line.trim_end().ends_with(';') {
                source.declare(&std::mem::take(&mut declaration));
            }
        } else {
            code.push_str(line);
            code.push('\n');
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for path in code.split(|c| !is_word(c)) {
        let mut parts = path.split("::").map(ToOwned::to_owned).collect::<Vec<String>>();
        let head = parts[0].as_str();
        if parts.len() > 1 && (matches!(head, "crate" | "super" | "self") || children.contains(head)) {
            parts.retain(|part| !part.is_empty());
            source.references.push(parts);
        }
    }
    source
}

impl Source {
    /// Adds the paths of a `use` declaration.
    fn declare(&mut self, declaration: &str) {
        let (visibility, tree) = declaration.split_once("use ").unwrap();
        let mut paths = Vec::new();
        expand(&[], tree.trim().trim_end_matches(';'), &mut paths);
        for (path, alias) in paths {
            if visibility.trim().is_empty() {
                self.references.push(path);
            } else if let Some(name) = alias.or_else(|| path.last().cloned()) {
                self.exports.insert(name, path);
            }
        }
    }
}

/// Expands a use tree into paths and their aliases.
fn expand(prefix: &[String], tree: &str, paths: &mut Vec<(Vec<String>, Option<String>)>) {
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, Some(group)),
        None => (tree, None),
    };
    let (head, alias) = match head.split_once(" as ") {
        Some((head, alias)) => (head, Some(alias.trim().to_owned())),
        None => (head, None),
    };
    let mut path = prefix.to_vec();
    path.extend(
        head.split("::")
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty()),
    );
    let Some(group) = group else {
        if path.last().is_some_and(|part| part == "self") && path.len() > 1 {
            path.pop();
        }
        paths.push((path, alias));
        return;
    };
    let group = group.trim_end().strip_suffix('}').unwrap();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = group[start..at].trim();
                if !item.is_empty() {
                    expand(&path, item, paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_through_re_exports_and_inline_paths() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "lib.rs",
            "mod a; mod b; mod c;\npub use b::{inner::Item, other as renamed};\n",
        );
        write("a.rs", "use crate::{c::leaf, Item};\nuse std::fs;\n");
        write("b.rs", "pub mod inner;\nfn f() { inner::g() }\n");
        write(
            "b/inner.rs",
            "fn g() { crate::a::h(); }\n#[cfg(test)]\nmod tests { use crate::c; }\n",
        );
        write("c.rs", "// use crate::a;\nfn leaf() { let _ = \"a\"; }\n");
        assert_eq!(ModuleGraph::read(folder.path()).cycles(), [["a", "b::inner"]]);
    }
}
