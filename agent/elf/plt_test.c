/* The stubs of real programs, against objdump's idea of them. */
#include "elf/plt.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>

static int open_elf(struct elf_file *e, const char *path)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -ENOENT : elf_open(e, fd);
}

TEST(plt_of_this_program)
{
    AUTO_ELF struct elf_file e = {0};
    CLEANUP(plt_free) struct plt *p = NULL;
    struct elf_section s;
    CHECK_EQ(open_elf(&e, "/proc/self/exe"), 0);
    int rc = plt_read(&p, &e);
    if (rc == -ENODATA)
        SKIP("this program has no PLT");
    CHECK_EQ(rc, 0);
    size_t stubs = 0, named = 0;
    bool memcpy_there = false;
    static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
    for (size_t i = 0; i < 3; i++) {
        if (!elf_section(&e, sections[i], &s))
            continue;
        for (u64 at = s.addr; at < s.addr + s.len; at += 8) {
            size_t len;
            u64 start;
            const char *name = plt_find(p, at, &len, &start);
            stubs++;
            named += name != NULL;
            CHECK(!name || (start <= at && at - start < 16));
            memcpy_there |= name && len == 6 && !memcmp(name, "memcpy", 6);
        }
    }
    CHECK(stubs > 20 && named * 10 >= stubs * 4); /* the .plt of IBT jumps through no slot */
    CHECK(memcpy_there || named > 100);
}

TEST(plt_that_is_none)
{
    AUTO_ELF struct elf_file e = {0};
    CLEANUP(plt_free) struct plt *p = NULL;
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_type = ET_DYN,
                    .e_machine = EM_X86_64,
                    .e_version = EV_CURRENT};
    CHECK_EQ(elf_open_memory(&e, &h, sizeof(h)), 0);
    CHECK_EQ(plt_read(&p, &e), -ENODATA);
}
