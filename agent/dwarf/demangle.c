#include "dwarf/demangle.h"
#include "base/utf8.h"
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define DEMANGLE_MAX_D   2048u
#define MAX_D_REFERENCES 10 /* a thousandfold at most */

struct sink {
    struct buf text;
    jmp_buf full;
};

/* The demanglers cannot be told to stop: leave them. They keep their state on the stack (but for one buffer of Rust's
 * punycode, which is then lost: a few bytes for a hostile name). */
static void take(const char *s, size_t n, void *arg)
{
    struct sink *k = arg;
    if (n > DEMANGLE_MAX_OUT - k->text.len)
        longjmp(k->full, 1);
    buf_add(&k->text, s, n);
}

static bool try_all(const char *mangled, int options, struct sink *k)
{
    if (setjmp(k->full))
        return false;
    if (rust_demangle_callback(mangled, options, take, k))
        return true; /* legacy Rust looks like C++: it comes first */
    k->text.len = 0;
    return !strncmp(mangled, "_Z", 2) && cplus_demangle_v3_callback(mangled, options, take, k);
}

/* D's names refer back to parts of themselves (Q); each reference may double the text. The library allocates it. */
static bool try_d(const char *mangled, struct sink *k)
{
    size_t references = 0;
    for (const char *c = mangled; *c; c++)
        references += *c == 'Q';
    if (references > MAX_D_REFERENCES)
        return false;
    char *text = dlang_demangle(mangled, 0);
    if (text && strlen(text) <= DEMANGLE_MAX_OUT)
        buf_str(&k->text, text);
    free(text);
    return k->text.len;
}

void append_utf8(struct buf *out, const char *s, size_t len)
{
    size_t from = 0, i = 0;
    while (i < len) {
        if (s[i] > 0) { /* ASCII: nearly all */
            i++;
            continue;
        }
        size_t n = s[i] ? utf8_len(s + i, len - i) : 0;
        if (!n) {
            buf_add(out, s + from, i - from);
            buf_str(out, "\xef\xbf\xbd");
            from = i + 1;
        }
        i += n ? n : 1;
    }
    buf_add(out, s + from, len - from);
}

bool demangle(const char *name, size_t len, enum demangle_style style, struct buf *out)
{
    char mangled[DEMANGLE_MAX_IN + 1];
    struct sink k = {0};
    bool done = false;
    if (len > 2 && len <= DEMANGLE_MAX_IN && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == '_')) {
        memcpy(mangled, name, len);
        mangled[len] = 0;
        done = try_all(mangled, DMGL_ANSI | (style == DEMANGLE_FULL ? DMGL_PARAMS : 0), &k) && k.text.len;
    }
    if (len > 2 && len <= DEMANGLE_MAX_D && name[0] == '_' && name[1] == 'D' && name[2] >= '1' && name[2] <= '9') {
        memcpy(mangled, name, len);
        mangled[len] = 0;
        done = try_d(mangled, &k);
    }
    if (done)
        append_utf8(out, k.text.data, k.text.len);
    else
        append_utf8(out, name, len);
    buf_free(&k.text);
    return done;
}

/* One suffix, with its number; 0: there is none. */
static size_t suffix_len(const char *name, size_t len)
{
    static const char *const suffixes[] = {".cold", ".part",       ".isra",  ".constprop", ".lto_priv",
                                           ".llvm", ".localalias", ".clone", ".hot",       ".unlikely"};
    size_t end = len;
    while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    if (end == len || !end || name[end - 1] != '.')
        end = len;
    else
        end--;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        size_t n = strlen(suffixes[i]);
        if (n < end && !memcmp(name + end - n, suffixes[i], n))
            return len - end + n;
    }
    return 0;
}

size_t demangle_base(const char *name, size_t len)
{
    for (size_t n; (n = suffix_len(name, len));)
        len -= n;
    return len;
}
