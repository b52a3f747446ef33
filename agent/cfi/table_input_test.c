/* What is read of a file, once: its key and its table are made of that. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "cfi/table_elf.h"
#include <errno.h>
#include <sys/mman.h>

static const u8 *cfi_of(const struct elf_file *e)
{
    struct elf_section s;
    return elf_section(e, ".eh_frame", &s) ? s.data : NULL;
}

static struct table_key key_with(const struct elf_file *e, const struct table_code *code)
{
    static const u8 secret[16] = {1};
    AUTO_INPUT struct table_input in = {0};
    struct table_key key = {0};
    if (!table_read(&in, e, -1, code))
        table_key_of(&in, secret, &key);
    return key;
}

TEST(table_keys_know_rows_that_others_found)
{
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    struct table_row row = {0x1000, 1};
    struct table_code code = {.start = 0x1000, .end = 0x1800, .rows = &row, .n = 1};
    struct table_key none = key_with(&e, NULL), one = key_with(&e, &code);
    row.word = 2;
    struct table_key other = key_with(&e, &code);
    CHECK(!table_key_equal(&none, &one) && !table_key_equal(&one, &other));
    code.bad = 1; /* the image says it */
    struct table_key bad = key_with(&e, &code);
    CHECK(!table_key_equal(&bad, &other));
    code.n = 0;
    other = key_with(&e, &code);
    CHECK(table_key_equal(&none, &other));
}

/* Whoever may write to the file does so when it has been read: neither key nor table see it. */
TEST(table_is_of_the_bytes_that_its_key_is_of)
{
    static const u8 secret[16] = {1};
    AUTO_CLOSE int fd = memfd_create("file", MFD_CLOEXEC);
    AUTO_ELF struct elf_file e = {0}, written = {0};
    AUTO_INPUT struct table_input in = {0}, late = {0};
    AUTO_FREE struct xp_table *plain = NULL, *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct table_key before, after;
    size_t len, plain_len;
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(table_build_elf(&e, NULL, &limits, &plain, &plain_len), 0);
    CHECK_EQ(fs_write_all(fd, e.map, e.size), 0);
    CHECK_EQ(elf_open(&written, fd), 0);
    CHECK_EQ(table_read(&in, &written, fd, NULL), 0);
    for (size_t i = 0; i < in.cfi.nsections; i++)
        CHECK(in.cfi.section[i].data < written.map || in.cfi.section[i].data >= written.map + written.size);
    u64 at = (u64)(cfi_of(&e) - e.map);
    CHECK_EQ(pwrite(fd, "no CFI at all", 13, (off_t)at + 4), 13);
    CHECK_EQ(table_read(&late, &written, fd, NULL), 0);
    elf_unmap(&written);
    table_key_of(&in, secret, &before);
    table_key_of(&late, secret, &after);
    CHECK(!table_key_equal(&before, &after));
    CHECK_EQ(table_make(&in, NULL, 0, &limits, &t, &len), 0);
    CHECK(len == plain_len && !memcmp(t, plain, len));
}

TEST(table_reads_no_section_that_is_gone)
{
    AUTO_CLOSE int fd = memfd_create("file", MFD_CLOEXEC);
    AUTO_ELF struct elf_file e = {0};
    AUTO_INPUT struct table_input in = {0};
    CHECK_EQ(fixture_elf("cfi.so", &e), 0);
    CHECK_EQ(fs_write_all(fd, e.map, (size_t)(cfi_of(&e) - e.map) + 1), 0);
    CHECK_EQ(table_read(&in, &e, fd, NULL), -ESTALE);
    CHECK(!in.copy[0]);
}

static bool same_key(const char *a, const char *b, const u8 *secret_a, const u8 *secret_b)
{
    AUTO_CLOSE int fa = fixture_fd(a);
    AUTO_CLOSE int fb = fixture_fd(b);
    struct table_key ka, kb;
    return !table_identify(fa, secret_a, &ka) && !table_identify(fb, secret_b, &kb) && table_key_equal(&ka, &kb);
}

TEST(table_keys_tell_files_apart)
{
    static const u8 one[16] = {1}, two[16] = {2};
    CHECK(same_key("cfi.so", "cfi.so", one, one));
    CHECK(!same_key("cfi.so", "cfi.so", one, two)); /* nobody can guess another machine's */
    CHECK(!same_key("cfi.so", "moved", one, one));
    CHECK(!same_key("cfi.so", "bad.so", one, one));
    CHECK(!same_key("symbols.so", "bytes.so", one, one));
}

/* A section of zeros that takes no room on the disk. */
TEST(table_copies_no_section_of_any_size)
{
    struct {
        Elf64_Ehdr h;
        Elf64_Shdr s[3];
        char names[16];
    } f = {.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_shoff = sizeof(Elf64_Ehdr),
                 .e_shnum = 3,
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shstrndx = 2},
           .s = {{0},
                 {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 4096, .sh_size = TABLE_MAX_CFI + 1},
                 {.sh_type = SHT_STRTAB, .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr), .sh_size = 16}},
           .names = "\0.eh_frame"};
    AUTO_CLOSE int fd = memfd_create("large", MFD_CLOEXEC);
    AUTO_ELF struct elf_file e = {0};
    AUTO_INPUT struct table_input in = {0};
    CHECK_EQ(fs_write_all(fd, &f, sizeof(f)), 0);
    CHECK_EQ(ftruncate(fd, (off_t)TABLE_MAX_CFI + 8192), 0);
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK_EQ(table_read(&in, &e, fd, NULL), -ENOSPC);
    CHECK(!in.cfi.elf && !in.copy[0]);
}
