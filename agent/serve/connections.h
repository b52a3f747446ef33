/* Who may hold a connection to the server. Anybody who reaches the port can open many and send nothing, or a byte now
 * and then. So that this keeps nobody else out, a new connection always finds a place: an address that has its number
 * of connections loses the one whose request takes longest, and when all places are taken, so does the address that has
 * most of them. Who has one connection and sends a request at once, as probes and scrapers do, is out of reach.
 *
 * Closing means shutdown(2): the owner of the descriptor sees its end and closes it. Not synchronised.
 */
#pragma once
#include "bpf/types.h"
#include <sys/socket.h>

#define CONNECTIONS_MAX         64
#define CONNECTIONS_PER_ADDRESS 16
#define CONNECTIONS_REQUEST_NS  10000000000ull /* a whole request, and the wait for the next one */

struct connections { /* {0} at first */
    struct connection {
        int fd; /* + 1; 0: free */
        u8 from[16];
        u64 since_ns; /* when it was opened, or its last request answered */
    } all[CONNECTIONS_MAX];
};

/* A connection was opened: its descriptor, borrowed until connections_end. */
void connections_begin(struct connections *c, int fd, const struct sockaddr *from, u64 now_ns);
/* Its request was answered. */
void connections_answered(struct connections *c, int fd, u64 now_ns);
/* It is closed. */
void connections_end(struct connections *c, int fd);
