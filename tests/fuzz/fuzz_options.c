/* fuzz_options.c: any bytes as a command line, its words separated by line feeds. What is accepted has a help, and an
 * echo; the same words give the same echo. */
#include "fuzz_file.h"
#include "options.h"

enum { MOST_WORDS = 60 };

static void parse(const char *words, size_t size, char **echo)
{
    char *copy = malloc(size + 1), *argv[MOST_WORDS + 2] = {"libras_mpi"};
    int argc = 1;
    struct lm_options options;
    struct lm_error err = {0, ""};
    fuzz_demand(copy != NULL, "memory");
    memcpy(copy, words, size);
    copy[size] = '\0';
    for (char *word = copy; word && argc <= MOST_WORDS;) {
        argv[argc++] = word;
        word = strchr(word, '\n');
        if (word)
            *word++ = '\0';
    }
    int code = lm_options_parse(argc, argv, &options, &err);
    fuzz_message(code, &err, NULL);
    *echo = NULL;
    if (code == LM_OK) {
        char *help = lm_options_help(&options);
        *echo = lm_options_echo(&options);
        fuzz_demand(help && strstr(help, "Usage: "), "a help");
        fuzz_demand(*echo && strncmp(*echo, "command=", 8) == 0, "an echo");
        free(help);
        lm_options_free(&options);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *first, *second;
    if (size > 4096)
        return 0;
    parse((const char *)data, size, &first);
    parse((const char *)data, size, &second);
    fuzz_demand(!first == !second && (!first || strcmp(first, second) == 0), "the same words, the same echo");
    free(first);
    free(second);
    return 0;
}
