#include "inspect/desk_test.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "cfi/unwind_fixture.h"
#include "inspect/address_space.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int read_nothing(void *ctx, void *to, u32 len, u64 from)
{
    return 1;
}

__attribute__((noinline)) static int own_registers(struct xp_regs *regs)
{
    ucontext_t u;
    if (getcontext(&u))
        return -1;
    regs_of_context(&u, regs);
    return 0;
}

/* Registers and stack of this thread at one moment: address_space_read would see the stack as it is later. */
struct snapshot {
    u64 sp;
    u32 len;
    u8 stack[1 << 16];
};

static int read_snapshot(void *ctx, void *to, u32 len, u64 from)
{
    const struct snapshot *s = ctx;
    if (from < s->sp || from - s->sp > s->len || len > s->len - (from - s->sp))
        return 1;
    memcpy(to, s->stack + (from - s->sp), len);
    return 0;
}

__attribute__((noinline)) static int take_snapshot(struct snapshot *s, struct xp_regs *regs)
{
    if (own_registers(regs))
        return -1;
    u64 here = (u64)(uintptr_t)__builtin_frame_address(0);
    regs->r[6] = here;     /* rbp: this function's frame, */
    regs->r[7] = here - 8; /* whose caller is found by it */
    s->sp = here - 4096;
    s->len = sizeof(s->stack);
    struct iovec to = {s->stack, s->len}, from = {(void *)(uintptr_t)s->sp, s->len};
    ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    s->len = n > 0 ? (u32)n : 0;
    return n > 4096 ? 0 : -1;
}

static const struct xp_vma *mapping_at(const struct address_space *s, u64 address)
{
    size_t n;
    const struct xp_vma *v = address_space_mappings(s, &n);
    for (size_t i = 0; i < n; i++)
        if (address >= v[i].start && address < v[i].end)
            return &v[i];
    return NULL;
}

