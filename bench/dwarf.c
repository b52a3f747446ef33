/* Line indexes: how fast they are made, how large they are, and what a look-up costs; against llvm-symbolizer and
 * eu-addr2line, on the same file and addresses in the same run. CPU time, the tools' start included.
 *
 *     bench/dwarf [FILE]            a file with debug information; without it, the largest that is here
 *     bench/dwarf --names FILE      names addresses (hex, one a line) from standard input: name|file:line, tabs between
 *                                   inlined callers, innermost first, names as in the file. For e2e/dwarf/agree.py.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/debug_links.h"
#include "dwarf/names_elf.h"
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MANY 100000
#define BIG  20e6 /* bytes of debug information from which on goals of the build make sense: start-up is behind it */
#define FEW  1000 /* for eu-addr2line, which needs 30 ms for each where inlining is deep */

struct subject {
    const char *path;
    struct elf_file elf;
    void *index;
    size_t len;
    struct dwarf_index x;
    double seconds; /* of the build */
    u64 *addresses; /* MANY, in code that the index covers */
};

static double cpu_since(u64 start)
{
    return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;
}

/* What dwz moved out, from where the file lies. */
static bool open_alt(const struct subject *s, struct elf_file *alt)
{
    struct debug_links l;
    char path[4096];
    const char *slash = strrchr(s->path, '/');
    debug_links_of(&s->elf, false, &l);
    if (!*l.alt)
        return false;
    snprintf(path, sizeof(path), "%.*s%s", *l.alt == '/' || !slash ? 0 : (int)(slash + 1 - s->path), s->path, l.alt);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && !elf_open(alt, fd);
}

static int build(struct subject *s, bool best)
{
    AUTO_ELF struct elf_file alt = {0};
    AUTO_CLOSE int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    static const struct dwarf_limits limits = {.cpu_ns = 600 * NS_PER_SEC, .max_bytes = (size_t)1 << 30};
    int err = fd < 0 ? -1 : elf_open(&s->elf, fd);
    const struct dwarf_parts parts = {.alt = !err && open_alt(s, &alt) ? &alt : NULL};
    for (int i = 0; i < (best ? 3 : 1) && !err; i++) { /* the best: others may use the machine */
        free(s->index);
        u64 start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        err = dwarf_index_build(&s->elf, &parts, &limits, &s->index, &s->len);
        double seconds = cpu_since(start);
        s->seconds = i && s->seconds < seconds ? s->seconds : seconds;
    }
    return err ? err : dwarf_index_open(&s->x, s->index, s->len);
}

static void choose_addresses(struct subject *s)
{
    u64 random = 88172645463325252ull, last = s->x.start[s->x.h->nblocks - 1];
    struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
    for (size_t i = 0; i < MANY;) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        s->addresses[i] = s->x.h->base + random % (last + 1);
        i += dwarf_index_find(&s->x, s->addresses[i], f) > 0;
    }
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* Of a debug file, which has no code that an offset could lie in: what the index says. */
static void print_indexed(const struct subject *s, u64 address)
{
    struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
    unsigned n = dwarf_index_find(&s->x, address, f);
    for (unsigned i = 0; i < n; i++) {
        struct dwarf_text name, file;
        dwarf_index_text(&s->x, f[i].name, &name);
        dwarf_index_text(&s->x, f[i].file, &file);
        printf("\t%s|%s:%u", name.s, file.s, f[i].line);
    }
}

static void print_frames(const struct names *v, u32 i)
{
    for (u32 f = v->first[i]; f < v->first[i + 1]; f++)
        printf("\t%s|%s:%u", v->strings + v->frames[f].system_name, v->strings + v->frames[f].file, v->frames[f].line);
}

static size_t read_addresses(u64 *addresses, size_t max)
{
    char line[64];
    size_t n = 0;
    while (n < max && fgets(line, sizeof(line), stdin))
        addresses[n++] = strtoull(line, NULL, 16);
    return n;
}

