/* The flavours of testdata/dwarf.*: whatever wrote the debug information, names say the same. */
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/demangle.h"
#include "dwarf/dwarf.h"
#include "cfi/fixture.h"
#include "dwarf/names_elf.h"
#include <errno.h>

#define SPAN 96 /* bytes of a function that are looked at */

/* "leaf@/src/dwarf.c:6;middle@..." of one offset, innermost first. */
static void append_chain(struct buf *out, const struct names *v, u32 i)
{
    for (u32 f = v->first[i]; f < v->first[i + 1]; f++)
        buf_printf(out, "%s%s@%s:%u", f == v->first[i] ? "" : ";", v->strings + v->frames[f].name,
                   v->strings + v->frames[f].file, v->frames[f].line);
    buf_char(out, '\n');
}

/* The split unit of a fixture lies beside it, whatever the compiler's directory was. */
static int open_split(void *fixture, const char *dir, const char *name)
{
    char beside[256];
    snprintf(beside, sizeof(beside), "%s-dwarf.dwo", (const char *)fixture);
    return *name ? fixture_fd(beside) : -ENOENT;
}

/* Compressed, small .debug_info is inflated at once; that is the same as unit by unit. */
static bool is_same_by_units(const struct elf_file *e, const struct dwarf_parts *parts, const void *index, size_t len)
{
    static const struct dwarf_limits by_units = {.cpu_ns = 6000000000ull, .max_bytes = 192 << 20, .whole_bytes = 0};
    AUTO_FREE void *other = NULL;
    size_t n;
    return !dwarf_index_build(e, parts, &by_units, &other, &n) && n == len && !memcmp(other, index, len);
}

/* Names the first bytes of a function in a fixture, with the line index of `debug`, a line for each. False: a fixture
 * is not there. */
static bool chains(const char *file, const char *debug, const char *package, const char *function, struct buf *out)
{
    AUTO_ELF struct elf_file e = {0}, d = {0};
    AUTO_FREE void *index = NULL;
    AUTO_BUF struct buf reply = {0};
    AUTO_ELF struct elf_file dwp = {0};
    struct dwarf_parts parts = {.dwo = open_split, .ctx = (void *)debug};
    static const struct dwarf_limits limits = DWARF_LIMITS_DEFAULT;
    struct dwarf_index x;
    struct names v;
    size_t len;
    u64 offsets[SPAN];
    if (fixture_elf(file, &e) || fixture_elf(debug, &d))
        return false;
    if (package && !fixture_elf(package, &dwp))
        parts.dwp = &dwp;
    if (dwarf_index_build(&d, &parts, &limits, &index, &len) || dwarf_index_check(index, len) ||
        dwarf_index_open(&x, index, len))
        return true;
    if (!is_same_by_units(&d, &parts, index, len))
        test_fail(__FILE__, __LINE__, "%s: read by units, the index is another one", debug);
    for (u64 i = 0; i < SPAN; i++)
        offsets[i] = fixture_symbol(&d, function) + i;
    if (names_resolve_elf(&e, &x, NULL, DEMANGLE_FULL, offsets, SPAN, &reply) ||
        names_view(reply.data, reply.len, SPAN, &v))
        return true;
    for (u32 i = 0; i < SPAN; i++)
        append_chain(out, &v, i);
    buf_char(out, 0);
    return true;
}

/* One of the bytes has exactly this chain; with '*' in front, one that ends so. */
static bool has_chain(const struct buf *b, const char *chain)
{
    bool tail = *chain == '*';
    size_t len = strlen(chain + tail);
    for (const char *s = b->data, *end; s && *s; s = end + 1) {
        end = strchr(s, '\n');
        if ((size_t)(end - s) >= len && (tail || (size_t)(end - s) == len) && !memcmp(end - len, chain + tail, len))
            return true;
    }
    printf("  wanted: %s\n%s", chain, b->data ? b->data : "nothing\n");
    return false;
}

static void check_flavour(const char *file, const char *function, const char *chain)
{
    AUTO_BUF struct buf b = {0};
    if (!chains(file, file, NULL, function, &b)) {
        printf("  no fixture %s\n", file);
        return;
    }
    if (!has_chain(&b, chain))
        printf("  of %s\n", file);
    CHECK(has_chain(&b, chain));
}

static const char *const flavours[] = {"dwarf-2",      "dwarf-3",       "dwarf-4",           "dwarf-5",
                                       "dwarf-g1",     "dwarf-64",      "dwarf-zlib",        "dwarf-zstd",
                                       "dwarf-zdebug", "dwarf-pie",     "dwarf-sections",    "dwarf-moved",
                                       "dwarf-clang",  "dwarf-clang-4", "dwarf-clang-tables"};

TEST(dwarf_inlined_callers_and_lines_in_every_flavour)
{
    for (size_t i = 0; i < sizeof(flavours) / sizeof(*flavours); i++)
        check_flavour(flavours[i], "outer", "leaf@/src/dwarf.c:6;middle@/src/dwarf.c:12;outer@/src/dwarf.c:17");
}

