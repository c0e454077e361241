#!/usr/bin/env bash
# The include hierarchy of CONTRIBUTING.md, and what the library promises: no MPI, no CUDA, no printing, no exit, no
# globals. The checks are also tried on a tree that breaks each rule, since a check that cannot fail proves nothing.
. "$(dirname "$0")/../lib.sh"

# includes FOLDER: "file:header" for each #include of the tree's C, C++ and CUDA files in FOLDER.
includes() {
    grep -rEo --include='*.[ch]' --include='*.cu' --include='*.cuh' '^\s*#\s*include\s*[<"][^>"]+' "$1" 2>/dev/null |
        sed -E 's/:\s*#\s*include\s*[<"]/:/'
}

cuda_header='(cuda|cublas|cudnn|curand|nvml|nvtx|nccl|cooperative_groups|device_launch)[^:]*$'

# broken_rules: what is wrong in the tree of the current folder, a line each.
broken_rules() {
    local header
    includes src | grep -E ':(mpi|mpi-ext|mpio)\.h$' | sed 's/$/ (src is without MPI)/'
    includes src | grep -E ":$cuda_header" | sed 's/$/ (src is without CUDA)/'
    includes cuda | grep -E ':(mpi|mpi-ext)\.h$' | sed 's/$/ (cuda is without MPI)/'
    includes mpi | grep -E ":$cuda_header" | sed 's/$/ (mpi is without CUDA)/'
    # What src includes with quotes is in src, or is made by the build.
    grep -rEn --include='*.[ch]' '^\s*#\s*include\s*"' src | while IFS= read -r line; do
        header=${line#*\"} && header=${header%%\"*}
        [ "$header" = version.h ] || { [[ $header != */* ]] && [ -e "src/$header" ]; } || echo "$line (not in src)"
    done
    includes src | grep -E '\.h:' | sed -E 's|^src/([^:]*):(.*)|\1 \2|' | tsort 2>&1 >/dev/null | sed 's/$/ (headers of src)/'
}

# mutable_objects FILE: variables with static storage that somebody could write to. A constant table of pointers
# lies in .data.rel.ro: the loader fills it in, and then it is read-only.
mutable_objects() {
    nm -A -f sysv "$1" 2>/dev/null | awk -F'|' '{ gsub(/ /, "", $3); gsub(/ /, "", $7) }
        $3 ~ /^[BbDdCcGgSs]$/ && $7 !~ /^\.data\.rel\.ro/ { print $1 }'
}

# stops_or_prints FILE: calls that end the program or write to its standard output or error.
stops_or_prints() {
    nm -A -u "$1" 2>/dev/null |
        grep -E ' (exit|_exit|_Exit|quick_exit|abort|__assert_fail|v?printf|__v?printf_chk|puts|putchar|perror|stdout|stderr)(@|$)'
}

about "the tree"
broken_rules >"$scratch/broken"
check "keeps the include hierarchy" diff "$scratch/broken" /dev/null
check "has includes that this test can see" test "$(includes src | wc -l)" -gt 50

about "the library"
library=$LIBRAS_BUILD/liblibras.a
if [ ! -e "$library" ]; then
    skip "its objects" "not built: make lib"
elif ! command -v nm >/dev/null; then
    skip "its objects" "no nm (binutils)"
else
    mutable_objects "$library" >"$scratch/mutable"
    check "has no variable that outlives a call" diff "$scratch/mutable" /dev/null
    stops_or_prints "$library" >"$scratch/stops"
    check "never prints, exits or aborts" diff "$scratch/stops" /dev/null
    check_not "calls neither MPI nor CUDA" grep -E ' U (MPI_|cuda|cu[A-Z])' <(nm -u "$library")
fi

about "a tree that breaks the rule"
mkdir -p "$scratch"/tree/{src,cuda,mpi}
cd "$scratch/tree" || exit 1
# seen TEXT FILE LINE: FILE with that line is reported with that text.
seen() {
    echo "$3" >"$2"
    broken_rules >"$scratch/broken"
    check "$3 in $2" grep -qF "$1" "$scratch/broken"
    rm -f "$2"
}
check_not "is none when it is empty" grep . <(broken_rules)
seen "without MPI" src/a.c '#include <mpi.h>'
seen "without MPI" src/a.h '  #  include "mpi.h"'
seen "without CUDA" src/a.c '#include <cuda_runtime.h>'
seen "without MPI" cuda/a.cu '#include <mpi.h>'
seen "without CUDA" mpi/a.c '#include <cuda_runtime_api.h>'
touch mpi/gather.h
seen "not in src" src/a.c '#include "gather.h"'
seen "not in src" src/a.c '#include "../mpi/gather.h"'
echo '#include "b.h"' >src/a.h
seen "loop" src/b.h '#include "a.h"'

about "an object that breaks the rule"
cat >bad.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static const char *const fine[] = {"a", "b"};
static int counter;
int shared = 1;
const char *bad(int i)
{
    static int calls = 3;
    if (counter++ + calls++ + shared > 9)
        exit(1);
    printf("%d\n", i);
    return fine[i];
}
END
if "${CC:-gcc}" -O0 -fPIE -c bad.c -o bad.o 2>/dev/null && command -v nm >/dev/null; then
    mutable_objects bad.o >mutable
    check "three variables are found" test "$(grep -cE 'counter|shared|calls' mutable)" = 3
    check_not "a constant table is not" grep fine mutable
    check "exit and printf are found" test "$(stops_or_prints bad.o | grep -cE 'exit|printf|puts')" = 2
else
    skip "its symbols" "no compiler, or no nm"
fi

finish
