#include "kube/lean.h"
#include <string.h>

#define KEY "\"managedFields\":"

/* Behind the string that begins at `at`; n: it does not end. */
static size_t end_of_string(const char *text, size_t at, size_t n)
{
    for (at++; at < n && text[at] != '"'; at++)
        at += text[at] == '\\';
    return at < n ? at + 1 : n;
}

/* Behind the array or object that begins at `at`; n: it does not end. */
static size_t end_of_value(const char *text, size_t at, size_t n)
{
    for (size_t depth = 0; at < n;) {
        char c = text[at];
        at = c == '"' ? end_of_string(text, at, n) : at + 1;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (!depth)
            return at;
    }
    return n;
}

void lean_copy(struct buf *out, const char *text, size_t n)
{
    const size_t key = sizeof(KEY) - 1;
    size_t copied = 0;
    if (out->failed)
        buf_free(out);
    out->len = 0;
    for (size_t at = 0; at < n;) {
        if (text[at] != '"') {
            at++;
            continue;
        }
        bool managed = n - at > key && !memcmp(text + at, KEY, key) && (text[at + key] == '[' || text[at + key] == '{');
        if (managed) {
            buf_add(out, text + copied, at + key - copied);
            buf_char(out, '0');
            at = copied = end_of_value(text, at + key, n);
        } else {
            at = end_of_string(text, at, n);
        }
    }
    buf_add(out, text + copied, n - copied);
}
