//! Judges the purpose of a simple command by its program.

use super::shell::Simple;
use crate::Purpose;

/// Returns the purpose of a simple command; none for commands that only prepare others, such as `cd` or `echo`.
pub(super) fn of(command: &Simple<'_>) -> Option<Purpose> {
    let program = command.program();
    let sub = command.subcommand();
    Some(match program {
        "" | "cd" | "pushd" | "popd" | "echo" | "printf" | "true" | "false" | ":" | "set" | "unset"
        | "export" | "source" | "." | "sleep" | "wait" | "exit" | "return" | "for" | "case" | "read"
        | "local" | "trap" | "mkdir" | "eval" => return None,
        "ls" | "cat" | "head" | "tail" | "grep" | "egrep" | "fgrep" | "rg" | "ag" | "find" | "fd" | "pwd"
        | "wc" | "which" | "whereis" | "tree" | "stat" | "less" | "more" | "file" | "diff" | "cmp" | "ps"
        | "top" | "date" | "du" | "df" | "jq" | "yq" | "type" | "man" | "awk" | "cut" | "sort" | "uniq"
        | "tr" | "xxd" | "od" | "hexdump" | "strings" | "nm" | "ldd" | "otool" | "lsof" | "netstat"
        | "ss" | "uname" | "hostname" | "whoami" | "id" | "env" | "printenv" | "test" | "[" | "[["
        | "basename" | "dirname" | "realpath" | "readlink" | "column" | "nl" | "tac" | "history"
        | "pgrep" | "free" | "uptime" | "nproc" | "bat" | "exa" | "eza" | "tokei" | "cloc" | "scc"
        | "shasum" | "sha256sum" | "md5sum" | "md5" => Purpose::Inspect,
        "sed" if !in_place(command) => Purpose::Inspect,
        "git" | "jj" | "hg" => git(command),
        "gh" | "glab" => hosting(command),
        "pytest" | "py.test" | "tox" | "nox" | "jest" | "vitest" | "mocha" | "ava" | "rspec" | "phpunit"
        | "pest" | "ctest" | "nosetests" | "playwright" | "cypress" | "bats" | "gotestsum" | "ginkgo"
        | "karma" | "minitest" | "busted" | "stack-test" | "cucumber" | "behave" | "newman" | "nextest" => {
            Purpose::Test
        }
        "eslint" | "ruff" | "flake8" | "black" | "isort" | "prettier" | "pylint" | "shellcheck" | "shfmt"
        | "gofmt" | "goimports" | "golangci-lint" | "staticcheck" | "rustfmt" | "stylelint" | "biome"
        | "oxlint" | "rubocop" | "standardrb" | "hadolint" | "yamllint" | "markdownlint" | "clang-format"
        | "clang-tidy" | "cppcheck" | "ktlint" | "detekt" | "swiftlint" | "swiftformat" | "credo"
        | "phpstan" | "psalm" | "phpcs" | "actionlint" | "vale" | "codespell" | "pre-commit" | "lefthook"
        | "typos" | "taplo" | "nixfmt" | "tflint" | "sqlfluff" => Purpose::Lint,
        "tsc" | "mypy" | "pyright" | "cmake" | "gcc" | "g++" | "cc" | "clang" | "clang++" | "rustc"
        | "javac" | "kotlinc" | "scalac" | "ghc" | "ninja" | "meson" | "webpack" | "vite" | "rollup"
        | "esbuild" | "tsup" | "swc" | "parcel" | "xcodebuild" | "msbuild" | "bear" | "goreleaser"
        | "pyinstaller" | "maturin" | "next" | "nuxt" | "astro" | "docker" | "podman" | "buildah"
        | "nix-build" | "protoc" | "buf" => built(program, sub),
        "cargo" => cargo(sub),
        "go" => match sub {
            "test" => Purpose::Test,
            "build" | "generate" => Purpose::Build,
            "vet" | "fmt" | "fix" => Purpose::Lint,
            "get" | "install" | "mod" => Purpose::Install,
            "list" | "env" | "doc" | "version" => Purpose::Inspect,
            "tool" if command.words.iter().any(|word| word == "golangci-lint") => Purpose::Lint,
            _ => Purpose::Other,
        },
        "npm" | "yarn" | "pnpm" | "bun" | "deno" | "npx" | "bunx" | "pnpx" => script(command),
        "mix" => match sub {
            "test" => Purpose::Test,
            "compile" | "dialyzer" | "release" => Purpose::Build,
            "format" | "credo" => Purpose::Lint,
            "deps.get" | "deps.update" | "archive.install" | "local.hex" => Purpose::Install,
            _ => by_name(sub),
        },
        "gradle" | "gradlew" | "mvn" | "mvnw" | "sbt" | "dotnet" | "swift" | "bazel" | "bazelisk" | "zig"
        | "buck2" | "ant" | "lein" | "clj" | "stack" | "cabal" | "dune" | "flutter" | "dart" | "rebar3"
        | "gleam" | "nimble" | "crystal" | "composer" => runner(command),
        "make" | "gmake" | "just" | "mise" | "task" | "rake" | "invoke" | "inv" | "doit" | "nx" | "turbo"
        | "lerna" | "earthly" | "dagger" => runner(command),
        "pdm" | "hatch" | "rye" | "uv" | "uvx" | "poetry" | "pipenv" | "pipx" | "bundle" | "devbox"
        | "direnv" | "conda" | "mamba" => wrapper(command),
        "pip" | "pip3" | "apt" | "apt-get" | "brew" | "gem" | "dnf" | "yum" | "apk" | "pacman" | "snap"
        | "rustup" | "asdf" | "nvm" | "fnm" | "volta" | "choco" | "winget" | "scoop" | "port" => {
            installer(sub)
        }
        "cp" | "mv" | "rm" | "ln" | "touch" | "chmod" | "chown" | "tee" | "sed" | "patch" | "unzip"
        | "tar" | "curl" | "wget" | "ssh" | "scp" | "rsync" | "kill" | "pkill" | "open" | "xargs" => {
            Purpose::Other
        }
        _ if program.starts_with("python") || program == "pypy3" => python(command),
        "node" | "ruby" | "perl" | "php" | "bash" | "sh" | "zsh" | "fish" | "lua" | "elixir" | "java" => {
            by_file(command)
        }
        _ => own_script(command),
    })
}

