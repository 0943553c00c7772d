#!/bin/sh
# Installs backstory, or a newer version of it, for the current user.
#
#     sh install.sh                  installs into ~/.local/bin (or $BACKSTORY_BIN)
#     sh install.sh --uninstall      disconnects the agents and removes the program; memories stay
#
# Downloads one archive, checks its SHA-256 sum and changes nothing else.
set -eu

version=@VERSION@
base=${BACKSTORY_DOWNLOAD:-@BASE_URL@}
bin=${BACKSTORY_BIN:-$HOME/.local/bin}

fail() {
    echo "error: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}

target() {
    machine=$(uname -m)
    case $machine in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no build for $machine" "build it from source: cargo install --locked --path crates/backstory" ;;
    esac
    case $(uname -s) in
        Linux) echo "$machine-unknown-linux-musl" ;;
        Darwin) echo "$machine-apple-darwin" ;;
        *) fail "there is no build for $(uname -s)" "on Windows, use install.ps1" ;;
    esac
}

fetch() {
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --retry 2 --output "$2" "$1"
    elif command -v wget >/dev/null; then
        wget --quiet --tries=3 --output-document="$2" "$1"
    else
        fail "neither curl nor wget is installed"
    fi || fail "could not download $1" "check the network, or set BACKSTORY_DOWNLOAD to a mirror"
}

sum() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        fail "neither sha256sum nor shasum is installed: the download cannot be checked"
    fi | cut -d ' ' -f 1
}

stop_worker() {
    # The next event starts the installed version.
    "$bin/backstory" worker stop >/dev/null 2>&1 || true
}

uninstall() {
    [ -e "$bin/backstory" ] || fail "backstory is not installed in $bin"
    "$bin/backstory" uninstall --yes
    stop_worker
    rm "$bin/backstory"
    echo "backstory was removed. Your memories are still in ~/.backstory; delete that folder to forget everything."
}

install() {
    name=backstory-v$version-$(target)
    folder=$(mktemp -d)
    trap 'rm -rf "$folder" "$bin/.backstory.new"' EXIT
    fetch "$base/v$version/$name.tar.gz" "$folder/archive"
    fetch "$base/v$version/$name.tar.gz.sha256" "$folder/sum"
    expected=$(cut -d ' ' -f 1 "$folder/sum")
    [ -n "$expected" ] && [ "$(sum "$folder/archive")" = "$expected" ] || fail "the checksum of $name.tar.gz is wrong; nothing was installed" "try again later"
    tar -xzf "$folder/archive" -C "$folder"
    chmod 755 "$folder/backstory"
    "$folder/backstory" -V >/dev/null || fail "the program does not run on this machine; nothing was installed"
    mkdir -p "$bin"
    had=$("$bin/backstory" -V 2>/dev/null || true)
    # A copy beside the target and a rename: a hook that runs meanwhile finds either version.
    cp "$folder/backstory" "$bin/.backstory.new"
    mv -f "$bin/.backstory.new" "$bin/backstory"
    if [ -n "$had" ]; then
        stop_worker
        echo "Updated $had to $("$bin/backstory" -V) in $bin."
    else
        echo "Installed $("$bin/backstory" -V) in $bin."
    fi
    case :$PATH: in
        *":$bin:"*) run=backstory ;;
        *)
            run=$bin/backstory
            echo "$bin is not on your PATH. Add this line to the profile of your shell:"
            echo "    export PATH=\"$bin:\$PATH\""
            ;;
    esac
    [ -n "$had" ] || echo "Next: $run setup"
}

# Last, so that a script which arrived only in part does nothing.
case ${1:-} in
    --uninstall) uninstall ;;
    "") install ;;
    *) fail "unknown argument: $1" "sh install.sh [--uninstall]" ;;
esac
