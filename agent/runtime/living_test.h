/* Interpreters that run, and have said something, for tests: what they print ends with an empty line. Most say their
 * own frames, as "name|file|line;" each, innermost first, and then wait.
 */
#pragma once
#include "base/buf.h"
#include "base/cleanup.h"
#include "dwarf/names.h"
#include "runtime/runtime.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIVING_TEXT  16384
#define LIVING_WORDS 128

struct living {
    pid_t pid;
    int in, out, mem;
    char said[LIVING_TEXT]; /* without the empty line */
    struct buf attached;
    u64 words[LIVING_WORDS]; /* of a stack, as the unwinder finds them */
    u32 n;
    char got[LIVING_TEXT]; /* their names, spelled as in `said` */
};

/* ---- The process */

static inline bool living_hear(struct living *c)
{
    size_t n = 0;
    ssize_t got = 1;
    while (got > 0 && n < sizeof(c->said) - 1 && !(n > 1 && !memcmp(c->said + n - 2, "\n\n", 2))) {
        got = read(c->out, c->said + n, sizeof(c->said) - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    c->said[got > 0 && n > 1 ? n - 2 : n] = 0;
    return got > 0;
}

static inline void living_run(const int in[2], const int out[2], const char *const *argv)
{
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    setenv("LC_ALL", "C.UTF-8", 1);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

/* Starts it, and waits until it has said something. */
static inline bool living_begin(struct living *c, const char *const *argv)
{
    int in[2], out[2];
    *c = (struct living){.in = -1, .out = -1, .mem = -1};
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return false;
    c->pid = fork();
    if (!c->pid)
        living_run(in, out, argv);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    return c->pid > 0 && living_hear(c);
}

static inline void living_end(struct living *c)
{
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    close(c->in);
    close(c->out);
    close(c->mem);
    buf_free(&c->attached);
}

/* A file of its folder in /proc. */
static inline int living_open(const struct living *c, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)c->pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Attaches to it; *said: what the runtime says of it. False: it is not one of this runtime. */
static inline bool living_attach(struct living *c, const struct runtime *runtime, void *said, size_t size)
{
    const void *bytes;
    AUTO_CLOSE int maps = living_open(c, "maps");
    c->mem = living_open(c, "mem");
    if (runtime_attach(c->mem, maps, &c->attached) ||
        runtime_attached(c->attached.data, c->attached.len, &bytes) != runtime)
        return false;
    memcpy(said, bytes, size);
    return true;
}

/* ---- Its frames */

/* 0: it cannot be read. */
static inline u64 living_word(const struct living *c, u64 at)
{
    u64 v = 0;
    return pread(c->mem, &v, sizeof(v), (off_t)at) == sizeof(v) ? v : 0;
}

static inline void living_add(struct living *c, u64 word, u64 more)
{
    if (c->n == LIVING_WORDS)
        return;
    c->words[c->n++] = word;
    c->words[c->n++] = more;
}

/* The names of its words; `reply` has them. */
static inline bool living_names(const struct living *c, struct buf *reply, struct names *out)
{
    return c->n && !runtime_names(c->mem, c->attached.data, c->attached.len, c->words, c->n, reply) &&
           !names_view(reply->data, reply->len, c->n / 2, out);
}

typedef void (*living_walk)(void *arg); /* adds the words of a stack */

/* Walks a stack, and spells its frames. */
static inline bool living_look(struct living *c, living_walk walk, void *arg)
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    size_t len = 0;
    c->n = 0;
    walk(arg);
    bool ok = living_names(c, &reply, &v);
    for (u32 i = 0; ok && i < v.first[c->n / 2] && len < sizeof(c->got); i++) {
        const struct names_frame *f = &v.frames[i];
        len += (size_t)snprintf(c->got + len, sizeof(c->got) - len, "%s|%s|%u;", v.strings + f->name,
                                v.strings + f->file, f->line);
    }
    return ok;
}

/* Does so until that is what it has said, at most 5 seconds: it may still be on its way to where it waits. */
static inline bool living_agree(struct living *c, const char *said, living_walk walk, void *arg)
{
    bool ok = living_look(c, walk, arg);
    for (unsigned i = 0; i < 500 && ok && strcmp(c->got, said) != 0; i++) {
        usleep(10000);
        ok = living_look(c, walk, arg);
    }
    return ok;
}
