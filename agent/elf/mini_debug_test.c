#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include "cfi/fixture.h"
#include "elf/mini_debug.h"
#include "dwarf/names.h"
#include <errno.h>
#include <lzma.h>

static bool is_named(const char *fixture, u64 offset, const char *name)
{
    AUTO_CLOSE int fd = fixture_fd(fixture);
    AUTO_BUF struct buf reply = {0};
    struct names v;
    struct names_fds fds = NAMES_FDS_OF(fd);
    if (names_resolve(&fds, &offset, 1, &reply) || names_view(reply.data, reply.len, 1, &v))
        return false;
    return !strcmp(v.strings + v.frames[0].name, name);
}

TEST(mini_debug_names_what_was_stripped)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CLOSE int mini = fixture_fd("dwarf-mini");
    if (mini < 0 || fixture_elf("dwarf-5", &e))
        SKIP("no fixtures");
    u64 offset = fixture_symbol(&e, "outer");
    CHECK(is_named("dwarf-stripped", offset, ""));
    CHECK(is_named("dwarf-mini", offset, "outer"));
}

TEST(mini_debug_names_come_from_the_debug_file_too)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CLOSE int stripped = fixture_fd("dwarf-stripped");
    AUTO_CLOSE int debug = fixture_fd("dwarf-5");
    AUTO_BUF struct buf reply = {0};
    struct names v;
    if (stripped < 0 || fixture_elf("dwarf-5", &e))
        SKIP("no fixtures");
    u64 offset = fixture_symbol(&e, "outer");
    CHECK_EQ(names_resolve(&(struct names_fds){.file = stripped, .index = -1, .symbols = debug, .names = -1}, &offset,
                           1, &reply),
             0);
    CHECK_EQ(names_view(reply.data, reply.len, 1, &v), 0);
    CHECK_STR(v.strings + v.frames[0].name, "outer");
}

/* n bytes of nothing, compressed; the length. */
static size_t compress(size_t n, u8 *out, size_t size)
{
    AUTO_FREE u8 *zeros = calloc(1, n);
    size_t len = 0;
    return zeros && lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, zeros, n, out, &len, size) == LZMA_OK ? len : 0;
}

static int open_mini(const void *xz, size_t len)
{
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    AUTO_BYTES struct elf_bytes bytes = {0};
    AUTO_ELF struct elf_file inner = {0};
    struct crafted_section s = {".gnu_debugdata", xz, len, 0};
    crafted_elf(&file, &s, 1);
    int err = elf_open_memory(&e, file.data, file.len);
    return err ? err : mini_debug_open(&e, &bytes, &inner);
}

TEST(mini_debug_that_is_damaged_is_none)
{
    u8 xz[16384];
    size_t len = compress(100000, xz, sizeof(xz));
    CHECK(len);
    for (size_t n = 1; n < len; n++)
        CHECK_EQ(open_mini(xz, n), -EBADMSG);
    CHECK_EQ(open_mini(xz, len), -EBADMSG); /* sound, but no ELF file */
    CHECK_EQ(open_mini("no xz at all", 12), -EBADMSG);
}

TEST(mini_debug_that_grows_too_much_is_cut)
{
    u8 xz[65536];
    size_t len = compress(MINI_DEBUG_MAX + 1, xz, sizeof(xz));
    CHECK(len);
    CHECK_EQ(open_mini(xz, len), -ENOSPC);
}
