/* A label_set holds the labels of a profile, sorted by name. Names are unique, values are valid UTF-8 without control
 * characters, and sizes are limited, so that servers accept every set. Equal sets have equal bytes: sets are compared
 * and hashed as bytes.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABELS_MAX      30   /* names in a set: Pyroscope's default limit */
#define LABEL_NAME_MAX  128  /* bytes, without the NUL */
#define LABEL_VALUE_MAX 2048 /* bytes, without the NUL */

struct label {
    char *name, *value; /* owned */
};
struct label_set { /* {0} is the empty set */
    struct label v[LABELS_MAX];
    size_t n;
};

/* Sets the value of `name`, replacing any previous value. The name is sanitised to [a-zA-Z_][a-zA-Z0-9_]*. The value is
 * truncated to LABEL_VALUE_MAX at a character boundary; bytes that are not UTF-8 become U+FFFD, control characters
 * become blanks. An empty value removes the label. Returns 0; -EINVAL: the name is empty; -ENOSPC: the set is full;
 * -ENOMEM.
 */
int labels_set(struct label_set *s, const char *name, const char *value);
/* The same, but keeps an existing value. */
int labels_add(struct label_set *s, const char *name, const char *value);
/* NULL when the set has no such name. */
const char *labels_get(const struct label_set *s, const char *name);
int labels_copy(struct label_set *out, const struct label_set *s); /* 0 or -ENOMEM; `out` must be empty */
/* Compares two sets by their (name, value) pairs; 0 if they are equal. */
int labels_compare(const struct label_set *a, const struct label_set *b);
uint64_t labels_hash(const struct label_set *s);
void labels_free(struct label_set *s); /* leaves the empty set */

/* Sanitises `name` as a label name: characters not in [a-zA-Z0-9_] become '_', a leading digit gets a '_' before it;
 * truncated. */
void label_clean_name(char out[LABEL_NAME_MAX + 1], const char *name);
/* Sanitises `value` as a label value of at most size - 1 bytes. Returns its length. */
size_t label_clean_value(char *out, size_t size, const char *value);