static const char *const split_flavours[] = {"dwarf-split-4", "dwarf-split-5", "dwarf-clang-split-4",
                                             "dwarf-clang-split-5"};
#define OUTER_CHAIN "leaf@/src/dwarf.c:6;middle@/src/dwarf.c:12;outer@/src/dwarf.c:17"

TEST(dwarf_split_units_are_read_from_their_files)
{
    for (size_t i = 0; i < sizeof(split_flavours) / sizeof(*split_flavours); i++)
        check_flavour(split_flavours[i], "outer", OUTER_CHAIN);
}

TEST(dwarf_split_units_are_read_from_a_package)
{
    for (size_t i = 0; i < sizeof(split_flavours) / sizeof(*split_flavours); i++) {
        AUTO_BUF struct buf b = {0};
        char package[64];
        snprintf(package, sizeof(package), "%s.dwp", split_flavours[i]);
        AUTO_CLOSE int fd = fixture_fd(package);
        if (fd >= 0 && chains(split_flavours[i], split_flavours[i], package, "outer", &b))
            CHECK(has_chain(&b, OUTER_CHAIN));
    }
}

/* Compiled another time: its id is another one. */
TEST(dwarf_split_unit_of_another_build_is_not_taken)
{
    AUTO_ELF struct elf_file e = {0};
    struct dwarf_parts parts = {.dwo = open_split, .ctx = (void *)"dwarf-clang-split-5"};
    static const struct dwarf_limits limits = DWARF_LIMITS_DEFAULT;
    AUTO_CLOSE int other = fixture_fd("dwarf-clang-split-5-dwarf.dwo");
    AUTO_FREE void *index = NULL;
    size_t len;
    if (other < 0 || fixture_elf("dwarf-split-5", &e))
        SKIP("no fixtures");
    CHECK_EQ(dwarf_index_build(&e, &parts, &limits, &index, &len), 0);
    const struct dwarf_index_header *h = index;
    CHECK(h->cuts & DWARF_CUT_PARTS);
    CHECK_EQ(h->functions, 0);
    CHECK(h->nblocks); /* lines are in the linked file */
}

TEST(dwarf_cold_part_has_the_name_of_its_function)
{
    AUTO_ELF struct elf_file e = {0};
    if (fixture_elf("dwarf-5", &e) || fixture_symbol(&e, "split.cold") == ~0ull)
        SKIP("this compiler split no function");
    check_flavour("dwarf-5", "split.cold", "leaf@/src/dwarf.c:6;middle@/src/dwarf.c:12;split@/src/dwarf.c:29");
}

TEST(dwarf_units_that_refer_to_each_other_are_read_whole)
{
    check_flavour("dwarf-lto", "outer", "leaf@/src/dwarf.c:6;middle@/src/dwarf.c:12;outer@/src/dwarf.c:17");
    check_flavour("dwarf-lto-zlib", "outer", "leaf@/src/dwarf.c:6;middle@/src/dwarf.c:12;outer@/src/dwarf.c:17");
}

TEST(dwarf_names_of_cpp_have_their_scopes)
{
    static const char *const files[] = {"dwarf-cpp", "dwarf-dwz", "dwarf-dwz-zlib"};
    for (size_t i = 0; i < 3; i++) {
        check_flavour(files[i], "_ZN4shop3runEi",
                      "shop::(anonymous namespace)::cart::add@/src/dwarf.cpp:8;"
                      "shop::(anonymous namespace)::cart::total@/src/dwarf.cpp:11;shop::run(int)@/src/dwarf.cpp:22");
        check_flavour(files[i], "_ZN4shop5twiceIlEET_S1_",
                      "shop::twice<long>(long)::{lambda(long)#1}::operator()(long) const@/src/dwarf.cpp:16;"
                      "long shop::twice<long>(long)@/src/dwarf.cpp:17");
    }
}

TEST(dwarf_names_of_rust)
{
    check_flavour("dwarf-rust", "around", "*dwarf::inner@/src/dwarf.rs:5;around@/src/dwarf.rs:10");
}

TEST(dwarf_index_belongs_to_addresses_not_to_the_file_that_holds_it)
{
    AUTO_BUF struct buf b = {0};
    if (!chains("dwarf-cpp-stripped", "dwarf-cpp", NULL, "_ZN4shop3runEi", &b))
        SKIP("no fixture");
    CHECK(has_chain(&b,
                    "shop::(anonymous namespace)::cart::add@/src/dwarf.cpp:8;"
                    "shop::(anonymous namespace)::cart::total@/src/dwarf.cpp:11;"
                    "shop::run(int)@/src/dwarf.cpp:22"));
}

TEST(dwarf_files_without_debug_information_say_so)
{
    AUTO_CLOSE int fd = fixture_fd("symbols.so");
    void *index = NULL;
    size_t len = 7;
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds)DWARF_FDS_OF(fd), &index, &len), -ENODATA);
    CHECK(!index && len == 7);
}