/// Returns the purpose that a command line is remembered for: the one that says most about the state of the work.
pub(super) fn of_all(commands: &[Simple<'_>]) -> Option<Purpose> {
    commands
        .iter()
        .filter_map(of)
        .max_by_key(|purpose| match purpose {
            Purpose::Test => 5,
            Purpose::Build => 4,
            Purpose::Lint => 3,
            Purpose::Install => 2,
            Purpose::Other => 1,
            Purpose::Inspect => 0,
        })
}

/// Reports whether a command rewrites files in the usual layout; such a command rarely fails.
pub(super) fn is_formatter(command: &Simple<'_>) -> bool {
    let names = [
        "fmt",
        "format",
        "gofmt",
        "rustfmt",
        "goimports",
        "prettier",
        "black",
        "isort",
    ];
    let is_check = |word: &String| word.contains("check");
    command
        .words
        .iter()
        .any(|word| names.iter().any(|name| word.ends_with(name)))
        && !command.words.iter().any(is_check)
}

pub(super) fn in_place(command: &Simple<'_>) -> bool {
    let is_flag = |word: &String| {
        word == "--in-place"
            || word.starts_with("-i")
            || (word.starts_with("-") && !word.starts_with("--") && word.ends_with('i'))
    };
    command.arguments().iter().any(is_flag)
}

fn built(program: &str, sub: &str) -> Purpose {
    match (program, sub) {
        ("docker" | "podman", "build" | "buildx" | "compose") => Purpose::Build,
        ("docker" | "podman", "ps" | "logs" | "images" | "inspect") => Purpose::Inspect,
        ("docker" | "podman", _) => Purpose::Other,
        ("next" | "nuxt" | "astro" | "vite", "dev" | "start" | "preview") => Purpose::Other,
        _ => Purpose::Build,
    }
}

fn cargo(sub: &str) -> Purpose {
    match sub {
        "test" | "nextest" | "t" | "miri" | "llvm-cov" | "tarpaulin" | "mutants" => Purpose::Test,
        "build" | "check" | "b" | "c" | "doc" | "zigbuild" | "rustc" | "package" | "publish" => {
            Purpose::Build
        }
        "clippy" | "fmt" | "deny" | "machete" | "audit" | "semver-checks" => Purpose::Lint,
        "add" | "install" | "update" | "remove" | "fetch" => Purpose::Install,
        "tree" | "metadata" | "search" | "info" => Purpose::Inspect,
        _ => Purpose::Other,
    }
}

fn git(command: &Simple<'_>) -> Purpose {
    match super::git::subcommand(command).0 {
        "status" | "log" | "diff" | "show" | "blame" | "branch" | "rev-parse" | "remote" | "ls-files"
        | "ls-tree" | "describe" | "reflog" | "grep" | "cat-file" | "rev-list" | "merge-base"
        | "shortlog" | "for-each-ref" | "fetch" | "config" | "ls-remote" | "check-ignore" | "name-rev"
        | "whatchanged" | "show-ref" | "symbolic-ref" => Purpose::Inspect,
        _ => Purpose::Other,
    }
}

fn hosting(command: &Simple<'_>) -> Purpose {
    let verb = command
        .arguments()
        .iter()
        .filter(|word| !word.starts_with('-'))
        .nth(1);
    match verb.map(String::as_str) {
        Some("view" | "list" | "status" | "diff" | "checks" | "watch" | "search" | "download") => {
            Purpose::Inspect
        }
        _ if command.subcommand() == "api" => Purpose::Inspect,
        _ => Purpose::Other,
    }
}

/// `npm run test:unit`, `pnpm --filter x build`, `npx vitest`.
fn script(command: &Simple<'_>) -> Purpose {
    let mut words = command.arguments().iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "run" | "exec" | "x" | "dlx" | "run-script" => continue,
            "--filter" | "-F" | "--prefix" | "-C" | "--cwd" | "--dir" | "-w" | "--workspace" | "-p" => {
                words.next();
            }
            "install" | "i" | "add" | "ci" | "remove" | "uninstall" | "up" | "update" | "upgrade" => {
                return Purpose::Install;
            }
            "ls" | "list" | "view" | "info" | "outdated" | "why" => return Purpose::Inspect,
            "t" => return Purpose::Test,
            word if word.starts_with('-') => {}
            word => return by_name(word),
        }
    }
    if matches!(command.program(), "yarn" | "pnpm") {
        Purpose::Install
    } else {
        Purpose::Other
    }
}

