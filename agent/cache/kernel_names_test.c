#include "cache/kernel_names.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cache/cache.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* A kernel of files, and a cache. The symbol `last` stands far behind the head of kallsyms that tells kernels apart, so
 * that a change of its name alone is not seen: whoever says the old name has it from the index. */
struct machine {
    char dir[32], kallsyms[64], boot_id[64], modules[64], sys[64], cache_dir[64], index[80];
    struct kernel_paths paths;
    struct cache *cache;
};

#define LAST 0xffffffff81100000ull
#define EXT4 0xffffffffc0001000ull
#define BPF  0xffffffffc0002000ull

static int write_file(const char *path, const char *text)
{
    return fs_replace_file(path, text, strlen(text), 0600);
}

static int write_symbols(struct machine *m, const char *last, const char *module, const char *program)
{
    AUTO_BUF struct buf b = {0};
    for (unsigned i = 0; i < 200; i++)
        buf_printf(&b, "%llx T function_%u\n", 0xffffffff81000000ull + i * 16, i);
    buf_printf(&b, "%llx T %s\n%llx T _etext\n", LAST, last, LAST + 64);
    buf_printf(&b, "%llx t %s\t[ext4]\n%llx t ext4_end\t[ext4]\n", EXT4, module, EXT4 + 64);
    buf_printf(&b, "%llx t %s\t[bpf]\n", BPF, program);
    buf_char(&b, 0);
    return b.failed ? -ENOMEM : write_file(m->kallsyms, b.data);
}

static int make_machine(struct machine *m)
{
    *m = (struct machine){.dir = "/tmp/xprof-kernel-XXXXXX"};
    if (!mkdtemp(m->dir))
        return -errno;
    snprintf(m->kallsyms, sizeof(m->kallsyms), "%s/kallsyms", m->dir);
    snprintf(m->boot_id, sizeof(m->boot_id), "%s/boot_id", m->dir);
    snprintf(m->modules, sizeof(m->modules), "%s/modules", m->dir);
    snprintf(m->sys, sizeof(m->sys), "%s/ext4", m->dir);
    snprintf(m->cache_dir, sizeof(m->cache_dir), "%s/cache", m->dir);
    snprintf(m->index, sizeof(m->index), "%s/kernel.xpk", m->cache_dir);
    m->paths = (struct kernel_paths){
        .kallsyms = m->kallsyms, .boot_id = m->boot_id, .modules = m->modules, .modules_dir = m->dir};
    int rc = write_symbols(m, "last", "ext4_read", "bpf_prog_1");
    if (!rc)
        rc = write_file(m->boot_id, "e93dfc55-19fd-4d63-bc35-991fd065de75\n");
    if (!rc)
        rc = write_file(m->modules, "ext4 8192 1 - Live 0xffffffffc0001000\n");
    if (!rc && mkdir(m->sys, 0700))
        rc = -errno;
    return rc ? rc : cache_open(&m->cache, m->cache_dir, 1 << 20);
}

static void free_machine(struct machine *m)
{
    AUTO_FREE char *command = NULL;
    cache_free(&m->cache);
    if (asprintf(&command, "rm -rf %s", m->dir) < 0 || system(command))
        perror(m->dir);
}

/* What a new process calls an address; "": nothing. */
static const char *name_of(const struct machine *m, u64 address, char out[64])
{
    CLEANUP(kernel_names_free) struct kernel_names *n = NULL;
    struct kallsym s;
    out[0] = 0;
    if (kernel_names_new(&n, &m->paths, m->cache) || kernel_names_keep(n))
        return "failed";
    if (kernel_names_find(n, address, &s))
        snprintf(out, 64, "%s", s.name);
    return out;
}

TEST(kernel_names_come_from_the_index)
{
    CLEANUP(free_machine) struct machine m;
    char name[64];
    struct stat st;
    CHECK_EQ(make_machine(&m), 0);
    CHECK_STR(name_of(&m, LAST, name), "last");
    CHECK(!stat(m.index, &st) && (st.st_mode & 07777) == 0600);
    CHECK(!stat(m.cache_dir, &st) && (st.st_mode & 07777) == 0700);
    CHECK_EQ(write_symbols(&m, "changed", "changed", "bpf_prog_2"), 0);
    CHECK_STR(name_of(&m, LAST, name), "last");
    CHECK_STR(name_of(&m, LAST + 63, name), "last");
    CHECK_STR(name_of(&m, EXT4, name), "ext4_read");
    CHECK_STR(name_of(&m, BPF, name), "bpf_prog_2"); /* asked anew */
    CHECK_STR(name_of(&m, 0xffffffff91000000, name), "");
    CHECK_EQ(write_file(m.modules, "ext4 8192 7 jbd2,mbcache, Live 0xffffffffc0001000\n"), 0);
    CHECK_STR(name_of(&m, LAST, name), "last"); /* it only has other users */
    CLEANUP(kernel_names_free) struct kernel_names *n = NULL;
    struct kallsym s;
    CHECK_EQ(kernel_names_new(&n, &m.paths, NULL), 0);
    CHECK(kernel_names_find(n, LAST, &s));
    CHECK_STR(s.name, "changed"); /* without a cache */
}

