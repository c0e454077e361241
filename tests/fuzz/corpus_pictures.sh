#!/usr/bin/env bash
# corpus_pictures.sh BUILD DIR: the seeds of fuzz_picture (DIR/picture; the first byte is a box) and fuzz_voc (DIR/voc):
# small, one of every kind that make_pictures makes. Called by corpus.sh.
set -euo pipefail
build=$1 to=$2
mkdir -p "$to/picture" "$to/voc" "$to/made"
"$build/tests/make_pictures" corpus "$to/made"
for file in "$to"/made/*; do
    name=${file##*/}
    case $name in *-cut | *-cmyk | *-huge | *-hole | *-16) ;; *) name=good-$name ;; esac
    { printf '\0' && cat "$file"; } >"$to/picture/$name"
done
rm -r "$to/made"

"$build/tests/make_pictures" voc "$to/voc/good-box" 40 50 3 4 30 40
printf '<annotation><object><part><bndbox/></part></object></annotation>' >"$to/voc/part"
printf '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY %% c "cc">]><annotation>&b;%%c;</annotation>' >"$to/voc/entity"
printf '<?xml version="1.0" encoding="UTF-16"?><annotation/>' >"$to/voc/encoding"
