/* Questions about crafted processes, for tests and fuzzers: to be included behind struct crafted and CRAFTED_MAPS. */
#pragma once
#include "base/cleanup.h"
#include "base/fs.h"
#include "dwarf/names.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int memory_of(const struct crafted *c)
{
    return fs_sealed_memfd("mem", c->bytes, sizeof(c->bytes));
}

static inline int attach(const struct crafted *c, struct buf *out)
{
    AUTO_CLOSE int mem = memory_of(c);
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    return runtime_attach(mem, maps, out);
}

static inline int attach_alone(const struct crafted *c)
{
    AUTO_BUF struct buf out = {0};
    return attach(c, &out);
}

static inline int names_of(const struct crafted *c, const struct buf *attached, const u64 *words, size_t n,
                           struct buf *out)
{
    AUTO_CLOSE int mem = memory_of(c);
    return runtime_names(mem, attached->data, attached->len, words, n, out);
}

/* "kind name file:line" of each frame of one pair of words, innermost first. `plain`: names have one form only. */
static inline const char *frames_in(const struct crafted *c, const struct buf *attached, u64 word, u64 more, bool plain)
{
    static char text[16384];
    AUTO_BUF struct buf out = {0};
    struct names v;
    const u64 words[] = {word, more};
    size_t len = 0;
    text[0] = 0;
    if (names_of(c, attached, words, 2, &out) || names_view(out.data, out.len, 1, &v))
        return "failed";
    for (u32 i = v.first[0]; i < v.first[1] && len < sizeof(text); i++) {
        const struct names_frame *f = &v.frames[i];
        if (plain && f->name != f->system_name)
            return "names differ";
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d %s %s:%u", i ? ", " : "", (int)f->start,
                                v.strings + f->system_name, v.strings + f->file, f->line);
    }
    return text;
}

/* What `inspect` says of it, which is sound; or why it says nothing. */
static inline const char *crafted_about(const struct crafted *c)
{
    static char text[1024];
    AUTO_BUF struct buf out = {0};
    AUTO_CLOSE int mem = memory_of(c);
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    int rc = runtime_about(mem, maps, &out);
    if (rc)
        return rc == -ENODATA   ? "nothing"
               : rc == -EAGAIN  ? "still starts"
               : rc == -ENOTSUP ? "not understood"
                                : "failed";
    if (!runtime_about_sound(out.data, out.len))
        return "not sound";
    snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
    return text;
}

/* ---- Words of stacks */

#define CRAFTED_MAX_PAIRS 16
struct crafted_words {
    u64 v[2 * CRAFTED_MAX_PAIRS];
    u32 pairs;
};

static inline void crafted_ask(struct crafted_words *w, u64 word, u64 more)
{
    w->v[2 * w->pairs] = word;
    w->v[2 * w->pairs++ + 1] = more;
}

/* ---- Fuzzers */

struct crafted_fuzzer {
    void (*change)(struct crafted *c, const u8 *data, size_t len);
    void (*ask)(const struct crafted *c, const void *arg, struct crafted_words *out);
    const void *arg;
};

/* A byte each: where and what. */
static inline void crafted_change_bytes(struct crafted *c, const u8 *data, size_t len)
{
    for (size_t i = 0; i + 2 < len; i += 3)
        c->bytes[data[i] | data[i + 1] << 8] = data[i + 2];
}

/* Whatever is answered must be sound. */
static inline void crafted_name_soundly(int mem, const struct buf *attached, const struct crafted_words *w)
{
    AUTO_BUF struct buf out = {0};
    struct names v;
    if (!runtime_names(mem, attached->data, attached->len, w->v, 2 * (size_t)w->pairs, &out) &&
        names_view(out.data, out.len, w->pairs, &v))
        abort();
}

/* Looks at a process before and after it is changed, and names frames with what was found each time. */
static inline void crafted_fuzz(struct crafted *c, const struct crafted_fuzzer *f, const u8 *data, size_t len)
{
    AUTO_BUF struct buf before = {0};
    AUTO_BUF struct buf after = {0};
    AUTO_BUF struct buf about = {0};
    struct crafted_words words = {0};
    const void *bytes;
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    if (attach(c, &before))
        abort();
    f->change(c, data, len);
    f->ask(c, f->arg, &words);
    AUTO_CLOSE int mem = memory_of(c);
    crafted_name_soundly(mem, &before, &words);
    if (!runtime_about(mem, maps, &about) && !runtime_about_sound(about.data, about.len))
        abort();
    if (runtime_attach(mem, maps, &after))
        return;
    if (!runtime_attached(after.data, after.len, &bytes))
        abort();
    crafted_name_soundly(mem, &after, &words);
}

/* The entry of a fuzzer that changes bytes: MAKE crafts *c, as the first byte, `kind`, says. */
#define CRAFTED_FUZZER(ask, make)                                                      \
    int LLVMFuzzerTestOneInput(const u8 *data, size_t len);                            \
    int LLVMFuzzerTestOneInput(const u8 *data, size_t len)                             \
    {                                                                                  \
        static const struct crafted_fuzzer fuzzer = {crafted_change_bytes, ask, NULL}; \
        AUTO_FREE struct crafted *c = malloc(sizeof(*c));                              \
        if (!c || !len)                                                                \
            return 0;                                                                  \
        u8 kind = data[0];                                                             \
        make;                                                                          \
        crafted_fuzz(c, &fuzzer, data + 1, len - 1);                                   \
        return 0;                                                                      \
    }
