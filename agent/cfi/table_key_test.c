/* A key stands for all that a table is made of: whatever changes in it, the key does. */
#include "base/test.h"
#include "cfi/table_elf.h"
#include <errno.h>

static const u8 secret[16] = {1, 2, 3};

struct parts { /* one of each kind; all of it may be changed */
    struct table_input in;
    struct elf_file e;
    struct elf_segment load[2];
    struct table_code code;
    struct table_row rows[2];
    u8 cfi[16];
};

static void fill(struct parts *p)
{
    *p = (struct parts){
        .e = {.build_id_len = 4, .build_id = {1, 2, 3, 4}},
        .load = {{.offset = 1, .vaddr = 2, .filesz = 3, .flags = 4},
                 {.offset = 5, .vaddr = 6, .filesz = 7, .flags = 8}},
        .rows = {{0x10, 1}, {0x20, 2}},
        .cfi = {1, 2, 3},
    };
    p->e.loads = p->load;
    p->e.nloads = 2;
    p->code = (struct table_code){.start = 0x10, .end = 0x30, .rows = p->rows, .n = 2, .bad = 1};
    p->in = (struct table_input){.cfi = {.elf = &p->e, .nsections = 1}, .code = &p->code};
    p->in.cfi.section[0] = (struct cfi_section){.data = p->cfi, .len = 8, .vaddr = 0x100};
    p->in.loops = (struct loops){.n = 1, .v = {{0x60, 0x70}}};
    p->in.known.n = 1;
    p->in.known.v[0] = (struct gap_code){.start = 0x40, .end = 0x50, .n = 1, .row = {{0x40, 9}}};
}

static struct table_key key_of(const struct parts *p)
{
    struct table_key key = {0};
    table_key_of(&p->in, secret, &key);
    return key;
}

