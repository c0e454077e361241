#!/usr/bin/env bash
# Photographs to data and to letters: import and predict. The same bytes on any number of ranks; whatever a folder holds
# ends as a named line; the real pictures give the real lines.
# shellcheck disable=SC2016 # what is passed on to another shell is for that shell
. "$(dirname "$0")/common.sh"
make_pictures=$LIBRAS_BUILD/tests/make_pictures
[ -x "$make_pictures" ] || skip_all "make_pictures is not built: make tests"

cd "$scratch" || exit 1
program info >built || exit 1
has() { ! grep -qE "^$1 +none" built; } # jpeg, png, voc xml
letters="A B C D E I L M N O R S U V W"
soon() { # until COMMAND succeeds, at most a minute
    local k
    for ((k = 0; k < 600; k++)); do
        "$@" 2>/dev/null && return
        sleep 0.1
    done
    return 1
}
# grey FILE VALUE: a picture of one grey.
grey() { { echo P2 8 8 255 && yes "$2" | head -64; } >"$1"; }
# base DIR: two pictures a letter, of one grey each: the 10 times the letter's place, and 5 more.
base() {
    local k=0 c
    for c in $letters; do
        mkdir -p "$1/$c"
        grey "$1/$c/${c}1.pgm" $((k * 10))
        grey "$1/$c/${c}2.pgm" $((k * 10 + 5))
        k=$((k + 1))
    done
}
# greys FILE.csv: the first value of each line.
greys() { cut -d, -f1 "$1" | paste -sd' '; }

# ---- one rank or many
about "ranks"
"$make_pictures" tree tree 5 || exit 1
for n in 1 2 3 4 7; do
    mkdir "on.$n"
    cd "on.$n" || exit 1
    expect_exit 0 ranks "$n" import ../tree data
    cp ../stdout report
    expect_text stdout '^total +75 +75 +(45|0) +(30|75) +0$'
    expect_text stdout '^75 images of 15 letters in data; SHA-256 [0-9a-f]{64}$'
    case $n in 1 | 3) expect_exit 0 ranks "$n" import ../tree pack.u8 --packed u8 -q ;; esac
    cd ..
done
for n in 2 3 4 7; do
    check "$n write the same bytes as 1" diff -r --exclude=pack.u8 on.1 "on.$n"
done
check "3 pack the same bytes as 1" cmp on.1/pack.u8 on.3/pack.u8
# shellcheck disable=SC2086 # words
check "nothing but 15 files" test "$(cd on.1/data && echo ./*)" = "$(printf './%s.csv ' $letters | sed 's/ $//')"
expect_exit 0 program synth packed.u8 --packed u8 --data on.1/data -q
check "the packed file is that of the folder" cmp packed.u8 on.1/pack.u8
expect_exit 0 program import tree pack.f32 --packed f32 -q
check "-q says nothing" test ! -s stdout -a ! -s stderr
expect_exit 0 program synth packed.f32 --packed f32 --data on.1/data -q
check "in float32, too" cmp packed.f32 pack.f32
expect_exit 0 ranks 2 import tree whole --whole
expect_text stdout '^total +75 +75 +0 +75 +0$'
! has "voc xml" || check_not "--whole takes other pixels" diff -rq whole on.1/data

