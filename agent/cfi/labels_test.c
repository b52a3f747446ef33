/* Loops that are known by the tables of their labels (testdata/labels.s). */
#include "cfi/labels.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "cfi/loops.h"
#include <string.h>

static const char *const FILES[] = {"labels.so", "labels-stripped.so", "labels-relr.so"};

TEST(labels_tell_which_function_they_are_of)
{
    AUTO_ELF struct elf_file named = {0};
    CHECK_EQ(fixture_elf("labels.so", &named), 0);
    for (size_t i = 0; i < sizeof(FILES) / sizeof(*FILES); i++) {
        AUTO_ELF struct elf_file e = {0};
        u64 start = 0, end = 0;
        CHECK_EQ(fixture_elf(FILES[i], &e), 0);
        CHECK(labels_function(&e, 130, &start, &end));
        if (i < 2) { /* the code of the third one is elsewhere */
            CHECK_EQ(start, fixture_symbol(&named, "vm_exec_core"));
            CHECK_EQ(end, fixture_symbol(&named, "after"));
        } else {
            CHECK_EQ(start, fixture_symbol(&e, "vm_exec_core"));
        }
        CHECK(!labels_function(&e, 131, &start, &end));
    }
}

/* A table of labels is no loop by itself: others have such, too. */
TEST(labels_are_a_loop_in_ruby_only)
{
    AUTO_ELF struct elf_file e = {0}, unknown = {0}, few = {0};
    struct loops l;
    CHECK_EQ(fixture_elf("labels-stripped.so", &e), 0);
    loops_find(&e, &l);
    CHECK_EQ(l.n, 1);
    CHECK_EQ(l.language, XP_LANGUAGE_RUBY);
    CHECK_EQ(fixture_elf("labels-unknown.so", &unknown), 0);
    loops_find(&unknown, &l);
    CHECK_EQ(l.n, 0);
    CHECK_EQ(l.language, 0);
    CHECK_EQ(fixture_elf("labels-few.so", &few), 0);
    loops_find(&few, &l);
    CHECK_EQ(l.n, 0);
}

/* Each instruction has a function; those that there are not share one. */
TEST(labels_of_loops_that_are_many_functions)
{
    AUTO_ELF struct elf_file e = {0}, labels = {0};
    u64 starts[LABELS_MAX];
    struct loops l;
    CHECK_EQ(fixture_elf("handlers.so", &e), 0);
    u64 loop = fixture_symbol(&e, "_PyEval_EvalFrameDefault");
    CHECK_EQ(labels_handlers(&e, starts), 150);
    CHECK_EQ(starts[0], loop + 1);
    CHECK_EQ(starts[149], loop + 1 + 2 * 149);
    loops_find(&e, &l);
    CHECK_EQ(l.language, XP_LANGUAGE_PYTHON_CALLS);
    CHECK_EQ(l.n, 150);
    CHECK(!loops_has(&l, loop) && loops_has(&l, starts[0]) && loops_has(&l, starts[149]));
    CHECK(!loops_has(&l, starts[0] + 1) && !loops_has(&l, starts[149] + 2));
    CHECK_EQ(fixture_elf("labels.so", &labels), 0);
    CHECK_EQ(labels_handlers(&labels, starts), 0);
}

/* What the table of functions says is the file's to choose. */
TEST(labels_of_malformed_files)
{
    AUTO_ELF struct elf_file good = {0};
    CHECK_EQ(fixture_elf("labels-stripped.so", &good), 0);
    AUTO_FREE u8 *bytes = malloc(good.size);
    Elf64_Phdr hdr;
    CHECK(elf_find_phdr(&good, PT_GNU_EH_FRAME, &hdr));
    u64 start, end;
    for (size_t at = 0; at < 64; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            AUTO_ELF struct elf_file e = {0};
            memcpy(bytes, good.map, good.size);
            bytes[hdr.p_offset + at] ^= (u8)(1u << bit);
            CHECK_EQ(elf_open_memory(&e, bytes, good.size), 0);
            labels_function(&e, 128, &start, &end);
            if (at < 4 && at != 1)
                CHECK(!labels_function(&e, 128, &start, &end));
        }
}
