/* Declarations shared by the client's files: client.c sends requests, client_child.c manages the child. */
#pragma once
#include "parser/parser.h"
#include "parser/protocol.h"
#include "base/child.h"
#include "opener/hung.h"
#include "opener/opener.h"

struct parser {
    struct parser_limits limits;
    const char *role; /* hidden first argument of the child */
    int exe;
    struct child_process child;
    struct start_gate gate;
    bool lost;                 /* the last child did not exit on its own: the next start has to pass the gate */
    unsigned starts, restarts; /* restarts: starts after a loss */
    unsigned layers;           /* of the child's sandbox: atomic, like restarts */
    struct child_clock clock;  /* its pid is the child's; like restarts read by other threads */
    u32 id;
    u8 secret[16];
    struct opener *opener; /* borrowed; NULL: files are opened in this process */
    struct hung *hung;     /* borrowed; NULL: nobody cares for children that are left behind */
};

/* ---- client_child.c ---- */

/* Receives an answer with at most one descriptor. Returns 0, -ETIMEDOUT, -EPROTO, -EPIPE or another -errno. */
int client_receive(struct parser *p, unsigned timeout_ms, struct parser_answer *a, int *fd);
int client_start(struct parser *p);
/* Makes sure that there is an idle child; starts a new one if necessary. Returns 0 or -ECHILD. */
int client_ensure_child(struct parser *p);
void client_end_child(struct parser *p);

/* ---- client.c ---- */

/* The whole exchange; slot SLOT_FILE is the file. `files`: what the child may want; outputs may be NULL where the
 * operation has none. Returns 0 or the errors of parser.h. */
int client_ask(struct parser *p, struct parser_request *rq, const struct parser_slots *slots,
               const struct dwarf_fds *files, struct parser_answer *a, struct parser_reply *out, struct names *view);