TEST(address_space_reads_a_process)
{
    AUTO_DESK d = {.dir = ""};
    CLEANUP(address_space_free) struct address_space *s = NULL;
    static volatile int value = 4711;
    int got = 0, error, parts[2];
    size_t n;
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(pipe2(parts, O_CLOEXEC), 0);
    pid_t child = fork();
    if (!child) {
        value = 815; /* the child's, not ours */
        if (write(parts[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    bool ready = child > 0 && read(parts[0], &got, 1) == 1;
    int rc = address_space_new(&s, d.binaries, (u32)child);
    bool good = !rc && !address_space_read(s, &got, sizeof(got), (u64)(uintptr_t)&value);
    bool bad = !rc && address_space_read(s, &got + 0, sizeof(got), 16) == 1;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(parts[0]);
    close(parts[1]);
    CHECK(ready && good && bad);
    CHECK_EQ(got, 815);
    const struct xp_vma *m = address_space_mappings(s, &n);
    CHECK(n > 2);
    for (size_t i = 1; i < n; i++)
        CHECK(m[i].start >= m[i - 1].end);
    size_t unopened = address_space_unopened(s, &error);
    CHECK_EQ(unopened != 0, error != 0);
    const struct xp_vma *text = mapping_at(s, (u64)(uintptr_t)own_registers);
    CHECK(text && (text->file.id || unopened));
    struct address_space *gone = NULL;
    CHECK_EQ(address_space_new(&gone, d.binaries, (u32)child), -ESRCH);
    CHECK(!gone);
}

__attribute__((noinline)) static int inspect_leaf(struct snapshot *s, struct xp_regs *regs)
{
    int rc = take_snapshot(s, regs);
    __asm__ volatile("" : "+r"(rc));
    return rc;
}

TEST(address_space_unwinds_and_names)
{
    AUTO_DESK d = {.dir = ""};
    CLEANUP(address_space_free) struct address_space *space = NULL;
    AUTO_FREE struct snapshot *s = calloc(1, sizeof(*s));
    AUTO_FREE struct xp_state *state = calloc(1, sizeof(*state));
    struct xp_regs regs;
    int error;
    CHECK(s && state);
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(address_space_new(&space, d.binaries, (u32)getpid()), 0);
    if (address_space_unopened(space, &error))
        SKIP("mapped files cannot be opened without privileges");
    const struct xp_vma *text = mapping_at(space, (u64)(uintptr_t)inspect_leaf);
    CHECK(text && text->file.id >= XP_FILE_FIRST);
    CHECK_EQ(text->file.state, XP_FILE_PENDING); /* its table is fetched when it is needed */
    CHECK_EQ(inspect_leaf(s, &regs), 0);
    for (int i = 0; i < 2; i++) {
        address_space_unwind(space, &regs, 0, i ? read_nothing : read_snapshot, s, state);
        CHECK_EQ(text->file.state, XP_FILE_READY);
        CHECK(text->file.nblocks > 0);
        CHECK_EQ(XP_WORD_FILE(state->words[0]), text->file.id);
        if (i == 0) {
            struct name_source names = binaries_source(d.binaries);
            u64 at = XP_WORD_OFFSET(state->words[1]) - 1;
            char name[64] = "";
            CHECK(state->sample.nuser > 2);
            CHECK_EQ(names.names(names.ctx, text->file.id, &at, 1, first_name, name), 0);
            CHECK_STR(name, "inspect_leaf");
        }
        if (i == 1)
            CHECK_EQ(state->cause, XP_CAUSE_STACK_READ);
    }
}

/* ---- Code without unwind information ----------------------------------------------------------------------------- */

/* A fixture that is mapped into this process, and a stack of one word below a return address. */
struct guest {
    void *map;
    size_t len;
    u64 stack[512];
};
#define GUEST_STACK 0x10000ull

static void guest_free(struct guest **g)
{
    if (*g && (*g)->map)
        munmap((*g)->map, (*g)->len);
    free(*g);
}

static struct guest *guest_new(const char *fixture)
{
    char path[4096];
    struct stat st;
    struct guest *g = calloc(1, sizeof(*g));
    path_of(fixture, path);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (!g || fd < 0 || fstat(fd, &st))
        return g;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
    g->map = map == MAP_FAILED ? NULL : map;
    g->len = (size_t)st.st_size;
    return g;
}

static int read_guest(void *ctx, void *to, u32 len, u64 from)
{
    const struct guest *g = ctx;
    u64 code = from - (u64)(uintptr_t)g->map;
    if (code < g->len && len <= g->len - code) {
        memcpy(to, (const char *)g->map + code, len);
        return 0;
    }
    if (from < GUEST_STACK || from - GUEST_STACK > sizeof(g->stack) || len > sizeof(g->stack) - (from - GUEST_STACK))
        return 1;
    memcpy(to, (const char *)g->stack + (from - GUEST_STACK), len);
    return 0;
}

/* File offset of a symbol of parser/trampoline.so, none of whose functions has unwind information. */
static u64 guest_symbol(const char *name)
{
    char path[4096];
    AUTO_ELF struct elf_file e = {0};
    path_of("parser/trampoline.so", path);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return elf_open(&e, fd) ? 0 : fixture_symbol(&e, name);
}

TEST(address_space_gets_rows_where_stacks_stop)
{
    AUTO_DESK d = {.dir = ""};
    CLEANUP(address_space_free) struct address_space *space = NULL;
    CLEANUP(guest_free) struct guest *g = guest_new("parser/trampoline.so");
    AUTO_FREE struct xp_state *state = calloc(1, sizeof(*state));
    u64 before = guest_symbol("before"), after = guest_symbol("after");
    int error;
    CHECK(g && g->map && state && before && after);
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(address_space_new(&space, d.binaries, (u32)getpid()), 0);
    if (address_space_unopened(space, &error))
        SKIP("mapped files cannot be opened without privileges");
    u64 base = (u64)(uintptr_t)g->map;
    memcpy((char *)g->map + after + 1 - 5, "\xe8\0\0\0\0", 5); /* as if it had been called from there */
    struct xp_regs regs = {.r = {[6] = 1, [7] = GUEST_STACK, [16] = base + before + 1}}; /* behind "push %rbx" */
    g->stack[1] = base + after + 1;                                                      /* as deep in its caller */
    g->stack[3] = 0x1234;                                                                /* which nobody called */
    for (int i = 0; i < 2; i++) {
        address_space_unwind(space, &regs, 0, read_guest, g, state);
        CHECK_EQ(state->sample.nuser, 2);
        CHECK_EQ(XP_WORD_OFFSET(state->words[0]), before + 1);
        CHECK_EQ(XP_WORD_OFFSET(state->words[1]), after + 1);
        CHECK(state->cause != XP_CAUSE_NO_RULE && state->cause != XP_CAUSE_FP_BROKEN);
        CHECK_EQ(mapping_at(space, base)->file.state, XP_FILE_READY);
    }
    regs.r[16] = base; /* its header: there are no rows for that, however often they are asked for */
    for (int i = 0; i < 2; i++) {
        address_space_unwind(space, &regs, 0, read_guest, g, state);
        CHECK_EQ(state->sample.nuser, 1);
        CHECK_EQ(state->cause, XP_CAUSE_NO_RULE);
    }
}

/* ---- Processes in odd states ------------------------------------------------------------------------------------- */

static volatile int mark = 1;

static void *stay(void *told)
{
    mark = 2;
    if (write(*(int *)told, "x", 1) == 1)
        pause();
    return NULL;
}

/* A process whose first thread has ended, while another one goes on. */
static pid_t start_headless(int told)
{
    pthread_t thread;
    pid_t child = fork();
    if (child)
        return child;
    if (pthread_create(&thread, NULL, stay, &told))
        _exit(1);
    syscall(SYS_exit, 0);
    return 0;
}

static bool is_headless(pid_t pid)
{
    char path[64], c;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, &c, 1) == 0;
}

TEST(address_space_is_that_of_any_thread)
{
    AUTO_DESK d = {.dir = ""};
    CLEANUP(address_space_free) struct address_space *s = NULL;
    int told[2], got = 0;
    char c;
    size_t n = 0;
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(pipe2(told, O_CLOEXEC), 0);
    pid_t child = start_headless(told[1]);
    bool ready = child > 0 && read(told[0], &c, 1) == 1;
    while (ready && !is_headless(child))
        sched_yield();
    int rc = address_space_new(&s, d.binaries, (u32)child);
    bool good = !rc && !address_space_read(s, &got, sizeof(got), (u64)(uintptr_t)&mark);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(told[0]);
    close(told[1]);
    CHECK_EQ(rc, 0);
    CHECK(good);
    CHECK_EQ(got, 2);
    address_space_mappings(s, &n);
    CHECK(n > 2);
}

/* What is written through another mapping is code of no file; a private mapping of such a file is one of a file. */
TEST(address_space_knows_generated_code)
{
    AUTO_DESK d = {.dir = ""};
    CLEANUP(address_space_free) struct address_space *s = NULL;
    int error = 0, fd = memfd_create("code", MFD_CLOEXEC);
    CHECK(fd >= 0 && !ftruncate(fd, 4096));
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    void *own = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    CHECK(shared != MAP_FAILED && own != MAP_FAILED);
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(address_space_new(&s, d.binaries, (u32)getpid()), 0);
    const struct xp_vma *m = mapping_at(s, (u64)(uintptr_t)shared);
    CHECK(m && !m->file.id && m->file.state == XP_FILE_FP);
    m = mapping_at(s, (u64)(uintptr_t)own);
    CHECK(m && (m->file.id || address_space_unopened(s, &error)));
    munmap(shared, 4096);
    munmap(own, 4096);
    close(fd);
}

/* There is one descriptor left: enough to read what is mapped, not to open it. */
TEST(address_space_counts_what_it_cannot_open)
{
    AUTO_DESK d = {.dir = ""};
    CLEANUP(address_space_free) struct address_space *s = NULL;
    struct rlimit all;
    size_t n;
    int error = 0;
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
    int free_one = dup(0);
    close(free_one);
    struct rlimit tight = {.rlim_cur = (rlim_t)free_one + 1, .rlim_max = all.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int rc = address_space_new(&s, d.binaries, (u32)getpid());
    setrlimit(RLIMIT_NOFILE, &all);
    CHECK_EQ(rc, 0);
    CHECK(address_space_unopened(s, &error) > 2);
    CHECK(error == -EMFILE || error == -EPERM); /* without privileges there are other reasons */
    const struct xp_vma *text = mapping_at(s, (u64)(uintptr_t)own_registers);
    CHECK(text && !text->file.id && text->file.state == XP_FILE_FP);
    address_space_mappings(s, &n);
    CHECK(n > 2);
    address_space_free(&s);
    CHECK(!s);
}
