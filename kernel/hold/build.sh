#!/bin/sh
# Builds tardy_hold.ko for one of Debian's kernels, without installing anything.
#
#     kernel/hold/build.sh 6.1.0-56-rt-amd64 FOLDER     # FOLDER/tardy_hold.ko
#
# The kernel's headers are downloaded by apt into the folder and stay there. They must be of the release of Debian
# that runs here, as must the compiler.
set -eu

release=$1
folder=$2
here=$(dirname "$(realpath "$0")")
mkdir -p "$folder"
folder=$(realpath "$folder")
root=$folder/root
headers=$root/usr/src/linux-headers-$release

# Downloads one package, and unpacks it.
bring() {
    (cd "$folder" && apt-get -qq download "$1")
    dpkg-deb -x "$folder/$1"_*.deb "$root"
}

if [ ! -e "$folder/complete" ]; then
    rm -rf "$root"
    bring "linux-headers-$release"
    depends=$(dpkg-deb -f "$folder/linux-headers-${release}"_*.deb Depends)
    for package in $(echo "$depends" | tr ',' '\n' | awk '{print $1}' | grep -E '^linux-(headers|kbuild)-'); do
        bring "$package"
    done
    # It names where it would be installed.
    sed -i "s#/usr/src#$root/usr/src#" "$headers/Makefile"
    rm -f "$folder"/*.deb
    touch "$folder/complete"
fi
mkdir -p "$folder/hold"
cp "$here/Kbuild" "$here/tardy_hold.c" "$folder/hold/"
make --quiet -C "$headers" M="$folder/hold" modules >&2
strip --strip-debug -o "$folder/tardy_hold.ko" "$folder/hold/tardy_hold.ko"
