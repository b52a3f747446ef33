/* Unwind tables of Go programs: out of Go's own table, against our own reader of the .debug_frame that the linker wrote
 * for the same code.
 *
 *     bench/go_rows STRIPPED [NOT_STRIPPED]      one program; bench/go.sh has some
 *
 * Ours looks at the beginning of every function besides, hence the goal. Both are whole tables: open, find, rows,
 * rules, checksum. The best of some runs, the thread's time, the file in the page cache. How many rows a program has
 * goes to stderr.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "cfi/table_elf.h"
#include "runtime/go_rows.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define RUNS       7
#define GOAL_RATIO 2

struct result {
    u64 ns;
    u32 rows[XP_SOURCE_COUNT];
    u64 text; /* bytes of Go's code */
};

static int build(int fd, bool with_go, struct result *r)
{
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    AUTO_ELF struct elf_file e = {0};
    AUTO_GO_ROWS struct go_rows go = {0};
    AUTO_FREE struct xp_table *t = NULL;
    struct gopclntab table;
    size_t len;
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int err = elf_open(&e, fd);
    if (!err && with_go)
        err = go_open(&table, &e);
    if (!err && with_go)
        err = go_rows_read(&table, &go);
    if (!err)
        err = table_build_elf(&e, &go.code, &limits, &t, &len);
    u64 ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    if (err)
        return err;
    r->ns = r->ns && r->ns < ns ? r->ns : ns;
    r->text = go.code.end - go.code.start;
    memcpy(r->rows, t->source_rows, sizeof(r->rows));
    return 0;
}

/* The best of some runs. */
static int measure(const char *path, bool with_go, struct result *r)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -ENOENT : 0;
    for (int i = 0; i < RUNS && !err; i++)
        err = build(fd, with_go, r);
    return err;
}

int main(int argc, char **argv)
{
    struct result go = {0}, cfi = {0};
    if (argc < 2 || measure(argv[1], true, &go) || (argc > 2 && measure(argv[2], false, &cfi))) {
        printf("go table, skip: bench/go.sh runs this with programs\n");
        return 0;
    }
    const char *name = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
    double mb = (double)go.text / 1e6, ms = (double)go.ns / 1e6, ref = (double)cfi.ns / 1e6;
    fprintf(stderr, "%s: %.1f MB of Go's code, %u rows (%.0f a MB), %.1f M rows/s; .debug_frame has %u\n", name, mb,
            go.rows[XP_SOURCE_GO], go.rows[XP_SOURCE_GO] / mb, go.rows[XP_SOURCE_GO] / ms / 1e3,
            cfi.rows[XP_SOURCE_DEBUG_FRAME]);
    if (cfi.ns)
        printf("go table of %s, %.2f ms, .debug_frame %.2f ms, %.2f, <= %d, %s\n", name, ms, ref, ms / ref, GOAL_RATIO,
               ms <= GOAL_RATIO * ref ? "pass" : "fail");
    else
        printf("go table of %s, %.2f ms, -, -, -, -\n", name, ms);
    return 0;
}
