/* Sends and receives packets of a fixed size with descriptors, over a SOCK_SEQPACKET socket (SCM_RIGHTS). */
#pragma once
#include <stddef.h>

#define PACKET_MAX_FDS 10

/* Sends one packet with descriptors. Returns 0; -EPIPE: the other side is closed; or another -errno. */
int packet_send(int sock, const void *data, size_t len, const int *fds, unsigned nfds);
/* Receives one packet of exactly `len` bytes and 0..PACKET_MAX_FDS owned descriptors; unused slots are -1. 0, -EPIPE
 * (the other side is gone), -EPROTO (another size, too many descriptors; all are closed), -errno. */
int packet_recv(int sock, void *data, size_t len, int fds[PACKET_MAX_FDS]);
