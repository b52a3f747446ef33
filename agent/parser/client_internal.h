/* The client from inside: client.c asks, client_child.c keeps a child to be asked. */
#pragma once
#include "parser/parser.h"
#include "parser/protocol.h"
#include "parser/spawn.h"

struct parser {
    struct parser_limits limits;
    const char *role; /* hidden first argument of the child */
    int exe;
    struct child_process child;
    struct start_gate gate;
    bool lost;                 /* the last child did not leave of its own accord: the next start has to pass the gate */
    unsigned starts, restarts; /* restarts: those after a loss */
    pid_t pid;                 /* the child's; like restarts atomic, because other threads report them */
    u32 id;
    u8 secret[16];
};

/* ---- client_child.c ---- */

/* Receives an answer with at most one descriptor. 0, -ETIMEDOUT, -EPROTO, -EPIPE, -errno. */
int client_receive(struct parser *p, unsigned timeout_ms, struct parser_answer *a, int *fd);
int client_start(struct parser *p);
/* A child that is there and silent; else a new one. 0, -ECHILD. */
int client_ensure_child(struct parser *p);
void client_end_child(struct parser *p);
