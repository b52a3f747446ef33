/* The reader against what Go programs say about themselves (testdata/main.go), and against crafted tables. */
#include "runtime/gopclntab.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "base/vec.h"
#include "runtime/go_crafted.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>

struct program {
    struct elf_file elf;
    struct gopclntab table;
    FILE *frames; /* what it says */
    char *line;
    size_t cap;
};

static void program_close(struct program *p)
{
    elf_close(&p->elf);
    if (p->frames)
        fclose(p->frames);
    free(p->line);
}

/* 0; -ENOENT: this machine could not build it. */
static int program_open(struct program *p, const char *path)
{
    char frames[4096];
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(frames, sizeof(frames), "%s.frames", path);
    p->frames = fd < 0 ? NULL : fopen(frames, "re");
    if (!p->frames)
        return -ENOENT;
    int err = elf_open(&p->elf, fd);
    return err ? err : go_open(&p->table, &p->elf);
}

static int fixture(struct program *p, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/runtime/%s", test_data(), name);
    return program_open(p, path);
}

/* Name, file and line as in the lines of frames. */
static void print_frame(const struct go_frame *f, char *out, size_t size)
{
    struct go_text head, tail;
    int file = f->file.len ? (int)f->file.len : 1;
    const char *data = f->file.len ? f->file.data : "?";
    if (go_name_split(f->name, &head, &tail))
        snprintf(out, size, "\t%.*s[...]%.*s\t%.*s\t%u", (int)head.len, head.data, (int)tail.len, tail.data, file, data,
                 f->line);
    else
        snprintf(out, size, "\t%.*s\t%.*s\t%u", (int)f->name.len, f->name.data, file, data, f->line);
}

static bool frames_are(const struct go_frames *have, const char *want)
{
    char text[8192];
    for (u32 i = 0; i < have->n; i++) {
        print_frame(&have->v[i], text, sizeof(text));
        size_t len = strlen(text);
        if (strncmp(want, text, len))
            return false;
        want += len;
    }
    return !*want;
}

/* What is known to differ: the runtime has no name for the function whose name is the first of all, and kept, up to
 * 1.20, a wrapper around inlined calls. */
static bool is_excused(bool wraps, const char *want, const struct go_frames *have)
{
    char all[8192];
    strncpy(all, want, sizeof(all) - 1);
    all[sizeof(all) - 1] = 0;
    for (int tab = 0; tab < 3 && wraps; tab++)
        *strrchr(all, '\t') = 0;
    return strstr(want, "\t\t") || frames_are(have, all);
}

struct score {
    unsigned all, same, inlined, excused;
};

static void compare(struct program *p, bool wraps, struct score *s)
{
    struct go_frames have;
    char *rest;
    while (getline(&p->line, &p->cap, p->frames) > 0) {
        p->line[strcspn(p->line, "\n")] = 0;
        u64 offset = strtoull(p->line, &rest, 16);
        s->all++;
        if (!go_frames_at(&p->table, offset, &have))
            continue;
        s->inlined += have.n > 1;
        if (frames_are(&have, rest))
            s->same++;
        else
            s->excused += is_excused(wraps, rest, &have);
    }
}

TEST(go_frames_are_what_the_runtime_says)
{
    char pattern[4096];
    CLEANUP(globfree) glob_t g = {0};
    snprintf(pattern, sizeof(pattern), "%s/runtime/*.frames", test_data());
    if (glob(pattern, 0, NULL, &g))
        SKIP("there is no go");
    for (size_t i = 0; i < g.gl_pathc; i++) {
        CLEANUP(program_close) struct program p = {0};
        struct score s = {0};
        char *path = g.gl_pathv[i];
        *strrchr(path, '.') = 0;
        CHECK_EQ(program_open(&p, path), 0);
        compare(&p, p.table.layout < GO_1_20 || strstr(path, "-go1.20"), &s);
        printf("  %-18s %u of %u pcs the same, %u inlined, %u known to differ\n", strrchr(path, '/') + 1, s.same, s.all,
               s.inlined, s.excused);
        CHECK(s.all > 1000 && (s.inlined > s.all / 10 || p.table.layout == GO_1_2));
        CHECK_EQ(s.same + s.excused, s.all);
        CHECK(s.same * 1000ull >= s.all * 995ull);
    }
}

