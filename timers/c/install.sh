#!/bin/sh
# Installs libtardy_timers for C programs: header, libraries, pkg-config file.
#
#   timers/c/install.sh [--shared|--static] [--profile PROFILE] PREFIX
#
# Without either both libraries are installed. The release profile unless said otherwise. Builds what
# is not built; needs no rights but to write to PREFIX. DESTDIR is put before PREFIX where files go.
set -eu

usage() {
    echo "usage: $0 [--shared|--static] [--profile PROFILE] PREFIX" >&2
    exit 2
}

kinds="shared static"
profile=release
prefix=""
while [ $# -gt 0 ]; do
    case "$1" in
    --shared) kinds=shared ;;
    --static) kinds=static ;;
    --profile)
        [ $# -ge 2 ] || usage
        profile=$2
        shift
        ;;
    -*) usage ;;
    *)
        [ -z "$prefix" ] || usage
        prefix=$1
        ;;
    esac
    shift
done
case "$prefix" in
/*) ;;
"") usage ;;
*) prefix=$(pwd)/$prefix ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cargo=${CARGO:-cargo}
version=$(sed -n 's/^version *= *"\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
major=${version%%.*}

# What a program that links the archive must link too is rustc's to say.
said=$("$cargo" rustc --locked --quiet --manifest-path "$here/Cargo.toml" --lib \
    --profile "$profile" --crate-type cdylib,staticlib -- --print native-static-libs 2>&1) || {
    printf '%s\n' "$said" >&2
    exit 1
}
system_libs=$(printf '%s\n' "$said" | sed -n 's/^note: native-static-libs: //p' | tail -n 1)

case "$profile" in
dev) folder=debug ;;
*) folder=$profile ;;
esac
target=${CARGO_TARGET_DIR:-$root/target}
built=$target/$folder

to=${DESTDIR:-}$prefix
mkdir -p "$to/include" "$to/lib/pkgconfig"
install -m 644 "$here/include/tardy_timers.h" "$to/include/"
for kind in $kinds; do
    case "$kind" in
    shared)
        install -m 755 "$built/libtardy_timers_c.so" "$to/lib/libtardy_timers.so.$version"
        ln -sf "libtardy_timers.so.$version" "$to/lib/libtardy_timers.so.$major"
        ln -sf "libtardy_timers.so.$major" "$to/lib/libtardy_timers.so"
        ;;
    static) install -m 644 "$built/libtardy_timers_c.a" "$to/lib/libtardy_timers.a" ;;
    esac
done
# A bar and an ampersand mean something to sed.
quoted=$(printf '%s' "$prefix" | sed 's/[&|\\]/\\&/g')
sed -e "s|@PREFIX@|$quoted|" -e "s|@VERSION@|$version|" -e "s|@SYSTEM_LIBS@|$system_libs|" \
    "$here/tardy_timers.pc.in" >"$to/lib/pkgconfig/tardy_timers.pc"
chmod 644 "$to/lib/pkgconfig/tardy_timers.pc"
