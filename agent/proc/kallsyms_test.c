#include "proc/kallsyms.h"
#include "base/cleanup.h"
#include "base/fs.h"
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

/* What of one line is in the table: "NAME MODULE", or "" if it makes no sense. */
static const char *line_says(const char *line)
{
    static char text[1200];
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL;
    struct kallsym s;
    text[0] = 0;
    if (!parse(line, &k) && kallsyms_find(k, 0xffffffff81000000, &s))
        snprintf(text, sizeof(text), "%s %s", s.name, s.module);
    return text;
}

TEST(kallsyms_lines)
{
    CHECK_STR(line_says("ffffffff81000000 t a\n"), "a ");
    CHECK_STR(line_says("ffffffff81000000 W a"), "a ");
    CHECK_STR(line_says("ffffffff81000000 w a\t[mod]\n"), "a mod");
    CHECK_STR(line_says("ffffffff81000000 d a\n"), "");
    CHECK_STR(line_says("ffffffff81000000 tt a\n"), "");
    CHECK_STR(line_says("ffffffff81000000 t \n"), "");
    CHECK_STR(line_says("ffffffff81000000 "), "");
    CHECK_STR(line_says("ffffffff81000000"), "");
    CHECK_STR(line_says("ffffffff81000000t a\n"), "");
    CHECK_STR(line_says(" t a\n"), "");
    CHECK_STR(line_says("0000000081000000 t per_cpu\n"), "");
}

TEST(kallsyms_names_are_bounded)
{
    AUTO_BUF struct buf line = {0};
    for (size_t n = 511; n <= 513; n++)
        for (int module = 0; module < 2; module++) {
            line.len = 0;
            buf_str(&line, module ? "ffffffff81000000 t f\t[" : "ffffffff81000000 t ");
            for (size_t i = 0; i < n; i++)
                buf_char(&line, 'x');
            buf_str(&line, module ? "]\n" : "\n");
            CHECK_EQ(strlen(line_says(line.data)), n <= 512 ? n + 1 + (module ? 1 : 0) : 0);
        }
}

/* Of several at one address a global one is shown, or else the first. */
TEST(kallsyms_one_name_for_an_address)
{
    CHECK_STR(line_says("ffffffff81000000 t a\nffffffff81000000 T b\nffffffff81000000 t c\n"), "b ");
    CHECK_STR(line_says("ffffffff81000000 T b\nffffffff81000000 t a\n"), "b ");
    CHECK_STR(line_says("ffffffff81000000 t b\nffffffff81000000 t a\n"), "b ");
    CHECK_STR(line_says("ffffffff81000000 T b\nffffffff81000000 T a\n"), "b ");
}

TEST(kallsyms_reach)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL;
    struct kallsym s;
    CHECK_EQ(parse("8000000000000000 T low\n80000000ffffffff T last\n8000000100000000 T far\n", &k), 0);
    CHECK_EQ(kallsyms_count(k), 2); /* 4 GiB are all that there is of text */
    CHECK(kallsyms_find(k, 0x8000000000040000, &s) && !strcmp(s.name, "low"));
    CHECK(!kallsyms_find(k, 0x8000000000040001, &s));
    CHECK(kallsyms_find(k, 0x80000000ffffffff, &s) && !strcmp(s.name, "last") && s.start == 0x80000000ffffffff);
    CHECK(!kallsyms_find(k, 0x7fffffffffffffff, &s));
}

TEST(kallsyms_of_a_file)
{
    static const char text[] = "ffffffff81000000 t a\n";
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL, *none = NULL;
    AUTO_CLOSE int fd = fs_sealed_memfd("kallsyms", text, sizeof(text) - 1);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CHECK_EQ(kallsyms_new(&k, path), 0);
    CHECK_EQ(kallsyms_count(k), 1);
    CHECK_EQ(kallsyms_new(&none, "/"), -EIO);
    CHECK(!none);
}

static const char MODULES[] =
    "ffffffff81000000 T _stext\n"
    "ffffffff81000040 t helper\n"
    "ffffffffc0001000 t ext4_read\t[ext4]\n"
    "ffffffffc0001100 t ext4_write\t[ext4]\n"
    "ffffffffc0002000 t bpf_prog_1_x\t[bpf]\n"
    "ffffffffc0002800 t ftrace_trampoline\t[__builtin__ftrace]\n"
    "ffffffffc0003000 t xfs_read\t[xfs]\n";

