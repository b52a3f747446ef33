/* Declarations shared by the files of the child: child.c serves requests, child_memory.c those about processes,
 * child_facts.c those whose reply is a struct. */
#pragma once
#include "parser/protocol.h"

/* Makes a reply of bytes: a memfd in *fd, owned. Returns 0, -ENOSPC or -errno. */
int child_reply(const void *data, size_t len, struct parser_answer *a, int *fd);

/* ---- child_memory.c ---- */

/* Serves a request about the memory of a process. Returns 0 or -errno. */
int child_memory(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                 struct parser_answer *a, int *fd);

/* ---- child_facts.c ---- */

/* Serves a request for what can be said of a file in a struct. Returns 0 or -errno. */
int child_facts(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                struct parser_answer *a, int *fd);
