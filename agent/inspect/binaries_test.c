#include "inspect/desk_test.h"
#include "base/test.h"
#include "cache/cache.h"
#include "cfi/fixture.h"
#include "dwarf/names.h"
#include "inspect/inspect.h"
#include "parser/parser.h"
#include "parser/synth_table.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static u64 offset_of(const char *fixture, const char *symbol)
{
    AUTO_ELF struct elf_file e = {0};
    return fixture_elf(fixture, &e) ? ~0ull : fixture_symbol(&e, symbol);
}

TEST(binaries_are_known_once)
{
    AUTO_DESK d = {.dir = ""};
    CHECK_EQ(desk_new(&d), 0);
    u32 one = add_fixture(&d, "elf/symbols.so"), two = add_fixture(&d, "elf/cfi.so");
    CHECK(one >= XP_FILE_FIRST && two >= XP_FILE_FIRST && one != two);
    CHECK_EQ(add_fixture(&d, "elf/symbols.so"), one);
    binaries_add_vdso(d.binaries);
    const struct binary *f = binaries_get(d.binaries, one), *vdso = binaries_get(d.binaries, XP_FILE_VDSO);
    CHECK(f && vdso && !binaries_get(d.binaries, 12345));
    CHECK(strstr(f->path, "elf/symbols.so"));
    CHECK_STR(vdso->path, "[vdso]");
    CHECK_EQ(strlen(f->build_id), 40);
    CHECK_EQ(strspn(f->build_id, "0123456789abcdef"), 40);
    CHECK(strcmp(f->build_id, binaries_get(d.binaries, two)->build_id) != 0);
    CHECK_EQ(f->error, 0);
    const struct xp_table *t = NULL, *again = NULL;
    CHECK_EQ(binaries_table(d.binaries, two, &t), 0);
    CHECK(t->nrows > 0 && t->nblocks > 0);
    CHECK_EQ(binaries_table(d.binaries, two, &again), 0);
    CHECK(t == again);
}

TEST(binaries_say_why_a_file_is_none)
{
    AUTO_DESK d = {.dir = ""};
    const struct xp_table *t = NULL;
    const struct parser_synth *s = NULL;
    struct facts facts;
    struct dwarf_index_header lines;
    struct inspection i;
    CHECK_EQ(desk_new(&d), 0);
    u32 id = add_fixture(&d, "elf/plt.c");
    CHECK(id);
    CHECK_EQ(binaries_get(d.binaries, id)->error, -ENOEXEC);
    CHECK_STR(binaries_get(d.binaries, id)->build_id, "");
    CHECK_EQ(binaries_table(d.binaries, id, &t), -ENOEXEC);
    CHECK_EQ(binaries_synth(d.binaries, id, &s), -ENOEXEC);
    CHECK_EQ(binaries_whole_table(d.binaries, id, &t), -ENOEXEC);
    CHECK_EQ(inspect(d.binaries, id, -1, &i), 0);
    CHECK_EQ(i.error, -ENOEXEC);
    CHECK_EQ(i.code, 0);
    inspection_free(&i);
    u32 nobody = id + 1;
    CHECK_EQ(binaries_table(d.binaries, nobody, &t), -ENOENT);
    CHECK_EQ(binaries_synth(d.binaries, nobody, &s), -ENOENT);
    CHECK_EQ(binaries_whole_table(d.binaries, nobody, &t), -ENOENT);
    CHECK_EQ(binaries_facts(d.binaries, nobody, &facts), -ENOENT);
    CHECK_EQ(binaries_lines(d.binaries, nobody, &lines), -ENOENT);
    CHECK_EQ(inspect(d.binaries, nobody, -1, &i), -ENOENT);
    CHECK(!t && !s);
}

/* What one of them made, the next one finds in the cache: without it, rows are made anew. */
TEST(binaries_keep_tables)
{
    AUTO_DESK d = {.dir = ""};
    const struct xp_table *t = NULL, *whole = NULL, *kept = NULL;
    struct table_key key;
    struct cache_image image;
    CHECK_EQ(desk_new(&d), 0);
    u32 id = add_fixture(&d, "synth/shapes.so");
    CHECK_EQ(binaries_table(d.binaries, id, &t), 0);
    CHECK_EQ(binaries_whole_table(d.binaries, id, &whole), 0);
    CHECK(whole->nrows > t->nrows);
    CHECK_EQ(binaries_whole_table(d.binaries, id, &kept), 0);
    CHECK(kept == whole);
    int fd = binaries_get(d.binaries, id)->fd;
    CHECK_EQ(parser_identify(d.parser, fd, &key), 0);
    CHECK_EQ(cache_get(d.cache, &key, &image), 0);
    CHECK_EQ(image.table->nrows, t->nrows);
    cache_image_free(&image);
    CHECK_EQ(parser_synth_identify(d.parser, fd, &key), 0);
    CHECK_EQ(cache_get(d.cache, &key, &image), 0);
    CHECK_EQ(image.table->nrows, whole->nrows);
    cache_image_free(&image);

    CLEANUP(binaries_free) struct binaries *other = NULL;
    struct binaries_config c = {.parser = d.parser, .cache = d.cache};
    CHECK_EQ(binaries_new(&other, &c), 0);
    u32 same = binaries_add(other, fcntl(fd, F_DUPFD_CLOEXEC, 0), "/shapes.so", 0);
    CHECK_EQ(binaries_whole_table(other, same, &kept), 0);
    CHECK_EQ(kept->nrows, whole->nrows);
    CHECK_EQ(binaries_table(other, same, &kept), 0);
    CHECK_EQ(kept->nrows, t->nrows);
}