TEST(kallsyms_images_leave_out_what_comes_and_goes)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL, *view = NULL;
    AUTO_BUF struct buf image = {0};
    struct kallsym s;
    CHECK_EQ(parse(MODULES, &k), 0);
    CHECK_EQ(kallsyms_encode(k, &image), 0);
    CHECK_EQ(kallsyms_new_view(&view, image.data, image.len), 0);
    CHECK_EQ(kallsyms_count(k), 7);
    CHECK_EQ(kallsyms_count(view), 5);
    CHECK(kallsyms_find(view, 0xffffffffc0001104, &s));
    CHECK_STR(s.name, "ext4_write");
    CHECK_STR(s.module, "ext4");
    CHECK_EQ(s.start, 0xffffffffc0001100);
    CHECK(kallsyms_find(view, 0xffffffff81000008, &s));
    CHECK_STR(s.name, "_stext");
    CHECK_STR(s.module, "");
    CHECK(kallsyms_find(view, 0xffffffffc0003001, &s)); /* behind what was left out */
    CHECK_STR(s.name, "xfs_read");
    CHECK_STR(s.module, "xfs");
    AUTO_BUF struct buf again = {0};
    CHECK_EQ(kallsyms_encode(view, &again), 0);
    CHECK(again.len == image.len && !memcmp(again.data, image.data, image.len));
}

TEST(kallsyms_images_of_nothing)
{
    CLEANUP(kallsyms_free) struct kallsyms *hidden = NULL, *programs = NULL;
    AUTO_BUF struct buf image = {0};
    CHECK_EQ(parse("0000000000000000 T _stext\n", &hidden), 0);
    CHECK_EQ(kallsyms_encode(hidden, &image), -ENODATA);
    CHECK_EQ(parse("ffffffffc0002000 t bpf_prog_1_x\t[bpf]\n", &programs), 0);
    CHECK_EQ(kallsyms_encode(programs, &image), -ENODATA);
    CHECK_EQ(image.len, 0);
}

TEST(kallsyms_inside_of_a_module)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL;
    struct kallsym s;
    CHECK_EQ(parse(MODULES, &k), 0);
    CHECK(kallsyms_find_inside(k, 0xffffffff8100003f, &s));
    CHECK_STR(s.name, "_stext");
    CHECK(!kallsyms_find_inside(k, 0xffffffff81000041, &s)); /* the last of the kernel itself */
    CHECK(kallsyms_find_inside(k, 0xffffffffc00010ff, &s));
    CHECK_STR(s.name, "ext4_read");
    CHECK(!kallsyms_find_inside(k, 0xffffffffc0001100, &s)); /* another program may follow */
    CHECK(!kallsyms_find_inside(k, 0xffffffffc0003000, &s)); /* the last of all */
    CHECK(!kallsyms_find_inside(k, 0xffffffff80ffffff, &s));
}

TEST(kallsyms_damaged_images_are_refused)
{
    CLEANUP(kallsyms_free) struct kallsyms *k = NULL, *view = NULL;
    AUTO_BUF struct buf image = {0};
    CHECK_EQ(parse(MODULES, &k), 0);
    CHECK_EQ(kallsyms_encode(k, &image), 0);
    for (size_t len = 0; len < image.len; len++) {
        AUTO_FREE void *part = malloc(len + !len); /* so that a read behind its end is seen */
        memcpy(part, image.data, len);
        CHECK_EQ(kallsyms_new_view(&view, part, len), -EBADMSG);
    }
    u32 *words = (void *)image.data; /* base, base, n, nstrings; address, name of each symbol */
    static const struct {
        size_t at;
        u32 value;
    } bad[] = {{1, 0}, {2, 0}, {2, 6}, {2, 5u << 20}, {3, 1}, {4, 0x50}, {5, 1u << 20}, {13, ~0u}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        u32 good = words[bad[i].at];
        words[bad[i].at] = bad[i].value;
        CHECK_EQ(kallsyms_new_view(&view, image.data, image.len), -EBADMSG);
        words[bad[i].at] = good;
    }
    image.data[image.len - 1] = 'x';
    CHECK_EQ(kallsyms_new_view(&view, image.data, image.len), -EBADMSG);
    const u32 empty[] = {0, ~0u, 0, 2, 0};
    CHECK_EQ(kallsyms_new_view(&view, empty, 18), -EBADMSG);
    kallsyms_free(&k);
    CHECK(!k && !view);
}
