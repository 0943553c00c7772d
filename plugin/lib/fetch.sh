#!/bin/sh
# Downloads the program into the plugin's data folder: fetch.sh RELEASE DATA. Runs in the background, started by bin/backstory, which
# made the folder DATA/fetch. Leaves DATA/backstory and DATA/version, or the reason in DATA/error; prints nothing.
set -u
release=$1
data=$2
echo $$ >"$data/fetch/pid"

# The first line of the release names the version, the second the address, the others the SHA-256 sum of each target.
field() { sed -n "s/^$1 //p" "$release"; }

fail() {
  # One line without characters that would need an escape in JSON.
  printf '%s\n' "$1" | tr -d '"\\' >"$data/error.new" && mv -f "$data/error.new" "$data/error"
  rm -rf "$data/fetch"
  exit 1
}

case $(uname -s) in
  Linux) system=unknown-linux-musl ;;
  Darwin) system=apple-darwin ;;
  *) system=$(uname -s) ;;
esac
case $(uname -m) in
  amd64) machine=x86_64 ;;
  arm64) machine=aarch64 ;;
  *) machine=$(uname -m) ;;
esac
version=$(field version)
# Another download may have ended between the look at the version and the lock.
if [ -x "$data/backstory" ] && [ "$(cat "$data/version" 2>/dev/null)" = "$version" ]; then
  rm -rf "$data/fetch"
  exit 0
fi
expected=$(field "$machine-$system")
[ -n "$expected" ] || fail "there is no build for $(uname -s) on $(uname -m)"
address=${BACKSTORY_DOWNLOAD:-$(field address)}/v$version/backstory-v$version-$machine-$system.tar.gz
archive=$data/fetch/archive

if command -v curl >/dev/null; then
  curl --fail --silent --location --retry 2 --connect-timeout 30 --max-time 900 --output "$archive" "$address"
elif command -v wget >/dev/null; then
  wget --quiet --tries=3 --timeout=60 --output-document="$archive" "$address"
else
  fail "neither curl nor wget is installed"
fi || fail "no answer from $address"

if command -v sha256sum >/dev/null; then sum=$(sha256sum "$archive"); else sum=$(shasum -a 256 "$archive"); fi
[ "${sum%% *}" = "$expected" ] || fail "the checksum of $address is wrong"
tar -xzf "$archive" -C "$data/fetch" backstory || fail "the archive cannot be unpacked"
chmod 755 "$data/fetch/backstory" && "$data/fetch/backstory" -V >/dev/null 2>&1 || fail "the program does not run on this machine"
# A rename: a hook that runs meanwhile finds either version.
mv -f "$data/fetch/backstory" "$data/backstory" || fail "$data cannot be written"
# The next event starts the worker of this version.
"$data/backstory" worker stop >/dev/null 2>&1
echo "$version" >"$data/version.new" && mv -f "$data/version.new" "$data/version"
rm -rf "$data/error" "$data/fetch"
