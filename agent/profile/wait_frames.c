#include "profile/wait_frames.h"
#include "base/cleanup.h"
#include "profile/frames.h"
#include "profile/lock_kinds.h"
#include "profile/lookup.h"
#include "profile/reason.h"
#include "profile/sum_label.h"
#include "profile/wait_causes.h"
#include "profile/waker_frames.h"
#include <string.h>

#define INTERRUPT "[interrupt]"
#define GIL_DEEP  8 /* frames: those of the C library's condition, and what waits for it */

enum gil { NOT_LOOKED, NO_GIL, IS_GIL };

struct causes {
    struct profile *p;
    u8 *gil;                       /* by row of functions: enum gil */
    u8 *functions;                 /* by location: what wait_function says; 0 for all that are not the kernel's */
    struct lookup locations;       /* of causes that are there already, by name */
    u32 mapping[XP_WORD_WAIT + 1]; /* by kind of word: row + 1 */
};

static const char *const MAPPINGS[] = {[XP_WORD_LABEL] = LABEL_MAPPING,
                                       [XP_WORD_NAME] = WAKER_MAPPING,
                                       [XP_WORD_LOCK] = LOCK_MAPPING,
                                       [XP_WORD_WAIT] = WAIT_MAPPING};

/* All stacks share kernel functions, so each is looked at once. */
static int read_functions(struct causes *c)
{
    c->functions = calloc(c->p->locations.n + 1, 1);
    c->gil = calloc(c->p->functions.n + 1, 1);
    if (!c->functions || !c->gil)
        return -ENOMEM;
    for (u32 i = 0; i < c->p->locations.n; i++)
        if (c->p->locations.v[i].origin == FRAME_KERNEL)
            c->functions[i] = wait_function(profile_function(c->p, &c->p->locations.v[i]));
    return 0;
}

static bool wants_gil(const struct causes *c, u32 function)
{
    u8 *known = &c->gil[function];
    if (*known == NOT_LOOKED) {
        const char *called = lock_called(profile_text(c->p, c->p->functions.v[function].name));
        *known = called && !strcmp(called, "GIL") ? IS_GIL : NO_GIL;
    }
    return *known == IS_GIL;
}

/* Tells by the functions next to the kernel's whether the lock is the one that all threads of Python want. */
static bool waits_for_gil(const struct causes *c, const struct wait_place *w)
{
    const struct prof_stack *s = &c->p->stacks.v[w->stack];
    size_t at = w->at + 1 + w->nkernel, end = (size_t)s->first + s->n;
    for (size_t i = at; i < end && i < at + GIL_DEEP; i++) {
        const struct prof_location *l = &c->p->locations.v[c->p->stack_locations.v[i]];
        for (u32 k = 0; k < l->nlines; k++)
            if (wants_gil(c, c->p->lines.v[l->first_line + k].function))
                return true;
    }
    return false;
}

static void cause_text_of(const struct causes *c, const struct wait_place *w, char *text, size_t size)
{
    u8 functions[XP_MAX_KERNEL];
    const u32 *kernel = c->p->stack_locations.v + w->at + 1;
    size_t n = w->nkernel < XP_MAX_KERNEL ? w->nkernel : XP_MAX_KERNEL, named;
    for (size_t i = 0; i < n; i++)
        functions[i] = c->functions[kernel[i]];
    enum wait_cause cause = wait_decide(functions, n, XP_WAIT_FLAGS(w->words[0]), &named);
    if (cause == WAIT_LOCK && waits_for_gil(c, w))
        cause = WAIT_GIL;
    wait_text(cause, named < n ? profile_function(c->p, &c->p->locations.v[kernel[named]]) : NULL, text, size);
}

/* What is missing of a waker is called as it would be of the sleeper. */
static void mark_text(const struct causes *c, u64 word, char *text, size_t size)
{
    u8 mark = (u8)word;
    const char *name = mark == XP_MARK_STILL       ? "[still waiting]"
                       : mark == XP_MARK_INTERRUPT ? INTERRUPT
                       : mark == XP_MARK_UNSEEN    ? "[unknown]"
                                                   : NULL;
    struct prof_stack none = {.cause = mark};
    snprintf(text, size, "%s", name ? name : frame_text(c->p, frame_mark(&none)));
}

