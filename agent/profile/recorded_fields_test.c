/* Profiles that are written by hand, field by field: what is read of them, and what is refused. */
#include "base/cleanup.h"
#include "base/pb.h"
#include "profile/fixture_test.h"
#include "profile/frames.h"
#include "profile/recorded.h"
#include <errno.h>

#define AUTO_PROFILE  CLEANUP(profile_free) struct profile
#define AUTO_RECORDED CLEANUP(recorded_free) struct recorded

enum {
    EMPTY,
    CPU,
    NS,
    SAMPLES,
    PATH,
    ID,
    NAME,
    SYSTEM,
    SOURCE,
    PID,
    PROCESS,
    DEMO,
    CUT,
    DEPTH,
    UNWIND,
    INFERRED,
    ANON,
    TID,
    NSTID
};
static const char *const strings[] = {
    "",        "cpu",  "nanoseconds", "samples", "/bin/demo", "aabbcc",   "function", "_Zsystem", "demo.c", "pid",
    "process", "demo", "cut",         "depth",   "unwind",    "inferred", "[anon]",   "tid",      "nstid"};

/* What one number of the profile is. */
struct twist {
    u64 mapping_of_location, function_of_line, location_of_sample, name_of_function, line, start_line, comment;
};
#define STRAIGHT                                                                                            \
    {                                                                                                       \
        .mapping_of_location = 1, .function_of_line = 1, .location_of_sample = 1, .name_of_function = NAME, \
        .line = 33, .start_line = 30, .comment = SOURCE,                                                    \
    }

static void put_type(struct buf *b, u64 type, u64 unit)
{
    size_t m = pb_begin(b, 1);
    pb_uint(b, 1, type);
    pb_uint(b, 2, unit);
    pb_end(b, m);
}

static void put_mapping(struct buf *b, u64 id, u64 name)
{
    size_t m = pb_begin(b, 3);
    pb_uint(b, 1, id);
    pb_uint(b, 2, 0x401000);
    pb_uint(b, 3, 0x403000);
    pb_uint(b, 4, 0x1000);
    pb_uint(b, 5, name);
    pb_uint(b, 6, ID);
    pb_end(b, m);
}

/* Of one line, or, with function 0, of none. */
static void put_location(struct buf *b, u64 id, u64 mapping, u64 address, u64 function, u64 line)
{
    size_t m = pb_begin(b, 4);
    pb_uint(b, 1, id);
    pb_uint(b, 2, mapping);
    pb_uint(b, 3, address);
    if (function) {
        size_t l = pb_begin(b, 4);
        pb_uint(b, 1, function);
        pb_uint(b, 2, line);
        pb_end(b, l);
    }
    pb_end(b, m);
}

static void put_label(struct buf *b, u64 key, u64 text, u64 number)
{
    size_t m = pb_begin(b, 3);
    pb_uint(b, 1, key);
    pb_uint(b, 2, text);
    pb_uint(b, 3, number);
    pb_end(b, m);
}

static void put_sample(struct buf *b, u64 first, u64 second, u64 pid)
{
    size_t m = pb_begin(b, 2), list = pb_begin(b, 1);
    pb_varint(b, first);
    pb_varint(b, second);
    pb_end(b, list);
    list = pb_begin(b, 2);
    pb_varint(b, 3);
    pb_varint(b, 30000000);
    pb_end(b, list);
    put_label(b, PID, 0, pid);
    put_label(b, PROCESS, DEMO, 0);
    put_label(b, CUT, DEPTH, 0);
    put_label(b, UNWIND, INFERRED, 0);
    put_label(b, TID, 0, 9);
    if (first == second)
        put_label(b, NSTID, 0, 3);
    pb_end(b, m);
}

/* Two samples of two frames: a named one, and one below it that has no name yet. */
static void put_profile(struct buf *b, const struct twist *t)
{
    put_type(b, SAMPLES, 0);
    put_type(b, CPU, NS);
    put_sample(b, t->location_of_sample, 2, 7);
    put_sample(b, 2, 2, 7);
    put_mapping(b, 1, PATH);
    put_mapping(b, 2, ANON);
    put_location(b, 1, t->mapping_of_location, 0x401234, t->function_of_line, t->line);
    put_location(b, 2, 1, 0x402345, 0, 0);
    put_location(b, 3, 2, 0x402345, 0, 0);
    put_location(b, 4, 1, 0x403000, 0, 0); /* behind its mapping */
    put_location(b, 5, 1, 0x400fff, 0, 0); /* in front of it */
    size_t m = pb_begin(b, 5);
    pb_uint(b, 1, 1);
    pb_uint(b, 2, t->name_of_function);
    pb_uint(b, 3, SYSTEM);
    pb_uint(b, 4, SOURCE);
    pb_uint(b, 5, t->start_line);
    pb_end(b, m);
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
        pb_string(b, 6, strings[i]);
    pb_uint(b, 9, 17);
    pb_uint(b, 10, 19);
    pb_uint(b, 12, 10000000);
    pb_uint(b, 13, t->comment);
}

