#include "base/test.h"
#include "parser/parser.h"
#include "profile/name_cache.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct world {
    unsigned calls;
    size_t asked;
    int error;
    bool passing;
    char heard[512]; /* names in the order of the offsets */
    unsigned wrong;  /* system names and files that are another function's */
};

/* Every offset is in a function that is called after its file and thousand; those above 9000 are inlined once. */
static int ask(void *ctx, u32 id, const u64 *offsets, size_t n, void (*learn)(void *arg, const struct names *names),
               void *arg)
{
    struct world *w = ctx;
    static char strings[4096];
    struct names_frame frames[64] = {0};
    u32 first[33] = {0}, nframes = 0, at = 1;
    w->calls++;
    w->asked += n;
    if (w->error)
        return w->error;
    for (size_t i = 0; i < n; i++) {
        for (int inlined = offsets[i] > 9000; inlined >= 0; inlined--) {
            char name[32];
            snprintf(name, sizeof(name), "%sf%u_%llu", inlined ? "inl_" : "", id,
                     (unsigned long long)offsets[i] / 1000);
            struct names_frame *f = &frames[nframes++];
            f->line = (u32)offsets[i];
            f->name = at;
            at += (u32)sprintf(strings + at, "%s", name) + 1;
            f->system_name = at;
            at += (u32)sprintf(strings + at, "sys_%s", name) + 1;
            f->file = at;
            at += (u32)sprintf(strings + at, "%s.c", name) + 1;
        }
        first[i + 1] = nframes;
    }
    learn(arg, &(struct names){first, frames, strings, (u32)n});
    return 0;
}

static void use(void *arg, const struct names *names)
{
    struct world *w = arg;
    size_t at = 0;
    for (u32 i = 0; i < names->n; i++)
        for (u32 f = names->first[i]; f < names->first[i + 1]; f++) {
            const char *s = names->strings, *name = s + names->frames[f].name;
            char text[64];
            snprintf(text, sizeof(text), "sys_%s", name);
            w->wrong += strcmp(text, s + names->frames[f].system_name) != 0;
            snprintf(text, sizeof(text), "%s.c", name);
            w->wrong += strcmp(text, s + names->frames[f].file) != 0;
            at += (size_t)snprintf(w->heard + at, sizeof(w->heard) - at, "%s:%u ", name, names->frames[f].line);
        }
}

static int question_for(struct name_cache *n, u64 owner, struct world *w, u32 id, const u64 *offsets, size_t count)
{
    w->heard[0] = 0;
    w->asked = 0;
    struct name_cache_query q = {
        .id = id, .owner = owner, .offsets = offsets, .n = count, .ask = ask, .ctx = w, .use = use, .arg = w};
    q.passing = w->passing;
    return name_cache_answer(n, &q);
}

static int question(struct name_cache *n, struct world *w, u32 id, const u64 *offsets, size_t count)
{
    return question_for(n, SHARES_ALL, w, id, offsets, count);
}

TEST(name_cache_asks_once)
{
    struct name_cache *n;
    struct world w = {0};
    CHECK_EQ(name_cache_new(&n, 1 << 20), 0);
    CHECK_EQ(question(n, &w, 2, (u64[]){1000, 9500}, 2), 0);
    CHECK_STR(w.heard, "f2_1:1000 inl_f2_9:9500 f2_9:9500 ");
    CHECK_EQ(w.asked, 2);
    CHECK_EQ(question(n, &w, 2, (u64[]){1000, 1001, 9500}, 3), 0);
    CHECK_STR(w.heard, "f2_1:1000 f2_1:1001 inl_f2_9:9500 f2_9:9500 ");
    CHECK_EQ(w.asked, 1);
    CHECK_EQ(question(n, &w, 2, (u64[]){1001}, 1), 0);
    CHECK_EQ(w.calls, 2);
    CHECK_EQ(name_cache_hits(n), 3);
    CHECK_EQ(question(n, &w, 3, (u64[]){1000}, 1), 0); /* another file */
    CHECK_STR(w.heard, "f3_1:1000 ");
    CHECK_EQ(w.wrong, 0);
    name_cache_free(&n);
    CHECK(!n);
}

TEST(name_cache_hands_errors_on)
{
    struct name_cache *n;
    struct world w = {.error = -ESTALE};
    CHECK_EQ(name_cache_new(&n, 1 << 20), 0);
    CHECK_EQ(question(n, &w, 2, (u64[]){1000}, 1), -ESTALE);
    CHECK_STR(w.heard, "");
    w.error = 0;
    CHECK_EQ(question(n, &w, 2, (u64[]){1000}, 1), 0);
    CHECK_STR(w.heard, "f2_1:1000 ");
    name_cache_free(&n);
}

