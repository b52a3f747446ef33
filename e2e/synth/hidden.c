/* How far can rows be trusted that were read off the instructions? Files that have CFI are asked as if they had none,
 * and what comes out is compared with the CFI, instruction by instruction.
 *
 *     hidden [-v N] FILE...      a table; -v: with the first N differences of each
 *
 * Where CFI counts from rsp and our row from rbp, or the other way round, what is compared is the rule of CFI's form
 * that the analysis found right at that instruction, too; where it has none, the two cannot be compared. So with rbp
 * and rbx: they may be both in a slot and still in the register. "odd" counts rows that say what the analysis did not.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "cfi/table_elf.h"
#include "synth/rules.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>

struct seen { /* what the analysis knew at an instruction */
    u64 offset;
    u32 number; /* regions may be done more than once: the last time counts */
    struct rules rules;
};

struct count {
    u64 right, wrong, other; /* other: lost, or not comparable */
};
struct comparison {
    u64 fde_bytes, claimed, insns;
    u64 odd; /* rows whose rule the analysis did not hold right there: must be none */
    struct count cfa, rbp, rbx;
};

struct world {
    struct elf_file elf;
    struct xp_table *truth;
    table_spans fdes;
    struct synth found;
    VEC(struct seen) seen;
    int verbose;
};

static void world_free(struct world *w)
{
    synth_free(&w->found);
    vec_free(&w->seen);
    vec_free(&w->fdes);
    free(w->truth);
    elf_close(&w->elf);
}

static void see(void *ctx, u64 offset, u32 len, const struct rules *all)
{
    struct world *w = ctx;
    struct seen *s = VEC_PUSH(&w->seen);
    if (s)
        *s = (struct seen){offset, (u32)w->seen.n, *all};
}

static int by_offset(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* The rule of our rows at an offset. */
static struct xp_rule ours_at(const struct synth *s, u64 offset)
{
    size_t lo = 0, hi = s->rows.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->rows.v[mid].offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? s->rows.v[lo - 1].rule : rules_unproven();
}

/* Does the analysis hold a CFA of this form to be right, and at which offset? */
static bool known_cfa(const struct rules *r, u32 kind, s32 *off)
{
    for (u8 i = 0; i < r->ncfa; i++)
        if ((r->cfa[i] & 0xff) == kind) {
            *off = (s32)(u32)(r->cfa[i] >> 8);
            return true;
        }
    return false;
}

static bool knows_rbp(const struct rules *r, u32 kind, s16 off)
{
    for (u8 i = 0; i < r->nrbp; i++)
        if ((r->rbp[i] & 0xff) == kind && (s16)(u16)(r->rbp[i] >> 8) == off)
            return true;
    return false;
}

static bool knows_rbx(const struct rules *r, u8 rbx)
{
    return r->nrbx && memchr(r->rbx, rbx, r->nrbx);
}

/* What a row says has to be among what was known there. */
static bool is_odd(const struct rules *r, struct xp_rule row)
{
    s32 off;
    u32 kind = XP_RULE_CFA(row.kind);
    for (u8 i = 0; i < r->ncfa; i++)
        if (r->cfa[i] == (kind | (u64)(u32)row.cfa_off << 8))
            return !knows_rbp(r, XP_RULE_RBP(row.kind), row.rbp_off) || !knows_rbx(r, XP_SYNTH_RBX(row.rbx));
    return !known_cfa(r, XP_CFA_UNPROVEN, &off) || kind != XP_CFA_UNPROVEN;
}

static void tell(struct world *w, const char *what, const struct seen *s, s32 ours, struct xp_rule truth)
{
    if (w->verbose-- > 0)
        printf("  %s at %#llx: %d; CFI: kind %u, CFA %+d, rbp %u %+d, rbx %u\n", what, (unsigned long long)s->offset,
               ours, XP_RULE_CFA(truth.kind), truth.cfa_off, XP_RULE_RBP(truth.kind), truth.rbp_off, truth.rbx);
}

static void compare_registers(struct world *w, const struct seen *s, struct xp_rule truth, struct comparison *c)
{
    const struct rules *r = &s->rules;
    if (XP_RULE_RBP(truth.kind) == XP_RBP_RBP) { /* CFI has it relative to rbp; ours, if at all, to rsp */
        c->rbp.other++;
    } else if (knows_rbp(r, XP_RULE_RBP(truth.kind), truth.rbp_off)) {
        c->rbp.right++;
    } else if (knows_rbp(r, XP_RBP_LOST, 0)) {
        c->rbp.other++;
    } else {
        c->rbp.wrong++;
        tell(w, "rbp", s, (s32)r->rbp[0], truth);
    }
    if (knows_rbx(r, truth.rbx)) {
        c->rbx.right++;
    } else if (knows_rbx(r, XP_SYNTH_RBX_LOST) || truth.rbx == XP_RBX_LOST) {
        c->rbx.other++;
    } else {
        c->rbx.wrong++;
        tell(w, "rbx", s, r->rbx[0], truth);
    }
}

static void compare_at(struct world *w, const struct seen *s, struct comparison *c)
{
    struct xp_rule truth = table_rule_at(w->truth, s->offset), row = ours_at(&w->found, s->offset);
    u32 kind = XP_RULE_CFA(truth.kind);
    s32 off;
    if (XP_RULE_CFA(row.kind) == XP_CFA_UNPROVEN || kind == XP_CFA_NONE || kind == XP_CFA_PLT ||
        kind == XP_CFA_SIGNAL || kind == XP_CFA_END || kind == XP_CFA_UNSUPPORTED)
        return;
    c->insns++;
    c->odd += is_odd(&s->rules, row);
    if (!known_cfa(&s->rules, kind, &off)) {
        c->cfa.other++;
    } else if (off != truth.cfa_off) {
        c->cfa.wrong++;
        tell(w, XP_SYNTH_RBX(row.rbx) != row.rbx ? "inferred CFA" : "CFA", s, off, truth);
        return;
    } else {
        c->cfa.right++;
    }
    compare_registers(w, s, truth, c);
}

/* Of the bytes that FDEs cover, how many have a rule of ours. */
static u64 claimed_in(const struct world *w, u64 *fde_bytes)
{
    u64 claimed = 0;
    size_t k = 0;
    for (size_t i = 0; i < w->fdes.n; i++) {
        u64 from = w->fdes.v[i].start, to = w->fdes.v[i].end;
        *fde_bytes += to - from;
        while (k && w->found.rows.v[k].offset > from)
            k--;
        for (; k < w->found.rows.n && w->found.rows.v[k].offset < to; k++) {
            const struct synth_row *r = &w->found.rows.v[k];
            u64 end = k + 1 < w->found.rows.n ? r[1].offset : to, start = r->offset > from ? r->offset : from;
            end = end < to ? end : to;
            if (XP_RULE_CFA(r->rule.kind) != XP_CFA_UNPROVEN && end > start)
                claimed += end - start;
        }
    }
    return claimed;
}

static int ask(struct world *w, const char *path, u64 *ns)
{
    struct table_limits tl = TABLE_LIMITS_DEFAULT;
    struct synth_limits sl = SYNTH_LIMITS_DEFAULT;
    size_t len;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    sl.witness = see;
    sl.ctx = w;
    sl.max_cpu_ms = 60000; /* of a loaded machine, perhaps */
    int err = fd < 0 ? -errno : table_build(fd, &tl, &w->truth, &len);
    if (!err)
        err = elf_open(&w->elf, fd);
    if (!err)
        err = table_covered(&w->elf, NULL, &tl, &w->fdes);
    *ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!err)
        err = synth_read(&w->elf, NULL, 0, &sl, &w->found);
    *ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - *ns;
    return err;
}

