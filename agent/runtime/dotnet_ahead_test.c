#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/name_index.h"
#include "runtime/dotnet_crafted_file.h"
#include "runtime/dotnet_internal.h"
#include <errno.h>
#include <string.h>

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

struct bytes { /* a file to read from */
    int fd;
    struct memory m;
};

static void end_bytes(struct bytes *b)
{
    memory_free(&b->m);
    xp_cleanup_close(&b->fd);
}

static int read_bytes(struct bytes *b, const void *data, size_t len)
{
    b->fd = fs_sealed_memfd("bytes", data, len);
    return b->fd < 0 ? b->fd : memory_open(&b->m, b->fd, -1);
}

TEST(dotnet_unsigned_numbers)
{
    static const struct {
        u8 bytes[6];
        u32 v, len;
        bool ok;
    } rows[] = {
        {{0x54}, 0x2a, 1, true},
        {{0x01, 0x80}, 0x2000, 2, true},
        {{0xfb, 0xff, 0xff}, 0, 3, true},
        {{0x03, 0, 0x80}, 0x100000, 3, true},
        {{0x07, 0, 0, 0x80}, 0x8000000, 4, true},
        {{0x0f, 0x78, 0x56, 0x34, 0x12}, 0x12345678, 5, true},
        {{0x1f, 0x78, 0x56, 0x34, 0x12}, 0, 5, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(end_bytes) struct bytes b = {.fd = -1};
        bool ok = true;
        u64 at = 0;
        CHECK_EQ(read_bytes(&b, rows[i].bytes, sizeof(rows[i].bytes)), 0);
        u32 v = dotnet_unsigned(&b.m, &at, &ok);
        CHECK_EQ(ok, rows[i].ok);
        CHECK_EQ(at, rows[i].len);
        if (ok && rows[i].v)
            CHECK_EQ(v, rows[i].v);
    }
}

TEST(dotnet_arrays_are_sparse)
{
    static const u8 array[] = {
        18 << 3, /* 18 elements, indexes of one byte */
        2, 20,   /* where the blocks begin, from here on */
        0x02,    /* of 16 elements, only the lower half */
    };
    CLEANUP(end_bytes) struct bytes b = {.fd = -1};
    struct dotnet_array a;
    CHECK_EQ(read_bytes(&b, array, sizeof(array)), 0);
    CHECK(dotnet_array_open(&b.m, 0, &a));
    CHECK_EQ(a.n, 18);
    CHECK_EQ(a.index_bytes, 1);
    CHECK_EQ(dotnet_array_find(&b.m, &a, 18), 0);
    CHECK_EQ(dotnet_array_find(&b.m, &a, 12), 0); /* no upper half */
    CHECK_EQ(dotnet_array_find(&b.m, &a, 17), 0); /* beyond the end */
}

TEST(dotnet_signatures_say_which_method)
{
    static const struct {
        u8 bytes[16];
        u32 len, method;
        bool ok;
    } rows[] = {
        {{0x04, 0x81, 0x02, 1, 0x3e}, 5, 0x102, true},                      /* m<__Canon> */
        {{0x40, 0x15, 0x12, 0x08, 2, 0x08, 0x3e, 7}, 8, 7, true},           /* T<int, __Canon>.m */
        {{0x44, 0x12, 0x08, 9, 2, 0x1d, 0x0e, 0x11, 0x0c}, 9, 9, true},     /* T.m<string[], V> */
        {{0x40, 0x15, 0x3f, 1, 0x12, 0x08, 1, 0x3e, 7}, 9, 0, true},        /* another module's */
        {{0x40, 0x15, 0x12, 0x08, 1, 0x3f, 2, 0x11, 0x0c, 7}, 10, 7, true}, /* T<V of another module>.m */
        {{0x10, 5}, 2, 0, true},                                            /* a reference */
        {{0x40, 0x1b, 0, 0}, 0, 0, false},                                  /* a pointer to a function */
        {{0x40, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f}, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(end_bytes) struct bytes b = {.fd = -1};
        u64 at = 0;
        u32 method = 99;
        CHECK_EQ(read_bytes(&b, rows[i].bytes, sizeof(rows[i].bytes)), 0);
        CHECK_EQ(dotnet_signature(&b.m, &at, &method), rows[i].ok);
        if (rows[i].ok && (at != rows[i].len || method != rows[i].method))
            test_fail(__FILE__, __LINE__, "signature %zu: method %u, %llu bytes", i, method, (unsigned long long)at);
    }
}

/* ---- A file ------------------------------------------------------------------------------------------------------ */

static int index_of(const u8 *file, void **out, size_t *len)
{
    AUTO_CLOSE int fd = fs_sealed_memfd("file", file, FILE_BYTES);
    return fd < 0 ? fd : dotnet_ahead_index(fd, out, len);
}

TEST(dotnet_methods_that_were_compiled_ahead_of_time)
{
    static const char *const names[FUNCTIONS] = {"App.Program.Main", "App.Program.Main", "App.Program.Get",
                                                 "App.Program.Inner.Run", ""};
    u8 file[FILE_BYTES];
    AUTO_FREE void *data = NULL;
    size_t len;
    struct name_index index;
    make_file(file);
    CHECK_EQ(index_of(file, &data, &len), 0);
    CHECK_EQ(name_index_open(&index, data, len), 0);
    for (u32 i = 0; i < FUNCTIONS; i++) {
        struct name_index_text text;
        struct name_hit hit;
        char name[64];
        name_index_find(&index, CRAFTED_RAW + CODE + EACH * i + EACH - 1, &text, &hit);
        snprintf(name, sizeof(name), "%.*s", (int)hit.len, hit.len ? hit.name : "");
        CHECK_STR(name, names[i]);
        CHECK(!hit.len || hit.start == CRAFTED_RAW + CODE + EACH * i);
    }
}

/* Code whose method is not known does not get the name of what is before it. */
TEST(dotnet_instances_that_are_not_understood)
{
    u8 file[FILE_BYTES];
    AUTO_FREE void *data = NULL;
    size_t len;
    struct name_index index;
    make_file(file);
    file[CRAFTED_RAW + 0x720 + 10] = 0x1b; /* in place of __Canon: a pointer to a function */
    CHECK_EQ(index_of(file, &data, &len), 0);
    CHECK_EQ(name_index_open(&index, data, len), 0);
    for (u32 i = 1; i < FUNCTIONS; i++) {
        struct name_index_text text;
        struct name_hit hit;
        name_index_find(&index, CRAFTED_RAW + CODE + EACH * i, &text, &hit);
        CHECK_EQ(hit.len, i == 2 ? strlen("App.Program.Get") : 0);
    }
}

/* Whatever a file says, nothing is read or written that is not there. */
TEST(dotnet_files_that_lie)
{
    u64 seed = 1;
    for (unsigned i = 0; i < 3000; i++) {
        u8 file[FILE_BYTES];
        AUTO_FREE void *data = NULL;
        size_t len;
        struct name_index index;
        make_file(file);
        for (unsigned k = 0; k <= i % 8; k++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            file[(seed >> 40) % FILE_BYTES] = (u8)(seed >> 32);
        }
        int rc = index_of(file, &data, &len);
        CHECK(rc <= 0 && (rc || !name_index_open(&index, data, len)));
    }
}