/// Programs that run another one: `uv run pytest`, `bundle exec rspec`, `poetry run mypy .`.
fn wrapper(command: &Simple<'_>) -> Purpose {
    let words = command.arguments();
    let is_runner = |word: &String| matches!(word.as_str(), "run" | "exec" | "x" | "tool");
    let starts_at_once = matches!(command.program(), "uvx" | "pipx");
    let from = words.iter().position(is_runner).map(|at| at + 1);
    let Some(from) = from.or(starts_at_once.then_some(0)) else {
        return installer(command.subcommand());
    };
    let rest = words[from..].iter().skip_while(|word| word.starts_with('-'));
    let inner = Simple {
        words: rest.cloned().collect(),
        ..Simple::default()
    };
    of(&inner).unwrap_or(Purpose::Other)
}

/// Build tools and task runners: the target that says most decides.
fn runner(command: &Simple<'_>) -> Purpose {
    let program = command.program();
    let words = command.arguments().iter().map(String::as_str);
    let mut named = words
        .filter(|word| !word.starts_with('-') && !word.contains(['=', '/']))
        .peekable();
    if named.peek().is_none() {
        let builds = matches!(
            program,
            "make" | "gmake" | "just" | "rake" | "task" | "ant" | "ninja"
        );
        return if builds { Purpose::Build } else { Purpose::Other };
    }
    let mut found = Purpose::Other;
    for word in named.take(6) {
        let purpose = match word {
            "run" | "exec" | "r" => continue,
            "--" => break,
            "install" | "use" | "restore" | "require" | "update" | "add" | "get" => Purpose::Install,
            "verify" | "coverage" => Purpose::Test,
            // The target of GNU projects.
            "check" if matches!(program, "make" | "gmake") => Purpose::Test,
            word => by_name(word),
        };
        if purpose == Purpose::Test {
            return purpose;
        }
        if found == Purpose::Other {
            found = purpose;
        }
    }
    found
}

fn installer(sub: &str) -> Purpose {
    match sub {
        "list" | "show" | "search" | "info" | "freeze" | "outdated" | "policy" | "which" | "current"
        | "tree" => Purpose::Inspect,
        "build" => Purpose::Build,
        "" | "help" | "version" | "init" | "new" => Purpose::Other,
        _ => Purpose::Install,
    }
}

fn python(command: &Simple<'_>) -> Purpose {
    let mut words = command.arguments().iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-m" => {
                return match words.next().unwrap_or_default() {
                    "pytest" | "unittest" | "tox" | "nose" | "nox" | "doctest" => Purpose::Test,
                    "pip" | "venv" | "ensurepip" | "pipx" => Purpose::Install,
                    "mypy" | "build" | "compileall" | "py_compile" | "pyright" => Purpose::Build,
                    "flake8" | "ruff" | "black" | "isort" | "pylint" => Purpose::Lint,
                    _ => Purpose::Other,
                };
            }
            "-c" => return Purpose::Other,
            _ => {}
        }
    }
    by_file(command)
}

/// A script is judged by its name and a subcommand `test`: `manage.py test`, `./scripts/lint.sh`.
fn by_file(command: &Simple<'_>) -> Purpose {
    let mut named = command.arguments().iter().filter(|word| !word.starts_with('-'));
    let Some(file) = named.next() else {
        return Purpose::Other;
    };
    let name = file.rsplit('/').next().unwrap_or(file);
    if name == "manage.py" && named.next().is_some_and(|word| word == "test") {
        return Purpose::Test;
    }
    by_name(name)
}

