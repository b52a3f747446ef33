/* Tests on crafted processes: to be included behind struct crafted, as runtime/crafted_ask.h is. */
#pragma once
#include "base/test.h"
#include "runtime/crafted_ask.h"

/* A crafted process c, and what is found when it is attached to, a. */
#define CRAFT(...)                                    \
    AUTO_FREE struct crafted *c = malloc(sizeof(*c)); \
    AUTO_BUF struct buf a = {0};                      \
    crafted_make(c, __VA_ARGS__);                     \
    CHECK_EQ(attach(c, &a), 0)

/* A reply like `sound`, which is a struct, is refused with a change (`field = value`). */
#define CHECK_REFUSED(check, sound, change)                     \
    do {                                                        \
        __typeof__(sound) changed_ = (sound);                   \
        changed_.change;                                        \
        CHECK_EQ(check(&changed_, sizeof(changed_)), -EBADMSG); \
    } while (0)

/* What this runtime has said; nothing if it is another one. */
static inline void crafted_said(const struct buf *attached, const struct runtime *runtime, void *out, size_t size)
{
    const void *bytes;
    if (runtime_attached(attached->data, attached->len, &bytes) == runtime)
        memcpy(out, bytes, size);
}

/* Calls what the module exports by another name. */
static inline void crafted_rename(struct crafted *c, const char *name)
{
    char *s = (char *)c->bytes + CRAFTED_MODULE + CRAFTED_MODULE_STRTAB + 1;
    while (*s && strcmp(s, name) != 0)
        s += strlen(s) + 1;
    if (*s)
        *s = '-';
    else
        test_fail(__FILE__, __LINE__, "no %s", name);
}

/* ---- Hostile input */

struct crafted_harm {
    void (*make)(struct crafted *c, unsigned i);
    /* Asks about frames of a process, before and after its bytes were changed, and about any. */
    void (*ask)(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out);
};

static inline void crafted_check_names(const struct crafted *c, const struct buf *attached,
                                       const struct crafted_words *w)
{
    AUTO_BUF struct buf out = {0};
    struct names v;
    CHECK_EQ(names_of(c, attached, w->v, 2 * (size_t)w->pairs, &out), 0);
    CHECK_EQ(names_view(out.data, out.len, w->pairs, &v), 0);
}

/* Whatever bytes change: no reply that is not sound, and none that is not one. */
static inline void crafted_do_no_harm(const struct crafted_harm *h)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    AUTO_FREE struct crafted *bad = malloc(sizeof(*bad));
    u64 seed = 1;
    unsigned attached = 0;
    for (unsigned i = 0; i < 400; i++) {
        AUTO_BUF struct buf a = {0};
        AUTO_BUF struct buf b = {0};
        struct crafted_words words = {0};
        h->make(c, i);
        CHECK_EQ(attach(c, &a), 0);
        *bad = *c;
        crafted_spoil(bad, CRAFTED_MODULE, c->top - CRAFTED_MODULE, 1 + i % 32, &seed);
        h->ask(c, bad, seed, &words);
        crafted_check_names(bad, &a, &words);
        if (attach(bad, &b))
            continue;
        crafted_check_names(bad, &b, &words);
        attached++;
    }
    CHECK(attached >= 40 && attached < 400);
}
