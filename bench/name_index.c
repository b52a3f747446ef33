/* Name indexes (dwarf/name_index.h) against reading the files: the same names, their size, and the CPU time of naming a
 * few new offsets, as an agent does in every interval.
 *
 *     bench/name_index [file...]
 *
 * All programs and libraries of the machine; the offsets are chosen at random in their code.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "dwarf/names_elf.h"
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PLACES 1000 /* of each file */
#define FEW    20   /* in an interval */

struct sums {
    size_t files, refused, places, differ;
    u64 index_bytes, file_bytes, build_ns;
    u64 largest, largest_build_ns, by_index_ns, by_file_ns; /* of the largest index */
};

static size_t choose(const struct elf_file *e, u64 out[PLACES])
{
    size_t n = 0;
    for (size_t i = 0; i < e->nloads; i++)
        for (u64 k = 0; e->loads[i].flags & PF_X && e->loads[i].filesz && n < PLACES && k < PLACES; k++)
            out[n++] = e->loads[i].offset + hash_u64(k) % e->loads[i].filesz;
    return n;
}

static int resolve(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out, struct names *view)
{
    out->len = 0;
    int err = names_resolve(f, offsets, n, out);
    return err ? err : names_view(out->data, out->len, n, view);
}

static bool equal(const struct names *a, u32 i, const struct names *b, u32 k)
{
    const struct names_frame *x = &a->frames[a->first[i]], *y = &b->frames[b->first[k]];
    return x->start == y->start && !strcmp(a->strings + x->system_name, b->strings + y->system_name) &&
           !strcmp(a->strings + x->name, b->strings + y->name);
}

/* A place in symbols of three levels is read right when it is asked for alone. */
static void compare(const struct names_fds *read, const struct names_fds *index, const u64 *offsets, size_t n,
                    struct sums *s)
{
    AUTO_BUF struct buf a = {0}, b = {0}, one = {0};
    struct names v, w, single;
    if (resolve(read, offsets, n, &a, &v) || resolve(index, offsets, n, &b, &w)) {
        s->differ += n;
        return;
    }
    for (u32 i = 0; i < n; i++)
        if (!equal(&v, i, &w, i) && (resolve(read, &offsets[i], 1, &one, &single) || !equal(&single, 0, &w, i)))
            s->differ++;
    s->places += n;
}

static u64 time_of(const struct names_fds *f, const u64 *offsets)
{
    AUTO_BUF struct buf out = {0};
    u64 best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        out.len = 0;
        if (names_resolve(f, offsets, FEW, &out))
            return 0;
        u64 took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        best = took < best ? took : best;
    }
    return best;
}

static void measure(int fd, struct sums *s)
{
    static u64 offsets[PLACES];
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE void *data = NULL;
    struct names_fds read = NAMES_FDS_OF(fd), index = NAMES_FDS_OF(-1);
    size_t len, n = elf_open(&e, fd) ? 0 : choose(&e, offsets);
    if (!n)
        return;
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int err = names_index_fds(&read, false, &data, &len);
    u64 took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    s->build_ns += took;
    s->files++;
    s->refused += err != 0;
    AUTO_CLOSE int names = err ? -1 : fs_sealed_memfd("index", data, len);
    if (names < 0)
        return;
    index.names = names;
    s->index_bytes += len;
    s->file_bytes += e.size;
    compare(&read, &index, offsets, n, s);
    if (len > s->largest && n >= FEW) {
        s->largest = len;
        s->largest_build_ns = took;
        s->by_index_ns = time_of(&index, offsets);
        s->by_file_ns = time_of(&read, offsets);
    }
}

static void verdict(const char *name, double ours, double reference, const char *unit, double goal)
{
    double ratio = reference > 0 ? ours / reference : 0;
    printf("%s, %.2f %s, %.2f %s, %.3f, <= %.2f, %s\n", name, ours, unit, reference, unit, ratio, goal,
           ratio <= goal ? "pass" : "fail");
}

int main(int argc, char **argv)
{
    glob_t all = {0};
    struct sums s = {0};
    int flags = 0;
    for (int i = 1; i < argc; i++, flags = GLOB_APPEND)
        glob(argv[i], flags, NULL, &all);
    static const char *const everything[] = {"/usr/lib/*/*.so*", "/usr/lib/*/*/*.so*", "/usr/bin/*", "/usr/sbin/*",
                                             "/usr/lib/*/bin/*"};
    for (size_t i = 0; argc == 1 && i < sizeof(everything) / sizeof(*everything); i++, flags = GLOB_APPEND)
        glob(everything[i], flags, NULL, &all);
    for (size_t i = 0; i < all.gl_pathc; i++) {
        AUTO_CLOSE int fd = open(all.gl_pathv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        if (fd >= 0)
            measure(fd, &s);
    }
    globfree(&all);
    fprintf(stderr, "name_index: %zu files, %zu without an index, built in %.1f s; the largest, %.1f MB, in %.0f ms\n",
            s.files, s.refused, (double)s.build_ns / 1e9, (double)s.largest / 1e6, (double)s.largest_build_ns / 1e6);
    printf("name-index: names that differ, %zu, %zu names, -, 0, %s\n", s.differ, s.places, s.differ ? "fail" : "pass");
    verdict("name-index: bytes", (double)s.index_bytes / 1e6, (double)s.file_bytes / 1e6, "MB", 0.2);
    verdict("name-index: 20 new names of the largest index", (double)s.by_index_ns / 1e6, (double)s.by_file_ns / 1e6,
            "ms", 0.2);
    return 0;
}
