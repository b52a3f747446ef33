/* The rows of an interpreter's loop, by testdata/loop.s. */
#include "cfi/loops.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/fixture.h"

static unsigned kind_at(const struct xp_table *t, u64 offset)
{
    return table_rule_at(t, offset).kind;
}

TEST(loops_have_rules_of_their_own)
{
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(fixture_elf("loop.so", &e), 0);
    AUTO_FREE struct xp_table *t = fixture_table("loop.so");
    CHECK(t != NULL);
    u64 loop = fixture_symbol(&e, "_PyEval_EvalFrameDefault"), before = fixture_symbol(&e, "before");
    CHECK_EQ(kind_at(t, before), XP_CFA_RSP);
    CHECK_EQ(kind_at(t, loop - 1), XP_CFA_RSP);
    CHECK_EQ(kind_at(t, loop), XP_CFA_RSP_LOOP);
    CHECK_EQ(kind_at(t, loop + 1), XP_RULE_KIND(XP_CFA_RSP_LOOP, XP_RBP_CFA));
    CHECK_EQ(kind_at(t, loop + 4), XP_RULE_KIND(XP_CFA_RBP_LOOP, XP_RBP_CFA));
    CHECK_EQ(kind_at(t, fixture_symbol(&e, "after")), XP_CFA_RSP);
    CHECK_EQ(kind_at(t, fixture_symbol(&e, "_PyEval_EvalFrameDefault.cold")), XP_CFA_RSP_LOOP);
    CHECK_EQ(kind_at(t, fixture_symbol(&e, "_PyEval_EvalFrameDefaults")), XP_CFA_RSP);
}

TEST(loops_of_stripped_files)
{
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(fixture_elf("loop.so", &e), 0);
    AUTO_FREE struct xp_table *t = fixture_table("loop-stripped.so");
    CHECK(t != NULL);
    CHECK_EQ(kind_at(t, fixture_symbol(&e, "_PyEval_EvalFrameDefault")), XP_CFA_RSP_LOOP);
    CHECK_EQ(kind_at(t, fixture_symbol(&e, "_PyEval_EvalFrameDefault.cold")), XP_CFA_RSP);
}

TEST(loops_of_other_languages)
{
    static const struct {
        const char *file, *name;
        u32 language;
    } cases[] = {{"loop-execute_ex.so", "execute_ex", XP_LANGUAGE_PHP},
                 {"loop-Perl_runops_standard.so", "Perl_runops_standard", XP_LANGUAGE_PERL},
                 {"loop-Perl_runops_debug.so", "Perl_runops_debug", XP_LANGUAGE_PERL},
                 {"labels.so", "vm_exec_core", XP_LANGUAGE_RUBY}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_ELF struct elf_file e = {0};
        CHECK_EQ(fixture_elf(cases[i].file, &e), 0);
        AUTO_FREE struct xp_table *t = fixture_table(cases[i].file);
        CHECK(t != NULL);
        CHECK_EQ(kind_at(t, fixture_symbol(&e, cases[i].name)), XP_CFA_RSP_LOOP);
        CHECK_EQ(kind_at(t, fixture_symbol(&e, "after")), XP_CFA_RSP);
        CHECK_EQ(XP_TABLE_LANGUAGE(t->flags), cases[i].language);
    }
}