TEST(binaries_without_gaps_have_no_other_table)
{
    AUTO_DESK d = {.dir = ""};
    const struct xp_table *t = NULL;
    CHECK_EQ(desk_new(&d), 0);
    u32 id = add_fixture(&d, "synth/v8.so"); /* its code has conventions of its own */
    CHECK(id);
    CHECK_EQ(binaries_whole_table(d.binaries, id, &t), -ENODATA);
    CHECK(!t);
}

TEST(binaries_name_files_and_the_kernel)
{
    AUTO_DESK d = {.dir = ""};
    const char *path = NULL, *id_text = NULL, *module;
    char name[64] = "";
    struct facts facts;
    u64 start;
    CHECK_EQ(desk_new(&d), 0);
    u32 id = add_fixture(&d, "elf/moved");
    struct name_source s = binaries_source(d.binaries);
    u64 at = offset_of("moved", "first");
    CHECK(s.file(s.ctx, id, &path, &id_text) && !s.file(s.ctx, 12345, &path, &id_text));
    CHECK(strstr(path, "elf/moved") && strlen(id_text) == 40);
    for (int i = 0; i < 2; i++) { /* the second time from memory */
        name[0] = 0;
        CHECK_EQ(s.names(s.ctx, id, &at, 1, first_name, name), 0);
        CHECK_STR(name, "first");
    }
    CHECK_EQ(s.names(s.ctx, 12345, &at, 1, first_name, name), -ENODATA);
    CHECK_EQ(binaries_facts(d.binaries, id, &facts), 0);
    CHECK_EQ(facts.nsegments, 1);
    CHECK_EQ(s.address(s.ctx, id, at), at - facts.segments[0].offset + facts.segments[0].vaddr);
    CHECK(s.address(s.ctx, id, at) != at);
    CHECK_EQ(s.address(s.ctx, id, 1ull << 40), 1ull << 40);
    CHECK_EQ(s.address(s.ctx, 12345, 77), 77);
    CHECK(!s.kernel(s.ctx, 1, &start, &module)); /* user space */
}

static void made_name(void *text, const struct names *n)
{
    first_name(text, n);
}

TEST(binaries_name_code_that_the_process_made)
{
    AUTO_DESK d = {.dir = ""};
    char path[64], name[64] = "";
    u64 address = 0x123460;
    CHECK_EQ(desk_new(&d), 0);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "we");
    CHECK(map && fprintf(map, "123450 100 made_here\n") > 0 && !fclose(map));
    u64 began = proc_start_ticks((u32)getpid()) * (1000000000ull / (u64)sysconf(_SC_CLK_TCK));
    binaries_set_process(d.binaries, (u32)getpid(), began);
    struct name_source s = binaries_source(d.binaries);
    int rc = s.anonymous(s.ctx, 4242, 1, &address, 1, made_name, name); /* under whatever number */
    unlink(path);
    CHECK_EQ(rc, 0);
    CHECK_STR(name, "made_here");
}

/* Where a file system shows its own inodes, the kernel side has the same key. */
TEST(binaries_have_the_keys_of_the_kernel_side)
{
    AUTO_DESK d = {.dir = ""};
    struct stat st;
    CHECK_EQ(desk_new(&d), 0);
    const struct binary *f = binaries_get(d.binaries, add_fixture(&d, "elf/cfi.so"));
    CHECK(f && !fstat(f->fd, &st));
    CHECK_EQ(f->key.ino, st.st_ino);
    CHECK_EQ(f->key.size, st.st_size);
    CHECK_EQ(f->key.dev >> 20, major(st.st_dev));
    CHECK_EQ(f->key.dev & 0xfffff, minor(st.st_dev));
    CHECK_EQ(f->key.ctime_sec, st.st_ctim.tv_sec);
    CHECK_EQ(f->key.ctime_nsec, st.st_ctim.tv_nsec);
}