TEST(name_cache_keeps_nothing_that_may_get_better)
{
    struct name_cache *n;
    struct world w = {0};
    CHECK_EQ(name_cache_new(&n, 1 << 20), 0);
    CHECK_EQ(question(n, &w, 2, (u64[]){1000}, 1), 0);
    w.passing = true;
    CHECK_EQ(question(n, &w, 2, (u64[]){1000, 2000}, 2), 0);
    CHECK_STR(w.heard, "f2_1:1000 f2_2:2000 ");
    CHECK_EQ(w.asked, 1);
    w.passing = false;
    CHECK_EQ(question(n, &w, 2, (u64[]){1000, 2000}, 2), 0);
    CHECK_EQ(w.asked, 1); /* the one in passing */
    name_cache_free(&n);
}

TEST(name_cache_is_bounded)
{
    struct name_cache *n;
    struct world w = {0};
    CHECK_EQ(name_cache_new(&n, 16 << 10), 0);
    for (u64 i = 0; i < 2000; i++)
        CHECK_EQ(question(n, &w, 2, &i, 1), 0);
    CHECK_EQ(question(n, &w, 2, (u64[]){1999}, 1), 0);
    CHECK_EQ(w.asked, 0);
    CHECK_EQ(question(n, &w, 2, (u64[]){0}, 1), 0); /* long forgotten */
    CHECK_EQ(w.asked, 1);
    CHECK_STR(w.heard, "f2_0:0 ");
    CHECK_EQ(w.wrong, 0);
    name_cache_free(&n);
}

#define HOG    7
#define VICTIM 8
#define MANY   32

/* Has a file's next `MANY` places named, of an owner who never asks for the same ones again. */
static int flood(struct name_cache *n, struct world *w, u64 owner, u64 *next)
{
    u64 offsets[MANY];
    for (unsigned i = 0; i < MANY; i++)
        offsets[i] = (*next)++ * 10 % 9000;
    return question_for(n, owner, w, HOG, offsets, MANY);
}

/* Whatever else comes and goes. */
TEST(name_cache_keeps_what_is_used_in_every_interval)
{
    struct name_cache *n;
    struct world w = {0};
    u64 next = 0;
    CHECK_EQ(name_cache_new(&n, 64 << 10), 0);
    for (unsigned interval = 0; interval < 50; interval++) {
        for (unsigned i = 0; i < 20; i++)
            CHECK_EQ(flood(n, &w, HOG, &next), 0);
        CHECK_EQ(question_for(n, VICTIM, &w, 2, (u64[]){1000, 9500}, 2), 0);
        CHECK_STR(w.heard, "f2_1:1000 inl_f2_9:9500 f2_9:9500 ");
        CHECK_EQ(w.asked, interval ? 0 : 2);
        name_cache_age(n);
    }
    CHECK_EQ(w.wrong, 0);
    name_cache_free(&n);
}

/* What nobody uses for two generations is forgotten; as long as there is room, there is no new one. */
TEST(name_cache_forgets_when_room_is_short)
{
    struct name_cache *n;
    struct world w = {0};
    u64 next = 0;
    CHECK_EQ(name_cache_new(&n, 64 << 10), 0);
    CHECK_EQ(question_for(n, VICTIM, &w, 2, (u64[]){1000}, 1), 0);
    for (unsigned i = 0; i < 100; i++)
        name_cache_age(n);
    CHECK_EQ(question_for(n, VICTIM, &w, 2, (u64[]){1000}, 1), 0);
    CHECK_EQ(w.asked, 0);
    for (unsigned interval = 0; interval < 2; interval++) {
        for (unsigned i = 0; i < 20; i++)
            CHECK_EQ(flood(n, &w, HOG, &next), 0);
        name_cache_age(n);
    }
    CHECK_EQ(question_for(n, VICTIM, &w, 2, (u64[]){1000}, 1), 0);
    CHECK_EQ(w.asked, 1);
    name_cache_free(&n);
}

/* Who has its share is answered, and the next one finds room. */
TEST(name_cache_has_shares)
{
    struct name_cache *n;
    struct world w = {0};
    u64 next = 0, again = 0;
    CHECK_EQ(name_cache_new(&n, 64 << 10), 0);
    for (unsigned i = 0; i < 20; i++)
        CHECK_EQ(flood(n, &w, HOG, &next), 0);
    CHECK(strstr(w.heard, "f7_"));
    for (u64 i = 0; i < 300; i++) /* the last room, too */
        CHECK_EQ(question_for(n, HOG, &w, HOG + 1, &i, 1), 0);
    next -= MANY;
    CHECK_EQ(flood(n, &w, HOG, &next), 0);
    CHECK_EQ(w.asked, MANY); /* not kept */
    CHECK_EQ(flood(n, &w, HOG, &again), 0);
    CHECK_EQ(w.asked, 0);
    for (unsigned turn = 0; turn < 2; turn++) {
        CHECK_EQ(question_for(n, VICTIM, &w, 2, (u64[]){1000, 2000, 3000, 4000, 5000}, 5), 0);
        CHECK_EQ(w.asked, turn ? 0 : 5);
    }
    CHECK_EQ(w.wrong, 0);
    name_cache_free(&n);
}
