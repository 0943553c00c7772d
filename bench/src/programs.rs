//! The two programs that are compared: built the same way, then copied, so that a build meanwhile disturbs nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};

use crate::process;

/// Where the programs under test are.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) product: PathBuf,
    pub(crate) noop: PathBuf,
}

impl Programs {
    /// Builds the no-op, and the product unless one is given, and copies both into a folder.
    pub(crate) fn prepare(given: Option<&Path>, folder: &Path) -> Result<Self> {
        let mut arguments = vec!["-p", "backstory-bench", "--bin", "backstory-noop"];
        if given.is_none() {
            arguments.extend(["-p", "backstory", "--bin", "backstory"]);
        }
        let built = build(&arguments)?;
        let copy = |from: &Path, name: &str| {
            let to = folder.join(name);
            fs::copy(from, &to).with_context(|| format!("could not copy {}", from.display()))?;
            anyhow::Ok(to)
        };
        Ok(Self {
            product: copy(given.unwrap_or(&built), "backstory")?,
            noop: copy(&built.with_file_name("backstory-noop"), "noop")?,
        })
    }
}

/// Runs `scripts/build-static` and returns where the product is, or would be.
fn build(arguments: &[&str]) -> Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/build-static");
    let mut command = process::with_our_environment(&script);
    let output = command.args(arguments).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not run {}", script.display()))?;
    ensure!(output.status.success(), "scripts/build-static failed");
    let path = String::from_utf8(output.stdout)?;
    Ok(PathBuf::from(path.trim_end()))
}
