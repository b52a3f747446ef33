#include "cfi/fixture.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>

int fixture_fd(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/elf/%s", test_data(), name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int fixture_elf(const char *name, struct elf_file *e)
{
    AUTO_CLOSE int fd = fixture_fd(name);
    return fd < 0 ? -errno : elf_open(e, fd);
}

struct xp_table *fixture_table(const char *name)
{
    AUTO_CLOSE int fd = fixture_fd(name);
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    if (fd < 0 || table_build(fd, &limits, &t, &len) || table_check(t, len))
        return NULL;
    return TAKE_PTR(t);
}

u64 fixture_symbol(const struct elf_file *e, const char *name)
{
    struct elf_section syms, names;
    if (!elf_section(e, ".symtab", &syms) || !elf_section(e, ".strtab", &names))
        return ~0ull;
    for (size_t i = 0; i < syms.len / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, syms.data + i * sizeof(s), sizeof(s));
        const struct elf_segment *seg = elf_segment_at(e, s.st_value, PF_X);
        if (seg && !strcmp((const char *)names.data + s.st_name, name))
            return s.st_value - seg->vaddr + seg->offset;
    }
    return ~0ull;
}
