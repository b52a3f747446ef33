/* Names: of files, the kernel, and the code that a process generates or that its runtime has. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/shares.h"
#include "generated/generated.h"
#include "inspect/binaries_internal.h"
#include "proc/proc.h"
#include "profile/name_cache.h"
#include "runtime/runtime.h"
#include "runtime/processes.h"
#include <errno.h>
#include <unistd.h>

#define TRIES    5 /* of a runtime that starts, or changes while it is read */
#define PAUSE_US 50000

static bool source_file(void *ctx, u32 id, const char **path, const char **build_id)
{
    const struct binary *f = binaries_get(ctx, id);
    if (!f || !f->path)
        return false;
    *path = f->path;
    *build_id = f->build_id;
    return true;
}

static int ask(void *ctx, u32 id, const u64 *offsets, size_t n, void (*use)(void *arg, const struct names *names),
               void *arg)
{
    struct binaries *b = ctx;
    const struct binary *f = binaries_get(b, id);
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct names view;
    if (!f || f->error)
        return f ? f->error : -ENODATA;
    struct line_index index = {.fd = -1, .symbols = -1};
    if (id != XP_FILE_VDSO)
        line_indexes_get(b->lines, &f->key, f->fd, &index);
    struct names_fds fds = {
        .file = f->fd, .index = index.fd, .symbols = index.symbols, .names = -1, .short_names = b->short_names};
    int rc = parser_names(b->parser, &fds, offsets, n, &reply, &view);
    if (!rc)
        use(arg, &view);
    return rc;
}

static int source_names(void *ctx, u32 id, const u64 *offsets, size_t n,
                        void (*use)(void *arg, const struct names *names), void *arg)
{
    struct binaries *b = ctx;
    struct name_cache_query q = {
        .id = id, .owner = SHARES_ALL, .offsets = offsets, .n = n, .ask = ask, .ctx = b, .use = use, .arg = arg};
    return name_cache_answer(b->named, &q);
}

int binaries_generated(struct binaries *b, int mem, int maps, int program, struct parser_reply *out)
{
    struct generated code;
    int rc = parser_generated(b->parser, mem, maps, program, out);
    if (!rc)
        rc = generated_open(out->data, out->len, &code);
    if (!rc)
        buf_add(&b->symbols, code.text, code.text_len);
    return rc;
}

static int ask_runtime(struct binaries *b, u32 tid,
                       int (*question)(struct parser *p, int mem, int maps, struct parser_reply *out),
                       struct parser_reply *out)
{
    AUTO_CLOSE int mem = proc_open(tid, "mem");
    AUTO_CLOSE int maps = proc_open(tid, "maps");
    int rc = mem < 0 || maps < 0 ? -ENODATA : -EAGAIN;
    for (int i = 0; i < TRIES && (rc == -EAGAIN || rc == -ENOTSUP); i++) {
        if (i)
            usleep(PAUSE_US);
        rc = question(b->parser, mem, maps, out);
    }
    return rc;
}

int binaries_attach(struct binaries *b, u32 tid, struct xp_machine *out)
{
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    int rc = ask_runtime(b, tid, parser_attach, &reply);
    if (rc || !runtime_machine(reply.data, reply.len, out))
        return rc ? rc : -ENODATA;
    xp_cleanup_close(&b->attached);
    b->attached = fs_sealed_memfd("xprof-runtime", reply.data, reply.len);
    return 0;
}

int binaries_about(struct binaries *b, u32 tid, struct parser_reply *out)
{
    return ask_runtime(b, tid, parser_about, out);
}

void binaries_set_process(struct binaries *b, u32 tgid, u64 start)
{
    b->tgid = tgid;
    b->start = start;
    runtime_processes_add_pid(b->processes, tgid, start);
    if (b->symbols.len)
        runtime_processes_add_symbols(b->processes, tgid, start, SHARES_ALL, b->symbols.data, b->symbols.len);
}

static u64 source_address(void *ctx, u32 id, u64 offset)
{
    struct facts f;
    u64 address;
    return !binaries_facts(ctx, id, &f) && facts_address(&f, offset, &address) ? address : offset;
}

static int source_anonymous(void *ctx, u32 tgid, u64 start, const u64 *addresses, size_t n,
                            void (*use)(void *arg, const struct names *names), void *arg)
{
    const struct binaries *b = ctx;
    return runtime_processes_names(b->processes, b->tgid, b->start, addresses, n, use, arg);
}

static int source_runtime(void *ctx, u32 tgid, u64 start, const u64 *words, size_t n,
                          void (*use)(void *arg, const struct names *names), void *arg)
{
    struct binaries *b = ctx;
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct names view;
    AUTO_CLOSE int mem = proc_open(b->tgid, "mem");
    if (b->attached < 0 || mem < 0)
        return -ENODATA;
    int rc = parser_runtime_names(b->parser, mem, b->attached, words, 2 * n, &reply, &view);
    if (!rc)
        use(arg, &view);
    return rc;
}

static const char *source_kernel(void *ctx, u64 address, u64 *start, const char **module)
{
    struct binaries *b = ctx;
    struct kallsym found;
    if (!kernel_reader_find(&b->kernel, address, &found))
        return NULL;
    *start = found.start;
    *module = found.module;
    return found.name;
}

struct name_source binaries_source(struct binaries *b)
{
    return (struct name_source){.ctx = b,
                                .file = source_file,
                                .names = source_names,
                                .address = source_address,
                                .kernel = source_kernel,
                                .anonymous = source_anonymous,
                                .runtime = source_runtime};
}
