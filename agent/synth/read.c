#include "synth/synth.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/plt.h"
#include "synth/analysis.h"
#include "synth/guard.h"
#include <errno.h>

#define HELPERS 3 /* how deep helpers call helpers */
#define ROUNDS  6 /* until all that regions know of each other is true; what is not true then does not count */

const char *synth_drop_name(enum synth_drop d)
{
    static const char *const name[] = {
#define SYNTH_DROP_SLUG(id, slug, text) slug,
        SYNTH_DROPS(SYNTH_DROP_SLUG)
#undef SYNTH_DROP_SLUG
    };
    return d < SYNTH_DROP_COUNT ? name[d] : "?";
}

static void analysis_free(struct analysis *a)
{
    code_free(&a->code);
    free(a->granules);
    vec_free(&a->blocks);
    vec_free(&a->regions);
    vec_free(&a->entries);
    vec_free(&a->jumps);
    vec_free(&a->trust);
    vec_free(&a->rows);
    vec_free(&a->asked);
    vec_free(&a->named);
    vec_free(&a->called);
    vec_free(&a->table_ends);
    plt_free(&a->plt);
    vec_free(&a->targets.v);
    vec_free(&a->states);
    vec_free(&a->queue);
}

static void run(struct analysis *a, struct synth *out)
{
    a->granules = calloc((a->code.size >> BLOCK_GRANULE) + 2, sizeof(*a->granules));
    if (!a->granules) {
        a->err = -ENOMEM;
        return;
    }
    a->targets.code = &a->code;
    if (a->roots)
        entries_ask(a);
    else
        entries_find(a);
    region_run_asked(a);
    proof_spread(a);
    for (unsigned i = 0; i < ROUNDS && region_run_again(a, i < HELPERS); i++)
        proof_spread(a);
    if (!a->roots)
        orphans_run(a);
    proof_spread(a);
    for (unsigned i = 0; i < ROUNDS && region_run_again(a, false); i++)
        proof_spread(a);
    proof_call(a);
    proof_check(a);
    if (!analysis_over(a))
        emit_rows(a, out);
}

/* Hands over what was found, or why there is nothing. */
static int finish(struct analysis *a, struct synth *found, struct synth *out)
{
    if (a->err)
        return a->err;
    if (a->dropped) {
        vec_free(&found->rows);
        vec_free(&found->ranges);
    }
    found->dropped = a->dropped;
    *out = *found;
    *found = (struct synth){0};
    return 0;
}

static int read_code(struct analysis *a, const struct elf_file *e, const struct synth_span *covered, size_t n)
{
    int err = code_read(&a->code, e, covered, n, a->limits->max_code);
    a->n->gap_bytes = a->code.gap_bytes;
    if (err != -ENODATA && err != -ENOSPC)
        return err;
    a->dropped = err == -ENODATA ? SYNTH_DROP_NO_CODE : SYNTH_DROP_BYTES;
    return 0;
}

int synth_read(const struct elf_file *e, const struct synth_span *covered, size_t n, const struct synth_limits *limits,
               struct synth *out)
{
    AUTO_SYNTH struct synth found = {0};
    CLEANUP(analysis_free)
    struct analysis a = {.limits = limits, .n = &found.n, .started = clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    a.dropped = guard_foreign(e);
    int err = a.dropped ? 0 : read_code(&a, e, covered, n);
    if (err)
        return err;
    if (!a.dropped && guard_is_ghc(&a.code))
        a.dropped = SYNTH_DROP_GHC;
    if (!a.dropped)
        run(&a, &found);
    if (!analysis_over(&a) && guard_unlikely(&a.code, &found.n))
        a.dropped = SYNTH_DROP_UNLIKELY;
    return finish(&a, &found, out);
}

int synth_read_roots(const struct elf_file *e, const struct synth_span *covered, size_t n, const u64 *roots,
                     size_t nroots, const struct synth_limits *limits, struct synth *out)
{
    AUTO_SYNTH struct synth found = {0};
    CLEANUP(analysis_free)
    struct analysis a = {.limits = limits,
                         .n = &found.n,
                         .started = clock_ns(CLOCK_THREAD_CPUTIME_ID),
                         .roots = roots,
                         .nroots = nroots,
                         .table_ends_read = true};
    int err = read_code(&a, e, covered, n);
    if (err)
        return err;
    if (!a.dropped)
        run(&a, &found);
    return finish(&a, &found, out);
}

void synth_free(struct synth *s)
{
    vec_free(&s->rows);
    vec_free(&s->ranges);
}
