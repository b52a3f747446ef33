/* Memory of the names that an agent keeps (profile/name_cache.c), against that of the tables which they come from.
 *
 *     bench/named
 *
 * The 30 largest programs and libraries that processes of this machine have mapped (filled up from /usr/bin), 1,000
 * places of each named and kept. The reference keeps what most symbolizers do: each file's whole symbol tables.
 */
#include "base/cleanup.h"
#include "cfi/cfi.h"
#include "dwarf/names.h"
#include "profile/name_cache.h"
#include <fcntl.h>
#include <glob.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES  30
#define PLACES 1000
#define BUDGET ((size_t)64 << 20)

struct subject {
    char path[512];
    ino_t ino;
    off_t size;
};

struct chosen {
    struct subject v[FILES];
    size_t n;
};

/* Keeps the largest. */
static void offer(struct chosen *c, const char *path)
{
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || strlen(path) >= sizeof(c->v[0].path))
        return;
    size_t smallest = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].ino == st.st_ino)
            return;
        smallest = c->v[i].size < c->v[smallest].size ? i : smallest;
    }
    if (c->n == FILES && c->v[smallest].size >= st.st_size)
        return;
    size_t at = c->n < FILES ? c->n++ : smallest;
    c->v[at] = (struct subject){.ino = st.st_ino, .size = st.st_size};
    strcpy(c->v[at].path, path);
}

static void offer_mapped(struct chosen *c)
{
    glob_t all = {0};
    char line[1024];
    glob("/proc/[0-9]*/maps", 0, NULL, &all);
    for (size_t i = 0; i < all.gl_pathc; i++) {
        FILE *f = fopen(all.gl_pathv[i], "re");
        while (f && fgets(line, sizeof(line), f)) {
            char *path = strchr(line, '/');
            line[strcspn(line, "\n")] = 0;
            if (path && strstr(line, "r-xp"))
                offer(c, path);
        }
        if (f)
            fclose(f);
    }
    globfree(&all);
}

static void offer_installed(struct chosen *c)
{
    glob_t all = {0};
    glob("/usr/bin/*", 0, NULL, &all);
    for (size_t i = 0; i < all.gl_pathc; i++)
        offer(c, all.gl_pathv[i]);
    globfree(&all);
}

/* Places spread over its functions, and what its symbol tables take in memory; 0: it has no unwind information. */
static size_t places(int fd, u64 *offsets, size_t *table_bytes)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CFI struct cfi c = {0};
    static const char *const names[] = {".symtab", ".strtab", ".dynsym", ".dynstr"};
    if (elf_open(&e, fd) || cfi_read(&c, &e, SIZE_MAX) || !c.fdes.n)
        return 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct elf_section s;
        if (elf_section(&e, names[i], &s))
            *table_bytes += s.len;
    }
    size_t n = c.fdes.n < PLACES ? c.fdes.n : PLACES;
    for (size_t i = 0; i < n; i++)
        offsets[i] = c.fdes.v[i * c.fdes.n / n].start;
    return n;
}

static int ask(void *ctx, u32 id, const u64 *offsets, size_t n, void (*learn)(void *arg, const struct names *names),
               void *arg)
{
    AUTO_BUF struct buf reply = {0};
    struct names view;
    int rc = names_resolve(ctx, offsets, n, &reply);
    if (!rc)
        rc = names_view(reply.data, reply.len, n, &view);
    if (!rc)
        learn(arg, &view);
    return rc;
}

static void ignore(void *arg, const struct names *names)
{
}

int main(void)
{
    struct chosen c = {0};
    struct name_cache *kept;
    size_t table_bytes = 0, names = 0, files = 0;
    static u64 offsets[PLACES];
    offer_mapped(&c);
    if (c.n < FILES)
        offer_installed(&c);
    size_t before = mallinfo2().uordblks;
    if (name_cache_new(&kept, BUDGET))
        return 1;
    for (size_t i = 0; i < c.n; i++) {
        AUTO_CLOSE int fd = open(c.v[i].path, O_RDONLY | O_CLOEXEC);
        size_t n = fd < 0 ? 0 : places(fd, offsets, &table_bytes);
        struct names_fds fds = NAMES_FDS_OF(fd);
        struct name_cache_query q = {
            .id = (u32)i + 1, .owner = SHARES_ALL, .offsets = offsets, .n = n, .ask = ask, .ctx = &fds, .use = ignore};
        if (n && !name_cache_answer(kept, &q)) {
            names += n;
            files++;
        }
    }
    size_t used = mallinfo2().uordblks - before;
    printf("named-memory, %.2f MB for %zu names of %zu files, %.1f MB, %.2fx, <= 1.00x, %s\n", (double)used / 1e6,
           names, files, (double)table_bytes / 1e6, (double)used / (double)table_bytes,
           used <= table_bytes ? "pass" : "fail");
    name_cache_free(&kept);
    return 0;
}
