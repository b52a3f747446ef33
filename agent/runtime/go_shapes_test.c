/* Functions of Go's runtime made by hand: which one is which, how each saves registers and leaves its caller's stack.
 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "runtime/file.h"
#include "runtime/go_crafted.h"
#include "runtime/go_rows_internal.h"
#include <errno.h>

TEST(go_roles_by_name)
{
    static const struct {
        const char *name;
        u8 flags;
        enum go_role role;
    } cases[] = {
        {"runtime.goexit", GO_ASSEMBLY, GO_ROOT},
        {"runtime.mstart", GO_ASSEMBLY, GO_ROOT},
        {"runtime.sigreturn__sigaction", GO_ASSEMBLY, GO_RESTORER},
        {"runtime.sigtramp", GO_ASSEMBLY, GO_HANDLER},
        {"crosscall2", GO_ASSEMBLY, GO_FROM_C},
        {"_rt0_amd64_lib", GO_ASSEMBLY, GO_FROM_C},
        {"runtime.sigpanic", GO_ASSEMBLY, GO_INJECTED},
        {"runtime.morestack", GO_SETS_RSP, GO_MORESTACK},
        {"runtime.mcall", GO_SETS_RSP, GO_MCALL},
        {"runtime.systemstack", GO_SETS_RSP, GO_SYSTEMSTACK},
        {"runtime.asmcgocall", GO_SETS_RSP, GO_ASMCGOCALL},
        {"racecall", GO_SETS_RSP, GO_RACECALL},
        {"runtime.mcall", GO_ASSEMBLY, GO_PLAIN}, /* a wrapper of that name */
        {"runtime.mcall", GO_OUTERMOST, GO_ROOT},
        {"main.f", GO_OUTERMOST, GO_ROOT},
        {"main.f", GO_ASSEMBLY, GO_PLAIN},
        {"runtime.goexi", GO_ASSEMBLY, GO_PLAIN},
        {"runtime.", GO_ASSEMBLY, GO_PLAIN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gopclntab t = {.names = {(const u8 *)cases[i].name, strlen(cases[i].name) + 1}};
        struct go_func f = {.flags = cases[i].flags};
        struct go_code c = go_code_of(&t, &f, (const u8 *)"\xc3", 1);
        CHECK_EQ(c.role, cases[i].role);
        CHECK_EQ(c.runtime, !strncmp(cases[i].name, "runtime.", 8) && strlen(cases[i].name) > 8);
        CHECK(c.f == &f && c.len == 1 && c.saved == ~0ull);
    }
    struct gopclntab t = {.names = {(const u8 *)"runtime.goexit", 15}};
    struct go_func plain = {0}, special = {.id = 1};
    CHECK_EQ(go_code_of(&t, &plain, NULL, 0).role, GO_PLAIN); /* the compiler's: nobody looks at its name */
    CHECK_EQ(go_code_of(&t, &special, NULL, 0).role, GO_ROOT);
}

#define CODE(...) (const u8[]){__VA_ARGS__}, sizeof((const u8[]){__VA_ARGS__})

static const struct go_func at_1000 = {.entry = 0x1000, .end = 0x1100, .flags = GO_ASSEMBLY | GO_SETS_RSP};

static struct go_code code(const u8 *p, size_t len)
{
    return (struct go_code){.f = &at_1000, .p = p, .len = len, .saved = ~0ull, .runtime = true};
}

TEST(go_code_that_saves_no_rbp)
{
    struct go_code other_depth = code(CODE(0x48, 0x89, 0x2c, 0x24)); /* mov [rsp], rbp */
    go_code_begin(&other_depth, 0x1000, 16);
    CHECK(other_depth.begun && other_depth.saved == ~0ull && !other_depth.chained);
    struct go_code none = code(CODE(0x90, 0x90, 0x90, 0x90));
    go_code_begin(&none, 0x1000, 8);
    CHECK(none.begun && none.rbp == -16 && none.saved == ~0ull && !none.chained);
    struct go_code late = code(CODE(0x90, 0x90, 0x55, 0x48, 0x89, 0xe5)); /* a push, but not what made it deeper */
    go_code_begin(&late, 0x1002, 8);
    CHECK(late.saved == ~0ull && !late.chained);
    struct go_code far = code(CODE(0x48, 0x89, 0xac, 0x24, 0xf8, 0x02, 0, 0));
    go_code_begin(&far, 0x1000, 0x200);
    CHECK(far.saved == ~0ull);
}

