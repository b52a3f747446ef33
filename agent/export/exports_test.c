/* The sum of it: configurations that are refused, a spool that cannot be used, limits that change. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "export/exporter.h"
#include "export/fixture_test.h"
#include "export/target_config.h"
#include <errno.h>

static void exports_cleanup(struct exports **e)
{
    exports_free(e);
}
#define AUTO_EXPORTS CLEANUP(exports_cleanup) struct exports

static const struct export_target nobody = {.kind = EXPORT_PYROSCOPE, .name = "nobody", .url = "http://127.0.0.1:1"};

static int put(struct exports *e)
{
    AUTO_BUF struct buf pprof = {0};
    test_pprof(&pprof, "leaf", 7);
    struct export_item item = test_item(&pprof);
    return exports_put(e, &item);
}

TEST(exports_say_once_that_the_spool_is_in_memory)
{
    AUTO_EXPORTS *e = NULL;
    struct export_config c = {.targets = &nobody, .ntargets = 1, .spool_dir = "/dev/null/spool"};
    struct export_spool_stats s;
    char why[256], line[512] = "";
    CHECK_EQ(exports_new(&e, &c, why, sizeof(why)), 0);
    CHECK(exports_news(e, line, sizeof(line)));
    CHECK_STR(line, "spool: /dev/null/spool: Not a directory; profiles are kept in memory");
    CHECK(!exports_news(e, line, sizeof(line)));
    CHECK_EQ(put(e), 0);
    exports_spool_stats(e, &s);
    CHECK(s.put == 1 && s.disk_errors == 1 && s.memory_bytes > 0 && s.disk_bytes == 0);
    CHECK(strstr(s.error, "Not a directory"));
}

TEST(exports_have_no_news_when_all_is_well)
{
    AUTO_EXPORTS *e = NULL;
    struct export_config c = {.targets = &nobody, .ntargets = 1};
    char why[256], line[512];
    CHECK_EQ(exports_new(&e, &c, why, sizeof(why)), 0);
    CHECK(!exports_news(e, line, sizeof(line)));
}

TEST(exports_refuse_targets_that_cannot_be)
{
    struct export_target targets[EXPORT_MAX_TARGETS + 1];
    struct export_config c = {.targets = targets, .ntargets = EXPORT_MAX_TARGETS};
    char names[EXPORT_MAX_TARGETS + 1][16], why[256];
    for (int i = 0; i <= EXPORT_MAX_TARGETS; i++) {
        snprintf(names[i], sizeof(names[i]), "t%d", i);
        targets[i] = nobody;
        targets[i].name = names[i];
    }
    CHECK_EQ(exports_check(&c, why, sizeof(why)), 0);
    c.ntargets++;
    CHECK_EQ(exports_check(&c, why, sizeof(why)), -EINVAL);
    CHECK_STR(why, "more than 16 targets");
    c.ntargets = 2;
    targets[1].name = "t0";
    CHECK_EQ(exports_check(&c, why, sizeof(why)), -EINVAL);
    CHECK_STR(why, "two targets have the name t0");
    targets[1].name = NULL;
    CHECK_EQ(exports_check(&c, why, sizeof(why)), -EINVAL);
    CHECK(strstr(why, "a name needs 1 to 63"));
}

TEST(exports_complain_about_what_is_wrong_with_a_target)
{
    char longest[65];
    memset(longest, 'n', sizeof(longest) - 1);
    longest[63] = 0;
    const struct export_label labels[] = {{"a", "b"}};
    const struct {
        struct export_target t;
        const char *complaint; /* NULL: none */
    } rows[] = {
        {{.name = longest}, NULL},
        {{.name = ".hidden"}, "a name needs 1 to 63 letters, digits, '.', '_' or '-'"},
        {{.name = ""}, "a name needs 1 to 63 letters, digits, '.', '_' or '-'"},
        {{.name = "n", .nheaders = 33}, "more than 32 headers"},
        {{.name = "n", .nexternal = 65, .external_labels = labels}, "more than 64 external labels"},
        {{.name = "n", .nexternal = 1, .external_labels = labels}, NULL},
        {{.name = "n", .parallel = 17}, "more than 16 parallel calls"},
        {{.name = "n", .parallel = 16}, NULL},
        {{.name = "n", .user = "me"}, "a user needs a password file"},
        {{.name = "n", .user = "me", .password_file = "f"}, NULL},
        {{.name = "n", .user = "me", .password_file = "f", .bearer_file = "b"},
         "a user name and a bearer token exclude each other"},
        {{.name = "n", .bearer_file = "b"}, NULL},
        {{.name = "n", .cert_file = "c"}, "a client certificate needs its key"},
        {{.name = "n", .key_file = "k"}, "a client certificate needs its key"},
        {{.name = "n", .kind = EXPORT_DIRECTORY}, "a directory needs a path"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct export_target t = rows[i].t, copy;
        char why[256] = "", expected[256];
        CHECK_EQ(target_config_copy(&copy, &t, why, sizeof(why)), rows[i].complaint ? -EINVAL : 0);
        target_config_free(&copy);
        snprintf(expected, sizeof(expected), "target %s: %s", t.name, rows[i].complaint ? rows[i].complaint : "");
        CHECK_STR(why, rows[i].complaint ? expected : "");
    }
    longest[63] = 'n';
    longest[64] = 0;
    struct export_target t = {.name = longest}, copy;
    char why[256];
    CHECK_EQ(target_config_copy(&copy, &t, why, sizeof(why)), -EINVAL);
}

