#include "elf/symbols.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/demangle.h"
#include "cfi/fixture.h"
#include "dwarf/names.h"
#include <errno.h>

/* Names of offsets `base + at[i]` in a fixture; the reply is the caller's. */
static int ask(const char *file, const u64 *offsets, size_t n, struct buf *reply, struct names *view)
{
    AUTO_CLOSE int fd = fixture_fd(file);
    int err = names_resolve(&(struct names_fds)NAMES_FDS_OF(fd), offsets, n, reply);
    return err ? err : names_view(reply->data, reply->len, n, view);
}

static const char *name_of(const struct names *v, size_t i)
{
    return v->strings + v->frames[v->first[i]].name;
}
static u64 start_of(const struct names *v, size_t i)
{
    return v->frames[v->first[i]].start;
}

TEST(symbols_aliases_sizes_and_gaps)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf reply = {0};
    struct names v;
    CHECK_EQ(fixture_elf("symbols.so", &e), 0);
    u64 aliased = fixture_symbol(&e, "aliased"), outer = fixture_symbol(&e, "outer"),
        uncovered = fixture_symbol(&e, "uncovered"), label = fixture_symbol(&e, "label");
    /* in no order, as they come */
    u64 at[] = {uncovered + 15,
                outer,
                outer + 16,
                outer + 47,
                aliased + 3,
                label + 31,
                uncovered + 16,
                uncovered + 50,
                fixture_symbol(&e, "versioned_impl"),
                3};
    CHECK_EQ(ask("symbols.so", at, 10, &reply, &v), 0);
    CHECK_STR(name_of(&v, 0), "uncovered");
    CHECK_STR(name_of(&v, 1), "outer");
    CHECK_STR(name_of(&v, 2), "inner");
    CHECK_EQ(start_of(&v, 2), outer + 16);
    CHECK_STR(name_of(&v, 3), "outer"); /* behind what it holds */
    CHECK_STR(name_of(&v, 4), "aliased");
    CHECK_STR(name_of(&v, 5), "label"); /* no size: up to the next symbol */
    CHECK_STR(name_of(&v, 6), "");      /* neither symbol nor FDE */
    CHECK_EQ(start_of(&v, 6), uncovered + 16);
    CHECK_STR(name_of(&v, 7), ""); /* an FDE */
    CHECK_EQ(start_of(&v, 7), uncovered + 48);
    CHECK_STR(name_of(&v, 8), "versioned"); /* without @@V1 */
    CHECK_STR(name_of(&v, 9), "");
    CHECK_EQ(start_of(&v, 9), 3);
}

TEST(symbols_without_section_headers)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf reply = {0};
    struct names v;
    CHECK_EQ(fixture_elf("symbols.so", &e), 0);
    u64 outer = fixture_symbol(&e, "outer");
    u64 at[] = {outer + 20, outer - 1};
    CHECK_EQ(ask("bare-symbols.so", at, 2, &reply, &v), 0);
    CHECK_STR(name_of(&v, 0), "outer"); /* "inner" is local: not in .dynsym */
    CHECK_STR(name_of(&v, 1), "aliased");
}

TEST(symbols_demangled_with_the_mangled_name_beside)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf reply = {0};
    struct names v;
    CHECK_EQ(fixture_elf("symbols.so", &e), 0);
    u64 at[] = {fixture_symbol(&e, "_ZN2ns1fIiEEvPKc"),
                fixture_symbol(&e, "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
                fixture_symbol(&e, "_RNvCs15kBYyAo9fc_7mycrate7example")};
    CHECK_EQ(ask("symbols.so", at, 3, &reply, &v), 0);
    CHECK_STR(name_of(&v, 0), "void ns::f<int>(char const*)");
    CHECK_STR(v.strings + v.frames[v.first[0]].system_name, "_ZN2ns1fIiEEvPKc");
    CHECK_STR(name_of(&v, 1), "core::fmt::Write::write_fmt");
    CHECK_STR(name_of(&v, 2), "mycrate::example");
}

