/* xprof stack: options, a process, its stacks, as often as asked for. */
#include "cli/stack.h"
#include "cli/cli.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "proc/proc.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 5000
#define MAX_PID     4194304 /* PID_MAX_LIMIT */

struct command_state {
    struct stack_options options;
    u32 pid, tgid, tid; /* tid: 0 = all */
    struct toolbox tools;
    struct stacks *stacks;
    char why[256];
};

static void state_free(struct command_state *c)
{
    stacks_free(&c->stacks);
    toolbox_free(&c->tools);
    options_free(&stack_command, &c->options);
}

static int resolve(struct command_state *c, const char *operand)
{
    char *end = NULL;
    unsigned long pid = operand ? strtoul(operand, &end, 10) : 0;
    if (!operand)
        snprintf(c->why, sizeof(c->why), "no process given: xprof stack PID");
    else if (!pid || *end || operand[0] == '-' || pid > MAX_PID)
        snprintf(c->why, sizeof(c->why), "%s is not a process ID", operand);
    if (c->why[0])
        return -EINVAL;
    c->pid = (u32)pid;
    if (proc_tgid(c->pid, &c->tgid)) {
        snprintf(c->why, sizeof(c->why), "there is no process %u", c->pid);
        return -ESRCH;
    }
    c->tid = c->options.all_threads || c->pid == c->tgid ? 0 : c->pid;
    return 0;
}

static int prepare(struct command_state *c)
{
    int rc = toolbox_open(&c->tools, &c->options.tools, PATIENCE_MS, c->why, sizeof(c->why));
    return rc ? rc : stacks_new(&c->stacks, c->tgid, &c->tools.config, c->why, sizeof(c->why));
}

static int look(struct command_state *c)
{
    AUTO_BUF struct buf text = {0};
    struct stacks_list threads = {0};
    struct profile p;
    int rc = profile_init(&p);
    if (!rc)
        rc = stacks_take(c->stacks, c->tid, &p, &threads);
    if (!rc)
        rc = c->options.json ? stack_json(c->tgid, &p, &threads, &text) : stack_text(&p, &threads, &text);
    int written = rc ? 0 : fs_write_all(STDOUT_FILENO, text.data, text.len);
    if (written)
        snprintf(c->why, sizeof(c->why), "cannot write to standard output: %s", strerror(-written));
    else if (rc)
        snprintf(c->why, sizeof(c->why), "cannot read the stacks of process %u: %s", c->pid,
                 rc != -ESRCH          ? strerror(-rc)
                 : proc_alive(c->tgid) ? "its PID in the kernel is another one: run xprof outside of PID namespaces"
                                       : "the process has exited");
    vec_free(&threads);
    profile_free(&p);
    return rc ? rc : written;
}

static int run(struct command_state *c)
{
    u64 next = now_ns();
    for (u64 i = 0; i < c->options.times; i++) {
        int rc = look(c);
        if (rc)
            return rc;
        next += c->options.interval_ns;
        struct timespec until = {(time_t)(next / NS_PER_SEC), (long)(next % NS_PER_SEC)};
        if (i + 1 < c->options.times)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return 0;
}

int cli_stack(int argc, char **argv)
{
    AUTO_BUF struct buf message = {0};
    CLEANUP(state_free) struct command_state c = {0};
    int at = argc, rc = toolbox_parse(&stack_command, argc, argv, &c.options, &at, &message);
    if (rc)
        return options_report(rc, &message);
    signal(SIGPIPE, SIG_IGN);
    rc = at + 1 < argc ? -EINVAL : resolve(&c, at < argc ? argv[at] : NULL);
    if (at + 1 < argc)
        snprintf(c.why, sizeof(c.why), "only one process at a time: unexpected argument %s", argv[at + 1]);
    if (rc == -EINVAL) {
        log_error("%s", c.why);
        return 2;
    }
    if (!rc)
        rc = prepare(&c);
    if (!rc)
        rc = run(&c);
    if (rc)
        log_error("%s", c.why);
    return rc != 0;
}
