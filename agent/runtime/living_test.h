/* Interpreters that run, and have said something, for tests: what they print ends with an empty line. */
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIVING_TEXT 16384

struct living {
    pid_t pid;
    int in, out;
    char said[LIVING_TEXT];
};

static inline bool living_hear(struct living *c)
{
    size_t n = 0;
    ssize_t got = 1;
    while (got > 0 && n < sizeof(c->said) - 1 && !(n > 1 && !memcmp(c->said + n - 2, "\n\n", 2))) {
        got = read(c->out, c->said + n, sizeof(c->said) - 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    c->said[n] = 0;
    return got > 0;
}

/* Starts it, and waits until it has said something. */
static inline bool living_begin(struct living *c, const char *const *argv)
{
    int in[2], out[2];
    *c = (struct living){.in = -1, .out = -1};
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return false;
    c->pid = fork();
    if (!c->pid) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
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
}

/* A file of its folder in /proc. */
static inline int living_open(const struct living *c, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)c->pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}