# ---- the pixels, and their order
about "order"
base plain
rm plain/C/*
for name in x1:1 x01:0 y1:2 x2:3 "x (1) 3":4 ã10:5 9-10:6 x99999999999999999999:7 none:9 100.mp8:8; do
    grey "plain/C/${name%:*}.pgm" "${name#*:}"
done
mv "plain/C/9-10.pgm" plain/C/z10.PGM # after ã in no locale, before it by bytes
expect_exit 0 program import plain plain.data
check "by number, then by bytes: $(greys plain.data/C.csv)" test "$(greys plain.data/C.csv)" = "0 1 2 3 4 8 6 5 7 9"
LC_ALL=pt_BR.UTF-8 expect_exit 0 program import plain plain.br -q
check "in another locale, too" diff -r plain.data plain.br
check "letters are told by their folders" test "$(greys plain.data/W.csv)" = "140 145"
{ echo P2 16 8 255; for y in 0 1 2 3 4 5 6 7; do echo 7 7 7 7 7 7 7 7 $(seq $((8 * y)) $((8 * y + 7))); done; } >plain/W/W1.pgm
"$make_pictures" voc plain/W/W1.xml 16 8 8 0 16 8
if has "voc xml"; then
    expect_exit 0 program import plain plain.data -q --force
    check "a box of 8 x 8 is its pixels" test "$(head -1 plain.data/W.csv)" = "$(seq -s, 0 63)"
else
    expect_exit 4 program import plain plain.data -q --force
    says_once 'need a library'
fi

# ---- the real ones
about "real pictures"
real=${LIBRAS_REAL_DATA:+$(dirname "$LIBRAS_REAL_DATA")/libras_images}
if [ -d "${real:-/nonexistent}" ] && has jpeg && has "voc xml"; then
    expect_exit 0 ranks 2 import "$real" real
    expect_text stdout '^total +45 +45 +45 +0 +0$'
    for c in $letters; do
        awk -F, -v letter="$c" '
            NR == FNR { line[FNR] = $0; lines = FNR; next }
            { best = 1e9
              for (k = 1; k <= lines; k++) {
                  split(line[k], theirs, ","); sum = worst = others = 0
                  for (p = 1; p <= 64 && sum < best; p++) {
                      d = $p - theirs[p]; d = d < 0 ? -d : d; sum += d; others += d > 0; worst = d > worst ? d : worst
                  }
                  if (sum < best) { best = sum; where = k; off = worst; differ = others }
              }
              print letter, where, off, differ }' "$LIBRAS_REAL_DATA/$c.csv" "real/$c.csv"
    done >compared
    check "all 45 are compared" test "$(wc -l <compared)" = 45
    check "no value is off by more than 1: $(awk '{ n += $4 } END { print n + 0 }' compared) of 2880 differ" \
        awk '$3 > 1 { bad = 1 } END { exit bad }' compared
    check "in the order of the published lines" awk '$1 == c && $2 <= last { bad = 1 } { c = $1; last = $2 } END { exit bad }' compared
else
    skip "the published lines" "the real pictures are not here, or libjpeg or expat is not"
fi

# ---- what is no picture
about "hostile"
base hostile
H=hostile/B
out() { hostile_lines+=("left out +B/$1: $2"); }
taken() { hostile_lines+=("taken +B/$1: $2"); }
hostile_lines=()
echo 'hello' >$H/text.jpg && out 'text\.jpg' 'this is no picture'
: >$H/empty.png && out 'empty\.png' 'the file is empty'
mkdir $H/folder.jpg && out 'folder\.jpg' 'this is a folder'
mkfifo $H/pipe.jpg && out 'pipe\.jpg' 'no file'
ln -s nowhere $H/link.jpg && out 'link\.jpg' 'No such file'
truncate -s 400M $H/sparse.ppm && out 'sparse\.ppm' '419430400 bytes; at most'
printf 'P5\n30000 30000\n255\n' >$H/promise.pgm && out 'promise\.pgm' '.*ends too early'
printf 'P5\n99999 99999\n255\n' >$H/wide.pgm && out 'wide\.pgm' '99999 x 99999 pixels: at most'
printf 'P5\n8 8\n65535\n' >$H/deep.pgm && out 'deep\.pgm' '.*values up to 65535'
"$make_pictures" ppm-cut $H/cut.ppm && out 'cut\.ppm' '.*ends too early'
cp plain/A/A1.pgm $H/$'two\nlines.pgm' && mkdir -p hostile/Ç && : >$H/$'bad\xff.jpg'
out 'bad\?\.jpg' 'the file is empty'
cp plain/A/A1.pgm "$H/mão 日本 7.pgm"
if has jpeg; then
    for kind in cmyk:CMYK cut:'a damaged JPEG' huge:'65500 x 65500 pixels: at most'; do
        "$make_pictures" "jpeg-${kind%%:*}" "$H/${kind%%:*}.jpg" && out "${kind%%:*}\.jpg" ".*${kind#*:}"
    done
    "$make_pictures" jpeg-exif $H/turned.jpg && taken 'turned\.jpg' 'turned upright as EXIF says'
fi
if has png; then
    for kind in 16:'16 bits' hole:'transparent pixels' cut:'a damaged PNG'; do
        "$make_pictures" "png-${kind%%:*}" "$H/${kind%%:*}.png" && out "${kind%%:*}\.png" ".*${kind#*:}"
    done
    "$make_pictures" png-opaque $H/opaque.png && taken 'opaque\.png' 'alpha channel dropped'
fi
boxed() { cp plain/A/A1.pgm "$H/$1.pgm" && cat >"$H/$1.xml"; } # the XML is stdin
if has "voc xml"; then
    {
        echo '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
        for k in 1 2 3 4 5 6 7 8 9; do
            echo "<!ENTITY lol$k \"$(yes "&lol$((k - 1));" | head -10 | tr -d '\n')\">"
        done
        echo ']><annotation>&lol9;</annotation>'
    } | sed 's/lol0/lol/g' | boxed bomb
    out 'bomb\.xml' 'line [12]: it declares entities'
    "$make_pictures" voc box 8 8 0 0 9 8 && boxed outside <box && out 'outside\.pgm' 'the box x 0 to 9, y 0 to 8 is not inside'
    "$make_pictures" voc box 8 8 0 0 7 8 && boxed small <box && out 'small\.pgm' '7 x 8 pixels are too few'
    "$make_pictures" voc box 80 8 0 0 8 8 && boxed other <box && out 'other\.pgm' 'it has 8 x 8 pixels, and other.xml speaks of'
    echo 'no XML' | boxed words && out 'words\.xml' 'line 1: no well-formed XML'
    echo '<annotation/>' | boxed none && out 'none\.xml' '.*no box'
    yes '<a>' | head -100 | boxed nested && out 'nested\.xml' '.*elements within elements'
    printf '<a>%02000000d</a>' 1 | boxed long && out 'long\.xml' '2000007 bytes; at most'
fi
echo x >$H/Thumbs.db && mkdir hostile/F && cp plain/A/A1.pgm hostile/loose.pgm && cp plain/A/A1.pgm $H/.hidden.jpg
hostile_lines+=('passed over B/Thumbs\.db: no \.jpg' 'passed over F: a folder that is named by none' 'passed over loose\.pgm: not in a letter')
for n in 1 3; do
    expect_exit 0 ranks "$n" import hostile "hostile.$n"
    check "nothing on stderr" test ! -s stderr
    cp stdout "hostile.$n.txt"
done
check "1 and 3 ranks say the same" diff <(sed 's/hostile\.3/hostile.1/' hostile.3.txt) hostile.1.txt
check "and write the same" diff -r hostile.1 hostile.3
for line in "${hostile_lines[@]}"; do
    check "named once: $line" test "$(grep -cE "^$line" hostile.1.txt)" = 1
done
check "and nothing else is left out" test "$(grep -cE '^(left out|taken|passed over) ' hostile.1.txt)" = $((${#hostile_lines[@]} + 1))
expect_text hostile.1.txt '^passed over +Ç: a folder'
check "the report is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null hostile.1.txt
expect_exit 0 program import hostile hostile.1 --force -q
says_once '^libras_mpi: [0-9]+ pictures were left out'

# ---- too few
about "an empty class"
base few
rm few/C/* && rm -r few/D && rm few/E/E2.pgm
expect_exit 2 ranks 2 import few few.data
says_once 'fewer than 2 pictures of CDE could be taken.*--packed'
expect_text stdout '^C +0 +0 '
check "nothing is written" test ! -e few.data
expect_exit 0 ranks 2 import few few.pack --packed u8
expect_text stdout '^25 images of 13 letters in few.pack; '
mkdir nothing && rm few/*/*
expect_exit 2 program import few few.none --packed u8
says_once 'no picture could be taken'
expect_exit 2 program import nothing few.none
says_once 'no folder here is named by a letter'
expect_exit 2 ranks 3 import nowhere few.none
says_once 'nowhere: No such file'
mkdir -p outer/inner && mv plain/A outer/inner/
expect_exit 2 program import outer few.none
says_once 'outer/inner has such folders'
mv outer/inner/A plain/ && cp -r plain/A plain/a
expect_exit 2 program import plain few.none
says_once 'both A and a are there'
rm -r plain/a
check "nothing is written" test ! -e few.none