/* A second mov rbp, rsp within 64 bytes; the runtime's own functions have none. */
TEST(go_code_that_aligns_its_stack)
{
    for (unsigned at = 63; at <= 64; at++) {
        u8 bytes[128] = {0x55, 0x48, 0x89, 0xe5};
        memcpy(bytes + 4 + at, (const u8[]){0x48, 0x89, 0xe5}, 3);
        struct go_code c = code(bytes, sizeof(bytes)), runtime = c;
        c.runtime = false;
        go_code_begin(&c, 0x1001, 8);
        go_code_begin(&runtime, 0x1001, 8);
        CHECK_EQ(c.aligned, at < 64 ? 0x1000 + 4 + at + 3 : 0);
        CHECK(!runtime.aligned && runtime.chained == 0x1004);
    }
}

/* mov [rsp + 0x10], rbp: within 48 bytes, within what is asked about, and once. */
TEST(go_code_saves_registers_near_its_beginning)
{
    for (unsigned at = 46; at <= 49; at++) {
        u8 bytes[80] = {0};
        memcpy(bytes + at, (const u8[]){0x48, 0x89, 0x6c, 0x24, 0x10}, 5);
        struct go_code c = code(bytes, sizeof(bytes)), asked = c;
        go_code_saves(&c, 0x1000, 0x1050, 0x40);
        CHECK_EQ(c.saved, at < 48 ? 0x1005 + at : ~0ull);
        go_code_saves(&asked, 0x1000, 0x1000 + at, 0x40);
        CHECK_EQ(asked.saved, ~0ull);
    }
    static const u8 twice[] = {0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x89, 0x6c, 0x24, 0xf0,
                               0x48, 0x89, 0x1c, 0x24, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    struct go_code c = code(twice, sizeof(twice));
    c.role = GO_HANDLER;
    go_code_saves(&c, 0x1000, 0x1014, 0x40);
    CHECK(c.saved == 0x1005 && c.rbp == 0x10 - 0x48 && c.rbx == 0x48 / 8);
    struct go_code below = code(twice + 5, sizeof(twice) - 5);
    go_code_saves(&below, 0x1000, 0x1010, 0x40);
    CHECK(below.saved == 0x1005 && below.rbp == -0x10 - 0x48);
}

#define TLS      0x64, 0x48, 0x8b, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff
#define G_M      0x48, 0x8b, 0x5f, 0x30
#define SCHED    0x48, 0x89, 0x46, 0x40, 0x48, 0x89, 0x46, 0x38, 0x48, 0x89, 0x6e, 0x60
#define COMPARES 0x48, 0x3b, 0x83, 0x50, 0, 0, 0, 0x48, 0x39, 0x83, 0xb8, 0, 0, 0

static bool known(const u8 *morestack, size_t n, const u8 *systemstack, size_t len)
{
    struct go_code m = code(morestack, n), s = code(systemstack, len);
    return go_facts_read(&m, &s, 0).known;
}

TEST(go_facts_need_all_of_the_code)
{
    CHECK(known(CODE(TLS, G_M, SCHED), CODE(COMPARES)));
    CHECK(!known(CODE(TLS, G_M, SCHED), CODE(0x90)));
    CHECK(!known(CODE(TLS, SCHED), CODE(COMPARES)));
    CHECK(!known(CODE(TLS, G_M), CODE(COMPARES)));
    CHECK(!known(CODE(G_M, SCHED), CODE(COMPARES)));
    CHECK(!known(CODE(TLS, 0x48, 0x8b, 0x5f, 0x38, SCHED), CODE(COMPARES))); /* another field than g.m */
    CHECK(!known(CODE(TLS, G_M, 0x48, 0x89, 0x46, 0x38, 0x48, 0x89, 0x46, 0x40, 0x48, 0x89, 0x6e, 0x60),
                 CODE(COMPARES)));                                                                 /* rsp before pc */
    CHECK(!known(CODE(TLS, G_M, 0x48, 0x89, 0x46, 0x40, 0x48, 0x89, 0x46, 0x38), CODE(COMPARES))); /* no rbp */
    CHECK(known(CODE(TLS, G_M, SCHED, 0x48, 0x89, 0x46, 0x10), CODE(COMPARES))); /* a third one does not matter */
    CHECK(!known(CODE(TLS, G_M, SCHED), CODE(0x48, 0x3b, 0x83, 0, 0, 0, 0)));
    CHECK(!known(CODE(TLS, G_M, SCHED), CODE(0x48, 0x3b, 0x83, 0xff, 0xff, 0xff, 0xff)));
    CHECK(!known(CODE(TLS, G_M, SCHED), CODE(0x48, 0x3b, 0x83, 0, 0x80, 0, 0)));
    CHECK(known(CODE(TLS, G_M, SCHED), CODE(0x48, 0x3b, 0x83, 0xff, 0x7f, 0, 0)));
    CHECK(!known(CODE(TLS, G_M, SCHED), CODE(0x48, 0x3b, 0x43, 0x50, 0, 0, 0))); /* of one byte: another's */
    struct go_code none = {0}, s = code(CODE(COMPARES));
    CHECK(!go_facts_read(&none, &s, 0).known && !go_facts_read(&s, &none, 0).known);
}

/* Each is looked for near the beginning, and the bytes of one that is cut are none. */
TEST(go_facts_are_near_the_beginning)
{
    static const u8 tls[] = {TLS}, g_m[] = {G_M}, sched[] = {SCHED}, compare[] = {0x48, 0x3b, 0x83, 0xb8, 0, 0, 0};
    for (unsigned late = 0; late < 2; late++) {
        u8 m[128], s[256];
        memset(m, 0x90, sizeof(m));
        memcpy(m + 23 + late, tls, sizeof(tls));
        memcpy(m + 40, g_m, sizeof(g_m));
        memcpy(m + 64, sched, sizeof(sched));
        CHECK_EQ(known(m, sizeof(m), CODE(COMPARES)), !late);
        memset(m, 0x90, sizeof(m));
        memcpy(m, tls, sizeof(tls));
        memcpy(m + 47 + late, g_m, sizeof(g_m));
        memcpy(m + 64, sched, sizeof(sched));
        CHECK_EQ(known(m, sizeof(m), CODE(COMPARES)), !late);
        memset(s, 0x90, sizeof(s));
        memcpy(s + 159 + late, compare, sizeof(compare));
        CHECK_EQ(known(CODE(TLS, G_M, SCHED), s, sizeof(s)), !late);
        CHECK_EQ(known(CODE(TLS, G_M, SCHED), compare, sizeof(compare) - late), !late);
    }
}

/* ---- Whole programs ---------------------------------------------------------------------------------------------- */

struct program {
    u8 file[CRAFTED_SIZE];
    struct elf_file elf;
    struct gopclntab table;
    struct go_rows rows;
};

static void program_free(struct program *p)
{
    go_rows_free(&p->rows);
    elf_close(&p->elf);
}

/* main.f becomes this function: its name, its flags, its code, and its depths. */
static void change(struct program *p, const char *name, u8 flags, const u8 *bytes, size_t n, const u8 *depths,
                   size_t ndepths)
{
    u8 *t = p->file + CRAFTED_TABLE;
    crafted_program(p->file, GO_1_20);
    snprintf((char *)t + CRAFTED_NAMES + 1, 26, "%s", name);
    t[CRAFTED_FUNCS + 0x40 + 41] = flags;
    memset(p->file + 0x1000, 0x90, 0x100);
    memcpy(p->file + 0x1000, bytes, n);
    memcpy(t + CRAFTED_VALUES + CRAFTED_DEPTHS, depths, ndepths);
}

/* "OFFSET:KIND OFF[/RBP][ rbx N]" of each row of main.f; offsets from its beginning. */
static void rows_of(struct program *p, struct buf *text)
{
    static const char *const kinds[XP_CFA_COUNT] = {
        [XP_CFA_NONE] = "none",    [XP_CFA_RSP] = "rsp",       [XP_CFA_RSP_EXACT] = "exact",
        [XP_CFA_RBP_HOP] = "hop",  [XP_CFA_END] = "end",       [XP_CFA_GO_G] = "g",
        [XP_CFA_GO_LOST] = "lost", [XP_CFA_GO_CALL] = "call",  [XP_CFA_RA_REG] = "register",
        [XP_CFA_REG] = "cfa-in",   [XP_CFA_SIGNAL] = "signal", [XP_CFA_UNSUPPORTED] = "bad"};
    text->len = 0;
    program_free(p);
    int err = elf_open_memory(&p->elf, p->file, sizeof(p->file));
    err = err ? err : go_open(&p->table, &p->elf);
    err = err ? err : go_rows_read(&p->table, &p->rows);
    for (size_t i = 0; i < p->rows.rows.n && p->rows.rows.v[i].offset < 0x1100; i++) {
        struct xp_rule r;
        memcpy(&r, &p->rows.rows.v[i].word, sizeof(r));
        const char *kind = kinds[XP_RULE_CFA(r.kind)];
        buf_printf(text, "%llx:%s %d", (unsigned long long)p->rows.rows.v[i].offset - 0x1000, kind ? kind : "?",
                   r.cfa_off);
        if (XP_RULE_RBP(r.kind) || r.rbp_off)
            buf_printf(text, "/%d", r.rbp_off);
        if (r.rbx)
            buf_printf(text, " rbx %u", r.rbx);
        buf_str(text, ", ");
    }
    if (err)
        buf_printf(text, "error %d", err);
    buf_char(text, 0);
}

#define PUSH_RBP 0x55, 0x48, 0x89, 0xe5
/* Depth 0, 8 from 1 on, 24 from 8 on, up to 0x40. */
#define DEEPER 2, 1, 16, 7, 32, 0x38, 0

static const struct shape {
    const char *name;
    u8 flags, code[24], depths[12];
    const char *says;
} shapes[] = {
    {"main.f", 0, {PUSH_RBP}, {DEEPER}, "0:rsp 8, 1:rsp 16/-16, 8:rsp 32/-16, "},
    {"main.f", 0, {0x90, 0x48, 0x89, 0x2c, 0x24}, {DEEPER}, "0:rsp 8, 1:rsp 16, 5:rsp 16/-16, 8:rsp 32/-16, "},
    {"main.f", 0, {0x90}, {DEEPER}, "0:rsp 8, 1:rsp 16, 8:rsp 32, "},
    {"main.f", GO_SETS_RSP, {PUSH_RBP}, {DEEPER}, "0:rsp 8, 1:rsp 16/-16, 4:hop 16/-16, 8:hop 16/-16, "},
    {"runtime.f", GO_SETS_RSP, {PUSH_RBP}, {DEEPER}, "0:rsp 8, 1:rsp 16/-16, 4:hop 16/-16, 8:hop 16/-16, "},
    {"main.f",
     GO_SETS_RSP,
     {PUSH_RBP, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xe5},
     {DEEPER},
     "0:rsp 8, 1:rsp 16/-16, 8:rsp 32/-16, c:hop 32/-16, "},
    {"crosscall2",
     GO_ASSEMBLY,
     {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0x6c, 0x24, 0x08, 0x48, 0x89, 0x1c, 0x24},
     {DEEPER},
     "0:rsp 8, 1:rsp 16, 8:rsp 32, d:rsp 32/-24 rbx 4, "},
    {"main.f",
     0,
     {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0x6c, 0x24, 0x08, 0x48, 0x89, 0x1c, 0x24},
     {DEEPER},
     "0:rsp 8, 1:rsp 16, 8:rsp 32, "},
    {"runtime.sigpanic", GO_ASSEMBLY, {PUSH_RBP}, {DEEPER}, "0:exact 8, 1:exact 16/-16, 8:exact 32/-16, "},
    {"runtime.goexit", GO_ASSEMBLY, {0x90}, {DEEPER}, "0:end 0, "},
    {"main.f",
     GO_ASSEMBLY,
     {0x90, 0x41, 0x5c},
     {2, 3, 15, 0x20, 0},
     "0:rsp 8, 3:register 0/12, "}, /* pops its return address */
    {"main.f", GO_ASSEMBLY, {0x90, 0x90, 0x90}, {2, 3, 15, 0x20, 0}, "0:bad 0, "},
    {"runtime.mcall", GO_SETS_RSP, {0x90, 0x48, 0x8b, 0x66, 0x38}, {2, 0x20, 0}, "0:rsp 8, 5:end 0, "},
    {"runtime.systemstack",
     GO_SETS_RSP,
     {0x90, 0x48, 0x8b, 0x66, 0x38, 0x90, 0x48, 0x8b, 0x66, 0x38},
     {2, 0x20, 0},
     "0:rsp 8, 5:lost 0, a:rsp 8, "},
    {"runtime.systemstack",
     GO_SETS_RSP,
     {PUSH_RBP, 0x48, 0x8b, 0x66, 0x38, 0x90, 0x48, 0x8b, 0x66, 0x38},
     {DEEPER},
     "0:rsp 8, 1:rsp 16/-16, 4:hop 16/-16, 8:hop 16/-16, "},
    {"runtime.asmcgocall",
     GO_SETS_RSP,
     {0x48, 0x8b, 0x66, 0x38, 0x48, 0x89, 0x7c, 0x24, 0x30, 0x48, 0x89, 0x7c, 0x24, 0x28},
     {2, 0x20, 0},
     "0:rsp 8, 4:call 2621488, "},
    {"runtime.morestack", GO_SETS_RSP, {0x90, 0x48, 0x8b, 0x66, 0x38}, {2, 0x20, 0}, "0:rsp 8, 5:lost 0, "},
    {"racecall",
     GO_SETS_RSP,
     {0x90, 0x49, 0x89, 0xe4, 0x48, 0x8b, 0x66, 0x38},
     {2, 0x20, 0},
     "0:rsp 8, 4:cfa-in 201326600, "},
};

TEST(go_rows_by_role)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        CLEANUP(program_free) struct program p = {0};
        AUTO_BUF struct buf text = {0};
        const struct shape *s = &shapes[i];
        change(&p, s->name, s->flags, s->code, sizeof(s->code), s->depths, sizeof(s->depths));
        rows_of(&p, &text);
        if (strcmp(text.data, s->says))
            test_fail(__FILE__, __LINE__, "%zu %s: %s", i, s->name, text.data);
    }
}

