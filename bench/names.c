/* Names a second: names_resolve against eu-addr2line and llvm-symbolizer, on the same file and the same addresses.
 *
 *     bench/names [file]
 *
 * Addresses in functions of a big program with a symbol table; each tool gets them all at once, its start included, as
 * our reading of the file is (eu-addr2line a twentieth of them: it reads the table anew for each). CPU time of the
 * thread, and of the child. All demangle.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "cfi/cfi.h"
#include "dwarf/names.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NAMES 20000
#define FEW   1000

static u64 offsets[NAMES], addresses[NAMES];

/* Places spread over all functions. */
static int choose(int fd)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CFI struct cfi c = {0};
    if (elf_open(&e, fd) || cfi_read(&c, &e, SIZE_MAX) || !c.fdes.n)
        return -1;
    u64 random = 88172645463325252ull;
    for (size_t i = 0; i < NAMES; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const struct cfi_fde *f = &c.fdes.v[random % c.fdes.n];
        const struct elf_segment *s = elf_segment_of(&e, f->start, PF_X);
        offsets[i] = f->start + (random >> 32) % f->len;
        addresses[i] = offsets[i] - s->offset + s->vaddr;
    }
    return 0;
}

static double ours(int fd, size_t n)
{
    AUTO_BUF struct buf reply = {0};
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (names_resolve(&(struct names_fds)NAMES_FDS_OF(fd), offsets, n, &reply))
        return 0;
    return (double)n * 1e9 / (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

/* The tool reads addresses from its standard input; its answers go nowhere. Names a second, 0: it cannot be run. */
static double tool(char *const argv[], size_t n)
{
    FILE *in = tmpfile();
    if (!in)
        return 0;
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
    struct rusage r;
    int status;
    fclose(in);
    if (pid < 0 || wait4(pid, &status, 0, &r) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
        return 0;
    double s =
        (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
    return s > 0 ? (double)n / s : 0;
}

static void compare(const char *name, int fd, char *const argv[], size_t n, double goal)
{
    double we = 0, they = 0;
    for (int i = 0; i < 2; i++) { /* in turns; the best of each */
        double w = ours(fd, n), t = tool(argv, n);
        we = w > we ? w : we;
        they = t > they ? t : they;
    }
    if (they == 0)
        printf("names-%s, skip: %s cannot be run\n", name, argv[0]);
    else
        printf("names-%s, %.0f k names/s, %.1f k names/s, %.1fx, >= %.0fx, %s\n", name, we / 1e3, they / 1e3, we / they,
               goal, we / they >= goal ? "pass" : "fail");
}

int main(int argc, char **argv)
{
    static const char *const big[] = {"/usr/bin/node", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/proc/self/exe"};
    const char *path = argc > 1 ? argv[1] : NULL;
    for (size_t i = 0; !path; i++)
        path = access(big[i], R_OK) ? NULL : big[i];
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || choose(fd)) {
        printf("names, skip: %s has no functions\n", path);
        return 0;
    }
    char *eu[] = {"eu-addr2line", "-f", "-C", "-e", (char *)path, NULL};
    char obj[4096];
    snprintf(obj, sizeof(obj), "--obj=%s", path);
    char *llvm[] = {"llvm-symbolizer", obj, "--no-inlines", "--demangle", NULL};
    compare("elfutils", fd, eu, FEW, 10);
    compare("llvm", fd, llvm, NAMES, 2);
    return 0;
}
