/* Reads information about processes from /proc. A process may end between any two calls: -ESRCH or -ENOENT is normal
 * here. Numbers are parsed from text by the kernel; names (comm, paths) are arbitrary bytes chosen by containers.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include <stdbool.h>

typedef VEC(u32) proc_pids;
void proc_pids_free(proc_pids *p);

/* Returns the CPU time used so far, in clock ticks; 0 if the process exited. */
u64 proc_cpu_ticks(u32 pid);
/* Parses the parent and utime + stime from the text of /proc/PID/stat (comm may contain blanks and parentheses).
 * Returns 0 or -EBADMSG. */
int proc_parse_stat(const char *text, u32 *ppid, u64 *ticks);

/* Returns the start of the process in clock ticks since boot (starttime in proc_pid_stat(5)); 0 if it exited. Together
 * with the PID it identifies a process. */
u64 proc_start_ticks(u32 pid);
/* Tells whether the process with this PID is the one that started then (ns since boot, as in samples). */
bool proc_is(u32 pid, u64 start_ns);
/* Returns how many times a thread has left a CPU (/proc/PID/task/TID/status); 0: it is not known. */
u64 proc_switches(u32 pid, u32 tid);
/* Tells whether a thread sleeps, and has done so since its number of switches (its low 32 bits) was this one. */
bool proc_sleeps_since(u32 pid, u32 tid, u32 switches);

#define PROC_COMM 16 /* bytes of the name of a thread, with its NUL */
/* Finds the number that a thread has in the innermost namespace of PIDs, which is the one that its process sees, and
 * its name. Returns 0 or -ESRCH. */
int proc_thread(u32 pid, u32 tid, u32 *own, char name[PROC_COMM]);
/* Appends the threads of a process, `max` at most. Returns 0 or -ESRCH. */
int proc_threads(u32 pid, size_t max, proc_pids *out);

/* Returns the address of the bottom of the first stack (startstack); 0 if it exited. Another program has another one.
 */
u64 proc_start_stack(u32 pid);
/* The parent of a process; 0: there is no such process, or it has none. */
u32 proc_parent(u32 pid);

/* Finds the process that a PID or thread ID belongs to. Returns 0 or -ESRCH. */
int proc_tgid(u32 pid, u32 *tgid);

/* Tells whether the process has any running thread. False for a zombie, even though kill() still finds it. */
bool proc_alive(u32 tgid);

/* Appends all living descendants of the processes already in the list. 0 or -errno. */
int proc_add_descendants(proc_pids *pids);

/* Opens /proc/PID/NAME for reading. Returns an owned fd or -errno. */
int proc_open(u32 pid, const char *name);

/* Opens the file behind a mapping through /proc/PID/map_files, which works for deleted files and other mount
 * namespaces. *path (owned, NUL-terminated) is the name shown by the kernel, without " (deleted)". Returns an owned
 * O_PATH fd; -ENOEXEC: not a regular file; or another -errno. */
int proc_open_mapping(u32 pid, u64 start, u64 end, char **path);

/* Copies this process's vdso (every process maps the same one) to a sealed memfd, opened for reading. Returns an owned
 * fd or -errno. */
int proc_vdso(void);

/* Finds the ID of a cgroup directory (kernfs ID in the kernel) and its hierarchy: "" for the unified one, else the name
 * of a version 1 controller mounted there (at most 32 bytes). Returns 0; -ENOTSUP: a named v1 hierarchy; -ENOTDIR; or
 * another -errno. */
int proc_cgroup(const char *path, u64 *id, char controller[32]);
/* Finds the controller in the options of the mountinfo line for device `dev` ("8:1"). A pure function. Returns 0,
 * -ENOENT or -ENOTSUP. */
int proc_parse_cgroup_mount(const char *mountinfo, const char *dev, char controller[32]);
