#include "base/labels.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

void label_clean_name(char out[LABEL_NAME_MAX + 1], const char *name)
{
    size_t n = 0;
    if (is_digit(*name))
        out[n++] = '_';
    for (; *name && n < LABEL_NAME_MAX; name++)
        out[n++] = is_name_char(*name) ? *name : '_';
    out[n] = 0;
}

/* C0, DEL, and C1 as UTF-8 writes it. */
static bool is_control(const char *s, size_t len)
{
    const uint8_t *c = (const uint8_t *)s;
    return len == 1 ? c[0] < 0x20 || c[0] == 0x7f : len == 2 && c[0] == 0xc2 && c[1] < 0xa0;
}

size_t label_clean_value(char *out, size_t size, const char *value)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t n = 0;
    for (size_t left = strnlen(value, size * 4), len; left; value += len, left -= len) {
        len = utf8_len(value, left);
        const char *from = !len ? replacement : is_control(value, len) ? " " : value;
        size_t add = !len ? 3 : from == value ? len : 1;
        if (n + add >= size)
            break;
        memcpy(out + n, from, add);
        n += add;
        len += !len;
    }
    out[n] = 0;
    return n;
}

/* Where `name` stands, or would stand. */
static size_t place_of(const struct label_set *s, const char *name, bool *found)
{
    size_t i = 0;
    while (i < s->n && strcmp(s->v[i].name, name) < 0)
        i++;
    *found = i < s->n && !strcmp(s->v[i].name, name);
    return i;
}

static void remove_at(struct label_set *s, size_t i)
{
    free(s->v[i].name);
    free(s->v[i].value);
    memmove(&s->v[i], &s->v[i + 1], (s->n - i - 1) * sizeof(s->v[0]));
    s->n--;
}

static int insert_at(struct label_set *s, size_t i, const char *name, char **value)
{
    if (s->n == LABELS_MAX)
        return -ENOSPC;
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    memmove(&s->v[i + 1], &s->v[i], (s->n - i) * sizeof(s->v[0]));
    s->v[i] = (struct label){copy, TAKE_PTR(*value)};
    s->n++;
    return 0;
}

static int put(struct label_set *s, const char *name, const char *value, bool replace)
{
    char clean[LABEL_NAME_MAX + 1], text[LABEL_VALUE_MAX + 1];
    bool found;
    if (!*name)
        return -EINVAL;
    label_clean_name(clean, name);
    size_t i = place_of(s, clean, &found);
    if (found && !replace)
        return 0;
    if (!label_clean_value(text, sizeof(text), value)) {
        if (found)
            remove_at(s, i);
        return 0;
    }
    AUTO_FREE char *copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    if (!found)
        return insert_at(s, i, clean, &copy);
    free(s->v[i].value);
    s->v[i].value = TAKE_PTR(copy);
    return 0;
}

int labels_set(struct label_set *s, const char *name, const char *value)
{
    return put(s, name, value, true);
}

int labels_add(struct label_set *s, const char *name, const char *value)
{
    return put(s, name, value, false);
}

const char *labels_get(const struct label_set *s, const char *name)
{
    bool found;
    size_t i = place_of(s, name, &found);
    return found ? s->v[i].value : NULL;
}

int labels_copy(struct label_set *out, const struct label_set *s)
{
    struct label_set copy = {0};
    for (size_t i = 0; i < s->n; i++) {
        int rc = put(&copy, s->v[i].name, s->v[i].value, true);
        if (rc) {
            labels_free(&copy);
            return rc;
        }
    }
    *out = copy;
    return 0;
}

int labels_compare(const struct label_set *a, const struct label_set *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        int c = strcmp(a->v[i].name, b->v[i].name);
        if (!c)
            c = strcmp(a->v[i].value, b->v[i].value);
        if (c)
            return c;
    }
    return a->n < b->n ? -1 : a->n > b->n;
}

uint64_t labels_hash(const struct label_set *s)
{
    uint64_t h = s->n;
    for (size_t i = 0; i < s->n; i++) {
        h = hash_bytes(s->v[i].name, strlen(s->v[i].name), h);
        h = hash_bytes(s->v[i].value, strlen(s->v[i].value), h);
    }
    return h;
}

void labels_free(struct label_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->v[i].name);
        free(s->v[i].value);
    }
    s->n = 0;
}