/// A program of the project itself, such as `./scripts/lint.sh` or `bin/test`. Other programs are not known.
fn own_script(command: &Simple<'_>) -> Purpose {
    let first = command.words.first().map_or("", String::as_str);
    let is_own = first.contains('/') && !first.starts_with(['/', '~'])
        || first.ends_with(".sh")
        || first.ends_with(".py");
    if is_own {
        by_name(command.program())
    } else {
        Purpose::Other
    }
}

/// Judges a target, script or task by the parts of its name: `test:unit`, `run-lint.sh`, `runtests.py`, `typecheck`.
fn by_name(name: &str) -> Purpose {
    let name = name.rsplit('/').next().unwrap_or(name);
    let mut purpose = Purpose::Other;
    for part in name.split([':', '-', '_', '.']) {
        let found = match part {
            "test" | "tests" | "spec" | "e2e" | "jest" | "vitest" | "pytest" | "rspec" | "playwright"
            | "cypress" | "mocha" | "runtests" | "unittest" | "integration" | "ctest" | "testall" => {
                Purpose::Test
            }
            "build" | "check" | "mypy" | "pyright" | "compile" | "typecheck" | "tsc" | "types" | "bundle"
            | "package" | "assemble" | "publish" | "dist" | "release" => Purpose::Build,
            "lint" | "fmt" | "format" | "clippy" | "eslint" | "prettier" | "ruff" | "biome" | "vet"
            | "style" | "shellcheck" | "stylelint" | "rubocop" | "credo" => Purpose::Lint,
            "setup" | "bootstrap" | "install" | "deps" => Purpose::Install,
            _ if part.starts_with("test")
                && part.len() < 12
                && name.len() < 40
                && !part.contains("testdata") =>
            {
                Purpose::Test
            }
            _ => continue,
        };
        if purpose == Purpose::Other || found == Purpose::Test {
            purpose = found;
        }
    }
    purpose
}

#[cfg(test)]
mod tests {
    use super::super::shell::parse;
    use super::*;

    #[test]
    fn programs_of_many_languages_have_a_purpose() {
        for (purpose, commands) in [
            (
                Purpose::Test,
                "cargo test -p store|cargo nextest run|go test ./...|pytest -q tests/a.py|python3 -m pytest a|\
                 python manage.py test shop|npm run test:unit|pnpm --filter web test|npx vitest run|yarn jest|bun test|\
                 mix test test/a_test.exs|./gradlew :app:test|mvn -q verify|dotnet test|bundle exec rspec|ctest -V|\
                 make test|just test-all|mise run test:ci|uv run pytest|poetry run pytest -x|tox -e py311|\
                 ./scripts/run-tests.sh|bash tests/runtests.sh|rake test|zig build test|swift test",
            ),
            (
                Purpose::Build,
                "cargo build --release|cargo check --all-targets|go build ./cmd/x|npm run build|npx tsc --noEmit|mix compile|\
                 ./gradlew assemble|mvn package|dotnet build|make|cmake --build build|docker build .|uv run mypy .|\
                 pnpm typecheck",
            ),
            (
                Purpose::Lint,
                "cargo clippy -- -D warnings|cargo fmt|gofmt -l .|golangci-lint run|go vet ./...|ruff check .|npx eslint .|\
                 prettier --check .|shellcheck a.sh|mix format|mise run lint|npm run lint|bundle exec rubocop|\
                 python -m black .",
            ),
            (
                Purpose::Install,
                "npm ci|pnpm add zod|cargo add serde|pip install -r r.txt|uv sync|mix deps.get|go mod tidy|apt-get install -y gcc|\
                 bundle install|brew install jq",
            ),
            (
                Purpose::Inspect,
                "ls -la|git status|git -C x log -3|rg foo|sed -n 1,20p a.rs|gh pr view 3|docker ps|go list ./...|pip list",
            ),
            (
                Purpose::Other,
                "git commit -m x|rm a|sed -i s/a/b/ x|./deploy|python3 -c 'print(1)'|node server.js",
            ),
        ] {
            for command in commands.split('|') {
                let parts = parse(command.trim());
                assert_eq!(parts.first().and_then(of), Some(purpose), "{command}");
            }
        }
    }

    #[test]
    fn the_purpose_of_a_list_is_its_most_telling_part() {
        let parts = parse("cd x && cargo fmt && cargo build && cargo test 2>&1 | tail -3");
        assert_eq!(of_all(&parts), Some(Purpose::Test));
        assert_eq!(of_all(&parse("cd x && echo done")), None);
    }
}