#define CHANGES(change)                                   \
    do {                                                  \
        struct parts p;                                   \
        fill(&p);                                         \
        struct table_key before = key_of(&p);             \
        change;                                           \
        struct table_key after = key_of(&p);              \
        if (table_key_equal(&before, &after))             \
            test_fail(__FILE__, __LINE__, "%s", #change); \
    } while (0)

TEST(table_keys_depend_on_every_input)
{
    CHANGES(p.e.build_id[3]++);
    CHANGES(p.e.build_id_len--);
    CHANGES(p.e.nloads--);
    CHANGES(p.load[0].offset++);
    CHANGES(p.load[0].vaddr++);
    CHANGES(p.load[1].filesz++);
    CHANGES(p.load[1].flags++);
    CHANGES(p.cfi[7]++);
    CHANGES(p.in.cfi.section[0].len--);
    CHANGES(p.in.cfi.section[0].vaddr++);
    CHANGES(p.in.cfi.section[0].debug = true);
    CHANGES(p.in.cfi.section[0].open_ended = true);
    CHANGES(p.in.cfi.nsections = 0);
    CHANGES(p.in.keeps_frame_pointers = true);
    CHANGES(p.in.v8 = true);
    CHANGES(p.in.loops.n = 0);
    CHANGES(p.in.loops.v[0].start++);
    CHANGES(p.in.loops.v[0].end++);
    CHANGES(p.in.known.n = 0);
    CHANGES(p.in.known.v[0].start++);
    CHANGES(p.in.known.v[0].end++);
    CHANGES(p.in.known.v[0].n = 0);
    CHANGES(p.in.known.v[0].row[0].offset++);
    CHANGES(p.in.known.v[0].row[0].word++);
    CHANGES(p.in.code = NULL);
    CHANGES((p.in.gaps = &p.code, p.in.ngaps = 1));
    CHANGES(p.code.start++);
    CHANGES(p.code.end++);
    CHANGES(p.code.n--);
    CHANGES(p.code.bad++);
    CHANGES(p.code.source++);
    CHANGES(p.rows[0].offset++);
    CHANGES(p.rows[1].word++);
}

/* No two inputs are one stream of bytes: what moves from one list to the next would be, but for their lengths. */
TEST(table_keys_know_where_lists_end)
{
    struct parts a, b;
    fill(&a);
    a.in.known.n = 2;
    a.in.known.v[0] = (struct gap_code){.start = 1, .end = 2, .n = 1, .row = {{3, 4}}};
    a.in.known.v[1] = (struct gap_code){.start = 5, .end = 6, .n = 1, .row = {{7, 8}}};
    b = a;
    b.in.cfi.elf = &b.e;
    b.in.known.v[0] = (struct gap_code){.start = 1, .end = 2, .n = 2, .row = {{3, 4}, {5, 6}}};
    b.in.known.v[1] = (struct gap_code){.start = 7, .end = 8};
    struct table_key one = key_of(&a), two = key_of(&b);
    CHECK(!table_key_equal(&one, &two));

    fill(&a);
    fill(&b);
    a.load[1] = (struct elf_segment){.offset = 0x100, .vaddr = 36, .filesz = 0, .flags = 9};
    const u64 rest[4] = {9, 0x100, 8, 0}; /* the second segment's flags, and the section's head */
    u8 section[40];
    memcpy(section, rest, sizeof(rest));
    memcpy(section + sizeof(rest), a.cfi, 8);
    a.load[1].vaddr = sizeof(section);
    b.e.nloads = 1;
    b.in.cfi.section[0] = (struct cfi_section){.data = section, .len = sizeof(section), .vaddr = 0x100};
    one = key_of(&a);
    two = key_of(&b);
    CHECK(!table_key_equal(&one, &two));
}

TEST(table_keys_know_how_many_rows_come_from_elsewhere)
{
    struct parts a, b;
    fill(&a);
    fill(&b);
    a.code.n = 1;
    a.load[0] = (struct elf_segment){.offset = 7, .vaddr = 1, .filesz = 3, .flags = 4};
    a.load[1] = (struct elf_segment){.offset = 5, .vaddr = 6, .filesz = 0x100, .flags = 24};
    a.in.cfi.section[0].vaddr = 0;
    b.rows[1] = (struct table_row){2, 7}; /* how many segments there are, and where the first one is */
    b.e.nloads = 1;
    b.load[0] = (struct elf_segment){.offset = 3, .vaddr = 4, .filesz = 5, .flags = 6};
    const u64 head[2] = {8, 0};
    u8 section[24];
    memcpy(section, head, sizeof(head));
    memcpy(section + sizeof(head), a.cfi, 8);
    b.in.cfi.section[0] = (struct cfi_section){.data = section, .len = sizeof(section), .vaddr = 0x100};
    struct table_key one = key_of(&a), two = key_of(&b);
    CHECK(!table_key_equal(&one, &two));
}

TEST(table_inputs_are_given_back)
{
    struct table_key key = {.build_id_len = 77};
    struct parts p;
    fill(&p);
    struct table_input in = p.in;
    table_input_free(&in);
    CHECK(!in.cfi.elf && !in.known.n && !in.code);
    CHECK_EQ(table_identify(-1, secret, &key), -EBADF);
    CHECK_EQ(key.build_id_len, 77);
}

/* Nobody who does not know the secret can make two files of one key; the same bytes elsewhere in memory have the same.
 */
TEST(table_keys_depend_on_the_secret_and_on_nothing_else)
{
    static const u8 another[16] = {1, 2, 4};
    struct parts a, b;
    struct table_key other = {0};
    fill(&a);
    fill(&b);
    b.cfi[8]++; /* behind the section */
    struct table_key one = key_of(&a), two = key_of(&b);
    CHECK(table_key_equal(&one, &two));
    table_key_of(&a.in, another, &other);
    CHECK(!table_key_equal(&one, &other));
    CHECK(one.build_id_len == 4 && !memcmp(one.build_id, a.e.build_id, 4));
}