TEST(exports_take_new_limits_with_new_targets)
{
    AUTO_EXPORTS *e = NULL;
    AUTO_FOLDER struct test_folder f = {0};
    struct export_stats s;
    char why[256];
    CHECK_EQ(test_folder_new(&f), 0);
    struct export_config c = {.targets = &nobody, .ntargets = 1, .spool_dir = f.path};
    CHECK_EQ(exports_new(&e, &c, why, sizeof(why)), 0);
    for (int i = 0; i < 40; i++)
        CHECK_EQ(put(e), 0);
    CHECK(exports_stats(e, 0, &s));
    CHECK(s.pending == 40 && !s.dropped[EXPORT_SPOOL_FULL]);
    c.spool_bytes = 4 * FS_BLOCK;
    CHECK_EQ(exports_reconfigure(e, &c, why, sizeof(why)), 0);
    CHECK_EQ(put(e), 0);
    CHECK(exports_stats(e, 0, &s));
    CHECK(s.dropped[EXPORT_SPOOL_FULL] > 0);
    CHECK_EQ(s.pending + s.dropped[EXPORT_SPOOL_FULL], 41);
    struct export_target bad = nobody;
    bad.name = "a/b";
    struct export_config wrong = {.targets = &bad, .ntargets = 1};
    CHECK_EQ(exports_reconfigure(e, &wrong, why, sizeof(why)), -EINVAL);
    CHECK(strstr(why, "target a/b: "));
    CHECK(exports_stats(e, 0, &s) && !exports_stats(e, 1, &s));
}

TEST(exports_have_words_for_every_reason)
{
    for (unsigned i = 0; i < EXPORT_NREASONS; i++) {
        CHECK(strlen(export_reason_slug((enum export_reason)i)) > 2);
        CHECK(strlen(export_reason_help((enum export_reason)i)) > 10);
    }
    CHECK_STR(export_reason_slug(EXPORT_DISK), "disk");
    CHECK_STR(export_reason_help(EXPORT_DISK), "the directory cannot be written");
    CHECK_STR(export_reason_slug(EXPORT_NREASONS), "unknown");
    CHECK_STR(export_reason_help(EXPORT_NREASONS), "");
    CHECK(exporter_of(EXPORT_DIRECTORY) == &exporter_directory);
    CHECK(!exporter_of((enum export_kind)(EXPORT_DIRECTORY + 1)));
}