# ---- where it goes
about "target"
mkdir some && cp on.1/data/M.csv some/m.csv
expect_exit 2 ranks 2 import tree some
says_once 'some/m\.csv: the file exists; --force replaces it'
check "nothing was added" test "$(ls some)" = m.csv
expect_exit 0 program import tree some --force -q
check "with --force it is there, and nothing else" diff -r some on.1/data
expect_exit 2 program import tree built
says_once 'built: not a folder'
expect_exit 2 program import tree some --packed u8
says_once 'some: a folder is there'
expect_exit 2 program import tree packed.u8 --packed u8
says_once 'packed\.u8: the file exists'
expect_exit 2 program import tree no/where.pack --packed u8
says_once 'cannot make the file: No such file'
for c in full closed; do
    full() { "$@" >/dev/full; }
    closed() { "$@" >&-; }
    expect_exit 1 $c program import tree some --force
    says_once '^libras_mpi: stdout: '
done
if [ "$(id -u)" = 0 ]; then
    skip "a folder without permission" "root may write everywhere"
else
    mkdir locked && chmod 555 locked
    expect_exit 2 program import tree locked
    says_once 'locked: cannot write in this folder'
fi
mkdir disk
if [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs tmpfs disk 2>/dev/null; then
    # A name space of its own: nobody else sees the mount, and it goes with the last process.
    cat >full.sh <<'END'
mount -t tmpfs -o size=8k tmpfs disk || exit 99
"$@"
code=$?
[ -z "$(ls -A disk | grep -v '^folder$')" ] && [ -z "$(ls -A disk/folder 2>/dev/null)" ] || exit 98
exit $code
END
    for what in disk/folder "disk/pack --packed f32"; do
        # shellcheck disable=SC2086 # words
        expect_exit 1 unshare --mount bash full.sh "$LIBRAS_PROGRAM" import tree $what -q
        says_once 'No space left on device'
    done
else
    skip "a full disk" "a small tmpfs cannot be mounted here"
fi
for other in '--whole' '--force'; do
    # shellcheck disable=SC2086 # MPIRUN holds options, too
    expect_exit 2 timeout "$patience" $MPIRUN -np 3 sh -c '[ $OMPI_COMM_WORLD_RANK != 2 ] || set -- "$@" '$other'; exec "$0" "$@"' \
        "$LIBRAS_PROGRAM" import tree other
    says_once '^libras_mpi\[2@[^]]+\]: .*other options than rank 0: '"${other#--}="
done

# ---- killed
about "killed"
{ printf 'P5\n6000 6000\n255\n' && head -c 36000000 /dev/zero; } >large.pgm
for c in $letters; do
    mkdir -p "slow/$c"
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ln "large.pgm" "slow/$c/$k.pgm"; done
done
job=
cleanup() {
    [ -z "$job" ] || kill -KILL "$job" 2>/dev/null
    rm -rf "$scratch"
}
$MPIRUN -np 3 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$0" "$@"' "$LIBRAS_PROGRAM" import slow slow.data \
    >stdout 2>stderr </dev/null &
job=$!
check "it reads" soon test -s pid.1 -a -d slow.data
kill -KILL "$(cat pid.1)"
begin=$SECONDS
timeout 60 tail -s 0.1 --pid="$job" -f /dev/null
check "the others end" test $((SECONDS - begin)) -lt 60
wait "$job"
check "not with 0" test $? != 0
job=
check "no data set is there" test "$(ls slow.data)" = ""
rm -rf slow large.pgm

# ---- predict
about "predict"
expect_exit 0 ranks 2 --data on.1/data --epochs 20 --block 32 -o r.h5 -q
pictures=(tree/A/A1.* tree/W/W4.p* "$H/mão 日本 7.pgm")
pictures=("${pictures[@]/%*.xml/}")
mapfile -t pictures < <(printf '%s\n' "${pictures[@]}" | grep .)
expect_exit 0 ranks 3 predict r.h5 "${pictures[@]}"
check "each picture once" test "$(grep -cE '^(tree|hostile)/.*: [A-W], (by its labelled box|the whole picture)$' stdout)" = ${#pictures[@]}
check "drawn in 8 rows of 16, with 15 scores" test "$(grep -cE '^  \|.{16}\|   [A-W] +-?[0-9]+\.[0-9]{4}(   [A-W] +-?[0-9]+\.[0-9]{4})?$' stdout)" \
    = $((8 * ${#pictures[@]}))
if command -v script >/dev/null; then
    on_terminal() { script -qec "$*" /dev/null </dev/null; }
    expect_exit 0 on_terminal timeout "$patience" "$LIBRAS_PROGRAM" predict r.h5 "${pictures[0]}"
    check "on a terminal in colours" test "$(grep -cF $'\033[48;5;' stdout)" = 8
    expect_exit 0 on_terminal NO_COLOR=1 timeout "$patience" "$LIBRAS_PROGRAM" predict r.h5 "${pictures[0]}"
    check "unless NO_COLOR is set" test "$(grep -cF $'\033' stdout)" = 0
else
    skip "colours on a terminal" "no script: apt-get install bsdutils"
fi
expect_exit 0 program predict r.h5 "${pictures[@]}" -q
check "-q: a line a picture" test "$(grep -cE ': [A-W]$' stdout)" = ${#pictures[@]} -a "$(wc -l <stdout)" = ${#pictures[@]}
expect_exit 2 program predict r.h5 "${pictures[0]}" nowhere.jpg $H/text.jpg "${pictures[1]}" -q
says_once '^libras_mpi: nowhere\.jpg: No such file'
says_once '^libras_mpi: hostile/B/text\.jpg: this is no picture'
check "the others are read" test "$(wc -l <stdout)" = 2
expect_exit 2 program predict nowhere.h5 "${pictures[0]}"
expect_exit 2 program predict r.h5 "${pictures[0]}" --trial 7
says_once 'no trial 7'
expect_exit 1 full program predict r.h5 "${pictures[0]}"
expect_exit 0 program infer r.h5 --data on.1/data -o i.h5 -q
program export i.h5 --table scores >scores.csv
expect_exit 0 program predict r.h5 tree/[A-W]/[A-W]1.[jp][!x]* --format json
cat >same.py <<'END'
import csv, json, struct
read = json.load(open("stdout"))
rows = [row for row in csv.DictReader(open("scores.csv"))][::5]  # each letter's first of five
assert len(read["pictures"]) == len(rows) == 15, (len(read["pictures"]), len(rows))
for picture, row in zip(read["pictures"], rows):
    theirs = [float(value) for name, value in row.items() if name.startswith("score_")]
    ours = list(picture["scores"].values())
    assert len(theirs) == 15 and struct.pack("15f", *ours) == struct.pack("15f", *theirs), (picture, row)
    assert len(picture["pixels"]) == 64 and picture["letter"] == row["predicted"], (picture, row)
END
head -1 scores.csv >&2
check "scores are those of import and infer, bit for bit" "${PYTHON:-python3}" same.py

# ---- the box beside a picture
about "the box file, whatever its capitals"
mkdir beside && cp tree/A/A1.* beside/ && chmod -R u+w beside
picture=$(ls beside/A1.[jp][!x]*) box=$(ls beside/A1.xml)
expect_exit 0 program predict r.h5 "$picture" --format json && cp stdout as_labelled
for capitals in XML Xml; do
    mv "$box" "beside/A1.$capitals" && box=beside/A1.$capitals
    expect_exit 0 program predict r.h5 "$picture" --format json
    check "predict cuts by A1.$capitals" cmp stdout as_labelled
done
rm "$box" && ln -s nowhere "$box"
expect_exit 2 program predict r.h5 "$picture"
expect_text stderr 'A1\.Xml: No such file'
cp -r tree capitals && chmod -R u+w capitals && mv capitals/A/A1.xml capitals/A/A1.Xml && cp capitals/B/B1.xml capitals/B/B1.XML
expect_exit 0 program import capitals on.capitals
check "import cuts by A1.Xml" cmp on.capitals/A.csv on.1/data/A.csv
expect_text stdout 'B/B1\.XML: another XML file of this picture was taken'
expect_exit 2 program import "$(printf './%.0s' {1..300})tree" on.far
expect_text stderr 'the path of the pictures has [0-9]+ bytes'

# ---- split by position
about "--split tail"
expect_exit 0 ranks 2 --data on.1/data --epochs 3 --block 32 --split tail --holdout 0.25 -o tail.h5 -q
expect_exit 0 program verify tail.h5 -q
expect_exit 0 ranks 2 --data on.1/data --epochs 3 --block 32 --holdout 0.25 -o random.h5 -q
expect_exit 3 program verify tail.h5 random.h5
expect_text stdout '^data set .* failed$'
expect_exit 0 program infer tail.h5 --data on.1/data -o tail.i.h5 -q
expect_exit 0 program verify tail.i.h5 -q
expect_exit 0 ranks 2 --data on.1/data --epochs 3 --block 32 --split tail --split-seed 5 --holdout 0.25 -o tail.5.h5 -q
expect_exit 0 program verify tail.h5 tail.5.h5
expect_text stdout 'SAME_BITS'
program export tail.h5 --table scores >scores.csv
check "the last of each letter's five is the test" \
    "${PYTHON:-python3}" -c 'import csv; r = [int(x["sample"]) for x in csv.DictReader(open("scores.csv"))]; assert r == list(range(4, 75, 5)), r'

finish