/* The first lines of a program's report are chosen places; the names of their frames, innermost first. */
static void expect_names(struct program *p, const char *want)
{
    struct go_frames f;
    char text[1024] = "";
    CHECK(getline(&p->line, &p->cap, p->frames) > 0);
    CHECK(go_frames_at(&p->table, strtoull(p->line, NULL, 16), &f));
    for (u32 i = 0; i < f.n; i++) {
        struct go_text n = f.v[i].name;
        CHECK(f.v[i].line > 0);
        CHECK(f.v[i].file.len >= 7 && !memcmp(f.v[i].file.data + f.v[i].file.len - 7, "main.go", 7));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s;", (int)n.len, n.data);
    }
    CHECK_STR(text, want);
}

TEST(go_names_closures_generics_and_inlined_chains)
{
    CLEANUP(program_close) struct program p = {0};
    int err = fixture(&p, "stripped");
    if (err == -ENOENT)
        SKIP("there is no go");
    CHECK_EQ(err, 0);
    expect_names(&p, "main.chosen.func1;main.chosen;");
    expect_names(&p, "main.in1;main.in2;main.in3;main.in4;main.in5;main.chosen;");
    expect_names(&p, "main.sum[go.shape.string,go.shape.float64];");
    expect_names(&p, "main.(*pair[go.shape.int,go.shape.struct { main.a string; main.b []int }]).swap;");
    expect_names(&p, "main.(*counter).add;");
    expect_names(&p, "main.(*counter).add;");
    expect_names(&p, "main.chosen.func2;");
}

TEST(go_knows_where_it_is_alone)
{
    CLEANUP(program_close) struct program alone = {0}, mixed = {0};
    if (fixture(&alone, "pie") == -ENOENT || fixture(&mixed, "go115") == -ENOENT)
        SKIP("there is no go");
    CHECK(go_is_all(&alone.table));
    CHECK(!go_is_all(&mixed.table)); /* has megabytes of code that is not in the table */
}

TEST(go_refuses_what_is_not_go)
{
    struct gopclntab t;
    AUTO_ELF struct elf_file e = {0};
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK_EQ(go_open(&t, &e), -ENODATA);
}

/* ---- Crafted tables --------------------------------------------------------------------------------------------- */

struct crafted {
    u8 file[CRAFTED_SIZE];
    struct elf_file elf;
    struct gopclntab table;
    struct go_frames frames;
};

static int crafted_open(struct crafted *c)
{
    elf_close(&c->elf);
    int err = elf_open_memory(&c->elf, c->file, sizeof(c->file));
    return err ? err : go_open(&c->table, &c->elf);
}

static void crafted_close(struct crafted *c)
{
    elf_close(&c->elf);
}

static void read_crafted(enum go_layout layout)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, layout);
    CHECK_EQ(crafted_open(&c), 0);
    CHECK_EQ(c.table.layout, layout);
    CHECK(go_frames_at(&c.table, 0x1015, &c.frames));
    CHECK(frames_are(&c.frames, "\tmain.h\ta.go\t7\tmain.f\ta.go\t9"));
    CHECK_EQ(c.frames.start, 0x1000);
    CHECK(go_frames_at(&c.table, 0x11ff, &c.frames));
    CHECK(frames_are(&c.frames, "\tmain.g[...]\ta.go\t9"));
    CHECK(!go_frames_at(&c.table, 0x1200, &c.frames));
    CHECK(!go_frames_at(&c.table, 0xfff, &c.frames));
}

TEST(go_reads_the_layouts)
{
    read_crafted(GO_1_18);
    read_crafted(GO_1_20);
}

TEST(go_hides_wrappers_that_have_something_inlined)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, GO_1_20);
    c.file[CRAFTED_TABLE + CRAFTED_FUNCS + 0x40 + 40] = 22; /* main.f's id */
    CHECK_EQ(crafted_open(&c), 0);
    CHECK(go_frames_at(&c.table, 0x1015, &c.frames));
    CHECK(frames_are(&c.frames, "\tmain.h\ta.go\t7"));
    CHECK(go_frames_at(&c.table, 0x1050, &c.frames)); /* alone it is better than nothing */
    CHECK(frames_are(&c.frames, "\tmain.f\ta.go\t9"));
}

