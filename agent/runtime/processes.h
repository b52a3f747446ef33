/* The living processes whose runtimes make code, by runtime: held from first sight, asked for names, forgotten when
 * they have ended. One thread owns a set; recognising and opening are for any thread.
 */
#pragma once
#include "runtime/runtime.h"

struct runtime_process { /* one, opened by the runtime that recognised it */
    const struct runtime_process_ops *ops;
    void *process;
};
/* Does the sample run through code that a runtime made? Cheap: called for every sample. */
bool runtime_recognises(const struct xp_sample *s);
/* Holds on to the process of such a sample. False: it is gone, or no memory. */
bool runtime_process_open(const struct xp_sample *s, struct runtime_process *out);
void runtime_process_close(struct runtime_process *p);

struct runtime_processes;
/* 0 or -ENOMEM. */
int runtime_processes_new(struct runtime_processes **out, struct runtime_reader reader);
void runtime_processes_free(struct runtime_processes **p);
/* Takes the process. */
void runtime_processes_add(struct runtime_processes *all, struct runtime_process *p);
/* A process that is looked at without a sample: each runtime may know it. */
void runtime_processes_add_pid(struct runtime_processes *all, u32 tgid, u64 start);
/* As runtime_process_ops.set_names: of the first runtime that knows the process. */
int runtime_processes_names(struct runtime_processes *all, u32 tgid, u64 start, const u64 *addresses, size_t n,
                            void (*use)(void *arg, const struct names *names), void *arg);
void runtime_processes_age(struct runtime_processes *all);