TEST(kernel_names_of_another_moment)
{
    CLEANUP(free_machine) struct machine m;
    char name[64];
    CHECK_EQ(make_machine(&m), 0);
    CHECK_STR(name_of(&m, LAST, name), "last");
    CHECK_EQ(write_symbols(&m, "second", "other", "x"), 0);
    CHECK_EQ(write_file(m.boot_id, "11111111-19fd-4d63-bc35-991fd065de75\n"), 0);
    CHECK_STR(name_of(&m, LAST, name), "second");
    CHECK_EQ(write_symbols(&m, "third", "other", "x"), 0);
    CHECK_STR(name_of(&m, LAST, name), "second"); /* that was kept */
    static const char *const modules[] = {"ext4 8192 1 - Live 0xffffffffc0005000\n",
                                          "ext4 8192 1 - Loading 0xffffffffc0005000\n",
                                          "ext4 9999 1 - Loading 0xffffffffc0005000\n", ""};
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        char text[32];
        snprintf(text, sizeof(text), "moment_%zu", i);
        CHECK_EQ(write_symbols(&m, text, "other", "x"), 0);
        CHECK_EQ(write_file(m.modules, modules[i]), 0);
        CHECK_STR(name_of(&m, LAST, name), text);
    }
    CHECK_EQ(unlink(m.modules), 0); /* a kernel without modules */
    CHECK_STR(name_of(&m, LAST, name), "moment_3");
}

/* The same module, loaded again at the same address: only its folder is another one. */
TEST(kernel_names_of_a_module_that_was_loaded_again)
{
    CLEANUP(free_machine) struct machine m;
    char name[64], other[64];
    CHECK_EQ(make_machine(&m), 0);
    CHECK_STR(name_of(&m, EXT4, name), "ext4_read");
    CHECK_EQ(write_symbols(&m, "last", "ext4_rebuilt", "x"), 0);
    snprintf(other, sizeof(other), "%s/other", m.dir);
    CHECK(!mkdir(other, 0700) && !rename(other, m.sys)); /* while the old one exists: another inode */
    CHECK_STR(name_of(&m, EXT4, name), "ext4_rebuilt");
}

TEST(kernel_names_that_are_hidden)
{
    CLEANUP(free_machine) struct machine m;
    CLEANUP(kernel_names_free) struct kernel_names *n = NULL;
    struct kallsym s;
    char name[64];
    CHECK_EQ(make_machine(&m), 0);
    CHECK_STR(name_of(&m, LAST, name), "last");
    CHECK_EQ(write_file(m.kallsyms, "0000000000000000 T function_0\n0000000000000000 T last\n"), 0);
    CHECK_EQ(kernel_names_new(&n, &m.paths, m.cache), 0);
    CHECK(kernel_names_hidden(n)); /* not what the index still knows */
    CHECK_EQ(kernel_names_keep(n), 0);
    CHECK(!kernel_names_find(n, LAST, &s));
    CHECK_EQ(write_symbols(&m, "changed", "x", "x"), 0);
    CHECK_STR(name_of(&m, LAST, name), "last"); /* the old index is as good as before */
}

TEST(kernel_names_from_a_damaged_index)
{
    CLEANUP(free_machine) struct machine m;
    AUTO_FREE char *data = NULL;
    char name[64];
    size_t len;
    CHECK_EQ(make_machine(&m), 0);
    CHECK_STR(name_of(&m, LAST, name), "last");
    CHECK_EQ(fs_read_file(m.index, 1 << 20, &data, &len), 0);
    for (size_t at = 0; at < len; at += 37) {
        CHECK_EQ(write_symbols(&m, at % 2 ? "odd" : "even", "x", "x"), 0);
        data[at] ^= 4;
        CHECK_EQ(fs_replace_file(m.index, data, len, 0600), 0);
        CHECK_STR(name_of(&m, LAST, name), at % 2 ? "odd" : "even");
        CHECK_EQ(write_symbols(&m, "changed", "x", "x"), 0);
        CHECK_STR(name_of(&m, LAST, name), at % 2 ? "odd" : "even"); /* made anew */
        data[at] ^= 4;
    }
    CHECK_EQ(truncate(m.index, (256ll << 20) + 1), 0);
    CHECK_STR(name_of(&m, LAST, name), "changed");
    for (size_t part = 0; part < 100; part += 8) {
        CHECK_EQ(fs_replace_file(m.index, data, part, 0600), 0);
        CHECK_STR(name_of(&m, LAST, name), "changed");
        CHECK_EQ(write_symbols(&m, "again", "x", "x"), 0);
        CHECK_STR(name_of(&m, LAST, name), "changed"); /* made anew */
        CHECK_EQ(write_symbols(&m, "changed", "x", "x"), 0);
    }
}

