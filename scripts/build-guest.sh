#!/bin/sh
# Builds `tardy` for guests: one file that needs no library of theirs.
#
#   scripts/build-guest.sh [x86_64|arm64|armv7]...      default: all
#
# Those for x86_64 and arm64 record by eBPF or by tracefs, that for armv7 by tracefs alone: Debian's kernels
# for it do not tell their types, which eBPF needs. Each goes to
# ${XDG_CACHE_HOME:-$HOME/.cache}/tardy/vm/guest/ARCH/tardy, in one piece. What is missing for that is
# installed by `scripts/setup.sh vm`; nothing else is installed. The ordinary build stays as it is:
# these have a folder of their own below it.
set -eu
cd "$(dirname "$0")/.."
# rustup's own place, for a shell that was started before rustup came.
PATH=$PATH:${HOME:-}/.cargo/bin
export PATH

guests=${XDG_CACHE_HOME:-$HOME/.cache}/tardy/vm/guest
say() { printf '%s\n' "build-guest: $*" >&2; }

[ $# -gt 0 ] || set -- x86_64 arm64 armv7
for arch in "$@"; do
    case "$arch" in
    x86_64 | arm64 | armv7) ;;
    *)
        say "usage: scripts/build-guest.sh [x86_64|arm64|armv7]..."
        exit 2
        ;;
    esac
done
scripts/setup.sh vm

# Where a library for static linking is that the linker knows of, as cc does.
folder_of() { dirname "$(realpath "$(${CC:-cc} -print-file-name="$1")")"; }

# build ARCH TARGET FLAG...
build() {
    arch=$1 target=$2
    shift 2
    # Only what is for the target sees these flags, as a target is named. Symbols would triple the
    # size of what a guest loads into its memory at boot.
    RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
        CARGO_TARGET_DIR=$target_dir CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_PROFILE_RELEASE_DEBUG=0 \
        cargo build --release --locked -p tardy --target "$target" "$@"
    made=$target_dir/$target/release/tardy
    if readelf -lW "$made" | grep -q INTERP; then
        say "$made is linked to libraries that a guest does not have"
        exit 1
    fi
    mkdir -p "$guests/$arch"
    # Whoever reads it meanwhile has the old one or the new one, never a part.
    cp "$made" "$guests/$arch/.tardy.$$"
    mv "$guests/$arch/.tardy.$$" "$guests/$arch/tardy"
    say "$guests/$arch/tardy, $(wc -c <"$made") bytes"
}

# What eBPF's loader needs on arm64: Debian's libraries, unpacked and not installed, as apt has them by the
# settings that `tardy vm fetch tools-arm64` made. Prints the folder.
arm64_libraries() {
    caches=$(dirname "$guests")
    settings=$caches/apt/arm64/apt.conf
    root=$caches/guest/arm64/root
    if [ ! -f "$settings" ]; then
        say "Debian's packages for arm64 are not known here: tardy vm fetch tools-arm64"
        exit 1
    fi
    if [ ! -f "$root/usr/lib/aarch64-linux-gnu/libelf.a" ]; then
        rm -rf "$root"
        mkdir -p "$root/debs"
        (cd "$root/debs" && APT_CONFIG=$settings apt-get -qq download libelf-dev zlib1g-dev) >&2
        for package in "$root"/debs/*.deb; do dpkg-deb -x "$package" "$root"; done
        rm -rf "$root/debs"
    fi
    echo "$root"
}

target_dir=${CARGO_TARGET_DIR:-target}/guest
for arch in "$@"; do
    case "$arch" in
    x86_64)
        if [ "$(uname -m)" != x86_64 ]; then
            say "x86_64 can only be built on x86_64: eBPF's loader needs libelf and zlib for it"
            exit 1
        fi
        LIBBPF_SYS_LIBRARY_PATH=$(folder_of libelf.a):$(folder_of libz.a)
        export LIBBPF_SYS_LIBRARY_PATH
        build x86_64 x86_64-unknown-linux-gnu --features tardy-live/static
        ;;
    arm64)
        root=$(arm64_libraries)
        (
            LIBBPF_SYS_LIBRARY_PATH_aarch64_unknown_linux_gnu=$root/usr/lib/aarch64-linux-gnu
            LIBBPF_SYS_EXTRA_CFLAGS="-I$root/usr/include -I$root/usr/include/aarch64-linux-gnu"
            CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
            export LIBBPF_SYS_LIBRARY_PATH_aarch64_unknown_linux_gnu LIBBPF_SYS_EXTRA_CFLAGS
            export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER
            build arm64 aarch64-unknown-linux-gnu --features tardy-live/static
        )
        ;;
    armv7)
        export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER=arm-linux-gnueabihf-gcc
        build armv7 armv7-unknown-linux-gnueabihf --no-default-features
        ;;
    esac
done
