#include "synth/startup.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "elf/dynamic.h"
#include "synth/crafted.h"
#include <fcntl.h>
#include <string.h>

static struct xp_rule rule_at(const struct synth *s, u64 offset)
{
    struct xp_rule r = {0};
    for (size_t i = 0; i < s->ranges.n; i++)
        if (offset >= s->ranges.v[i].start && offset < s->ranges.v[i].end)
            for (size_t k = 0; k < s->rows.n && s->rows.v[k].offset <= offset; k++)
                r = s->rows.v[k].rule;
    return r;
}

static bool is_rsp(struct xp_rule r, s32 off)
{
    return XP_RULE_CFA(r.kind) == XP_CFA_RSP && r.cfa_off == off;
}

static int same_rows(const struct synth *a, const struct synth *b)
{
    return a->rows.n && a->rows.n == b->rows.n && !memcmp(a->rows.v, b->rows.v, a->rows.n * sizeof(*a->rows.v));
}

/* plt: a program that gcc linked with its crtbegin.o. */
TEST(startup_code_has_rows)
{
    static const char *const names[] = {"deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux",
                                        "frame_dummy"};
    AUTO_ELF struct elf_file e = {0};
    AUTO_SYNTH struct synth s = {0};
    CHECK_EQ(fixture_elf("plt", &e), 0);
    CHECK_EQ(synth_read_startup(&e, &s), 0);
    CHECK(crafted_is_sound(&s));
    for (unsigned i = 0; i < 4; i++)
        CHECK(is_rsp(rule_at(&s, fixture_symbol(&e, names[i])), 8));
    u64 at = fixture_symbol(&e, "__do_global_dtors_aux"), end = fixture_symbol(&e, "frame_dummy");
    u64 calls = 0;
    for (u64 i = at; i + 5 <= end; i++)
        calls += e.map[i] == 0xe8 && XP_RULE_CFA(rule_at(&s, i).kind) != XP_CFA_UNPROVEN && !is_rsp(rule_at(&s, i), 8);
    CHECK(calls); /* with what it pushed */
}

/* lld leaves the arrays to relocations. */
TEST(startup_arrays_may_be_empty_in_the_file)
{
    AUTO_ELF struct elf_file e = {0}, other = {0};
    AUTO_SYNTH struct synth s = {0}, again = {0}, none = {0};
    struct elf_dynamic d;
    size_t left;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    AUTO_FREE u8 *copy = malloc(e.size);
    memcpy(copy, e.map, e.size);
    CHECK(elf_dynamic(&e, &d) && d.fini_array && d.rela);
    memset(copy + (elf_at(&e, d.fini_array, &left) - e.map), 0, d.fini_array_size);
    CHECK_EQ(elf_open_memory(&other, copy, e.size), 0);
    CHECK_EQ(synth_read_startup(&e, &s), 0);
    CHECK_EQ(synth_read_startup(&other, &again), 0);
    CHECK(same_rows(&s, &again));
    memset(copy + (elf_at(&e, d.rela, &left) - e.map), 0, d.rela_size);
    CHECK_EQ(synth_read_startup(&other, &none), 0);
    CHECK(!none.rows.n);
}

/* Wherever the arrays of a hostile file point: the rows are in order, and there are few. */
TEST(startup_arrays_are_not_believed)
{
    AUTO_ELF struct elf_file e = {0};
    struct elf_dynamic d;
    size_t left;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    CHECK(elf_dynamic(&e, &d));
    u64 at = (u64)(elf_at(&e, d.fini_array, &left) - e.map), entry = e.entry;
    AUTO_FREE u8 *copy = malloc(e.size);
    for (u64 i = 0; i < 400; i++) {
        AUTO_ELF struct elf_file other = {0};
        AUTO_SYNTH struct synth s = {0};
        memcpy(copy, e.map, e.size);
        for (unsigned k = 0; k < 4; k++) { /* init_array lies before or behind */
            u64 pc = k ? entry + (i * 37 * k) % 1024 - 512 : i;
            memcpy(copy + at + 8ull * k, &pc, 8);
        }
        if (elf_open_memory(&other, copy, e.size))
            continue;
        CHECK_EQ(synth_read_startup(&other, &s), 0);
        CHECK(crafted_is_sound(&s) && s.n.gap_bytes <= 8192);
    }
}

TEST(startup_code_of_go_is_left_alone)
{
    char path[4096];
    AUTO_ELF struct elf_file e = {0};
    AUTO_SYNTH struct synth s = {0};
    snprintf(path, sizeof(path), "%s/runtime/cgo", test_data());
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK_EQ(synth_read_startup(&e, &s), 0);
    CHECK(!s.rows.n);
}
