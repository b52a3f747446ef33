/* Unwind tables of every ELF file of this machine: our rows per second against libdw's, file by file in turns.
 *
 *     bench/cfi [most files]
 *
 * Ours is the whole of table_build: open, list, execute, number the rules, checksum. libdw's is one walk over all rows,
 * without making anything of them. Both count the rows of the finished table. Files come from the page cache: the
 * first of two builds is not counted. Time is the thread's, on a machine that may be busy. libdw gets every eighth file
 * only (it would need minutes); the ratio is of these.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "cfi/table_elf.h"
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <ftw.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>

#define REFERENCE_EVERY 8
#define GOAL_RATIO      10
#define GOAL_ROWS       50e6

struct totals {
    size_t files, most;
    u64 rows, ns;
    u64 ref_rows, ref_ours_ns, ref_ns;
};
static struct totals total; /* nftw has no argument for it */

/* Every row that libdw has for the file. */
static u64 reference(int fd)
{
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
    AUTO_ELF struct elf_file e = {0};
    AUTO_CFI struct cfi list = {0};
    u64 ns = 0;
    if (cfi && !elf_open(&e, fd) && !cfi_read(&list, &e, SIZE_MAX)) { /* where its FDEs are is a gift to libdw */
        u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (size_t i = 0; i < list.fdes.n; i++) {
            const struct cfi_fde *f = &list.fdes.v[i];
            const struct elf_segment *s = elf_segment_of(&e, f->start, PF_X);
            Dwarf_Addr at = f->start - s->offset + s->vaddr, end = at + f->len;
            while (at < end) {
                AUTO_FREE Dwarf_Frame *frame = NULL;
                Dwarf_Addr next = 0;
                if (dwarf_cfi_addrframe(cfi, at, &frame) || dwarf_frame_info(frame, NULL, &next, NULL) < 0 ||
                    next <= at)
                    break;
                at = next;
            }
        }
        ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    }
    dwarf_cfi_end(cfi);
    elf_end(elf);
    return ns;
}

static int one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    AUTO_FREE struct xp_table *t = NULL;
    AUTO_CLOSE int fd = -1;
    char magic[20];
    size_t len;
    if (type != FTW_F || total.files == total.most || (fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0 ||
        pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || memcmp(magic, ELFMAG, SELFMAG))
        return 0;
    (void)st;
    if (table_build(fd, &limits, &t, &len))
        return 0;
    free(TAKE_PTR(t));
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (table_build(fd, &limits, &t, &len))
        return 0;
    u64 ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    total.rows += t->nrows;
    total.ns += ns;
    if (total.files++ % REFERENCE_EVERY == 0) {
        u64 ref = reference(fd);
        if (ref) {
            total.ref_rows += t->nrows;
            total.ref_ours_ns += ns;
            total.ref_ns += ref;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    total.most = argc > 1 ? strtoul(argv[1], NULL, 10) : 3000;
    elf_version(EV_CURRENT);
    nftw("/", one, 64, FTW_PHYS | FTW_MOUNT);
    if (!total.ns || !total.ref_ns) {
        printf("cfi, skip: no ELF file with unwind information\n");
        return 0;
    }
    double ours = (double)total.rows / (double)total.ns * 1e9;
    double ref = (double)total.ref_rows / (double)total.ref_ns * 1e9;
    double ratio = (double)total.ref_ns / (double)total.ref_ours_ns;
    fprintf(stderr, "cfi: %zu files, %.1f M rows in %.2f s\n", total.files, (double)total.rows / 1e6,
            (double)total.ns / 1e9);
    printf("cfi, %.1f M rows/s, libdw %.1f M rows/s, %.1fx, >= %dx and >= %.0f M rows/s, %s\n", ours / 1e6, ref / 1e6,
           ratio, GOAL_RATIO, GOAL_ROWS / 1e6, ratio >= GOAL_RATIO && ours >= GOAL_ROWS ? "pass" : "fail");
    return 0;
}
