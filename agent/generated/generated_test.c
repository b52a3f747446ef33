/* This process makes code, and tells of it as JIT compilers do. */
#include "generated/generated.h"
#include "base/test.h"
#include "cfi/table.h"
#include "generated/descriptor.h"
#include "generated/made_test.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* The names are those of GDB's JIT interface. */
struct jit_entry {
    struct jit_entry *next, *prev;
    const void *object;
    u64 size;
};
struct jit_descriptor {
    u32 version, action;
    struct jit_entry *relevant, *first;
};
extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = {.version = 1};

/* What is read of this process. */
static int read_self(struct buf *reply, struct generated *out)
{
    AUTO_CLOSE int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int rc = generated_read(mem, maps, program, reply);
    return rc ? rc : generated_open(reply->data, reply->len, out);
}

static const struct xp_table *table_of(const struct generated *g, const u8 *code)
{
    for (size_t i = 0; i < g->nregions; i++)
        if (g->regions[i].start == (u64)code)
            return g->regions[i].image;
    return NULL;
}

static void check_rules(const struct xp_table *t, u64 from)
{
    CHECK(t);
    struct xp_rule at_start = table_rule_at(t, from), pushed = table_rule_at(t, from + 1);
    CHECK(at_start.kind == XP_CFA_RSP && at_start.cfa_off == 8);
    CHECK(pushed.kind == XP_CFA_RSP && pushed.cfa_off == 16);
    CHECK_EQ(table_rule_at(t, from + 64).kind, XP_CFA_NONE);
    CHECK(t->flags & XP_TABLE_FP_OK);
}

static bool has_line(const struct generated *g, const u8 *code, const char *name)
{
    char line[512];
    size_t n = (size_t)snprintf(line, sizeof(line), "%llx 40 %s\n", (unsigned long long)(u64)code, name);
    return memmem(g->text, g->text_len, line, n);
}

/* This process with a section of CFI for its code, as it is read. */
static int read_made(struct made *m, struct buf *reply, struct generated *out)
{
    AUTO_BUF struct buf b = {0};
    int rc = made_new(m);
    if (rc)
        return rc;
    made_section(&b, (u64)m->data, m->code, 128);
    memcpy(m->data, b.data, b.len);
    return read_self(reply, out);
}

TEST(generated_code_has_the_rules_that_were_registered)
{
    AUTO_MADE m = {0};
    AUTO_BUF struct buf reply = {0};
    struct generated g;
    CHECK_EQ(read_made(&m, &reply, &g), 0);
    check_rules(table_of(&g, m.code), 128);
}

/* Two sections of one mapping, of which one contradicts the other. */
TEST(generated_sections_are_joined)
{
    AUTO_MADE m = {0};
    AUTO_BUF struct buf b = {0}, c = {0}, reply = {0};
    struct generated g;
    CHECK_EQ(made_new(&m), 0);
    made_section(&b, (u64)m.data, m.code, 128);
    made_section(&c, (u64)m.data + 1024, m.code, 1024);
    made_section(&c, (u64)m.data + 1024, m.code, 128 + 16);
    memcpy(m.data, b.data, b.len);
    memcpy(m.data + 1024, c.data, c.len);
    CHECK_EQ(read_self(&reply, &g), 0);
    const struct xp_table *t = table_of(&g, m.code);
    check_rules(t, 1024);
    CHECK(t && table_rule_at(t, 129).cfa_off == 16);
}

static void show(struct jit_entry *e, const struct buf *object)
{
    *e = (struct jit_entry){.object = object->data, .size = object->len};
    __jit_debug_descriptor.first = e;
}

TEST(generated_objects_have_names_and_rules)
{
    AUTO_MADE m = {0};
    AUTO_BUF struct buf object = {0}, cfi = {0}, reply = {0};
    struct jit_entry e;
    struct generated g;
    CHECK_EQ(made_new(&m), 0);
    made_section(&cfi, (u64)m.data, m.code, 0);
    memcpy(m.data, cfi.data, cfi.len);
    made_object(&object, "_ZN2my4codeEi", m.code, m.data, cfi.len);
    show(&e, &object);
    int rc = read_self(&reply, &g);
    __jit_debug_descriptor.first = NULL;
    CHECK_EQ(rc, 0);
    CHECK(has_line(&g, m.code, "my::code(int)"));
    check_rules(table_of(&g, m.code), 0);
}

