/* Rows synthesised from the instructions: how long it takes, how much memory, and for how much of the code there are
 * some then.
 *
 *     bench/synth [FILE...]      without: libraries with much assembly, as far as they are installed (Debian: ffmpeg
 *                                libopenblas0-pthread libsodium23 libnettle8 libgmp10 libjpeg62-turbo)
 *
 * Each file is read in a process of its own, RUNS times; the best thread time counts. Memory is the most that such a
 * process had besides the file's own pages, which the page cache has anyway. The reference is the file's CFI table,
 * which is always made first.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "cfi/table_elf.h"
#include "synth/synth.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#define RUNS      3
#define GOAL_MS   500
#define GOAL_MB   64
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"

struct result {
    u64 ns, table_ns, rows, table_rows, memory;
    struct synth_counts n;
    enum synth_drop dropped;
    int err;
};

/* Anonymous memory of this process at its peak, in bytes: all but pages of files. */
static u64 peak(void)
{
    AUTO_FCLOSE FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long hwm = 0, file = 0, kb;
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "VmHWM: %llu", &kb) == 1)
            hwm = kb;
        else if (sscanf(line, "RssFile: %llu", &kb) == 1)
            file = kb;
    }
    return hwm > file ? (hwm - file) << 10 : 0;
}

static int read_once(int fd, struct result *r)
{
    struct table_limits tl = TABLE_LIMITS_DEFAULT;
    struct synth_limits sl = SYNTH_LIMITS_DEFAULT;
    AUTO_ELF struct elf_file e = {0};
    AUTO_SYNTH struct synth s = {0};
    table_spans covered = {0};
    int err = elf_open(&e, fd);
    if (!err)
        err = table_covered(&e, NULL, &tl, &covered);
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!err)
        err = synth_read(&e, (const struct synth_span *)covered.v, covered.n, &sl, &s);
    u64 ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    vec_free(&covered);
    if (err)
        return err;
    r->ns = r->ns && r->ns < ns ? r->ns : ns;
    r->memory = peak();
    r->rows = s.rows.n;
    r->n = s.n;
    r->dropped = s.dropped;
    return 0;
}

static void read_file(const char *path, struct result *r)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    r->err = fd < 0 ? -errno : 0;
    for (int i = 0; i < RUNS && !r->err; i++)
        r->err = read_once(fd, r);
    struct table_limits tl = TABLE_LIMITS_DEFAULT;
    AUTO_FREE struct xp_table *t = NULL;
    size_t len;
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!r->err)
        r->err = table_build(fd, &tl, &t, &len);
    r->table_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    r->table_rows = t ? t->nrows : 0;
}

/* In a child, so that each has a peak of its own. */
static int measure(const char *path, struct result *out)
{
    int to[2];
    if (pipe(to))
        return -errno;
    pid_t child = fork();
    if (!child) {
        struct result r = {0};
        read_file(path, &r);
        _exit(write(to[1], &r, sizeof(r)) != sizeof(r));
    }
    close(to[1]);
    bool got = child > 0 && read(to[0], out, sizeof(*out)) == sizeof(*out);
    close(to[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return got ? out->err : -ECHILD;
}

static int report(const char *path)
{
    struct result r;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    int err = measure(path, &r);
    if (err || r.dropped) {
        printf("synth %s, skip: %s\n", name, err ? strerror(-err) : synth_drop_name(r.dropped));
        return 0;
    }
    double ms = (double)r.ns / 1e6, table = (double)r.table_ns / 1e6, mb = (double)r.memory / 1048576.0;
    double claims = r.n.code_bytes ? 100.0 * (double)r.n.claimed_bytes / (double)r.n.code_bytes : 0;
    fprintf(stderr,
            "%s: %.2f MB of code without CFI, %.1f %% claimed; %.1f M steps at %.1f M/s, %llu rows (CFI: %llu); %llu "
            "regions, %llu proven, %llu bad, %llu of %llu orphans, %llu tables, %llu reruns\n",
            name, (double)r.n.code_bytes / 1e6, claims, (double)r.n.insns / 1e6, (double)r.n.insns / ms / 1e3,
            (unsigned long long)r.rows, (unsigned long long)r.table_rows, (unsigned long long)r.n.regions,
            (unsigned long long)r.n.proven, (unsigned long long)r.n.bad, (unsigned long long)r.n.solved,
            (unsigned long long)r.n.orphans, (unsigned long long)r.n.tables, (unsigned long long)r.n.reruns);
    bool pass = ms <= GOAL_MS && mb <= GOAL_MB;
    printf("synth %s, %.1f ms %.1f MB %.1f %%, CFI table %.1f ms, %.1f, <= %d ms %d MB, %s\n", name, ms, mb, claims,
           table, ms / table, GOAL_MS, GOAL_MB, pass ? "pass" : "fail");
    return !pass;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {
        LIBRARIES "libx264.so.164",
        LIBRARIES "libx265.so.199",
        LIBRARIES "libavcodec.so.59",
        LIBRARIES "libdav1d.so.6",
        LIBRARIES "openblas-pthread/libopenblas.so.0",
        LIBRARIES "libgmp.so.10",
        LIBRARIES "libnettle.so.8",
        LIBRARIES "libsodium.so.23",
        LIBRARIES "libjpeg.so.62",
    };
    int missed = 0;
    for (int i = 1; i < argc; i++)
        missed |= report(argv[i]);
    for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(*usual); i++)
        missed |= report(usual[i]);
    return missed;
}
