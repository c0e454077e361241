/* replay.c: a fuzz target's main without libFuzzer: runs it over the files that are named, once each. */
#include "fuzz_file.h"

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        FILE *file = fopen(argv[k], "rb");
        uint8_t *bytes = malloc((size_t)1 << 24);
        if (!file || !bytes) {
            fprintf(stderr, "%s: cannot be read\n", argv[k]);
            return 2;
        }
        size_t n = fread(bytes, 1, (size_t)1 << 24, file);
        fclose(file);
        printf("%s: %zu bytes\n", argv[k], n);
        fflush(stdout); /* whoever crashes now is known */
        LLVMFuzzerTestOneInput(bytes, n);
        free(bytes);
    }
    return 0;
}
