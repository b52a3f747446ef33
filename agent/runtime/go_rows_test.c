/* Rows against the .debug_frame that Go's linker wrote, facts of real programs, hostile tables. */
#include "runtime/go_rows.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/table_elf.h"
#include "runtime/go_rows_internal.h"
#include "runtime/go_crafted.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>

struct program {
    struct elf_file elf;
    struct gopclntab table;
    struct go_rows rows;
};

static void program_close(struct program *p)
{
    go_rows_free(&p->rows);
    elf_close(&p->elf);
}

/* 0, or what go_open or go_rows_read say; -ENOENT: this machine could not build it. */
static int program_open(struct program *p, const char *path)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -ENOENT;
    int err = elf_open(&p->elf, fd);
    if (!err)
        err = go_open(&p->table, &p->elf);
    return err ? err : go_rows_read(&p->table, &p->rows);
}

static int fixture_glob(glob_t *g, const char *pattern)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/runtime/%s", test_data(), pattern);
    return glob(path, 0, NULL, g);
}

/* ---- Against .debug_frame ---------------------------------------------------------------------------------------- */

struct score {
    unsigned rows, other, differ;
    u64 first;
};

static void compare_at(const struct xp_table *cfi, const struct xp_table *go, u64 offset, struct score *s)
{
    struct xp_rule theirs = table_rule_at(cfi, offset), ours = table_rule_at(go, offset);
    unsigned kind = XP_RULE_CFA(ours.kind);
    if (XP_RULE_CFA(theirs.kind) != XP_CFA_RSP)
        return;
    s->rows++;
    if (kind != XP_CFA_RSP && kind != XP_CFA_RSP_EXACT)
        s->other++; /* the linker knows bytes below the return address only */
    else if (ours.cfa_off != theirs.cfa_off && !s->differ++)
        s->first = offset;
}

/* The place of every row of `of`, and the last byte in front of it. */
static void compare_rows(const struct xp_table *of, const struct xp_table *cfi, const struct xp_table *go,
                         struct score *s)
{
    for (u32 b = 0; b < of->nblocks; b++)
        for (u32 i = table_index(of)[b]; i < table_index(of)[b + 1]; i++) {
            u64 offset = of->lo + (u64)b * XP_BLOCK + (table_rows(of)[i] & 0xffff);
            compare_at(cfi, go, offset, s);
            compare_at(cfi, go, offset - 1, s);
        }
}

/* Since 1.21 the first row of a function that says that rbp is saved stands behind a push of it: also in functions that
 * were not looked at. How many do not. */
static unsigned unpushed(const struct program *p)
{
    unsigned n = 0;
    u64 shift = p->rows.code.end - p->table.etext;
    for (size_t i = 1; i < p->rows.rows.n && p->table.layout >= GO_1_20; i++) {
        const struct table_row *r = &p->rows.rows.v[i];
        struct go_func f;
        struct xp_rule rule;
        memcpy(&rule, &r->word, sizeof(rule));
        if (rule.kind == XP_RULE_KIND(XP_CFA_RSP, XP_RBP_CFA) && go_func_at(&p->table, r->offset - shift, &f) &&
            !(f.flags & GO_ASSEMBLY) && r[-1].offset <= f.entry + shift)
            n += p->elf.map[r->offset - 1] != 0x55;
    }
    return n;
}

