#!/bin/sh
# Installs what the peers outside Rust need: packages through apt, Netty through Maven.
#
#   bench/timers/setup.sh
#
# bench/timers.py installs nothing and leaves out what is not there. Versions: libuv, Go and the JDK
# are the distribution's (Debian 12: 1.44, 1.19, 17), unless there is another `go` or `javac` already;
# Netty is pinned below, by version and checksum.
set -eu

netty=4.2.20.Final
netty_sha256=5807fef7eb619bc0a5d1c0e6c83199ea9bca8503203a3eb73cfdccec2d215743
copy_plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${CARGO_TARGET_DIR:-$root/target}/bench-timers

say() { printf '%s\n' "setup: $*" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

packages=""
has gcc || packages="$packages gcc"
has pkg-config || packages="$packages pkg-config"
{ has pkg-config && pkg-config --exists libuv; } || packages="$packages libuv1-dev"
has go || packages="$packages golang-go"
has javac || packages="$packages openjdk-17-jdk-headless"
has mvn || packages="$packages maven"
if [ -n "$packages" ]; then
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    say "installing$packages"
    $as_root apt-get update -q >&2
    # shellcheck disable=SC2086  # a list of names
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages >&2
fi

mkdir -p "$folder"
jar=$folder/netty-common-$netty.jar
is_right() { printf '%s  %s\n' "$netty_sha256" "$jar" | sha256sum --check --status; }
if ! { [ -f "$jar" ] && is_right; }; then
    say "fetching Netty $netty"
    mvn -q --batch-mode "$copy_plugin" -Dartifact="io.netty:netty-common:$netty" -DoutputDirectory="$folder" >&2
    if ! is_right; then
        rm -f "$jar"
        say "netty-common $netty has another checksum than it should: not used"
        exit 1
    fi
fi
say "all there"