static int print_names(const char *path)
{
    struct subject s = {.path = path};
    AUTO_FREE u64 *addresses = calloc(MANY, sizeof(u64));
    AUTO_FREE u64 *offsets = calloc(MANY, sizeof(u64));
    AUTO_BUF struct buf reply = {0};
    struct names v;
    if (!addresses || !offsets || build(&s, false))
        return 1;
    size_t n = read_addresses(addresses, MANY);
    for (size_t i = 0; i < n; i++) {
        const struct elf_segment *seg = elf_segment_at(&s.elf, addresses[i], PF_X);
        offsets[i] = seg ? addresses[i] - seg->vaddr + seg->offset : ~0ull;
    }
    if (names_resolve_elf(&s.elf, &s.x, NULL, DEMANGLE_FULL, offsets, n, &reply) ||
        names_view(reply.data, reply.len, n, &v))
        return 1;
    for (u32 i = 0; i < n; i++) {
        printf("0x%llx", (unsigned long long)addresses[i]);
        if (offsets[i] == ~0ull)
            print_indexed(&s, addresses[i]);
        else
            print_frames(&v, i);
        putchar('\n');
    }
    free(s.index);
    elf_close(&s.elf);
    return 0;
}

/* ---- Tools ------------------------------------------------------------------------------------------------------ */

struct cost {
    double seconds;
    long rss_mb;
};