TEST(symbols_that_are_not_text_become_text)
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    u64 at[] = {0x1000};
    CHECK_EQ(ask("bytes.so", at, 1, &reply, &v), 0);
    CHECK_STR(name_of(&v, 0), "bad\xef\xbf\xbdname");
}

TEST(names_view_believes_nothing)
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    u64 at[] = {0x1000, 0x1001, 0x1010};
    CHECK_EQ(ask("symbols.so", at, 3, &reply, &v), 0);
    CHECK_EQ(names_view(reply.data, reply.len, 2, &v), -EBADMSG);
    for (size_t n = 0; n < reply.len; n++)
        CHECK_EQ(names_view(reply.data, n, 3, &v), -EBADMSG);
    for (size_t i = 0; i < reply.len; i++) { /* whatever changes: an error, or a view that stays inside */
        AUTO_FREE char *copy = malloc(reply.len);
        memcpy(copy, reply.data, reply.len);
        copy[i] = (char)0xff;
        if (names_view(copy, reply.len, 3, &v))
            continue;
        for (u32 k = 0; k < v.first[3]; k++)
            CHECK(strlen(v.strings + v.frames[k].name) < reply.len);
    }
    reply.data[reply.len - 1] = 'x';
    CHECK_EQ(names_view(reply.data, reply.len, 3, &v), -EBADMSG);
}

TEST(names_of_nothing)
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    CHECK_EQ(ask("symbols.so", NULL, 0, &reply, &v), 0);
    CHECK_EQ(v.n, 0);
    AUTO_BUF struct buf none = {0};
    CHECK_EQ(names_resolve(&(struct names_fds)NAMES_FDS_OF(-1), NULL, 0, &none), -EBADF);
    CHECK_EQ(none.len, 0);
}

static void check_demangled(const char *in, enum demangle_style style, const char *out)
{
    AUTO_BUF struct buf b = {0};
    demangle(in, strlen(in), style, &b);
    CHECK_STR(b.data ? b.data : "", out);
}

TEST(demangle_styles)
{
    check_demangled("_ZN2ns1fIiEEvPKc", DEMANGLE_SHORT, "ns::f<int>");
    check_demangled("_ZNSt6vectorIiSaIiEE9push_backEOi", DEMANGLE_FULL,
                    "std::vector<int, std::allocator<int> >::push_back(int&&)");
    check_demangled("_ZN3foo3barEv.cold", DEMANGLE_FULL, "foo::bar() [clone .cold]");
    check_demangled("_ZN3foo3barE.part.0", DEMANGLE_SHORT, "foo::bar");
    check_demangled("main", DEMANGLE_FULL, "main");
    check_demangled("_D3std5stdio7writelnFZv", DEMANGLE_FULL, "std.stdio.writeln()");
    check_demangled("_Dmain", DEMANGLE_FULL, "_Dmain");
    check_demangled("_Znonsense", DEMANGLE_FULL, "_Znonsense");
    check_demangled("", DEMANGLE_FULL, "");
    check_demangled("a\xc3\xa9\xff", DEMANGLE_FULL, "a\xc3\xa9\xef\xbf\xbd");
}

TEST(demangle_bombs_stay_mangled)
{
    AUTO_BUF struct buf b = {0}, deep = {0}, out = {0};
    buf_str(&b, "_Z1fI1aE"); /* each pair<S_, S_> doubles the name */
    b.len = 0;
    buf_str(&b, "_Z1fN1aE");
    b.len = 0;
    buf_str(&b, "_Z1f1aS_1bIS_S_E");
    for (int i = 1; i < 30; i++)
        buf_printf(&b, "1bIS%d_S%d_E", i, i);
    demangle(b.data, b.len, DEMANGLE_FULL, &out);
    CHECK(out.len <= DEMANGLE_MAX_OUT);
    buf_str(&deep, "_Z1f");
    for (int i = 0; i < 16000; i++)
        buf_char(&deep, 'P');
    buf_char(&deep, 'i');
    out.len = 0;
    CHECK(!demangle(deep.data, deep.len, DEMANGLE_FULL, &out));
    CHECK_EQ(out.len, deep.len);
}
