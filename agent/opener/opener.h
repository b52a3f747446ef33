/* Opens files of others in a child process, because whoever opens them may never come back: a container can map code
 * from a FUSE file system whose daemon answers its own requests and not ours, or from a dead NFS server.
 *
 * Callers get O_PATH descriptors, with which nothing can hang: no file system is asked when they are made from a
 * mapping, held, examined (fs_stat) or closed, unlike descriptors that can be read (FUSE_FLUSH in close(2)). The
 * parser process reads the files. It gets descriptors for that from the child (opener_send), never from this process.
 *
 * A call takes at most OPENER_MS. If the child makes no progress meanwhile, it is left behind (base/child.h), the call
 * fails with -EREMOTEIO, and the next call starts another child. The caller remembers what did not answer (hung.h).
 *
 * One call at a time; each thread that opens files has an opener. With NULL for an opener, the calls do the same in
 * this process, without limit of time: for commands that somebody waits for, and can end.
 *
 * The child is this same executable. main() starts with:
 *     if (opener_is_child(argc, argv)) return opener_child_main(argc, argv);
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct hung;
struct opener;

#define OPENER_CHILD_ARG  "--opener-child" /* hidden first argument of the child */
#define OPENER_MS         5000
#define OPENER_MAX_MEMORY 16384

bool opener_is_child(int argc, char **argv);
int opener_child_main(int argc, char **argv);

/* The child is started by the first call. `hung` is borrowed and keeps the children that are left behind. Returns 0,
 * -ENOMEM or -errno. */
int opener_new(struct opener **out, struct hung *hung);
void opener_free(struct opener **o);
/* Starts the child now, so that the first call need not wait for it. To be called by the thread that uses the opener.
 */
void opener_start(struct opener *o);

/* All return an owned O_PATH descriptor or -errno: -EREMOTEIO if the file system does not answer, -ECHILD if no child
 * can be started. */

/* The file behind a mapping (/proc/PID/map_files), also if it is deleted. *path (owned) is the name shown by the
 * kernel, without " (deleted)". -ENOEXEC: not a regular file. */
int opener_mapping(struct opener *o, u32 tgid, u64 start, u64 end, char **path);
/* The root directory of a process. */
int opener_root(struct opener *o, u32 tgid);
/* A path below a directory (O_PATH), from which neither ".." nor symbolic links lead away (RESOLVE_IN_ROOT); -1: below
 * "/", wherever links lead. -ENOTSUP: not a regular file. */
int opener_file(struct opener *o, int root, const char *path);
int opener_directory(struct opener *o, int root, const char *path);

/* Sends a packet of `len` bytes (at most 128) with up to PACKET_MAX_FDS - 1 descriptors over a socket, as
 * packet_send does. The O_PATH ones among them are opened for reading first. Returns 0; -ENOTSUP: not a regular file;
 * -EPIPE: the other side is closed; or another -errno. After -EREMOTEIO the packet may have been sent. */
int opener_send(struct opener *o, int sock, const void *data, size_t len, const int *fds, unsigned nfds);

/* Reads `len` bytes (at most 128) at an offset of a regular file. Returns 0; -ENODATA: it ends before; or another
 * -errno. */
int opener_read(struct opener *o, int fd, u64 offset, void *to, size_t len);

/* Reads up to `len` bytes (at most OPENER_MAX_MEMORY) of the memory of a process. Returns how many there were, from 1
 * on; -ENODATA: none; or another -errno. */
int opener_memory(struct opener *o, u32 tgid, u64 at, void *to, size_t len);

struct hung;
struct xp_sample;
/* The same of the process of a sample, unless its memory does not answer, which is noted. -EREMOTEIO: it does not. */
int opener_sample_memory(struct opener *o, struct hung *h, const struct xp_sample *s, u64 at, void *to, size_t len);

/* CPU time of all children so far, in ns. Any thread may call it. */
u64 opener_cpu_ns(struct opener *o);
/* Ends the child. To be called by a thread that used the opener and is about to end, because the child ends with it. */
void opener_rest(struct opener *o);