static int read_twisted(const struct twist *t, struct profile *p, struct recorded *r, char why[128])
{
    AUTO_BUF struct buf b = {0};
    put_profile(&b, t);
    why[0] = 0;
    int rc = profile_init(p);
    return rc ? rc : recorded_read(b.data, b.len, p, r, why, 128);
}

TEST(recorded_fields_are_read)
{
    AUTO_PROFILE p = {0};
    AUTO_RECORDED r = {0};
    char why[128];
    CHECK_EQ(read_twisted(&(struct twist)STRAIGHT, &p, &r, why), 0);
    CHECK_STR(why, "");
    CHECK(p.nevents == 1 && p.period[0] == 10000000 && p.time_ns == 17 && p.duration_ns == 19);
    CHECK_STR(p.events[0]->name, "cpu");
    CHECK(p.mappings.n == 2 && r.files.n == 2);
    const struct prof_mapping *m = p.mappings.v;
    CHECK(m->lo == 0x401000 && m->hi == 0x402fff && m->lo_offset == 0x1000 && m->has_functions);
    CHECK(!p.mappings.v[1].has_functions);
    CHECK_STR(profile_text(&p, m->build_id), "aabbcc");
    const struct recorded_file *f = r.files.v;
    CHECK(f->lo == 0x401000 && f->hi == 0x402fff && f->lo_offset == 0x1000 && f->unnamed == 1);
    CHECK_STR(f->path, "/bin/demo");
    CHECK_STR(f->build_id, "aabbcc");
    const struct prof_function *g = p.functions.v;
    CHECK_STR(profile_text(&p, g->name), "function");
    CHECK_STR(profile_text(&p, g->system_name), "_Zsystem");
    CHECK_STR(profile_text(&p, g->file), "demo.c");
    CHECK_EQ(g->start_line, 30);
    CHECK_STR(profile_text(&p, p.comments.v[0]), "demo.c");
}

TEST(recorded_locations_are_read)
{
    AUTO_PROFILE p = {0};
    AUTO_RECORDED r = {0};
    char why[128];
    CHECK_EQ(read_twisted(&(struct twist)STRAIGHT, &p, &r, why), 0);
    CHECK(p.locations.n == 5 && r.words.n == 5);
    const struct prof_location *l = p.locations.v;
    CHECK(l[0].address == 0x401234 && l[0].nlines == 1 && l[0].mapping == 0 && l[0].origin == FRAME_NATIVE);
    CHECK_EQ(p.lines.v[l[0].first_line].line, 33);
    CHECK_EQ(p.lines.v[l[0].first_line].function, 0);
    CHECK(l[2].origin == FRAME_JIT && l[2].mapping == 1 && !l[2].nlines);
    CHECK_EQ(r.words.v[0], 0);
    CHECK_EQ(r.words.v[1], XP_FILE_WORD(XP_WORD_CFI, XP_FILE_FIRST, 0x2346)); /* a caller, which goes on there */
    CHECK_EQ(r.words.v[2], XP_FILE_WORD(XP_WORD_CFI, XP_FILE_FIRST + 1, 0x2345) | XP_WORD_EXACT);
    CHECK_EQ(r.words.v[3], 0);
    CHECK_EQ(r.words.v[4], 0);
}

TEST(recorded_samples_are_read)
{
    AUTO_PROFILE p = {0};
    AUTO_RECORDED r = {0};
    char why[128];
    CHECK_EQ(read_twisted(&(struct twist)STRAIGHT, &p, &r, why), 0);
    CHECK(p.stacks.n == 2 && p.processes.n == 1);
    const struct prof_stack *s = p.stacks.v;
    CHECK(s[0].n == 2 && s[0].first == 0 && s[1].n == 2 && s[1].first == 2);
    CHECK(p.stack_locations.v[0] == 0 && p.stack_locations.v[1] == 1 && p.stack_locations.v[2] == 1);
    CHECK(s[0].count[0] == 3 && s[0].value[0] == 30000000 && !s[0].count[1] && !s[0].value[1]);
    CHECK(s[0].cause == XP_CAUSE_DEPTH && s[0].found == FOUND_INFERRED);
    CHECK(s[0].tid == 9 && s[0].nstid == 9 && s[1].tid == 9 && s[1].nstid == 3);
    CHECK_EQ(p.processes.v[0].tgid, 7);
    CHECK_STR(profile_text(&p, p.processes.v[0].name), "demo");
}

