#include "elf/functions.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static __attribute__((noinline, used)) int functions_target_one(int x)
{
    return x + 1;
}
static __attribute__((noinline, used)) int functions_target_two(int x)
{
    return x + 2;
}

/* The file offset of a function of this program. */
static int of_program(struct dl_phdr_info *info, size_t size, void *at)
{
    u64 *address = at, vaddr = *address - info->dlpi_addr;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr < p->p_vaddr + p->p_filesz)
            *address = vaddr - p->p_vaddr + p->p_offset;
    }
    return 1; /* the first one is the program */
}

static bool is_near(u64 offset, int (*function)(int))
{
    u64 at = (uintptr_t)function;
    dl_iterate_phdr(of_program, &at);
    return offset >= at && offset < at + 16; /* behind endbr64, perhaps */
}

static int find(const char *pattern, struct functions *out)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    return functions_find(fd, pattern, out);
}

TEST(functions_by_name)
{
    struct functions f;
    CHECK_EQ(find("functions_target_two", &f), 0);
    CHECK_EQ(f.n, 1);
    CHECK(is_near(f.offset[0], functions_target_two));
    CHECK(functions_sound(&f, sizeof(f)));
    CHECK_STR(f.near, "");
}

TEST(functions_by_pattern)
{
    struct functions f;
    CHECK_EQ(find("functions_target_???", &f), 0);
    CHECK_EQ(f.n, 2);
    CHECK(f.offset[0] < f.offset[1] && f.left_out == 0);
    CHECK(is_near(f.offset[0], functions_target_one) || is_near(f.offset[1], functions_target_one));
    CHECK_EQ(find("*", &f), 0);
    CHECK_EQ(f.n, FUNCTIONS_MAX);
    CHECK(f.left_out > 0 && f.all > FUNCTIONS_MAX);
    CHECK(functions_sound(&f, sizeof(f)));
}

TEST(functions_that_are_not_there_have_neighbours)
{
    struct functions f;
    CHECK_EQ(find("functions_target", &f), 0);
    CHECK_EQ(f.n, 0);
    CHECK(strstr(f.near, "functions_target_one") && strstr(f.near, "functions_target_two"));
    CHECK_EQ(find("FUNCTIONS_TARGET_ONE", &f), 0);
    CHECK_STR(f.near, "functions_target_one");
    CHECK_EQ(find("nothing-of-the-kind", &f), 0);
    CHECK_STR(f.near, "");
}

TEST(functions_of_no_program)
{
    struct functions f;
    AUTO_CLOSE int fd = memfd_create("none", MFD_CLOEXEC);
    CHECK_EQ(write(fd, "#!/bin/sh\n", 10), 10);
    CHECK(functions_find(fd, "main", &f) < 0);
}

TEST(functions_are_checked)
{
    struct functions f = {.magic = FUNCTIONS_MAGIC, .n = 2, .offset = {16, 32}};
    CHECK(functions_sound(&f, sizeof(f)));
    CHECK(!functions_sound(&f, sizeof(f) - 1));
    f.offset[1] = 16;
    CHECK(!functions_sound(&f, sizeof(f)));
    f.offset[1] = 32;
    f.n = FUNCTIONS_MAX + 1;
    CHECK(!functions_sound(&f, sizeof(f)));
    f.n = 2;
    memset(f.near, 'x', sizeof(f.near));
    CHECK(!functions_sound(&f, sizeof(f)));
    f.near[3] = 0;
    CHECK(functions_sound(&f, sizeof(f)));
    f.near[1] = '\033';
    CHECK(!functions_sound(&f, sizeof(f)));
}