static bool has_index(const struct machine *m)
{
    return !access(m->index, F_OK);
}

/* A module came or went while the text was read: what was read is of no one moment. */
TEST(kernel_names_are_kept_of_one_moment)
{
    CLEANUP(free_machine) struct machine m;
    CLEANUP(kernel_names_free) struct kernel_names *n = NULL;
    CHECK_EQ(make_machine(&m), 0);
    CHECK_EQ(kernel_names_new(&n, &m.paths, m.cache), 0);
    CHECK_EQ(write_file(m.modules, "ext4 8192 1 - Unloading 0xffffffffc0001000\n"), 0);
    CHECK_EQ(kernel_names_keep(n), 0);
    CHECK(!has_index(&m));
    kernel_names_free(&n);
    CHECK(!n);
    CHECK_EQ(kernel_names_new(&n, &m.paths, m.cache), 0);
    CHECK_EQ(unlink(m.boot_id), 0);
    CHECK_EQ(kernel_names_keep(n), -ENOENT);
    CHECK(!has_index(&m));
}

TEST(kernel_names_are_kept_once)
{
    CLEANUP(free_machine) struct machine m;
    CLEANUP(kernel_names_free) struct kernel_names *n = NULL;
    CHECK_EQ(make_machine(&m), 0);
    CHECK_EQ(kernel_names_new(&n, &m.paths, m.cache), 0);
    CHECK_EQ(kernel_names_keep(n), 0);
    CHECK(has_index(&m));
    CHECK_EQ(unlink(m.index), 0);
    CHECK_EQ(kernel_names_keep(n), 0);
    CHECK(!has_index(&m));
    kernel_names_free(&n);
    cache_free(&m.cache);
    CHECK_EQ(cache_open(&m.cache, m.cache_dir, 1), 0);
    CHECK_EQ(kernel_names_new(&n, &m.paths, m.cache), 0);
    CHECK_EQ(kernel_names_keep(n), -EFBIG);
}

/* Where it cannot be said which kernel that is, names are those of the text, and not kept. */
TEST(kernel_names_of_nobody_knows_which_kernel)
{
    for (int i = 0; i < 3; i++) {
        CLEANUP(free_machine) struct machine m;
        char name[64];
        CHECK_EQ(make_machine(&m), 0);
        if (i == 0)
            CHECK_EQ(unlink(m.boot_id), 0);
        if (i == 1)
            CHECK_EQ(write_file(m.boot_id, "e93dfc55-19fd-4d63-bc35-991fd065de75-abc"), 0);
        if (i == 2)
            m.paths.modules = m.dir; /* a directory cannot be read */
        CHECK_STR(name_of(&m, LAST, name), "last");
        CHECK(!has_index(&m));
        CHECK_EQ(write_symbols(&m, "changed", "x", "x"), 0);
        CHECK_STR(name_of(&m, LAST, name), "changed");
    }
}

TEST(kernel_names_without_symbols)
{
    CLEANUP(free_machine) struct machine m;
    struct kernel_names *n = NULL;
    CHECK_EQ(make_machine(&m), 0);
    CHECK_EQ(unlink(m.kallsyms), 0);
    CHECK_EQ(kernel_names_new(&n, &m.paths, m.cache), -ENOENT);
    CHECK_EQ(kernel_names_new(&n, &m.paths, NULL), -ENOENT);
    CHECK(!n);
}

/* Two lines that differ only in what is missing at their end are of two moments; so are the same modules in another
 * order, and names that are too long for a folder. */
TEST(kernel_names_of_lines_that_are_cut)
{
    CLEANUP(free_machine) struct machine m;
    char name[64], long_name[600], text[32];
    const char *const modules[] = {"ext4\n",
                                   "ext4 8192\n",
                                   "ext4 8192 1 - Live\n",
                                   "ext4 8192 1 - Live 0x1\nxfs 1 1 - Live 0x2\n",
                                   "xfs 1 1 - Live 0x2\next4 8192 1 - Live 0x1\n",
                                   long_name};
    memset(long_name, 'a', sizeof(long_name));
    strcpy(long_name + 590, " 1\n");
    CHECK_EQ(make_machine(&m), 0);
    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        snprintf(text, sizeof(text), "moment_%zu", i);
        CHECK_EQ(write_symbols(&m, text, "other", "x"), 0);
        CHECK_EQ(write_file(m.modules, modules[i]), 0);
        CHECK_STR(name_of(&m, LAST, name), text);
        CHECK_EQ(write_symbols(&m, "changed", "other", "x"), 0);
        CHECK_STR(name_of(&m, LAST, name), text);
    }
}
