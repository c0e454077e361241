#!/usr/bin/env bash
# find-library.sh jpeg|png|expat|yaml: how to build with a library that the program can do without: what `import` reads
# pictures or boxes by, and `sweep` its files. Prints one line, `VERSION FLAGS...`, or nothing and ends 1. By pkg-config;
# where that does not know it (clusters' modules often bring no .pc files, only CPATH and LIBRARY_PATH), by building a
# program that calls it with CC, CPPFLAGS and LDFLAGS.
set -u
what=${1:?usage: find-library.sh jpeg|png|expat|yaml}
pkg_config=${PKG_CONFIG:-pkg-config}

case $what in
jpeg)
    pc=libjpeg flag=-ljpeg
    source='#include <stddef.h>
#include <stdio.h>
#include <jpeglib.h>
int main(void) { struct jpeg_decompress_struct j; jpeg_mem_src(&j, NULL, 0); return printf("%d\n", JPEG_LIB_VERSION) < 0; }'
    ;;
png)
    pc=libpng flag=-lpng
    source='#include <png.h>
#include <stdio.h>
int main(void) { return png_access_version_number() ? 0 : printf(PNG_LIBPNG_VER_STRING) < 0; }'
    ;;
expat)
    pc=expat flag=-lexpat
    source='#include <expat.h>
int main(void) { return !XML_ExpatVersion(); }'
    ;;
yaml)
    pc=yaml-0.1 flag=-lyaml
    source='#include <yaml.h>
int main(void) { return !yaml_get_version_string(); }'
    ;;
*)
    echo "find-library.sh: $what is none of jpeg, png, expat, yaml" >&2
    exit 2
    ;;
esac

# builds FLAG...: a program that calls it.
# shellcheck disable=SC2086 # CC and the flags are words
builds() {
    local folder
    folder=$(mktemp -d) || return
    command ${CC:-gcc} ${CPPFLAGS:-} ${LDFLAGS:-} -x c - -o "$folder/a.out" "$@" <<<"$source" 2>/dev/null
    local status=$?
    rm -rf "$folder"
    return $status
}

if command -v "$pkg_config" >/dev/null && "$pkg_config" --exists "$pc" 2>/dev/null; then
    # shellcheck disable=SC2046 # the flags are words
    set -- $("$pkg_config" --cflags --libs "$pc")
    echo "$("$pkg_config" --modversion "$pc") $*"
    exit 0
fi
if builds "$flag"; then
    echo "unknown $flag"
    exit 0
fi
exit 1