TEST(generated_names_are_one_line)
{
    AUTO_MADE m = {0};
    AUTO_BUF struct buf object = {0}, reply = {0};
    struct jit_entry e;
    struct generated g;
    CHECK_EQ(made_new(&m), 0);
    made_object(&object, "a\n0 ffffffffffffffff b", m.code, NULL, 0);
    show(&e, &object);
    int rc = read_self(&reply, &g);
    __jit_debug_descriptor.first = NULL;
    CHECK_EQ(rc, 0);
    CHECK(has_line(&g, m.code, "a?0 ffffffffffffffff b"));
}

/* Symbols of code that is not there, or of code of a file. */
TEST(generated_objects_name_generated_code_only)
{
    AUTO_BUF struct buf object = {0}, reply = {0};
    AUTO_MADE m = {0};
    struct jit_entry e;
    struct generated g;
    CHECK_EQ(made_new(&m), 0);
    made_object(&object, "stolen", (const u8 *)(uintptr_t)&read_self, NULL, 0);
    show(&e, &object);
    int rc = read_self(&reply, &g);
    __jit_debug_descriptor.first = NULL;
    CHECK(rc == -ENODATA || (rc == 0 && !memmem(g.text, g.text_len, "stolen", 6)));
}

/* Lists that do not end, that lead nowhere, and whose objects are none. */
TEST(generated_lists_may_be_anything)
{
    AUTO_MADE m = {0};
    AUTO_BUF struct buf object = {0}, reply = {0};
    struct jit_entry e[2];
    struct generated g;
    CHECK_EQ(made_new(&m), 0);
    made_object(&object, "once", m.code, NULL, 0);
    show(&e[0], &object);
    show(&e[1], &object);
    e[0].next = &e[1];
    e[0].prev = &e[1];
    e[1].next = &e[0];
    e[1].prev = &e[0];
    __jit_debug_descriptor.first = &e[0];
    int ring = read_self(&reply, &g);
    e[0].prev = NULL; /* once around, and it is seen */
    reply.len = 0;
    int cycle = read_self(&reply, &g);
    size_t text = cycle ? 0 : g.text_len;
    e[0].next = (struct jit_entry *)8;
    reply.len = 0;
    int nowhere = read_self(&reply, &g);
    e[0] = (struct jit_entry){.object = object.data, .size = 1ull << 60};
    reply.len = 0;
    int huge = read_self(&reply, &g);
    e[0].size = 70;
    reply.len = 0;
    int cut = read_self(&reply, &g);
    __jit_debug_descriptor.first = NULL;
    CHECK_EQ(ring, -ENODATA);
    CHECK_EQ(cycle, 0);
    CHECK(text > 0 && text < 100);
    CHECK_EQ(nowhere, 0);
    CHECK(huge == -ENODATA && cut == -ENODATA);
}

/* Any byte of an object may be another one (ASan). */
TEST(generated_objects_survive_any_byte)
{
    AUTO_MADE m = {0};
    AUTO_BUF struct buf object = {0};
    CLEANUP(memory_free) struct memory memory = {0};
    CHECK_EQ(made_new(&m), 0);
    AUTO_CLOSE int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(memory_open(&memory, mem, maps), 0);
    made_object(&object, "name", m.code, m.data, 64);
    for (size_t i = 0; i < object.len; i++)
        for (int v = 1; v < 256; v += 50) {
            AUTO_FREE u8 *copy = malloc(object.len);
            AUTO_BUF struct buf text = {0};
            CLEANUP(sections_free) struct sections s = {0};
            memcpy(copy, object.data, object.len);
            copy[i] ^= (u8)v;
            object_read(&memory, copy, object.len, &s, &text);
        }
}

TEST(generated_replies_are_checked)
{
    AUTO_MADE m = {0};
    AUTO_BUF struct buf reply = {0};
    struct generated g;
    CHECK_EQ(read_made(&m, &reply, &g), 0);
    size_t places = 24, bad = 0; /* behind the head */
    for (size_t i = 0; i < places + 32; i++) {
        AUTO_FREE u8 *copy = malloc(reply.len);
        memcpy(copy, reply.data, reply.len);
        copy[i] ^= 0x80;
        bad += generated_open(copy, reply.len, &g) != 0;
    }
    CHECK(bad >= places + 16); /* all but bits of addresses, which may be others */
    for (size_t cut = 0; cut < reply.len; cut += 8)
        CHECK_EQ(generated_open(reply.data, cut, &g), -EBADMSG);
}