/* A child's CPU time for n addresses from standard input; 0 s: it cannot be run. */
static struct cost run_tool(char *const argv[], const u64 *addresses, size_t n)
{
    struct rusage r;
    int status;
    FILE *in = tmpfile();
    if (!in)
        return (struct cost){0};
    for (size_t i = 0; i < n; i++)
        fprintf(in, "0x%llx\n", (unsigned long long)addresses[i]);
    fflush(in);
    rewind(in);
    pid_t pid = fork();
    if (!pid) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(fileno(in), 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(argv[0], argv);
        _exit(127);
    }
    fclose(in);
    if (pid < 0 || wait4(pid, &status, 0, &r) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
        return (struct cost){0};
    double s =
        (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
    return (struct cost){s, r.ru_maxrss / 1024};
}

/* Another run of this program builds an index and reports its peak. */
static long build_rss(const char *path)
{
    char *argv[] = {"/proc/self/exe", "--names", (char *)path, NULL};
    return run_tool(argv, NULL, 0).rss_mb;
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

static void goal(const char *name, const char *ours, const char *reference, double ratio, const char *text, bool pass)
{
    printf("dwarf-%s, %s, %s, %.2f, %s, %s\n", name, ours, reference, ratio, text, pass ? "pass" : "fail");
}

static bool is_rust(const struct subject *s)
{
    struct elf_section sec;
    return elf_section(&s->elf, ".debug_gdb_scripts", &sec);
}

static void report_build(const struct subject *s)
{
    struct elf_section sec;
    char ours[64];
    double bytes = (double)s->x.h->debug_bytes, rate = bytes / 1e6 / s->seconds, share = 100 * (double)s->len / bytes;
    bool compressed = elf_section(&s->elf, ".debug_info", &sec) && sec.flags & SHF_COMPRESSED;
    snprintf(ours, sizeof(ours), "%.0f MB/s of %.0f MB", rate, bytes / 1e6);
    if (compressed || bytes < BIG) /* zlib alone makes 300 MB a second */
        printf("dwarf-build, %s, %s, -, -, -\n", ours, compressed ? "inflating it included" : "-");
    else
        goal("build", ours, "-", rate, ">= 300 MB/s", rate >= 300);
    double most = is_rust(s) ? 20 : bytes < BIG ? 12 : 10;
    char text[32];
    snprintf(text, sizeof(text), "<= %.0f %%", most);
    snprintf(ours, sizeof(ours), "%.1f %% of it", share);
    goal("index-size", ours, "-", share, text, share <= most);
}

static void compare_memory(const struct subject *s, char *const argv[])
{
    char ours[64], theirs[64];
    long we = build_rss(s->path), they = run_tool(argv, s->addresses, 1).rss_mb;
    snprintf(ours, sizeof(ours), "%ld MB to index all", we);
    snprintf(theirs, sizeof(theirs), "%ld MB for 1 address", they);
    if (they)
        goal("memory", ours, theirs, (double)they / (double)(we ? we : 1), ">= 1x", they >= we);
}

/* CPU seconds of the look-ups alone: what an agent with a cached index pays. */
static double look_up(const struct subject *s, size_t n)
{
    u64 start = clock_ns(CLOCK_PROCESS_CPUTIME_ID), frames = 0;
    struct dwarf_frame f[DWARF_INDEX_MAX_FRAMES];
    for (size_t i = 0; i < n; i++)
        frames += dwarf_index_find(&s->x, s->addresses[i], f);
    return frames ? cpu_since(start) : 0;
}

static void compare(const struct subject *s, const char *name, char *const argv[], size_t n, double least)
{
    char ours[64], theirs[64], text[32];
    struct cost they = run_tool(argv, s->addresses, n);
    double we = look_up(s, n);
    if (they.seconds == 0) {
        printf("dwarf-%s, skip: %s cannot be run\n", name, argv[0]);
        return;
    }
    snprintf(ours, sizeof(ours), "%.0f ns each", we * 1e9 / (double)n);
    snprintf(theirs, sizeof(theirs), "%.2f s for %zu and %ld MB", they.seconds, n, they.rss_mb);
    snprintf(text, sizeof(text), ">= %.0fx", least);
    goal(name, ours, theirs, they.seconds / we, text, they.seconds / we >= least);
}

/* Nothing is cached: the build and one look-up, against one address. */
static void compare_first(const struct subject *s, char *const argv[])
{
    char ours[64], theirs[64];
    struct cost they = run_tool(argv, s->addresses, 1), many = run_tool(argv, s->addresses, FEW);
    if (they.seconds == 0)
        return;
    snprintf(ours, sizeof(ours), "%.2f s once", s->seconds);
    snprintf(theirs, sizeof(theirs), "%.2f s; %.2f s for %d", they.seconds, many.seconds, FEW);
    goal("first-answer", ours, theirs, many.seconds / s->seconds, ">= 1x for 1000", many.seconds >= s->seconds);
}

static const char *largest(glob_t *g)
{
    struct stat st;
    const char *best = "/proc/self/exe";
    off_t size = stat(best, &st) ? 0 : st.st_size;
    for (size_t i = 0; i < g->gl_pathc; i++)
        if (!stat(g->gl_pathv[i], &st) && st.st_size > size) {
            best = g->gl_pathv[i];
            size = st.st_size;
        }
    return best;
}

int main(int argc, char **argv)
{
    glob_t g = {0};
    if (argc == 3 && !strcmp(argv[1], "--names"))
        return print_names(argv[2]);
    glob("/usr/lib/debug/.build-id/*/*.debug", 0, NULL, &g);
    struct subject s = {.path = argc > 1 ? argv[1] : largest(&g), .addresses = calloc(MANY, sizeof(u64))};
    if (!s.addresses || build(&s, true) || !s.x.h->nblocks) {
        printf("dwarf, skip: %s has no debug information\n", s.path);
        return 0;
    }
    fprintf(stderr, "%s\n", s.path);
    choose_addresses(&s);
    char obj[4096];
    snprintf(obj, sizeof(obj), "--obj=%s", s.path);
    char *llvm[] = {"llvm-symbolizer", obj, "--inlines", "--no-demangle", NULL};
    char *eu[] = {"eu-addr2line", "-i", "-f", "-e", (char *)s.path, NULL};
    report_build(&s);
    compare_memory(&s, llvm);
    compare_first(&s, llvm);
    compare(&s, "llvm", llvm, MANY, 20);
    compare(&s, "elfutils", eu, FEW, 20);
    free(s.addresses);
    free(s.index);
    elf_close(&s.elf);
    globfree(&g);
    return 0;
}
