/* A label_set holds the labels of a profile, sorted by name. Names are unique, values are valid UTF-8 without control
 * characters, and sizes are bounded, so that a set contains nothing that servers refuse. Equal sets have equal bytes:
 * sets are compared and hashed as bytes.
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

/* Gives `name` that value, replacing what it had. The name is made one of [a-zA-Z_][a-zA-Z0-9_]*, the value is cut to
 * LABEL_VALUE_MAX at a whole character; bytes that are no UTF-8 become U+FFFD, control characters blanks. An empty
 * value is no label: nothing is added, and an old one goes away. 0; -EINVAL an empty name; -ENOSPC the set is full;
 * -ENOMEM.
 */
int labels_set(struct label_set *s, const char *name, const char *value);
/* The same, but a value that the name already has stays. */
int labels_add(struct label_set *s, const char *name, const char *value);
/* NULL when the set has no such name. */
const char *labels_get(const struct label_set *s, const char *name);
int labels_copy(struct label_set *out, const struct label_set *s); /* 0 or -ENOMEM; `out` holds nothing before */
/* Order of (name, value) pairs; 0 when both hold the same. */
int labels_compare(const struct label_set *a, const struct label_set *b);
uint64_t labels_hash(const struct label_set *s);
void labels_free(struct label_set *s); /* leaves the empty set */

/* `name` as a label's name: what is not in [a-zA-Z0-9_] becomes '_', a digit in front gets one before it; cut. */
void label_clean_name(char out[LABEL_NAME_MAX + 1], const char *name);
/* `value` as it would stand in a set, at most size - 1 bytes. Returns its length. */
size_t label_clean_value(char *out, size_t size, const char *value);
