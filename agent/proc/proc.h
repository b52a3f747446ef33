/* Reads information about processes from /proc. A process may end between any two calls: -ESRCH or -ENOENT is normal
 * here. Numbers are parsed from text that the kernel wrote; names in it (comm, paths) are bytes that containers chose.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>

typedef VEC(u32) proc_pids;

/* CPU time used so far, in clock ticks; 0 when the process is gone. */
u64 proc_cpu_ticks(u32 pid);
/* From the text of /proc/PID/stat (comm may hold blanks and parentheses): parent and utime + stime. 0 or -EBADMSG. */
int proc_parse_stat(const char *text, u32 *ppid, u64 *ticks);

/* When it began, in clock ticks since boot: proc_pid_stat(5), starttime; 0 when it is gone. With the number it says
 * which process is meant. */
u64 proc_start_ticks(u32 pid);

/* The thread group that a pid (or a thread's id) belongs to. 0 or -ESRCH. */
int proc_tgid(u32 pid, u32 *tgid);

/* Is any thread of it left? Not of a zombie that nobody waits for, even though kill() can still name it. */
bool proc_alive(u32 tgid);

/* Appends all living descendants of the processes already in the list. 0 or -errno. */
int proc_add_descendants(proc_pids *pids);

/* Opens the file behind a mapping through /proc/PID/map_files: deleted files and other mount namespaces included.
 * *path (owned, NUL-terminated) is the name as the kernel shows it, without " (deleted)". Owned fd; -ENOEXEC: no
 * regular file; or -errno. */
int proc_open_mapping(u32 pid, u64 start, u64 end, char **path);

/* A copy of this process's vdso (every process maps the same one) as a sealed memfd, opened for reading. Owned fd or
 * -errno. */
int proc_vdso(void);

/* A cgroup directory: its id (what the kernel calls kernfs id) and its hierarchy: "" for the unified one, else the name
 * of a version 1 controller mounted there (at most 32 bytes). 0; -ENOTSUP a named v1 hierarchy; -ENOTDIR; -errno. */
int proc_cgroup(const char *path, u64 *id, char controller[32]);
/* The controller in the options of the mountinfo line for device `dev` ("8:1"); pure. 0 or -ENOENT, -ENOTSUP. */
int proc_parse_cgroup_mount(const char *mountinfo, const char *dev, char controller[32]);
