/* fuzz_voc.c: any bytes as a Pascal VOC file: a box, or a reason. */
#include "fuzz_file.h"
#include "voc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lm_voc voc;
    struct lm_error err;
    int code = lm_voc_parse(data, size, &voc, &err);
    if (code != LM_UNAVAILABLE) /* a build without expat */
        fuzz_message(code, &err, NULL);
    return 0;
}
