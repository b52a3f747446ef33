/* Names: replies as the parent checks them, stubs, and names that make no sense. */
#include "dwarf/names.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "dwarf/demangle.h"
#include "dwarf/names_elf.h"
#include "elf/elf.h"
#include <errno.h>

/* A reply of one offset, two frames and the strings "", "ab". */
struct reply {
    struct names_header h;
    u32 first[2];
    struct names_frame frames[2];
    char strings[4];
};

TEST(names_views_are_checked)
{
    const struct reply good = {.h = {.magic = NAMES_MAGIC, .n = 1, .nframes = 2, .strings = 4},
                               .first = {0, 2},
                               .frames = {{.name = 1, .system_name = 3, .file = 0}, {.name = 3}},
                               .strings = {0, 'a', 'b', 0}};
    struct names v = {.n = 77};
    _Alignas(8) char bytes[sizeof(good) + 8] = {0};
    size_t len = names_frames_at(1) + 2 * sizeof(struct names_frame) + 4;
    CHECK_EQ(offsetof(struct reply, frames), names_frames_at(1));
    memcpy(bytes, &good, sizeof(good));
    CHECK_EQ(names_view(bytes, len, 1, &v), 0);
    CHECK(v.n == 1 && v.first[1] == 2 && !strcmp(v.strings + v.frames[0].name, "ab"));
    v.n = 77;
    CHECK_EQ(names_view(bytes, len, 2, &v), -EBADMSG);
    CHECK_EQ(names_view(bytes, len - 1, 1, &v), -EBADMSG);
    CHECK_EQ(names_view(bytes, len + 1, 1, &v), -EBADMSG);
    CHECK_EQ(names_view(bytes, sizeof(struct names_header) - 1, 1, &v), -EBADMSG);
    memmove(bytes + 4, bytes, sizeof(good));
    CHECK_EQ(names_view(bytes + 4, len, 1, &v), -EBADMSG); /* not aligned */
    struct reply bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].h.magic++;
    bad[1].first[0] = 1;
    bad[2].first[1] = 1;
    bad[3].first[1] = 3;
    bad[4].frames[1].name = 4;
    bad[5].frames[1].system_name = 4;
    bad[6].frames[1].file = 4;
    bad[7].strings[3] = 'c';
    for (size_t i = 0; i < 8; i++) {
        memcpy(bytes, &bad[i], sizeof(good));
        CHECK_EQ(names_view(bytes, len, 1, &v), -EBADMSG);
    }
    CHECK_EQ(v.n, 77);
}

TEST(names_of_d_that_make_no_sense)
{
    AUTO_BUF struct buf out = {0};
    static const char *const names[] = {"_D9x", "_D1", "_D3fooQaQaQaQaQaQaQaQaQaQaQaQaZv"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        out.len = 0;
        CHECK(!demangle(names[i], strlen(names[i]), DEMANGLE_FULL, &out));
        buf_char(&out, 0);
        CHECK_STR(out.data, names[i]);
    }
    out.len = 0;
    CHECK(demangle("_D3foo3barFZv", 13, DEMANGLE_FULL, &out));
    buf_char(&out, 0);
    CHECK_STR(out.data, "foo.bar()");
}

/* Each type is a pair of the one before: the readable form is twice as long with every level. */
static void doubled(struct buf *b, unsigned levels)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    buf_str(b, "_Z1f1AIiiE");
    for (unsigned i = 0; i < levels; i++)
        buf_printf(b, "S_IS%c_S%c_E", digits[i], digits[i]);
}

TEST(names_that_grow_without_end_stay_as_they_are)
{
    for (unsigned levels = 1; levels <= 25; levels += 12) {
        AUTO_BUF struct buf name = {0}, out = {0};
        doubled(&name, levels);
        bool done = demangle(name.data, name.len, DEMANGLE_FULL, &out);
        CHECK_EQ(done, levels == 1);
        CHECK(done || (out.len == name.len && !memcmp(out.data, name.data, out.len)));
        buf_char(&out, 0);
        CHECK(!done || !strcmp(out.data, "f(A<int, int>, A<A<int, int>, A<int, int> >)"));
    }
}

