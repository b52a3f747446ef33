/* What the parser process answers about real files. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/dwarf.h"
#include "dwarf/name_index.h"
#include "cfi/fixture.h"
#include "parser/doubles_test.h"
#include "parser/protocol.h"
#include "parser/synth_table.h"
#include "runtime/hotspot_crafted.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static const struct parser_limits patient = PARSER_LIMITS_DEFAULT;

TEST(parser_reads_a_real_file)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new(&p, &limits), 0);
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct table_key key, again;
    CHECK_EQ(parser_identify(p, fd, &key), 0);
    CHECK_EQ(parser_identify(p, fd, &again), 0);
    CHECK(memcmp(&key, &again, sizeof(key)) == 0);
    CLEANUP(parser_reply_free) struct parser_reply image = {0}, names = {0};
    CHECK_EQ(parser_table(p, fd, &key, &image), 0);
    const struct xp_table *t = image.data;
    CHECK(t->nrows > 100 && t->nblocks > 10);
    u64 offsets[2] = {t->lo, 0xffffffffffull};
    struct names view;
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(fd), offsets, 2, &names, &view), 0);
    CHECK_EQ(view.n, 2);
    CHECK(view.first[2] >= 2);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_keys_cannot_be_foreseen)
{
    static const u8 zeros[16];
    struct table_key key[3];
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    for (unsigned i = 0; i < 2; i++) {
        CLEANUP(parser_free) struct parser *p = NULL;
        CHECK_EQ(parser_new(&p, &patient), 0);
        CHECK_EQ(parser_identify(p, fd, &key[i]), 0);
    }
    CHECK_EQ(table_identify(fd, zeros, &key[2]), 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK(!table_key_equal(&key[i], &key[(i + 1) % 3]));
}

TEST(parser_synthesises_rows)
{
    char path[4096];
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    struct table_key plain, whole, again;
    struct parser_synth s = {0}, untouched = {.len = 77};
    CHECK_EQ(parser_new(&p, &limits), 0);
    snprintf(path, sizeof(path), "%s/parser/trampoline.so", test_data());
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_EQ(parser_identify(p, fd, &plain), 0);
    CHECK_EQ(parser_synth_identify(p, fd, &whole), 0);
    CHECK_EQ(parser_synth_identify(p, fd, &again), 0);
    CHECK(table_key_equal(&whole, &again) && !table_key_equal(&whole, &plain));
    CHECK_EQ(parser_synth(p, fd, &whole, &s), 0);
    CHECK(s.table && s.table->source_rows[XP_SOURCE_SYNTH] && s.counts.claimed_bytes && !s.dropped);
    parser_reply_free(&s.bytes);
    static const u32 wanted[] = {0, 7};
    CHECK_EQ(parser_stretches(p, fd, -1, wanted, 2, &s), 0); /* nothing in it has frames */
    CHECK(!s.table && s.counts.gap_bytes && !s.counts.claimed_bytes);
    parser_reply_free(&s.bytes);
    CHECK_EQ(parser_stretches(p, fd, -1, wanted, PARSER_MAX_STRETCHES + 1, &s), -E2BIG);
    AUTO_CLOSE int text = file_saying("#!/bin/sh");
    CHECK_EQ(parser_synth(p, text, NULL, &untouched), -ENOEXEC);
    CHECK_EQ(parser_stretches(p, text, -1, wanted, 2, &untouched), -ENOEXEC);
    CHECK_EQ(parser_restarts(p), 0);
    parser_free(&p);
    CHECK_EQ(parser_new_as(&p, &patient, ROLE_LIAR), 0);
    AUTO_CLOSE int lie = file_saying("image");
    CHECK_EQ(parser_synth(p, lie, NULL, &untouched), -EPROTO);
    CHECK_EQ(parser_stretches(p, lie, -1, wanted, 2, &untouched), -EPROTO);
    CHECK_EQ(untouched.len, 77);
}

