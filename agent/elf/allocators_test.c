#include "elf/allocators.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include <string.h>

static u64 call_of(const char *name)
{
    bool wraps;
    return allocator_call(name, strlen(name), &wraps);
}

TEST(allocators_have_names)
{
    bool wraps = true;
    CHECK_EQ(allocator_call("malloc", 6, &wraps), XP_HEAP_CALL(1, 0, 0, 0));
    CHECK(!wraps);
    CHECK_EQ(call_of("posix_memalign"), XP_HEAP_CALL(3, 0, 0, 1));
    CHECK_EQ(call_of("je_rallocx"), XP_HEAP_CALL(2, 0, 1, 0));
    CHECK_EQ(call_of("_rjem_sdallocx"), XP_HEAP_CALL(0, 0, 1, 0));
    CHECK_EQ(call_of("mi_reallocn"), XP_HEAP_CALL(2, 3, 1, 0));
    CHECK_EQ(call_of("tc_deletearray_nothrow"), XP_HEAP_CALL(0, 0, 1, 0));
    CHECK_EQ(allocator_call("_Znwm", 5, &wraps), XP_HEAP_CALL(1, 0, 0, 0));
    CHECK(wraps);
    CHECK_EQ(call_of("__rust_realloc"), XP_HEAP_CALL(4, 0, 1, 0));
    CHECK_EQ(call_of("_RNvCs5QKde7ScR4_7___rustc12___rust_alloc"), XP_HEAP_CALL(1, 0, 0, 0));
    static const char *const others[] = {
        "",        "mallo", "mallocs", "new", "delete",      "zalloc",    "tc_zalloc", "_ZnwmPv",           "_ZdlPvS_",
        "xmalloc", "je_",   "je_new",  "mi_", "_RNvCs_rust", "__rust_no", "freeze",    "malloc_usable_size"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        CHECK_EQ(call_of(others[i]), 0);
}

static int read_fixture(const char *name, struct allocators *out)
{
    AUTO_CLOSE int fd = fixture_fd(name);
    return allocators_read(fd, out);
}

TEST(allocators_of_a_file_are_found_once_each)
{
    struct allocators a;
    CHECK_EQ(read_fixture("allocators.so", &a), 0);
    CHECK(allocators_sound(&a, sizeof(a)));
    CHECK_EQ(a.n, 7); /* je_malloc, new, delete, pvalloc, valloc, calloc by two names, malloc; a local free and an
                         object are none */
    CHECK(a.site[0].call == XP_HEAP_CALL(1, 0, 0, 0) && a.site[1].call == XP_HEAP_CALL(1, 0, 0, 0));
    CHECK(a.site[2].call == XP_HEAP_CALL(0, 0, 1, 0) && a.site[5].call == XP_HEAP_CALL(1, 2, 0, 0));
    CHECK_EQ(a.site[1].offset, a.site[0].offset + 1);
    CHECK_EQ(a.site[3].offset, a.site[2].offset + 2 + 10); /* its push */
    CHECK_EQ(a.site[4].offset, a.site[3].offset + 2);
}

TEST(allocators_that_wrap_malloc_of_another_file_do_not_count)
{
    struct allocators a;
    CHECK_EQ(read_fixture("allocators-wrapping.so", &a), 0);
    CHECK_EQ(a.n, 3);
    CHECK_EQ(a.site[0].call, XP_HEAP_CALL(1, 0, 0, 0));
    CHECK_EQ(read_fixture("allocators-go.so", &a), 0);
    CHECK_EQ(a.n, 0);
}

TEST(allocators_that_lie_are_refused)
{
    struct allocators a = {.magic = ALLOCATORS_MAGIC};
    CHECK(allocators_sound(&a, sizeof(a)));
    CHECK(!allocators_sound(&a, sizeof(a) - 1));
    a.n = 2;
    a.site[0] = (struct xp_heap_site){16, XP_HEAP_CALL(1, 0, 0, 0)};
    a.site[1] = (struct xp_heap_site){17, XP_HEAP_CALL(0, 0, 1, 0)};
    CHECK(allocators_sound(&a, sizeof(a)));
    a.site[1].offset = 16;
    CHECK(!allocators_sound(&a, sizeof(a)));
    a.site[1] = (struct xp_heap_site){17, XP_HEAP_CALL(0, 1, 0, 0)}; /* neither allocates nor frees */
    CHECK(!allocators_sound(&a, sizeof(a)));
    a.site[1].call = XP_HEAP_CALL(5, 0, 0, 0);
    CHECK(!allocators_sound(&a, sizeof(a)));
    a.site[1].call = 1 << 16 | 1;
    CHECK(!allocators_sound(&a, sizeof(a)));
    a = (struct allocators){.magic = ALLOCATORS_MAGIC, .n = ALLOCATORS_MAX + 1};
    CHECK(!allocators_sound(&a, sizeof(a)));
    a = (struct allocators){.magic = ALLOCATORS_MAGIC + 1};
    CHECK(!allocators_sound(&a, sizeof(a)));
}