TEST(names_that_are_cut_in_a_character)
{
    AUTO_BUF struct buf b = {0};
    append_utf8(&b, "a\xc3\xa4", 2);
    append_utf8(&b, "\xc3\xa4", 2);
    append_utf8(&b, "b\0c", 3);
    append_utf8(&b, "", 0);
    buf_char(&b, 0);
    CHECK_STR(b.data,
              "a\xef\xbf\xbd\xc3\xa4"
              "b\xef\xbf\xbd"
              "c");
}

TEST(names_with_numbers_behind_them)
{
    CHECK_EQ(demangle_base("f.cold", 6), 1);
    CHECK_EQ(demangle_base("f.cold.12", 9), 1);
    CHECK_EQ(demangle_base("f.part.0.cold", 13), 1);
    CHECK_EQ(demangle_base("f.cold12", 8), 8); /* that is no compiler's */
    CHECK_EQ(demangle_base("f.12", 4), 4);
    CHECK_EQ(demangle_base(".cold", 5), 5);
    CHECK_EQ(demangle_base("12", 2), 2);
    CHECK_EQ(demangle_base("", 0), 0);
}

/* ---- What is asked for ------------------------------------------------------------------------------------------- */

/* The first frame of an offset, as "NAME SYSTEM_NAME". */
static int name_at(int fd, u64 offset, bool short_names, char out[256], struct names_frame *frame)
{
    AUTO_BUF struct buf reply = {0};
    struct names_fds fds = NAMES_FDS_OF(fd);
    struct names v;
    fds.short_names = short_names;
    int rc = names_resolve(&fds, &offset, 1, &reply);
    rc = rc ? rc : names_view(reply.data, reply.len, 1, &v);
    if (rc)
        return rc;
    *frame = v.frames[0];
    snprintf(out, 256, "%.100s %.100s", v.strings + frame->name, v.strings + frame->system_name);
    return 0;
}

TEST(names_have_two_forms)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CLOSE int fd = fixture_fd("dwarf-cpp");
    struct names_frame f;
    char text[256];
    CHECK_EQ(fixture_elf("dwarf-cpp", &e), 0);
    u64 run = fixture_symbol(&e, "_ZN4shop3runEi");
    CHECK_EQ(name_at(fd, run + 1, false, text, &f), 0);
    CHECK_STR(text, "shop::run(int) _ZN4shop3runEi");
    CHECK_EQ(f.start, run);
    CHECK_EQ(name_at(fd, run, true, text, &f), 0);
    CHECK_STR(text, "shop::run _ZN4shop3runEi");
    CHECK_EQ(name_at(fd, 0, false, text, &f), 0); /* no code */
    CHECK_STR(text, " ");
}

/* Stubs have the name of what they jump to, in both forms. */
TEST(names_of_stubs)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CLOSE int fd = fixture_fd("plt");
    struct elf_section plt;
    struct names_frame f;
    char text[256];
    unsigned stubs = 0;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    CHECK(elf_section(&e, ".plt.sec", &plt) || elf_section(&e, ".plt", &plt));
    for (u64 at = 0; at + 16 <= plt.len; at += 16) {
        u64 offset = (u64)(plt.data - e.map) + at;
        CHECK_EQ(name_at(fd, offset + 4, false, text, &f), 0);
        char *middle = strchr(text, ' ');
        CHECK(middle);
        *middle = 0;
        if (!strstr(text, "@plt"))
            continue;
        CHECK_STR(middle + 1, text);
        CHECK_EQ(f.start, offset);
        stubs++;
    }
    CHECK(stubs > 0);
}

TEST(names_of_too_many_offsets)
{
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    AUTO_BUF struct buf reply = {0};
    u64 offset = 0;
    CHECK_EQ(names_resolve(&(struct names_fds)NAMES_FDS_OF(fd), &offset, (size_t)NAMES_MAX_OFFSETS + 1, &reply),
             -ENOSPC);
    CHECK_EQ(reply.len, 0);
    CHECK_EQ(names_resolve(&(struct names_fds)NAMES_FDS_OF(fd), NULL, 0, &reply), 0);
}
