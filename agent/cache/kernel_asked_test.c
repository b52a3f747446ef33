#include "cache/kernel_asked.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <stdlib.h>

/* A kernel that says `text` of every address. */
struct kernel {
    const char *text;
    unsigned asked;
    bool freed;
};

static int ask(void *ctx, u64 address, char *text, size_t len)
{
    struct kernel *k = ctx;
    k->asked++;
    if (!k->text)
        return -EIO;
    snprintf(text, len, "%s", k->text);
    return 0;
}

static void set_freed(void *ctx)
{
    ((struct kernel *)ctx)->freed = true;
}

static struct kernel_asked *ask_of(struct kernel *kernel)
{
    struct kernel_asked *k = NULL;
    if (kernel_asked_new(&k, &(struct kernel_oracle){kernel, ask, set_freed}))
        abort();
    return k;
}

/* "NAME MODULE START", or "": nothing. */
static const char *says(const char *text, u64 address)
{
    static char line[700];
    struct kernel kernel = {.text = text};
    struct kallsym s;
    CLEANUP(kernel_asked_free) struct kernel_asked *k = ask_of(&kernel);
    line[0] = 0;
    if (kernel_asked_find(k, address, &s))
        snprintf(line, sizeof(line), "%s %s %llx", s.name, s.module, (unsigned long long)s.start);
    return line;
}

TEST(kernel_asked_answers)
{
    CHECK_STR(says("vfs_read+0x1c/0x300", 0xffffffff8100001c), "vfs_read  ffffffff81000000");
    CHECK_STR(says("ext4_read+0x0/0x10 [ext4]", 0xffffffffc0001000), "ext4_read ext4 ffffffffc0001000");
    CHECK_STR(says("ext4_read+0x0/0x10 [ext4 0123abcd]", 0xffffffffc0001000), "ext4_read ext4 ffffffffc0001000");
    CHECK_STR(says("a+b+0x8/0x10", 0xffffffff81000008), "a+b  ffffffff81000000");
    CHECK_STR(says("bpf_prog_c0ffee_x+0x4/0x10", 0xffffffffc0000004), "bpf_prog_c0ffee_x bpf ffffffffc0000000");
    CHECK_STR(says("ftrace_trampoline+0x4/0x10", 0xffffffffc0000004),
              "ftrace_trampoline __builtin__ftrace ffffffffc0000000");
    CHECK_STR(says("bpf_get_stack+0x4/0x10", 0xffffffff81000004), "bpf_get_stack  ffffffff81000000");
    static const char *const nothing[] = {NULL,     "",         "0xffffffff81000000", "name", "+0x1/0x2", "name+",
                                          "name+/", "name+0x1", "name+0x10/0x2 []"};
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
        CHECK_STR(says(nothing[i], 0xffffffff81000000), "");
    CHECK_STR(says("name+0x11/0x20", 0x10), "");
}

/* What the kernel itself consists of stays where it is; modules and programs do not. */
TEST(kernel_asked_remembers_what_stays)
{
    struct kernel kernel = {.text = "vfs_read+0x1c/0x300"};
    struct kallsym first, s;
    CLEANUP(kernel_asked_free) struct kernel_asked *k = ask_of(&kernel);
    CHECK(kernel_asked_find(k, 0xffffffff8100001c, &first));
    CHECK(kernel_asked_find(k, 0xffffffff8100001c, &s));
    CHECK_EQ(kernel.asked, 1);
    CHECK(s.name == first.name); /* kept once */
    kernel.text = "read_it+0x0/0x10 [one]";
    CHECK(kernel_asked_find(k, 0xffffffffc0001000, &first));
    CHECK(kernel_asked_find(k, 0xffffffffc0001000, &s));
    CHECK_EQ(kernel.asked, 3);
    CHECK(s.name == first.name);
    kernel.text = "read_it+0x0/0x10 [two]";
    CHECK(kernel_asked_find(k, 0xffffffffc0001000, &s));
    CHECK_STR(s.module, "two");
    CHECK_STR(first.module, "one");
    kernel.text = "write_it+0x10/0x20 [two]";
    CHECK(kernel_asked_find(k, 0xffffffffc0001000, &s));
    CHECK_STR(s.name, "write_it");
    CHECK_EQ(s.start, 0xffffffffc0000ff0);
    kernel_asked_free(&k);
    CHECK(kernel.freed && !k);
}