/* Numbers that nothing has, and lines that are none. */
TEST(recorded_references_are_checked)
{
    const u64 beyond = sizeof(strings) / sizeof(*strings);
    const struct {
        struct twist twist;
        int error;
    } cases[] = {
        {STRAIGHT, 0},
        {{9, 1, 1, NAME, 33, 30, SOURCE}, -EBADMSG},
        {{1, 9, 1, NAME, 33, 30, SOURCE}, -EBADMSG},
        {{1, 1, 9, NAME, 33, 30, SOURCE}, -EBADMSG},
        {{1, 1, 1, beyond, 33, 30, SOURCE}, -EBADMSG},
        {{1, 1, 1, NAME, 33, 30, beyond}, -EBADMSG},
        {{1, 1, 1, beyond - 1, 33, 30, SOURCE}, 0},
        {{1, 1, 1, NAME, 1ull << 31, 30, SOURCE}, 0},
        {{1, 1, 1, NAME, INT32_MAX, 30, SOURCE}, 0},
        {{1, 1, 1, NAME, 33, 1ull << 40, SOURCE}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_PROFILE p = {0};
        AUTO_RECORDED r = {0};
        char why[128];
        const struct twist *t = &cases[i].twist;
        CHECK_EQ(read_twisted(t, &p, &r, why), cases[i].error);
        if (cases[i].error) {
            CHECK_STR(why, "not a profile in pprof format, or damaged");
            continue;
        }
        CHECK_EQ(p.lines.v[0].line, t->line > INT32_MAX ? 0 : t->line);
        CHECK_EQ(p.functions.v[0].start_line, t->start_line > INT32_MAX ? 0 : t->start_line);
    }
}

/* A location without a mapping is a mark of ours, which is made anew: it is no frame. */
TEST(recorded_marks_are_no_frames)
{
    AUTO_PROFILE p = {0};
    AUTO_RECORDED r = {0};
    char why[128];
    struct twist t = STRAIGHT;
    t.mapping_of_location = 0;
    CHECK_EQ(read_twisted(&t, &p, &r, why), 0);
    CHECK_EQ(p.locations.n, 4);
    CHECK_EQ(p.stacks.v[0].n, 1);
    CHECK_EQ(p.stack_locations.v[0], 0);
    CHECK_EQ(p.locations.v[0].address, 0x402345);
}

TEST(recorded_kinds_have_to_be_known)
{
    AUTO_PROFILE p = {0};
    AUTO_RECORDED r = {0};
    AUTO_BUF struct buf b = {0};
    char why[128] = "";
    put_type(&b, SAMPLES, 0);
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
        pb_string(&b, 6, strings[i]);
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(recorded_read(b.data, b.len, &p, &r, why, sizeof(why)), -ENOTSUP);
    CHECK_STR(why, "xprof knows none of its sample types");
}

/* Mappings of what was named without them are dropped, the others are numbered anew. */
TEST(recorded_names_have_mappings_of_their_own)
{
    AUTO_PROFILE p = {0};
    AUTO_RECORDED r = {0};
    char why[128];
    struct fixture_source f;
    fixture_source(&f);
    CHECK_EQ(read_twisted(&(struct twist)STRAIGHT, &p, &r, why), 0);
    CHECK_EQ(recorded_name(&p, &r, &f.source), 0);
    for (size_t i = 0; i < p.mappings.n; i++) {
        size_t used = 0;
        for (size_t k = 0; k < p.locations.n; k++)
            used += p.locations.v[k].mapping == i;
        CHECK(used > 0);
    }
    CHECK_STR(profile_text(&p, p.mappings.v[p.locations.v[0].mapping].name), "/bin/demo");
    CHECK_STR(profile_text(&p, p.mappings.v[p.locations.v[1].mapping].name), "/usr/bin/demo"); /* the source's */
    CHECK_STR(profile_text(&p, p.mappings.v[p.locations.v[2].mapping].name), "/usr/lib/libplain.so.1");
    CHECK_STR(profile_text(&p, p.functions.v[p.lines.v[p.locations.v[1].first_line].function].name), "inner");
    CHECK_EQ(p.locations.v[1].address, 0x402345);
}