TEST(dwarf_budgets_cut_and_say_so)
{
    AUTO_ELF struct elf_file e = {0};
    if (fixture_elf("dwarf-5", &e))
        SKIP("no fixture");
    const struct dwarf_limits small = {.cpu_ns = 1000000000ull, .max_bytes = 10};
    AUTO_FREE void *index = NULL;
    size_t len;
    CHECK_EQ(dwarf_index_build(&e, NULL, &small, &index, &len), 0);
    CHECK(((struct dwarf_index_header *)index)->cuts & DWARF_CUT_BYTES);
    CHECK_EQ(dwarf_index_check(index, len), 0);
}

static size_t text_len(const struct dwarf_index *x, u32 i)
{
    struct dwarf_text t;
    dwarf_index_text(x, i, &t);
    return strlen(t.s) <= t.len ? t.len : SIZE_MAX;
}

/* Whatever changes in an index: an error, or frames that stay inside. */
TEST(dwarf_index_is_not_believed)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE u8 *index = NULL;
    static const struct dwarf_limits limits = DWARF_LIMITS_DEFAULT;
    size_t len;
    if (fixture_elf("dwarf-cpp", &e))
        SKIP("no fixture");
    CHECK_EQ(dwarf_index_build(&e, NULL, &limits, (void **)&index, &len), 0);
    for (size_t i = 0; i < len; i++) {
        struct dwarf_index x;
        struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
        index[i] ^= 0x41;
        CHECK_EQ(dwarf_index_check(index, len), -EBADMSG);
        if (!dwarf_index_open(&x, index, len))
            for (u64 a = 0; a < 300; a += 3)
                for (unsigned n = dwarf_index_find(&x, x.h->base + a, f); n--;)
                    CHECK(text_len(&x, f[n].name) <= DWARF_INDEX_MAX_TEXT && text_len(&x, f[n].file) <= len);
        index[i] ^= 0x41;
    }
    for (size_t n = 0; n < len; n++) {
        struct dwarf_index x;
        CHECK_EQ(dwarf_index_open(&x, index, n), -EBADMSG);
    }
}

TEST(names_without_what_compilers_add)
{
    static const char *const names[][2] = {
        {"f.cold", "f"},
        {"f.part.0", "f"},
        {"f.isra.0.constprop.12", "f"},
        {"f.llvm.123456", "f"},
        {".cold", ".cold"},
        {"f.golden", "f.golden"},
        {"main.func1", "main.func1"},
        {"f.cold.3", "f"},
        {"f.lto_priv.0", "f"},
        {"12", "12"},
        {"f.1", "f.1"},
        {"", ""},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CHECK_EQ(demangle_base(names[i][0], strlen(names[i][0])), strlen(names[i][1]));
}

TEST(dwarf_debug_file_has_to_have_the_same_build_id)
{
    AUTO_CLOSE int stripped = fixture_fd("dwarf-cpp-stripped");
    AUTO_CLOSE int debug = fixture_fd("dwarf-cpp-debug");
    AUTO_CLOSE int other = fixture_fd("dwarf-5");
    AUTO_FREE void *index = NULL;
    size_t len;
    if (stripped < 0 || debug < 0 || other < 0)
        SKIP("no fixtures");
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds)DWARF_FDS_OF(stripped), &index, &len), -ENODATA);
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds){.file = stripped, .debug = other, .alt = -1, .dwp = -1}, &index,
                                   &len),
             -ESTALE);
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds){.file = stripped, .debug = debug, .alt = -1, .dwp = -1}, &index,
                                   &len),
             0);
    CHECK(((struct dwarf_index_header *)index)->functions > 2);
}

/* Each of the files may be none; parts that are none are as good as missing. */
TEST(dwarf_files_that_are_none)
{
    AUTO_CLOSE int text = fixture_fd("plt.c");
    AUTO_CLOSE int file = fixture_fd("dwarf-5");
    AUTO_FREE void *index = NULL;
    AUTO_BUF struct buf reply = {0};
    size_t len = 77;
    u64 offset = 0x1000;
    if (file < 0)
        SKIP("no fixture");
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds)DWARF_FDS_OF(text), &index, &len), -ENOEXEC);
    struct dwarf_fds fds = DWARF_FDS_OF(file);
    fds.debug = text;
    CHECK_EQ(dwarf_index_build_fds(&fds, &index, &len), -ENOEXEC);
    CHECK(!index && len == 77);
    fds.debug = -1;
    fds.alt = fds.dwp = text;
    CHECK_EQ(dwarf_index_build_fds(&fds, &index, &len), 0);
    CHECK_EQ(((const struct dwarf_index_header *)index)->cuts, 0);
    CHECK_EQ(names_resolve(&(struct names_fds)NAMES_FDS_OF(text), &offset, 1, &reply), -ENOEXEC);
    CHECK_EQ(reply.len, 0);
}
