/* dataset_where.c: the line of a file that a sample came from, for a message. Lines are not kept while reading (no
 * answer needs them): the file is read once more, up to that line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset.h"

static FILE *open_letter(const struct lm_dataset *data, char letter, char **path)
{
    FILE *file = NULL;
    const char names[2] = {letter, (char)(letter | 0x20)};
    for (int k = 0; k < 2 && !file; k++) {
        free(*path);
        if (asprintf(path, "%s/%c.csv", data->path, names[k]) < 0) {
            *path = NULL;
            return NULL;
        }
        file = fopen(*path, "re");
    }
    return file;
}

/* The number of the line with the row that has `before` rows before it; 0 if there are not so many. */
static unsigned long long find_line(FILE *file, uint64_t before)
{
    char *text = NULL;
    size_t room = 0;
    unsigned long long line = 0, found = 0;
    while (!found && getline(&text, &room, file) > 0) {
        line++;
        if (text[strspn(text, " \t\r\n")] == '\0')
            continue; /* blank lines are no rows */
        found = before == 0 ? line : 0;
        before--;
    }
    free(text);
    return found;
}

void lm_dataset_where(const struct lm_dataset *data, size_t sample, char *text, size_t size)
{
    int letter = data->label[sample];
    uint64_t before = sample;
    char *path = NULL;
    unsigned long long line = 0;
    for (int c = 0; c < letter; c++)
        before -= data->count[c];
    FILE *file = data->path && data->lines[letter] ? open_letter(data, LM_LETTERS[letter], &path) : NULL;
    if (file) {
        line = find_line(file, before);
        fclose(file);
    }
    if (line)
        snprintf(text, size, "%s:%llu", path, line);
    else
        snprintf(text, size, "letter %c, its sample %llu", LM_LETTERS[letter], (unsigned long long)before + 1);
    free(path);
}