/* With a name index the file itself is not read. */
TEST(parser_makes_a_name_index_and_reads_it)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply index = {0}, with = {0}, without = {0};
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), text = file_saying("no program");
    struct names_fds file = NAMES_FDS_OF(fd), other = NAMES_FDS_OF(text);
    struct names a, b;
    CHECK_EQ(parser_new(&p, &limits), 0);
    CHECK_EQ(parser_name_index(p, &file, &index), 0);
    AUTO_CLOSE int names = fs_sealed_memfd("index", index.data, index.len);
    struct name_index x;
    CHECK_EQ(name_index_open(&x, index.data, index.len), 0);
    u64 offset = x.h->base;
    other.names = names;
    CHECK_EQ(parser_names(p, &file, &offset, 1, &without, &a), 0);
    CHECK_EQ(parser_names(p, &other, &offset, 1, &with, &b), 0);
    CHECK(*(a.strings + a.frames[0].name));
    CHECK_STR(b.strings + b.frames[0].name, a.strings + a.frames[0].name);
    parser_reply_free(&with);
    other.names = text; /* one that makes no sense is none */
    CHECK_EQ(parser_names(p, &other, &offset, 1, &with, &b), -ENOEXEC);
    other.names = -1;
    parser_reply_free(&index);
    CHECK_EQ(parser_name_index(p, &other, &index), -ENOEXEC);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_makes_a_line_index_and_reads_it)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply lines = {0}, with = {0}, without = {0};
    CHECK_EQ(parser_new(&p, &limits), 0);
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(parser_lines(p, &(struct dwarf_fds)DWARF_FDS_OF(fd), &lines), 0);
    AUTO_CLOSE int index = fs_sealed_memfd("index", lines.data, lines.len);
    AUTO_ELF struct elf_file e = {0};
    CHECK_EQ(elf_open(&e, fd), 0);
    const struct dwarf_index_header *h = lines.data;
    const struct elf_segment *s = elf_segment_at(&e, h->base, PF_X);
    CHECK(s);
    u64 offset = h->base - s->vaddr + s->offset;
    struct names view;
    CHECK_EQ(parser_names(p, &(struct names_fds){.file = fd, .index = index, .symbols = -1, .names = -1}, &offset, 1,
                          &with, &view),
             0);
    CHECK(strstr(view.strings + view.frames[0].file, ".c") && view.frames[0].line);
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(fd), &offset, 1, &without, &view), 0);
    CHECK_EQ(view.frames[0].line, 0);
    AUTO_CLOSE int text = file_saying("no index");
    parser_reply_free(&with);
    CHECK_EQ(parser_names(p, &(struct names_fds){.file = fd, .index = text, .symbols = -1, .names = -1}, &offset, 1,
                          &with, &view),
             0); /* one that makes no sense is none */
    CHECK_EQ(view.frames[0].line, 0);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_says_what_is_wrong_with_a_file)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new(&p, &limits), 0);
    struct parser_reply reply;
    struct table_key key = {0};
    AUTO_CLOSE int text = file_saying("#!/bin/sh");
    CHECK_EQ(parser_table(p, text, &key, &reply), -ENOEXEC);
    CHECK_EQ(parser_identify(p, text, &key), -ENOEXEC);
    struct facts facts;
    struct debug_links links;
    struct names view;
    u64 offset = 0;
    CHECK_EQ(parser_functions(p, text, -1, "main", &reply), -ENOEXEC);
    CHECK_EQ(parser_usdt(p, text, "*:*", &reply), -ENOEXEC);
    CHECK_EQ(parser_synth_identify(p, text, &key), -ENOEXEC);
    CHECK_EQ(parser_facts(p, text, &facts), -ENOEXEC);
    CHECK_EQ(parser_links(p, text, false, &links), -ENOEXEC);
    CHECK_EQ(parser_lines(p, &(struct dwarf_fds)DWARF_FDS_OF(text), &reply), -ENOEXEC);
    CHECK_EQ(parser_names(p, &(struct names_fds)NAMES_FDS_OF(text), &offset, 1, &reply, &view), -ENOEXEC);
    AUTO_CLOSE int empty = file_saying("");
    CHECK(parser_table(p, empty, &key, &reply) < 0);
    CHECK_EQ(parser_restarts(p), 0);
}

TEST(parser_finds_functions)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CHECK_EQ(parser_new(&p, &limits), 0);
    CLEANUP(parser_reply_free) struct parser_reply functions = {0}, some = {0}, probes = {0};
    char name[FUNCTIONS_NAME + 2];
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(parser_functions(p, fd, -1, "parser_functions", &functions), 0);
    CHECK_EQ(((const struct functions *)functions.data)->n, 1);
    CHECK_EQ(parser_functions(p, fd, -1, "parser_f*s", &some), 0);
    CHECK(((const struct functions *)some.data)->n >= 2);
    memset(name, 'x', sizeof(name));
    name[FUNCTIONS_NAME + 1] = 0;
    CHECK_EQ(parser_functions(p, fd, -1, name, &functions), -ENAMETOOLONG);
    CHECK_EQ(parser_functions(p, fd, -1, "", &functions), -ENAMETOOLONG);
    CHECK_EQ(parser_usdt(p, fd, "*:*", &probes), 0);
    CHECK_EQ(((const struct usdt *)probes.data)->magic, USDT_MAGIC);
    CHECK_EQ(parser_usdt(p, fd, name, &probes), -ENAMETOOLONG);
    CHECK_EQ(parser_restarts(p), 0);
}

