//! Builds the compared programs in the same way and copies them, so that a later build does not affect a run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};

use crate::process;

/// Paths of the programs under test.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) product: PathBuf,
    folder: PathBuf,
    /// The product was passed with --product, so programs built here are not comparable with it.
    is_given: bool,
}

impl Programs {
    /// Copies the product into a folder; builds it unless a path is given.
    pub(crate) fn prepare(given: Option<&Path>, folder: &Path) -> Result<Self> {
        let built = match given {
            Some(path) => path.to_owned(),
            None => build(&["-p", "backstory", "--bin", "backstory"])?,
        };
        Ok(Self {
            product: copy(&built, &folder.join("backstory"))?,
            folder: folder.to_owned(),
            is_given: given.is_some(),
        })
    }

    /// Returns the no-op program, built at the first call.
    pub(crate) fn noop(&self) -> Result<PathBuf> {
        let path = self.folder.join("noop");
        if path.exists() {
            return Ok(path);
        }
        let product = build(&["-p", "backstory-bench", "--bin", "backstory-noop"])?;
        copy(&product.with_file_name("backstory-noop"), &path)
    }

    /// Builds the product without its arena allocator; `None` if the product itself was not built here.
    pub(crate) fn without_arena(&self) -> Result<Option<PathBuf>> {
        if self.is_given {
            return Ok(None);
        }
        let built = build(&[
            "-p",
            "backstory",
            "--bin",
            "backstory",
            "--features",
            "without-arena",
        ])?;
        let path = copy(&built, &self.folder.join("without-arena"))?;
        // It has the path of the product and must not be mistaken for it.
        fs::remove_file(&built).with_context(|| format!("could not remove {}", built.display()))?;
        Ok(Some(path))
    }
}

fn copy(from: &Path, to: &Path) -> Result<PathBuf> {
    fs::copy(from, to).with_context(|| format!("could not copy {}", from.display()))?;
    Ok(to.to_owned())
}

/// Runs `scripts/build-static` and returns the path of the product.
fn build(arguments: &[&str]) -> Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/build-static");
    let mut command = process::with_inherited_environment(&script);
    let output = command.args(arguments).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not run {}", script.display()))?;
    ensure!(output.status.success(), "scripts/build-static failed");
    let path = String::from_utf8(output.stdout)?;
    Ok(PathBuf::from(path.trim_end()))
}