static void compare_program(const char *path)
{
    CLEANUP(program_close) struct program p = {0};
    AUTO_FREE struct xp_table *cfi = NULL, *go = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct score s = {0};
    size_t len;
    CHECK_EQ(program_open(&p, path), 0);
    CHECK_EQ(p.rows.code.bad, 0);
    CHECK_EQ(table_build_elf(&p.elf, NULL, &limits, &cfi, &len), 0);
    CHECK_EQ(table_build_elf(&p.elf, &p.rows.code, &limits, &go, &len), 0);
    CHECK_EQ(table_check(go, len), 0);
    compare_rows(cfi, cfi, go, &s);
    compare_rows(go, cfi, go, &s);
    printf("  %-18s %u of %u rows differ, %u of other kinds; %u functions, %zu rows\n", strrchr(path, '/') + 1,
           s.differ, s.rows, s.other, p.rows.functions, p.rows.rows.n);
    if (s.differ)
        printf("  first at file offset %#llx\n", (unsigned long long)s.first);
    CHECK(s.rows > 20000 && s.other < s.rows / 100);
    CHECK(s.differ < s.rows / 10000);
    CHECK_EQ(unpushed(&p), 0);
    CHECK(go->source_rows[XP_SOURCE_GO] > 5000 && go->source_rows[XP_SOURCE_DEBUG_FRAME] < 100);
    CHECK(!cfi->source_rows[XP_SOURCE_GO] && cfi->source_rows[XP_SOURCE_DEBUG_FRAME] > 5000);
}

TEST(go_rows_are_those_of_debug_frame)
{
    CLEANUP(globfree) glob_t g = {0};
    if (fixture_glob(&g, "*plain"))
        SKIP("there is no go");
    for (size_t i = 0; i < g.gl_pathc; i++)
        compare_program(g.gl_pathv[i]);
}

/* ---- Real programs ----------------------------------------------------------------------------------------------- */

static const struct go_func *find(struct program *p, const char *name, struct go_func *f)
{
    for (u64 i = 0; i < p->table.nfuncs; i++)
        if (go_func_read(&p->table, i, f) && go_text_is(go_text_at(p->table.names, f->name), name) &&
            (f->flags & GO_ASSEMBLY))
            return f;
    return NULL;
}

/* Which kinds of rules, one bit each, the function has from its first byte (or `before` bytes earlier) on. */
static u32 kinds_of(struct program *p, const char *name, u64 before)
{
    struct go_func f;
    u32 kinds = 0;
    if (!find(p, name, &f))
        return 0;
    u64 shift = p->rows.code.end - p->table.etext, from = f.entry + shift - before, to = f.end + shift;
    for (size_t i = 0; i < p->rows.rows.n; i++) {
        const struct table_row *r = &p->rows.rows.v[i];
        bool holds = i + 1 == p->rows.rows.n || r[1].offset > from;
        struct xp_rule rule;
        memcpy(&rule, &r->word, sizeof(rule));
        if (r->offset < to && holds)
            kinds |= 1u << XP_RULE_CFA(rule.kind);
    }
    return kinds;
}

static void check_switches(const char *path)
{
    CLEANUP(program_close) struct program p = {0};
    int err = program_open(&p, path);
    if (err == -ENOTSUP)
        return; /* of Go 1.15 */
    CHECK_EQ(err, 0);
    const struct go_layout_facts *f = &p.rows.facts;
    bool old = p.table.layout < GO_1_20 || strstr(path, "-go1.20"); /* which keeps its frames as 1.19 does */
    printf("  %-22s g at %d%s, m.curg %u, sched.bp %u\n", strrchr(path, '/') + 1, f->g, f->slot ? " (slot)" : "",
           f->curg, f->sched_bp);
    CHECK(f->known);
    CHECK(f->curg == (f->sched_bp == 96 ? 184 : 192));
    CHECK(f->sched_bp == 96 || f->sched_bp == 104);
    CHECK(f->slot || (f->g < 0 && f->g >= -4096));
    CHECK(kinds_of(&p, "runtime.morestack", 0) & 1u << XP_CFA_GO_G);
    CHECK(kinds_of(&p, "runtime.mcall", 0) & 1u << XP_CFA_END);
    CHECK(kinds_of(&p, "runtime.systemstack", 0) & 1u << (old ? XP_CFA_GO_G : XP_CFA_RBP_HOP));
    CHECK(kinds_of(&p, "runtime.asmcgocall", 0) & 1u << (old ? XP_CFA_GO_CALL : XP_CFA_RBP_HOP));
    CHECK(kinds_of(&p, "runtime.goexit", 0) == 1u << XP_CFA_END);
    CHECK(kinds_of(&p, "runtime.asyncPreempt", 0) == 1u << XP_CFA_RSP_EXACT);
    const char *restorer =
        find(&p, "runtime.sigreturn", &(struct go_func){0}) ? "runtime.sigreturn" : "runtime.sigreturn__sigaction";
    CHECK(kinds_of(&p, restorer, 1) == 1u << XP_CFA_SIGNAL);
}

