/* Questions about crafted processes, for tests and fuzzers: to be included behind struct crafted and CRAFTED_MAPS. */
#pragma once
#include "base/cleanup.h"
#include "base/fs.h"
#include "dwarf/names.h"
#include "runtime/runtime.h"
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

/* ---- Fuzzers */

struct crafted_fuzzer {
    void (*change)(struct crafted *c, const u8 *data, size_t len);
    void (*name_all)(const struct crafted *c, int mem, const struct buf *attached, const void *arg);
    const void *arg;
};

/* A byte each: where and what. */
static inline void crafted_change_bytes(struct crafted *c, const u8 *data, size_t len)
{
    for (size_t i = 0; i + 2 < len; i += 3)
        c->bytes[data[i] | data[i + 1] << 8] = data[i + 2];
}

/* Looks at a process before and after it is changed, and names frames with what was found each time. */
static inline void crafted_fuzz(struct crafted *c, const struct crafted_fuzzer *f, const u8 *data, size_t len)
{
    AUTO_BUF struct buf before = {0};
    AUTO_BUF struct buf after = {0};
    AUTO_BUF struct buf about = {0};
    const void *bytes;
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", CRAFTED_MAPS, strlen(CRAFTED_MAPS));
    if (attach(c, &before))
        abort();
    f->change(c, data, len);
    AUTO_CLOSE int mem = memory_of(c);
    f->name_all(c, mem, &before, f->arg);
    if (!runtime_about(mem, maps, &about) && !runtime_about_sound(about.data, about.len))
        abort();
    if (runtime_attach(mem, maps, &after))
        return;
    if (!runtime_attached(after.data, after.len, &bytes))
        abort();
    f->name_all(c, mem, &after, f->arg);
}