static double share(u64 part, u64 rest)
{
    return part + rest ? 100.0 * (double)part / (double)(part + rest) : 0;
}

static int compare(const char *path, int verbose)
{
    CLEANUP(world_free) struct world w = {.verbose = verbose};
    struct comparison c = {0};
    const struct synth_counts *n = &w.found.n;
    u64 ns;
    int err = ask(&w, path, &ns);
    if (err || w.found.dropped) {
        printf("%s: %s\n", path, err ? strerror(-err) : synth_drop_name(w.found.dropped));
        return 1;
    }
    if (w.seen.n)
        qsort(w.seen.v, w.seen.n, sizeof(*w.seen.v), by_offset);
    for (size_t i = 0; i < w.seen.n; i++)
        if (i + 1 == w.seen.n || w.seen.v[i + 1].offset != w.seen.v[i].offset)
            compare_at(&w, &w.seen.v[i], &c);
    c.claimed = claimed_in(&w, &c.fde_bytes);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    printf("%-22s %9llu %6.1f %9llu %5llu %5llu %8.4f %9llu %5llu %5llu %9llu %5llu %5llu %3llu\n", name,
           (unsigned long long)c.fde_bytes, share(c.claimed, c.fde_bytes - c.claimed), (unsigned long long)c.cfa.right,
           (unsigned long long)c.cfa.wrong, (unsigned long long)c.cfa.other, share(c.cfa.right, c.cfa.wrong),
           (unsigned long long)c.rbp.right, (unsigned long long)c.rbp.wrong, (unsigned long long)c.rbp.other,
           (unsigned long long)c.rbx.right, (unsigned long long)c.rbx.wrong, (unsigned long long)c.rbx.other,
           (unsigned long long)c.odd);
    fprintf(stderr,
            "  %llu regions, %llu proven, %llu bad; %llu orphans, %llu solved; %llu entries, %llu tables, %llu reruns, "
            "%llu steps, %zu rows, %.0f ms\n",
            (unsigned long long)n->regions, (unsigned long long)n->proven, (unsigned long long)n->bad,
            (unsigned long long)n->orphans, (unsigned long long)n->solved, (unsigned long long)n->entries,
            (unsigned long long)n->tables, (unsigned long long)n->reruns, (unsigned long long)n->insns, w.found.rows.n,
            (double)ns / 1e6);
    return 0;
}

int main(int argc, char **argv)
{
    int verbose = 0, failed = 0;
    for (int o; (o = getopt(argc, argv, "v:")) != -1;)
        verbose = o == 'v' ? atoi(optarg) : 0;
    printf("%-22s %9s %6s %9s %5s %5s %8s %9s %5s %5s %9s %5s %5s %3s\n", "file", "FDE-bytes", "rows%", "CFA-right",
           "wrong", "n/a", "%right", "rbp-right", "wrong", "lost", "rbx-right", "wrong", "lost", "odd");
    for (int i = optind; i < argc; i++)
        failed |= compare(argv[i], verbose);
    return failed;
}