TEST(go_switches_of_stacks_are_known)
{
    CLEANUP(globfree) glob_t g = {0};
    if (fixture_glob(&g, "*.frames"))
        SKIP("there is no go");
    for (size_t i = 0; i < g.gl_pathc; i++) {
        *strrchr(g.gl_pathv[i], '.') = 0;
        check_switches(g.gl_pathv[i]);
    }
}

/* ---- Crafted tables ---------------------------------------------------------------------------------------------- */

struct crafted {
    u8 file[CRAFTED_SIZE];
    struct program p;
};

static int crafted_rows(struct crafted *c)
{
    program_close(&c->p);
    int err = elf_open_memory(&c->p.elf, c->file, sizeof(c->file));
    if (!err)
        err = go_open(&c->p.table, &c->p.elf);
    return err ? err : go_rows_read(&c->p.table, &c->p.rows);
}

static void crafted_close(struct crafted *c)
{
    program_close(&c->p);
}

static u8 *crafted_depth(struct crafted *c)
{
    return c->file + CRAFTED_TABLE + CRAFTED_FUNCS + 0x40 + 16;
}

static struct xp_rule row(const struct crafted *c, size_t i)
{
    struct xp_rule r;
    memcpy(&r, &c->p.rows.rows.v[i].word, sizeof(r));
    return r;
}

TEST(go_rows_of_a_crafted_function)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, GO_1_20);
    CHECK_EQ(crafted_rows(&c), 0);
    CHECK_EQ(c.p.rows.functions, 2);
    CHECK(c.p.rows.code.start == 0x1000 && c.p.rows.code.end == 0x1200);
    CHECK_EQ(c.p.rows.rows.n, 4); /* the last one: main.g has no depths */
    CHECK(row(&c, 0).kind == XP_CFA_RSP && row(&c, 0).cfa_off == 8);
    CHECK(c.p.rows.rows.v[1].offset == 0x1001 && row(&c, 1).cfa_off == 16 && row(&c, 1).rbp_off == -16);
    CHECK_EQ(row(&c, 1).kind, XP_RULE_KIND(XP_CFA_RSP, XP_RBP_CFA));
    CHECK(c.p.rows.rows.v[2].offset == 0x1030 && row(&c, 2).cfa_off == 8);
    CHECK(c.p.rows.rows.v[3].offset == 0x1100 && row(&c, 3).kind == XP_CFA_NONE);
}

TEST(go_rows_of_a_malformed_function_cost_its_range)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, GO_1_20);
    *crafted_depth(&c) = 0xff; /* behind the value tables */
    CHECK_EQ(crafted_rows(&c), 0);
    CHECK_EQ(c.p.rows.code.bad, 1);
    CHECK_EQ(row(&c, 0).kind, XP_CFA_UNSUPPORTED);
    static const u8 below[] = {1 + 2 * 8, 4, 0}; /* -10 bytes of stack */
    memcpy(c.file + CRAFTED_TABLE + CRAFTED_VALUES + CRAFTED_DEPTHS, below, sizeof(below));
    *crafted_depth(&c) = CRAFTED_DEPTHS;
    CHECK_EQ(crafted_rows(&c), 0);
    CHECK_EQ(c.p.rows.code.bad, 1);
    CHECK_EQ(row(&c, 0).kind, XP_CFA_UNSUPPORTED);
    CHECK_EQ(c.p.rows.rows.v[c.p.rows.rows.n - 1].offset, 0x1100); /* its neighbour is as before */
}