TEST(go_chains_of_inlined_calls_end)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, GO_1_20);
    crafted_u32(c.file + CRAFTED_TREE + 8, 0x10); /* called from where it is */
    CHECK_EQ(crafted_open(&c), 0);
    CHECK(go_frames_at(&c.table, 0x1015, &c.frames));
    CHECK_EQ(c.frames.n, GO_MAX_FRAMES);
    CHECK(!memcmp(c.frames.v[GO_MAX_FRAMES - 1].name.data, "main.f", 6));
}

/* The tree of inlined calls is elsewhere in the file, or nowhere. */
TEST(go_functions_without_a_tree_have_one_frame)
{
    static const u32 offsets[] = {CRAFTED_SIZE - CRAFTED_TREE - 15, 0x1000000, 0xffffffff};
    for (unsigned i = 0; i < 3; i++) {
        CLEANUP(crafted_close) struct crafted c = {0};
        crafted_program(c.file, GO_1_20);
        crafted_u32(c.file + CRAFTED_TABLE + CRAFTED_FUNCS + 0x40 + 40 + 16 + 12, offsets[i]);
        CHECK_EQ(crafted_open(&c), 0);
        CHECK(go_frames_at(&c.table, 0x1015, &c.frames));
        CHECK(frames_are(&c.frames, "\tmain.f\ta.go\t7"));
    }
}

TEST(go_names_outlive_the_budget_of_lines)
{
    CLEANUP(crafted_close) struct crafted c = {0};
    crafted_program(c.file, GO_1_20);
    CHECK_EQ(crafted_open(&c), 0);
    c.table.steps = 2;
    CHECK(go_frames_at(&c.table, 0x1015, &c.frames));
    CHECK(c.table.truncated);
    CHECK(go_frames_at(&c.table, 0x1015, &c.frames));
    CHECK(frames_are(&c.frames, "\tmain.f\t?\t0"));
}

TEST(go_tables_that_make_no_sense_are_refused)
{
    static const struct {
        u32 at;
        u64 value;
        int error;
    } cases[] = {
        {0, 0x08010000fffffff2, -ENOTSUP},     /* a layout of the future */
        {0, 0x08020000fffffff1, -EBADMSG},     /* of another machine */
        {8, 0, -EBADMSG},                      /* no functions */
        {8, GO_MAX_FUNCS, -EBADMSG},           /* more than fit */
        {8, ~0ull, -EBADMSG},                  /* more than can be */
        {32, CRAFTED_FUNCS, -EBADMSG},         /* arrays in no order */
        {64, CRAFTED_SIZE, -EBADMSG},          /* an array outside */
        {64, ~0ull, -EBADMSG},                 /* far outside */
        {CRAFTED_FUNCS, 0x80000000, -EBADMSG}, /* functions outside of the code */
        {CRAFTED_FUNCS + 16, 0, -EBADMSG},     /* ends before it begins */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        CLEANUP(crafted_close) struct crafted c = {0};
        crafted_program(c.file, GO_1_20);
        crafted_u64(c.file + CRAFTED_TABLE + cases[i].at, cases[i].value);
        int err = crafted_open(&c);
        if (err != cases[i].error)
            test_fail(__FILE__, __LINE__, "case %zu is %d", i, err);
    }
}

/* Any byte of a real table, changed: nothing is read outside (ASan), and functions elsewhere keep their names. */
TEST(go_tables_with_a_wrong_byte_do_no_harm)
{
    CLEANUP(program_close) struct program p = {0};
    struct elf_section s;
    if (fixture(&p, "stripped") == -ENOENT)
        SKIP("there is no go");
    AUTO_FREE u8 *copy = malloc(p.elf.size);
    CHECK(copy && elf_section(&p.elf, ".gopclntab", &s));
    memcpy(copy, p.elf.map, p.elf.size);
    u8 *table = copy + (s.data - p.elf.map);
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(elf_open_memory(&e, copy, p.elf.size), 0);
    struct go_frames f;
    u64 x = 88172645463325252;
    for (unsigned round = 0, opened = 0; round < 3000; round++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        size_t at = round < 600 ? round / 8 : x % s.len;
        u8 was = table[at];
        struct gopclntab t;
        table[at] ^= (u8)(1u << (round & 7));
        if (!go_open(&t, &e)) {
            opened++;
            for (unsigned k = 0; k < 4; k++)
                go_frames_at(&t, 0x1000 + (x >> k) % 0x80000, &f);
        }
        table[at] = was;
        CHECK(round < 2999 || opened > 2000);
    }
}
