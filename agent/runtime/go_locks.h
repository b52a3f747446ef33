/* Finds where goroutines of a Go program wait for locks: all waits for a sync.Mutex or sync.RWMutex are calls of
 * runtime.semacquire1 (Go's src/runtime/sema.go, since 1.9). Its name, and its returns, are in the table of functions
 * that stripped programs have, too. The result is sent from the parser process to its parent.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/goroutines.h"
#include "elf/allocators.h"
#include "elf/elf.h"

/* Reads the file behind fd (borrowed); the calls of the sites are enum xp_go_place. Files without Go, and Go before
 * 1.18, have none. Returns 0, -ENOEXEC, -EBADMSG, -ENOMEM or another -errno. Runs in the parser process. */
int go_locks_read(int fd, struct allocators *out);
/* The same of an open file. */
void go_locks_find(const struct elf_file *e, struct allocators *out);
/* Checks what came from another process. */
bool go_locks_sound(const void *data, size_t len);
