#include "export/fixture_test.h"
#include "base/clock.h"
#include "base/pb.h"
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int test_folder_new(struct test_folder *f)
{
    snprintf(f->path, sizeof(f->path), "/tmp/xprof-export.XXXXXX");
    return mkdtemp(f->path) ? 0 : -errno;
}

static size_t walk(const struct test_folder *f, const char *part, bool clear)
{
    char *const roots[] = {(char *)(uintptr_t)f->path, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t n = 0;
    for (const FTSENT *e; fts && (e = fts_read(fts));) {
        n += part && e->fts_info == FTS_F && strstr(e->fts_name, part);
        if (clear && e->fts_info == FTS_DP)
            rmdir(e->fts_path);
        else if (clear && e->fts_info != FTS_D)
            unlink(e->fts_path);
    }
    if (fts)
        fts_close(fts);
    return n;
}

void test_folder_free(struct test_folder *f)
{
    if (*f->path)
        walk(f, NULL, true);
}

size_t test_folder_count(const struct test_folder *f, const char *part)
{
    return walk(f, part, false);
}

static void pair(struct buf *b, unsigned field, u64 type, u64 unit)
{
    size_t m = pb_begin(b, field);
    pb_uint(b, 1, type);
    pb_uint(b, 2, unit);
    pb_end(b, m);
}

/* Location, function and line of that id; the function's name is string `name`. */
static void frame(struct buf *b, u64 id, u64 name)
{
    size_t m = pb_begin(b, 4);
    pb_uint(b, 1, id);
    pb_uint(b, 2, 1);
    pb_uint(b, 3, 0x1000 + 16 * id);
    pair(b, 4, id, 10 + id);
    pb_end(b, m);
    m = pb_begin(b, 5);
    pb_uint(b, 1, id);
    pb_uint(b, 2, name);
    pb_uint(b, 3, name);
    pb_end(b, m);
}

static void add_sample(struct buf *b, u64 values)
{
    size_t m = pb_begin(b, 2), list = pb_begin(b, 1);
    for (u64 id = 3; id; id--)
        pb_varint(b, id);
    pb_end(b, list);
    list = pb_begin(b, 2);
    pb_varint(b, values);
    pb_varint(b, values * 10000000);
    pb_end(b, list);
    pb_end(b, m);
}

void test_pprof(struct buf *out, const char *leaf, u64 time_ns)
{
    const char *strings[] = {"", "samples", "count", "cpu", "nanoseconds", "main", "work", leaf, "/app", "c0ffee"};
    pair(out, 1, 1, 2);
    pair(out, 1, 3, 4);
    add_sample(out, 5);
    size_t m = pb_begin(out, 3);
    const u64 mapping[] = {1, 0x1000, 0x9000, 0, 8, 9, 1};
    for (unsigned i = 0; i < 7; i++)
        pb_uint(out, i + 1, mapping[i]);
    pb_end(out, m);
    for (u64 id = 1; id <= 3; id++)
        frame(out, id, 4 + id);
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
        pb_string(out, 6, strings[i]);
    pb_uint(out, 9, time_ns);
    pb_uint(out, 10, NS_PER_SEC);
    pair(out, 11, 3, 4);
    pb_uint(out, 12, 10000000);
}

struct export_item test_item(const struct buf *pprof)
{
    static const struct export_label labels[] = {
        {"__name__", "process_cpu"}, {"namespace", "shop"}, {"pod", "cart-0"}, {"service_name", "cart"}};
    return (struct export_item){.labels = labels,
                                .nlabels = 4,
                                .type = "cpu",
                                .time_ns = clock_ns(CLOCK_REALTIME),
                                .duration_ns = NS_PER_SEC,
                                .pprof = pprof->data,
                                .len = pprof->len};
}
