#include "elf/usdt.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include "elf/elf.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

TEST(usdt_arguments_that_are_understood)
{
    enum { NO = XP_USDT_NONE, SIGNED = XP_USDT_SIGNED, MEMORY = XP_USDT_MEMORY };
    static const struct {
        const char *text;
        u64 number;
        u8 base, index, scale, size, flags;
    } cases[] = {
        {"8@%rax", 0, 10, NO, 0, 8, 0},
        {"-4@%ebp", 0, 4, NO, 0, 4, SIGNED},
        {"1@%r15b", 0, 0, NO, 0, 1, 0},
        {"2@%si", 0, 13, NO, 0, 2, 0},
        {"4@$7", 7, NO, NO, 0, 4, 0},
        {"-8@$-7", -7ull, NO, NO, 0, 8, SIGNED},
        {"8@$0xffffffffffffffff", ~0ull, NO, NO, 0, 8, 0},
        {"-4@112(%rsp)", 112, 19, NO, 0, 4, SIGNED | MEMORY},
        {"8@-8(%rbp)", -8ull, 4, NO, 0, 8, MEMORY},
        {"8@(%r10)", 0, 7, NO, 0, 8, MEMORY},
        {"2@16(%rdi,%r9)", 16, 14, 8, 0, 2, MEMORY},
        {"2@16(%rdi,%r9,8)", 16, 14, 8, 3, 2, MEMORY},
        {"4@96(,%rcx,4)", 96, NO, 11, 2, 4, MEMORY},
        {"%rbx", 0, 5, NO, 0, 8, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct xp_usdt_argument a;
        bool known = usdt_argument(cases[i].text, strlen(cases[i].text), &a);
        CHECK_STR(known ? cases[i].text : "", cases[i].text);
        CHECK(a.number == cases[i].number && a.base == cases[i].base && a.index == cases[i].index);
        CHECK(a.scale == cases[i].scale && a.size == cases[i].size && a.flags == (cases[i].flags | XP_USDT_KNOWN));
    }
}

TEST(usdt_arguments_that_are_not_understood)
{
    static const char *const cases[] = {
        "",           "8@",
        "8@%",        "8@%xmm0",
        "8@%ah",      "4f@%xmm0",
        "3@%rax",     "16@%rax",
        "0@%rax",     "8@rax",
        "8@%rax,",    "8@(%rax",
        "8@(%rax,",   "8@(%rax,%rbx,3)",
        "8@(%rax,4)", "8@x(%rip)",
        "8@8(%rip)",  "8@$",
        "8@$x",       "@%rax",
        "8@ %rax",    "8@4",
        "8@(%eip)",   "8@%fs:(%rax)",
        "8@%rax%rbx", "8@(,)",
        "8@-(%rax)",  "8@(%rax,%rbx,8)                                                                          ",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct xp_usdt_argument a = {.size = 99};
        CHECK_STR(usdt_argument(cases[i], strlen(cases[i]), &a) ? cases[i] : "", "");
        CHECK_EQ(a.size, 99);
    }
    struct xp_usdt_argument a;
    CHECK(usdt_argument("8@%raxjunk", 6, &a)); /* the length counts */
}

/* ---- Notes ------------------------------------------------------------------------------------------------------- */

static void add_note(struct buf *b, u64 pc, u64 base, u64 semaphore, const char *text, size_t len)
{
    static const char zero[4];
    u32 head[3] = {8, (u32)(24 + len), 3};
    u64 places[3] = {pc, base, semaphore};
    buf_add(b, head, sizeof(head));
    buf_add(b, "stapsdt", 8);
    buf_add(b, places, sizeof(places));
    buf_add(b, text, len);
    buf_add(b, zero, -len & 3);
}
#define NOTE(b, pc, semaphore, text) add_note(b, pc, 0, semaphore, text, sizeof(text))

/* Searches a file with such notes, whose bytes are code and data from CRAFTED_TEXT on. */
static void find_in(const struct buf *notes, const char *pattern, struct buf *out)
{
    AUTO_BUF struct buf file = {0};
    struct crafted_section s[] = {{".note.stapsdt", notes->data, notes->len, 0}, {".stapsdt.base", "", 1, 0}};
    crafted_elf(&file, s, 2);
    Elf64_Phdr *p = (void *)(file.data + sizeof(Elf64_Ehdr));
    Elf64_Shdr h;
    size_t base = ((Elf64_Ehdr *)file.data)->e_shoff + 3 * sizeof(h);
    p->p_filesz = file.len;
    p->p_flags = PF_X | PF_W;
    memcpy(&h, file.data + base, sizeof(h));
    h.sh_addr = 0x9000;
    memcpy(file.data + base, &h, sizeof(h));
    AUTO_CLOSE int fd = fs_sealed_memfd("file", file.data, file.len);
    CHECK_EQ(usdt_find(fd, pattern, out), 0);
    CHECK(usdt_sound(out->data, out->len));
}

TEST(usdt_sites_of_probes)
{
    AUTO_BUF struct buf notes = {0}, out = {0};
    NOTE(&notes, 0x10020, 0, "shop\0sold\0-4@%eax 8@8(%rsp)");
    NOTE(&notes, 0x10010, 0x10030, "shop\0sold\0-4@$3");
    NOTE(&notes, 0x10018, 0, "shop\0open\0");
    find_in(&notes, "shop:s*", &out);
    struct usdt *u = (void *)out.data;
    CHECK_EQ(u->n, 2);
    CHECK_EQ(u->all, 3);
    CHECK_STR(u->near, "");
    CHECK_EQ(u->sites[0].offset, 0x10);
    CHECK_EQ(u->sites[0].semaphore, 0x30);
    CHECK_EQ(u->sites[0].narguments, 1);
    CHECK_EQ(u->sites[1].offset, 0x20);
    CHECK_EQ(u->sites[1].semaphore, 0);
    CHECK_EQ(u->sites[1].narguments, 2);
    CHECK_STR(u->sites[1].name, "shop:sold");
    CHECK_STR(u->sites[1].text, "-4@%eax 8@8(%rsp)");
    CHECK_EQ(u->sites[1].at.arguments[1].number, 8);
}

TEST(usdt_places_are_sites_with_what_is_asked_for)
{
    AUTO_BUF struct buf notes = {0}, out = {0};
    const struct usdt_site *places[4];
    NOTE(&notes, 0x10020, 0, "shop\0sold\0-4@%eax 8@8(%rsp)");
    NOTE(&notes, 0x10010, 0, "shop\0gone\0-4@$3");
    NOTE(&notes, 0x10020, 0, "shop\0lost\0-4@%eax 8@8(%rsp)");
    NOTE(&notes, 0x10018, 0,
         "shop\0wide\0"
         "4f@%xmm0 8@%rbx");
    find_in(&notes, "shop:*", &out);
    struct usdt *u = (void *)out.data;
    CHECK_EQ(u->n, 4);
    CHECK_EQ(usdt_places(u, 0, places), 3);
    CHECK(places[0]->offset == 0x10 && places[1]->offset == 0x18 && places[2]->offset == 0x20);
    CHECK_EQ(usdt_places(u, 1, places), 2);
    CHECK(places[0]->offset == 0x10 && places[1]->offset == 0x20);
    CHECK_EQ(usdt_places(u, 2, places), 2);
    CHECK(places[0]->offset == 0x18 && places[1]->offset == 0x20);
    CHECK_EQ(usdt_places(u, 4, places), 0);
}

/* As prelink moves programs, and not their notes. */
TEST(usdt_sites_that_were_moved)
{
    AUTO_BUF struct buf notes = {0}, out = {0};
    add_note(&notes, 0xf020, 0x8000, 0xf040, "a\0b\0", 5);
    find_in(&notes, "a:b", &out);
    struct usdt *u = (void *)out.data;
    CHECK_EQ(u->n, 1);
    CHECK_EQ(u->sites[0].offset, 0x20);
    CHECK_EQ(u->sites[0].semaphore, 0x40);
}

TEST(usdt_probes_that_are_not_there_have_neighbours)
{
    AUTO_BUF struct buf notes = {0}, out = {0}, none = {0}, other = {0};
    NOTE(&notes, 0x10020, 0, "shop\0sold_out\0");
    NOTE(&notes, 0x10010, 0, "shop\0sold_out\0");
    NOTE(&notes, 0x10010, 0, "shop\0open\0");
    find_in(&notes, "store:sold", &out);
    struct usdt *u = (void *)out.data;
    CHECK_EQ(u->n, 0);
    CHECK_STR(u->near, "shop:sold_out");
    find_in(&notes, "x:nothing", &other);
    CHECK_STR(((struct usdt *)other.data)->near, "");
    find_in(&(struct buf){0}, "*:*", &none);
    CHECK_EQ(((struct usdt *)none.data)->all, 0);
}

/* Notes that lie are left out, and what follows them is read. */
TEST(usdt_notes_that_are_crafted)
{
    AUTO_BUF struct buf notes = {0}, out = {0};
    char longest[200];
    memset(longest, 'n', sizeof(longest));
    longest[1] = longest[199] = 0;
    NOTE(&notes, 0x99999, 0, "a\0in_no_code\0");
    NOTE(&notes, 0x10010, 0x99998, "a\0without_semaphore\0");
    NOTE(&notes, 0x10010, 0x10011, "a\0odd_semaphore\0");
    add_note(&notes, 0x10010, 0, 0, longest, sizeof(longest));
    add_note(&notes, 0x10010, 0, 0, "a\0endless", 9);
    add_note(&notes, 0x10010, 0, 0, "", 0);
    NOTE(&notes, 0x10010, 0, "a\0esc\033[\0\033 4@%eax");
    NOTE(&notes, 0x10014, 0,
         "a\0many\0"
         "4@$1 4@$2 4@$3 4@$4 4@$5 4@$6 4@$7 4@$8 4@$9 4@$10 4@$11 4@$12 4@$13");
    u32 huge[3] = {~0u, ~0u, 3};
    buf_add(&notes, huge, sizeof(huge));
    find_in(&notes, "*:*", &out);
    struct usdt *u = (void *)out.data;
    CHECK_EQ(u->n, 2);
    CHECK_EQ(u->unusable, 4);
    CHECK_STR(u->sites[0].name, "a:esc?[");
    CHECK_STR(u->sites[0].text, "? 4@%eax");
    CHECK_EQ(u->sites[1].narguments, XP_USDT_ARGUMENTS);
    CHECK_EQ(u->sites[1].at.arguments[11].number, 12);
}

TEST(usdt_sites_have_a_limit)
{
    AUTO_BUF struct buf notes = {0}, out = {0};
    for (u32 i = 0; i < USDT_MAX + 3; i++)
        NOTE(&notes, 0x10000 + i, 0, "a\0b\0");
    find_in(&notes, "a:b", &out);
    struct usdt *u = (void *)out.data;
    CHECK_EQ(u->n, USDT_MAX);
    CHECK_EQ(u->left_out, 3);
}

TEST(usdt_of_no_program)
{
    AUTO_BUF struct buf out = {0};
    AUTO_CLOSE int fd = fs_sealed_memfd("file", "#!/bin/sh\n", 10);
    CHECK(usdt_find(fd, "*:*", &out) < 0);
}

TEST(usdt_replies_are_checked)
{
    struct reply {
        struct usdt head;
        struct usdt_site site;
    } r = {.head = {.magic = USDT_MAGIC, .n = 1}, .site = {.name = "a:b", .narguments = 1}};
    struct xp_usdt_argument *a = &r.site.at.arguments[0];
    *a = (struct xp_usdt_argument){.size = 4, .base = 20, .index = XP_USDT_NONE, .scale = 3, .flags = XP_USDT_KNOWN};
    CHECK(usdt_sound(&r, sizeof(r)));
    CHECK(!usdt_sound(&r, sizeof(r) - 1));
    CHECK(!usdt_sound(&r, sizeof(r.head)));
    const struct {
        size_t offset, size;
        u64 lie;
    } lies[] = {
        {offsetof(struct reply, head.magic), 4, 0},
        {offsetof(struct reply, head.n), 4, 2},
        {offsetof(struct reply, head.n), 4, ~0u},
        {offsetof(struct reply, head.near), 1, '\n'},
        {offsetof(struct reply, site.name) + 1, 1, '.'},
        {offsetof(struct reply, site.text), 1, '\033'},
        {offsetof(struct reply, site.narguments), 4, XP_USDT_ARGUMENTS + 1},
        {offsetof(struct reply, site.at.arguments[0].size), 1, 0},
        {offsetof(struct reply, site.at.arguments[0].size), 1, 9},
        {offsetof(struct reply, site.at.arguments[0].scale), 1, 4},
        {offsetof(struct reply, site.at.arguments[0].base), 1, 21},
        {offsetof(struct reply, site.at.arguments[0].index), 1, 254},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct reply lying = r;
        memcpy((char *)&lying + lies[i].offset, &lies[i].lie, lies[i].size);
        CHECK(!usdt_sound(&lying, sizeof(lying)));
    }
    memset(r.site.name, 'x', sizeof(r.site.name));
    CHECK(!usdt_sound(&r, sizeof(r)));
}
