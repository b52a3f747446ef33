/* The command line of `xprof record`. */
#include "base/test.h"
#include "cli/record/record_options.h"
#include "cli/split_test.h"
#include <errno.h>

static int parse_record(const char *line, struct record_options *o, struct buf *message)
{
    static char copy[256], *argv[MAX_ARGS + 1];
    snprintf(copy, sizeof(copy), "%s", line);
    return record_options_parse(split(copy, argv), argv, o, message);
}

TEST(record_options_take_one_target)
{
    static const char *const good[] = {"-a", "-p 1,2", "--cgroup /x", "ls", "-- ls", "-a -o x -o y --format html"};
    static const struct {
        const char *line, *says;
    } bad[] = {{"", "nothing to record"},
               {"-a -p1", "more than one target"},
               {"-a ls", "more than one target"},
               {"--cgroup /x ls", "more than one target"},
               {"-p 1 --cgroup /x", "more than one target"},
               {"-p 1 ls", "more than one target"},
               {"-a --no-kernel --no-user", "leave nothing to record"},
               {"-a -e cpu,nope", "--event: unknown value \"nope\"; see \"xprof list\"\n"},
               {"-a -e cpu,off-cpu,off_cpu", "offcpu is listed twice"},
               {"-a --wait-stacks nope", "nope"},
               {"-a -o x", "--output x: unknown suffix"},
               {"-a --format nope", "nope"},
               {"-a --leaks", "give -e memory, too"},
               {"-a --label file", "--label file: give -e file, too"},
               {"-a -e file --label file,peer", "--label peer: give -e net, too"},
               {"-a -e file --label nope", "nope"},
               {"-a -e memory --older-than 5s", "give --leaks, too"},
               {"-a -e memory --leaks -d 10s", "record longer"},
               {"-a -e memory --leaks --older-than 10s -d 5s", "record longer"},
               {"-a --no-cache --cache-dir /x", "exclude each other"}};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct record_options o;
        AUTO_BUF struct buf message = {0};
        CHECK_EQ(parse_record(good[i], &o, &message), 0);
        CHECK_EQ(o.events.n, 1);
        CHECK_EQ(o.table_memory, 256 << 20);
        record_options_free(&o);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct record_options o = {.top = 77};
        AUTO_BUF struct buf message = {0};
        CHECK_EQ(parse_record(bad[i].line, &o, &message), -EINVAL);
        CHECK(message.len && memchr(message.data, '\n', message.len) == message.data + message.len - 1);
        CHECK(memmem(message.data, message.len, bad[i].says, strlen(bad[i].says)));
        CHECK_EQ(o.top, 77);
    }
}

/* A leak needs more samples, and frees that are not seen would hide it. */
TEST(record_options_of_memory_depend_on_leaks)
{
    static const struct {
        const char *line;
        u64 period, cost, old_ns;
    } cases[] = {{"-a -e memory", 512 << 10, 5, 0},
                 {"-a -e memory --leaks -d 11s", 64 << 10, 0, 10000000000},
                 {"-a -e heap --leaks --older-than 3s --memory-max-cost 7", 64 << 10, 7, 3000000000},
                 {"-a -e cpu,memory --leaks --memory-period 1M", 1 << 20, 0, 10000000000},
                 {"-a -e memory --memory-max-cost off", 512 << 10, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct record_options o;
        AUTO_BUF struct buf message = {0};
        CHECK_EQ(parse_record(cases[i].line, &o, &message), 0);
        CHECK_EQ(o.memory_period, cases[i].period);
        CHECK_EQ(o.memory_max_cost, cases[i].cost);
        CHECK_EQ(o.older_than, cases[i].old_ns);
        record_options_free(&o);
    }
}

TEST(record_options_limit_what_probes_cost)
{
    static const struct {
        const char *line;
        int rc;
        u64 cost;
        bool capped;
    } cases[] = {{"-a -e syscall:read", 0, 5, false},
                 {"-a -e syscall:read --max-cost 3", 0, 3, true},
                 {"-a -e syscall:read --max-cost off", 0, 0, true},
                 {"-a -e syscall:read --no-cap", 0, 0, false},
                 {"-a -e rss", 0, 5, false},
                 {"-a -e rss --max-cost 3", 0, 3, true},
                 {"-a -e rss --no-cap", 0, 0, false},
                 {"-a -e syscall:read --no-cap --max-cost 5", -EINVAL, 0, false},
                 {"-a -e cpu --max-cost 5", -EINVAL, 0, false},
                 {"-a -e cpu --no-cap", -EINVAL, 0, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct record_options o = {0};
        AUTO_BUF struct buf message = {0};
        CHECK_EQ(parse_record(cases[i].line, &o, &message), cases[i].rc);
        CHECK_EQ(o.max_cost, cases[i].cost);
        CHECK_EQ(o.capped, cases[i].capped);
        if (!cases[i].rc)
            record_options_free(&o);
    }
}

TEST(record_options_know_aliases_of_events)
{
    struct record_options o;
    AUTO_BUF struct buf message = {0};
    CHECK_EQ(parse_record("-a -e off-cpu,page_faults", &o, &message), 0);
    CHECK_EQ(o.events.n, 2);
    CHECK_STR(o.events.v[0], "offcpu");
    CHECK_STR(o.events.v[1], "page-faults");
    record_options_free(&o);
}

TEST(record_options_repeat_labels)
{
    struct record_options o;
    AUTO_BUF struct buf message = {0};
    CHECK_EQ(parse_record("-a -e io,net --label file --label peer", &o, &message), 0);
    CHECK_EQ(o.labels.n, 2);
    CHECK_STR(o.labels.v[1], "peer");
    record_options_free(&o);
}

TEST(record_options_keep_the_command)
{
    struct record_options o;
    AUTO_BUF struct buf message = {0};
    CHECK_EQ(parse_record("-F 7 --top 5 ls -a --nope", &o, &message), 0);
    CHECK_EQ(o.frequency, 7);
    CHECK_EQ(o.top, 5);
    CHECK(!o.all);
    CHECK_STR(o.command[0], "ls");
    CHECK_STR(o.command[2], "--nope");
    CHECK(!o.command[3]);
    record_options_free(&o);
}

/* Addresses without names are for pprof, and for a file. */
TEST(record_options_of_raw_profiles)
{
    static const char *const good[] = {"-a --raw -o x.pb.gz", "-a --raw -o x --format pprof"};
    static const struct {
        const char *line, *says;
    } bad[] = {{"-a --raw", "--raw has no names to list"},
               {"-a --raw --top 5 -o x.pb.gz", "--raw has no names to list"},
               {"-a --raw -o x.svg", "--raw: only pprof"},
               {"-a --raw -o x.pb.gz -o y.html", "--raw: only pprof"},
               {"-a --raw -o x.pb.gz --format html", "--raw: only pprof"},
               {"-a -o x.odd", "--output x.odd: unknown suffix; known suffixes: .pb.gz, "}};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct record_options o;
        AUTO_BUF struct buf message = {0};
        CHECK_EQ(parse_record(good[i], &o, &message), 0);
        CHECK(o.raw);
        record_options_free(&o);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct record_options o = {.top = 77};
        AUTO_BUF struct buf message = {0};
        CHECK_EQ(parse_record(bad[i].line, &o, &message), -EINVAL);
        buf_char(&message, 0);
        CHECK(strstr(message.data, bad[i].says));
    }
}