TEST(go_rows_of_no_code)
{
    CLEANUP(program_free) struct program p = {0};
    AUTO_BUF struct buf text = {0};
    struct runtime_rows rows = {0};
    crafted_program(p.file, GO_1_20);
    rows_of(&p, &text);
    CHECK_EQ(runtime_file_rows(&p.elf, &rows), 0);
    CHECK(rows.code.n == p.rows.rows.n && rows.owner && rows.code.source == XP_SOURCE_GO);
    runtime_rows_free(&rows);
    CHECK(!rows.owner && !rows.code.n);
    crafted_u64(p.file + CRAFTED_MODULE + 8 * 23, 0x1000000); /* code that no segment has */
    crafted_u64(p.file + CRAFTED_MODULE + 8 * 22, 0x800000);
    crafted_u64(p.file + CRAFTED_MODULE + 8 * 20, 0x800000);
    rows_of(&p, &text);
    CHECK_STR(text.data, "error -74");
}

TEST(go_files_are_recognised)
{
    CLEANUP(program_free) struct program p = {0};
    struct runtime_file f = {0};
    struct runtime_frames *frames = calloc(1, sizeof(*frames));
    crafted_program(p.file, GO_1_20);
    CHECK_EQ(elf_open_memory(&p.elf, p.file, sizeof(p.file)), 0);
    CHECK_EQ(runtime_file_open(&f, &p.elf), 0);
    bool found = f.ops->frames(f.file, 0x1110, frames) && !f.ops->frames(f.file, 0x1200, frames);
    bool split = frames->n == 1 && frames->v[0].shown[0].len == 6 && !memcmp(frames->v[0].shown[0].data, "main.g", 6) &&
                 frames->v[0].shown[1].data == frames->v[0].name.data + 11 && !frames->v[0].shown[1].len;
    free(frames);
    CHECK(found && split && !f.ops->truncated(f.file) && !f.ops->is_all(f.file));
    runtime_file_close(&f);
    CHECK(!f.ops && !f.file);
    p.file[CRAFTED_TABLE] = 0;
    CHECK_EQ(runtime_file_open(&f, &p.elf), -ENODATA);
    struct runtime_rows none = {0};
    CHECK_EQ(runtime_file_rows(&p.elf, &none), 0);
    CHECK(!none.owner);
}

