#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/gz.h"
#include "base/test.h"
#include "export/exporter.h"
#include "export/fixture_test.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    struct test_folder folder;
    struct export_target target;
    void *self;
};

static void place_free(struct place *p)
{
    exporter_directory.free(p->self);
    test_folder_free(&p->folder);
}
#define AUTO_PLACE __attribute__((cleanup(place_free)))

static int place_new(struct place *p)
{
    if (test_folder_new(&p->folder))
        return -1;
    p->target.name = "dir";
    p->target.path = p->folder.path;
    return exporter_directory.new(&p->self, &p->target, NULL, 0);
}

#define T 1767225600123456789ull /* 2026-01-01 00:00:00.123 UTC */

/* A profile of `bytes` bytes that do not compress (it is not looked into). */
static enum verdict_kind keep(struct place *p, const struct export_label *labels, size_t n, u64 time_ns, size_t bytes)
{
    AUTO_FREE char *data = malloc(bytes);
    struct export_profile e = {.nlabels = n,
                               .type = "cpu",
                               .time_ns = time_ns,
                               .gz = memset(data, (int)time_ns & 0x7f, bytes),
                               .gz_len = bytes};
    struct verdict v = {0};
    memcpy(e.labels, labels, n * sizeof(*labels));
    exporter_directory.send(p->self, &e, NULL, &v);
    return v.kind;
}

static bool exists(const struct place *p, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", p->folder.path, name);
    return access(path, F_OK) == 0;
}

static const struct export_label pod[] = {{"container", "app"}, {"namespace", "shop"}, {"pod", "cart-0"}};

TEST(directory_names)
{
    AUTO_PLACE struct place p = {0};
    struct export_label evil[] = {{"container", ".."}, {"namespace", "../../etc"}, {"pod", "a b/\n"}};
    struct export_label unit[] = {{"comm", "c"}, {"unit", "nginx.service"}};
    CHECK_EQ(place_new(&p), 0);
    CHECK_EQ(keep(&p, pod, 3, T, 10), VERDICT_DONE);
    CHECK(exists(&p, "shop/cart-0/app/cpu-20260101T000000.123Z.pb.gz"));
    CHECK_EQ(keep(&p, evil, 3, T, 10), VERDICT_DONE);
    CHECK(exists(&p, "_.___.._etc/a_b__/_./cpu-20260101T000000.123Z.pb.gz") ||
          exists(&p, "_._.._etc/a_b__/_./cpu-20260101T000000.123Z.pb.gz"));
    CHECK_EQ(keep(&p, unit, 2, T, 10), VERDICT_DONE);
    CHECK(exists(&p, "host/nginx.service/cpu-20260101T000000.123Z.pb.gz"));
    CHECK_EQ(keep(&p, pod, 0, T, 10), VERDICT_DONE);
    CHECK(exists(&p, "host/_/cpu-20260101T000000.123Z.pb.gz"));
}

TEST(directory_same_time_twice)
{
    AUTO_PLACE struct place p = {0};
    CHECK_EQ(place_new(&p), 0);
    CHECK_EQ(keep(&p, pod, 3, T, 10), VERDICT_DONE);
    CHECK_EQ(keep(&p, pod, 3, T, 10), VERDICT_DONE); /* the same once more: it is there */
    CHECK_EQ(test_folder_count(&p.folder, ".pb.gz"), 1);
    CHECK_EQ(keep(&p, pod, 3, T, 11), VERDICT_DONE); /* another part of it */
    CHECK(exists(&p, "shop/cart-0/app/cpu-20260101T000000.123Z-2.pb.gz"));
}

TEST(directory_bytes_are_bounded)
{
    AUTO_PLACE struct place p = {.target = {.max_bytes = 256 << 10}};
    CHECK_EQ(place_new(&p), 0);
    struct export_label first[] = {{"namespace", "old"}, {"pod", "a"}};
    CHECK_EQ(keep(&p, first, 2, T, 8192), VERDICT_DONE);
    for (u64 i = 1; i < 100; i++)
        CHECK_EQ(keep(&p, pod, 3, T + i * NS_PER_SEC, 8192), VERDICT_DONE);
    size_t n = test_folder_count(&p.folder, ".pb.gz");
    CHECK(n <= 32);
    CHECK(n >= 16);
    CHECK(!exists(&p, "old")); /* the oldest, and the folders it left empty */
    CHECK(exists(&p, "shop/cart-0/app/cpu-20260101T000139.123Z.pb.gz"));
}

static int make_old(const struct place *p, const char *name, time_t age)
{
    char path[256];
    struct timespec t[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    snprintf(path, sizeof(path), "%s/%s", p->folder.path, name);
    int rc = access(path, F_OK) ? fs_replace_file(path, "x", 1, 0600) : 0;
    return rc ? rc : utimensat(AT_FDCWD, path, t, 0);
}

TEST(directory_age_is_bounded_and_strangers_stay)
{
    static const struct {
        const char *name;
        int age;
        bool stays;
    } files[] = {
        {"cpu-20260101T000000.123Z.pb.gz", 7200, false},
        {"context-switches-20260101T000000.123Z-2.pb.gz", 7200, false},
        {"cpu-20260101T000000.124Z.pb.gz.Xy12Ab", 7200, false},
        {"cpu-20260101T000001.123Z.pb.gz", 60, true},
        {"cpu-20260101T000002.123Z.pb.gz", -7200, true},
        {"server.pb.gz", 7200, true}, /* somebody's own recordings */
        {"cpu-20260101.pb.gz", 7200, true},
        {"cpu-20260101T000000.123Z.txt", 7200, true},
        {"README", 7200, true},
    };
    AUTO_PLACE struct place p = {.target = {.max_age_ns = 3600 * NS_PER_SEC}};
    CHECK_EQ(place_new(&p), 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        CHECK_EQ(make_old(&p, files[i].name, files[i].age), 0);
    CHECK_EQ(keep(&p, pod, 3, T, 10), VERDICT_DONE);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        CHECK_EQ(exists(&p, files[i].name), files[i].stays);
}

TEST(directory_that_cannot_be_written)
{
    AUTO_PLACE struct place p = {0};
    char path[128];
    CHECK_EQ(place_new(&p), 0);
    snprintf(path, sizeof(path), "%s/file", p.folder.path);
    CHECK_EQ(fs_replace_file(path, "x", 1, 0600), 0);
    p.target.path = path;
    CHECK_EQ(keep(&p, pod, 3, T, 10), VERDICT_RETRY);
    struct export_profile e = {.type = "cpu", .time_ns = T, .gz = "x", .gz_len = 1};
    struct verdict v = {0};
    char expected[256];
    exporter_directory.send(p.self, &e, NULL, &v);
    snprintf(expected, sizeof(expected), "%s: Not a directory", path);
    CHECK(v.kind == VERDICT_RETRY && v.reason == EXPORT_DISK && !v.guilty);
    CHECK_STR(v.message, expected);
    CHECK(v.seconds >= 0 && v.bytes == 1);
}