static void count_names(void *n, const struct names *names)
{
    *(u32 *)n += names->n;
}

/* Of a map that a runtime wrote. */
TEST(parser_reads_maps_of_runtimes)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    AUTO_CLOSE int map = file_saying("1000 100 one\n2000 10 two\n");
    const u64 addresses[] = {0x1080, 0x1100, 0x2000};
    struct names v;
    u32 n = 0;
    CHECK_EQ(parser_new(&p, &limits), 0);
    CHECK_EQ(parser_jit(p, map, -1, addresses, 3, &reply, &v), 0);
    CHECK_EQ(v.n, 3);
    CHECK_STR(v.strings + v.frames[v.first[0]].name, "one");
    CHECK_STR(v.strings + v.frames[v.first[1]].name, "");
    CHECK_STR(v.strings + v.frames[v.first[2]].name, "two");
    CHECK_EQ(parser_jit_read(p, map, -1, addresses, 3, count_names, &n), 0);
    CHECK_EQ(n, 3);
    CHECK_EQ(parser_jit_read(p, -1, -1, addresses, 3, count_names, &n), -EBADF);
    CHECK_EQ(n, 3);
}

TEST(parser_attaches_to_runtimes_and_names_their_frames)
{
    AUTO_FREE struct crafted *c = malloc(sizeof(*c));
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply attached = {0}, names = {0};
    struct names view;
    const void *row;
    crafted_make(c, CRAFTED_25);
    AUTO_CLOSE int mem = file_saying("");
    AUTO_CLOSE int maps = file_saying(CRAFTED_MAPS);
    CHECK_EQ(parser_new(&p, &patient), 0);
    CHECK_EQ(parser_attach(p, mem, maps, &attached), -ENODATA);
    CHECK_EQ(parser_runtime_names(p, mem, maps, (u64[2]){0}, 2, &names, &view), -EBADMSG);
    CHECK_EQ(parser_runtime_names(p, mem, maps, NULL, RUNTIME_MAX_WORDS + 1, &names, &view), -E2BIG);
    xp_cleanup_close(&mem);
    mem = file_with(c->bytes, sizeof(c->bytes));
    CHECK_EQ(parser_attach(p, mem, maps, &attached), 0);
    CHECK(runtime_attached(attached.data, attached.len, &row) == &runtime_hotspot);
    AUTO_CLOSE int kept = fs_sealed_memfd("attached", attached.data, attached.len);
    const u64 words[] = {XP_JAVA_WORD(XP_JAVA_COMPILED, c->nmethod), XP_MORE_WORD(77, 16),
                         XP_JAVA_WORD(XP_JAVA_STUB, c->stub), XP_MORE_WORD(0, 1)};
    CHECK_EQ(parser_runtime_names(p, mem, kept, words, 4, &names, &view), 0);
    CHECK(view.n == 2 && view.first[1] == 2 && view.first[2] == 3);
    CHECK_STR(view.strings + view.frames[1].name, "a.b.C$D.outer");
    CHECK_EQ(parser_restarts(p), 0);
    parser_reply_free(&names);
    CHECK_EQ(parser_about(p, mem, maps, &names), 0);
    CHECK(names.len > 16 && !memcmp(names.data, "machine\tHotSpot ", 16));
    parser_reply_free(&names);
    CHECK_EQ(parser_attach(p, mem, -1, &attached), -EPROTO);
    CHECK_EQ(parser_runtime_names(p, mem, -1, NULL, 0, &names, &view), -EPROTO);
}

/* The whole way to a process: the memory of this one, which has no runtime that is known. */
TEST(parser_may_read_the_memory_of_a_process)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply attached = {0};
    AUTO_CLOSE int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(parser_new(&p, &patient), 0);
    CHECK_EQ(parser_attach(p, mem, maps, &attached), -ENODATA);
    CHECK_EQ(parser_restarts(p), 0);
}