/* ---- moduledata that the dynamic linker has yet to fill in --------------------------------------------------------
 */

#define RELAS   0x2900u /* behind the inline tree */
#define DYNAMIC 0x2e00u
#define PHDRS   0x2f00u

/* `skip`: one word of it has no relocation. */
static int open_relocated(struct program *p, unsigned skip, u32 type, u64 size)
{
    static const u8 words[] = {0, 20, 22, 23, 40};
    Elf64_Rela r[6] = {{0x2100, ELF64_R_INFO(0, type), CRAFTED_TABLE}}; /* something else that points there */
    Elf64_Phdr ph[2];
    Elf64_Ehdr h;
    crafted_program(p->file, GO_1_20);
    u64 *module = (u64 *)(void *)(p->file + CRAFTED_MODULE);
    for (unsigned i = 0; i < 5; i++) {
        u64 value;
        memcpy(&value, module + words[i], sizeof(value));
        crafted_u64((u8 *)(module + words[i]), 0);
        if (i != skip)
            r[1 + i] = (Elf64_Rela){CRAFTED_MODULE + 8u * words[i], ELF64_R_INFO(0, type), (s64)value};
    }
    const Elf64_Dyn d[] = {{DT_RELA, {RELAS}}, {DT_RELASZ, {size}}, {DT_NULL, {0}}, {DT_RELASZ, {0}}};
    memcpy(p->file + RELAS, r, sizeof(r));
    memcpy(p->file + DYNAMIC, d, sizeof(d));
    memcpy(&h, p->file, sizeof(h));
    memcpy(&ph[0], p->file + h.e_phoff, sizeof(ph[0]));
    ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC};
    memcpy(p->file + PHDRS, ph, sizeof(ph));
    h.e_phoff = PHDRS;
    h.e_phnum = 2;
    memcpy(p->file, &h, sizeof(h));
    program_free(p);
    p->elf = (struct elf_file){0};
    int err = elf_open_memory(&p->elf, p->file, sizeof(p->file));
    return err ? err : go_open(&p->table, &p->elf);
}

