#include "object/kallsyms.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>

static int parse(const char *text, struct kallsyms **out)
{
    AUTO_FCLOSE FILE *f = fmemopen((void *)text, strlen(text), "r");
    return kallsyms_new_from(out, f);
}

TEST(kallsyms_text_symbols_and_modules)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL;
    struct kallsym s;
    CHECK_EQ(parse("0000000000000000 A fixed_percpu_data\n"
                   "ffffffff81000000 T _stext\n"
                   "ffffffff81000000 t _text_alias\n"
                   "ffffffff81000040 t helper\n"
                   "ffffffff81000030 T earlier\n"
                   "ffffffff82000000 D jiffies\n"
                   "nonsense\n"
                   "ffffffffc0001000 t ext4_read\t[ext4]\n",
                   &k),
             0);
    CHECK(!kallsyms_hidden(k));
    CHECK_EQ(kallsyms_count(k), 4);
    CHECK(kallsyms_find(k, 0xffffffff8100000f, &s));
    CHECK_STR(s.name, "_stext");
    CHECK_STR(s.module, "");
    CHECK(kallsyms_find(k, 0xffffffff8100003f, &s));
    CHECK_STR(s.name, "earlier");
    CHECK_EQ(s.start, 0xffffffff81000030);
    CHECK(kallsyms_find(k, 0xffffffffc0001004, &s));
    CHECK_STR(s.name, "ext4_read");
    CHECK_STR(s.module, "ext4");
    CHECK(!kallsyms_find(k, 0xffffffff80ffffff, &s)); /* in front of all */
    CHECK(!kallsyms_find(k, 0xffffffff90000000, &s)); /* far from any */
    CHECK(!kallsyms_find(k, 0x400000, &s));
}

TEST(kallsyms_hidden_addresses)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL;
    struct kallsym s;
    CHECK_EQ(parse("0000000000000000 T _stext\n0000000000000000 t helper\n", &k), 0);
    CHECK(kallsyms_hidden(k));
    CHECK_EQ(kallsyms_count(k), 0);
    CHECK(!kallsyms_find(k, 0, &s));
    CHECK(!kallsyms_find(k, 0xffffffff81000000, &s));
}

TEST(kallsyms_nothing_to_read)
{
    struct kallsyms *k = NULL;
    CHECK_EQ(kallsyms_new(&k, "/nonexistent/kallsyms"), -ENOENT);
    CHECK_EQ(parse("ffffffff82000000 D jiffies\n", &k), -ENODATA);
    CHECK(!k);
}
