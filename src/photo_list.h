/* photo_list.h: which photographs a folder holds, and in which order they become samples.
 *
 * IMAGES has a folder a letter, named by it (A, or a; both is an error). In it: pictures, *.jpg, *.jpeg, *.png, *.pgm,
 * *.ppm, *.pnm, in capitals too, and the XML file X.xml (capitals or not) beside X.jpg. The order is that of
 * LM_LETTERS, in a letter that of the last number in the name (A2.jpg before A10.jpg; names without one after all
 * others), and where the numbers are the same that of the names' bytes: the same on every machine, in every locale.
 */
#ifndef LM_PHOTO_LIST_H
#define LM_PHOTO_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "dataset.h"
#include "status.h"

#define LM_NO_NAME UINT64_MAX

struct lm_photo_entry {
    uint64_t picture; /* where in names[] its path below IMAGES begins: "A/A7.jpg" */
    uint64_t voc;     /* its XML file's; LM_NO_NAME: there is none */
    uint64_t label;   /* index into LM_LETTERS */
};

/* Flat, so that it can be sent to other ranks as it is. */
struct lm_photo_list {
    uint64_t n;                   /* pictures */
    struct lm_photo_entry *photo; /* owned, (n) */
    uint64_t names_bytes;
    char *names; /* owned, (names_bytes): paths, each with its 0 */
    uint64_t n_strays;
    uint64_t *stray; /* owned, (n_strays): texts in names[], "F: why it is no picture" */
};

/* LM_BAD_INPUT: the folder cannot be read, a letter has two folders, or there is no letter's folder at all. A letter
 * without folder has no pictures here. Hidden files (.name) are passed over. */
int lm_photo_list_make(const char *dir, struct lm_photo_list *out, struct lm_error *err);
void lm_photo_list_free(struct lm_photo_list *list);

/* The order of two names: below 0, 0 (the same bytes), above 0. */
int lm_photo_order(const char *a, const char *b);

#endif