TEST(go_module_is_found_by_its_relocations)
{
    CLEANUP(program_free) struct program p = {0};
    const u64 all = 6 * sizeof(Elf64_Rela);
    CHECK_EQ(open_relocated(&p, 9, R_X86_64_RELATIVE, all), 0);
    CHECK(p.table.text == 0x1000 && p.table.etext == 0x1200 && p.table.gofunc == CRAFTED_TREE);
    CHECK_EQ(open_relocated(&p, 9, R_X86_64_RELATIVE, 1 << 20), 0); /* as far as there are any */
    for (unsigned skip = 0; skip < 4; skip++)
        CHECK(!open_relocated(&p, skip, R_X86_64_RELATIVE, all) && !p.table.etext); /* not found */
    CHECK_EQ(open_relocated(&p, 4, R_X86_64_RELATIVE, all), 0);
    CHECK_EQ(p.table.gofunc, 0);
    CHECK(!open_relocated(&p, 9, R_X86_64_GLOB_DAT, all) && !p.table.etext);
    CHECK(!open_relocated(&p, 9, R_X86_64_RELATIVE, all - 2 * sizeof(Elf64_Rela)) && !p.table.etext);
    CHECK(!open_relocated(&p, 9, R_X86_64_RELATIVE, 0) && !p.table.etext);
}