static u32 name_of(const struct causes *c, const struct wait_place *w)
{
    char text[160] = "", name[7 * XP_NAME_WORDS + 1];
    switch (XP_WORD_KIND(w->words[0])) {
    case XP_WORD_NAME:
        snprintf(text, sizeof(text), "%s", reason_name(w->words, name)[0] ? name : "[unknown]");
        break;
    case XP_WORD_LABEL:
        sum_label_long(w->words, text, sizeof(text));
        break;
    case XP_WORD_MARK:
        mark_text(c, w->words[0], text, sizeof(text));
        break;
    default:
        cause_text_of(c, w, text, sizeof(text));
    }
    return profile_string(c->p, text);
}

/* Marks stand with the names of wakers. */
static u32 kind_of(const struct wait_place *w)
{
    u32 kind = XP_WORD_KIND(w->words[0]);
    return kind == XP_WORD_MARK ? XP_WORD_NAME : kind;
}

static int add_mapping(struct causes *c, u32 kind)
{
    struct prof_mapping *m = c->mapping[kind] ? NULL : VEC_PUSH(&c->p->mappings);
    if (m) {
        *m = (struct prof_mapping){.name = profile_string(c->p, MAPPINGS[kind]), .has_functions = true};
        c->mapping[kind] = (u32)c->p->mappings.n;
    }
    return c->mapping[kind] ? 0 : -ENOMEM;
}

/* The location of a frame, made when it is new. */
static int location_of(struct causes *c, u32 name, u32 kind, u32 *out)
{
    struct profile *p = c->p;
    u64 hash = hash_u64((u64)kind << 32 | name);
    u32 row;
    for (struct probe at = lookup_start(&c->locations, hash); lookup_next(&c->locations, &at, &row);)
        if (p->functions.v[p->lines.v[p->locations.v[row].first_line].function].name == name &&
            p->locations.v[row].word_kind == kind) {
            *out = row;
            return 0;
        }
    if (add_mapping(c, kind))
        return -ENOMEM;
    struct prof_location as = {.mapping = c->mapping[kind] - 1, .origin = FRAME_WAIT, .word_kind = (u8)kind};
    int rc = profile_add_location(p, name, as, out);
    return rc ? rc : lookup_put(&c->locations, hash, *out);
}

/* The frames in front of each cause of a stack with a waker are the waker's. */
static int trim_wakers(struct causes *c, const struct wait_place *places, size_t n)
{
    VEC(struct waker_place) wakers = {0};
    u32 interrupt = 0;
    int r = 0;
    for (size_t i = 0; i < n && !r; i++) {
        u32 first = c->p->stacks.v[places[i].stack].first;
        bool woken =
            XP_WORD_KIND(places[i].words[0]) == XP_WORD_WAIT && XP_WAIT_FLAGS(places[i].words[0]) & XP_WAIT_WOKEN;
        struct waker_place *w = woken ? VEC_PUSH(&wakers) : NULL;
        r = woken && !w ? -ENOMEM : 0;
        if (w)
            *w = (struct waker_place){places[i].stack, (u32)places[i].at - first};
    }
    if (!r && wakers.n)
        r = location_of(c, profile_string(c->p, INTERRUPT), XP_WORD_NAME, &interrupt);
    if (!r)
        r = waker_frames_trim(c->p, wakers.v, wakers.n, interrupt);
    vec_free(&wakers);
    return r;
}

int wait_frames_add(struct profile *p, const struct wait_place *places, size_t n)
{
    if (!n)
        return 0;
    struct causes c = {.p = p};
    int r = read_functions(&c);
    for (size_t i = 0; i < n && !r; i++)
        r = location_of(&c, name_of(&c, &places[i]), kind_of(&places[i]), &p->stack_locations.v[places[i].at]);
    if (!r)
        r = trim_wakers(&c, places, n);
    free(c.functions);
    free(c.gil);
    lookup_free(&c.locations);
    return r;
}

u8 wait_mapping_kind(const char *mapping)
{
    for (u8 kind = 0; kind < sizeof(MAPPINGS) / sizeof(MAPPINGS[0]); kind++)
        if (MAPPINGS[kind] && !strcmp(MAPPINGS[kind], mapping))
            return kind;
    return 0;
}