TEST(go_rows_end_with_the_code)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, GO_1_20);
    crafted_u64(c.file + CRAFTED_MODULE + 8 * 23, 0x1080); /* etext, in the middle of main.f */
    CHECK_EQ(crafted_rows(&c), 0);
    CHECK_EQ(c.p.rows.code.end, 0x1080);
    for (size_t i = 0; i < c.p.rows.rows.n; i++)
        CHECK(c.p.rows.rows.v[i].offset < 0x1080);
}

TEST(go_rows_do_not_begin_in_front_of_the_code)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, GO_1_20);
    memcpy(c.file + CRAFTED_TABLE + CRAFTED_NAMES + 1, "runtime.sigreturn", 18);
    c.file[CRAFTED_TABLE + CRAFTED_FUNCS + 0x40 + 41] = GO_ASSEMBLY;
    CHECK_EQ(crafted_rows(&c), 0);
    CHECK_EQ(c.p.rows.code.start, 0x1000);
    CHECK_EQ(row(&c, 0).kind, XP_CFA_SIGNAL);
}

/* Many functions may share one long table: the steps have a bound, and what is behind it has no rows. */
TEST(go_rows_have_a_bound)
{
    enum { FUNCS = 20000, TABLE = 64 << 10, TEXT = 0x1000000, AT = 0x2000000 };
    size_t size = AT + 0x60 + 0x100 + TABLE + 8 * (FUNCS + 1) + 64 + 64;
    AUTO_FREE u8 *file = calloc(1, size);
    AUTO_ELF struct elf_file e = {0};
    AUTO_GO_ROWS struct go_rows rows = {0};
    CHECK(file);
    u8 *t = file + AT, *funcs = t + 0x160 + TABLE;
    const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_machine = EM_X86_64,
                          .e_phoff = sizeof(h),
                          .e_phnum = 1,
                          .e_phentsize = sizeof(Elf64_Phdr)};
    const Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = PF_R | PF_W | PF_X, .p_filesz = size};
    memcpy(file, &h, sizeof(h));
    memcpy(file + sizeof(h), &p, sizeof(p));
    crafted_u32(t, 0xfffffff1);
    t[6] = 1, t[7] = 8;
    crafted_u64(t + 8, FUNCS);
    crafted_u64(t + 24, TEXT);
    const u64 at[] = {0x60, 0x60, 0x60, 0x160, 0x160 + TABLE};
    memcpy(t + 32, at, sizeof(at));
    for (size_t i = 1; i + 3 < TABLE; i += 2) /* up by 8, down by 8, a byte of code each */
        t[0x160 + i] = i % 4 == 3 ? 16 : 15, t[0x160 + i + 1] = 1;
    t[0x160 + 1] = 2;
    for (u32 i = 0; i <= FUNCS; i++) {
        crafted_u32(funcs + 8 * i, i * 256);
        crafted_u32(funcs + 8 * i + 4, 8 * (FUNCS + 1));
    }
    crafted_u32(funcs + 8 * (FUNCS + 1) + 16, 1); /* one record for all */
    struct gopclntab table = {.elf = &e};
    CHECK_EQ(elf_open_memory(&e, file, size), 0);
    CHECK_EQ(go_open(&table, &e), 0);
    CHECK_EQ(go_rows_read(&table, &rows), 0);
    CHECK(rows.code.bad && rows.functions < FUNCS && rows.functions > 100);
    CHECK(rows.rows.n <= 8 * TABLE + (1 << 20) + FUNCS);
    struct xp_rule last;
    memcpy(&last, &rows.rows.v[rows.rows.n - 1].word, sizeof(last));
    CHECK_EQ(last.kind, XP_CFA_UNSUPPORTED);
}

TEST(go_rows_need_a_layout_that_is_known)
{
    CLEANUP(globfree) glob_t g = {0};
    CLEANUP(program_close) struct program p = {0};
    if (fixture_glob(&g, "go115"))
        SKIP("there is no go");
    CHECK_EQ(program_open(&p, g.gl_pathv[0]), -ENOTSUP);
}
