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