TEST(binaries_names_can_be_short)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DESK d = {.dir = ""};
        char name[64] = "";
        u64 at = offset_of("dwarf-cpp", "_ZN4shop3runEi");
        CHECK_EQ(desk_new(&d), 0);
        binaries_free(&d.binaries);
        CHECK(!d.binaries);
        CHECK_EQ(binaries_new(&d.binaries, &(struct binaries_config){.parser = d.parser, .short_names = i}), 0);
        u32 id = add_fixture(&d, "elf/dwarf-cpp");
        struct name_source s = binaries_source(d.binaries);
        CHECK_EQ(s.names(s.ctx, id, &at, 1, first_name, name), 0);
        CHECK_STR(name, i ? "shop::run" : "shop::run(int)");
    }
}

/* What lies in the cache under a file's keys is its table, whatever it is. */
TEST(binaries_take_tables_from_the_cache)
{
    AUTO_DESK d = {.dir = ""};
    const struct xp_table *t = NULL, *other = NULL;
    struct table_key key;
    CHECK_EQ(desk_new(&d), 0);
    u32 id = add_fixture(&d, "synth/shapes.so"), foreign = add_fixture(&d, "elf/symbols.so");
    int fd = binaries_get(d.binaries, id)->fd;
    CHECK_EQ(binaries_table(d.binaries, foreign, &other), 0);
    size_t len = sizeof(*other) + 4 * ((size_t)other->nblocks + 1 + other->nrows) + 8 * (size_t)other->nrules;
    CHECK_EQ(parser_synth_identify(d.parser, fd, &key), 0);
    CHECK_EQ(cache_put(d.cache, &key, other, len), 0);
    CHECK_EQ(binaries_whole_table(d.binaries, id, &t), 0);
    CHECK(!memcmp(t, other, len));
    CHECK_EQ(parser_identify(d.parser, fd, &key), 0);
    CHECK_EQ(cache_put(d.cache, &key, other, len), 0);
    CHECK_EQ(binaries_table(d.binaries, id, &t), 0);
    CHECK(!memcmp(t, other, len));
}

TEST(binaries_that_nobody_knows)
{
    AUTO_DESK d = {.dir = ""};
    struct debug_files files;
    char name[64];
    u64 at = 0;
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(binaries_debug_files(d.binaries, 99, -1, &files, NULL), -ENOENT);
    u32 text = add_fixture(&d, "elf/plt.c");
    struct name_source s = binaries_source(d.binaries);
    CHECK_EQ(s.names(s.ctx, text, &at, 1, first_name, name), -ENOEXEC);
    CHECK_EQ(s.names(s.ctx, 99, &at, 1, first_name, name), -ENODATA);
    CHECK_EQ(binaries_debug_files(d.binaries, text, -1, &files, NULL), -ENOEXEC);
}

/* More than the parser takes at once: the reason is handed on, and nothing is named. */
TEST(binaries_names_can_be_too_many)
{
    AUTO_DESK d = {.dir = ""};
    const size_t n = PARSER_MAX_OFFSETS + 1;
    AUTO_FREE u64 *offsets = malloc(n * sizeof(*offsets));
    char name[64] = "nothing";
    CHECK_EQ(desk_new(&d), 0);
    for (size_t i = 0; i < n; i++)
        offsets[i] = i;
    struct name_source s = binaries_source(d.binaries);
    CHECK_EQ(s.names(s.ctx, add_fixture(&d, "elf/cfi.so"), offsets, n, first_name, name), -E2BIG);
    CHECK_STR(name, "nothing");
}

/* The first function that /proc/kallsyms shows an address of. */
static u64 kernel_symbol(char name[64])
{
    char line[512], kind;
    unsigned long long address = 0;
    AUTO_FCLOSE FILE *f = fopen("/proc/kallsyms", "re");
    while (f && !address && fgets(line, sizeof(line), f))
        if (sscanf(line, "%llx %c %63s", &address, &kind, name) != 3 || (kind != 'T' && kind != 't'))
            address = 0;
    return address;
}

TEST(binaries_name_the_kernel)
{
    char name[64];
    u64 address = kernel_symbol(name), start = 0;
    if (!address)
        SKIP("the kernel's addresses are hidden");
    for (int early = 0; early < 2; early++) {
        AUTO_DESK d = {.dir = ""};
        const char *module = NULL;
        CHECK_EQ(desk_new(&d), 0);
        if (early) { /* the second wish changes nothing */
            binaries_want_kernel(d.binaries);
            binaries_want_kernel(d.binaries);
        }
        struct name_source s = binaries_source(d.binaries);
        CHECK(s.kernel(s.ctx, address, &start, &module));
        CHECK_EQ(start, address);
        CHECK_STR(module, "");
        binaries_want_kernel(d.binaries);
        CHECK(s.kernel(s.ctx, address, &start, &module));
    }
    AUTO_DESK d = {.dir = ""}; /* that is left while it is being read */
    CHECK_EQ(desk_new(&d), 0);
    binaries_want_kernel(d.binaries);
}
