/* Resolves the processes or cgroup to record, and starts a COMMAND so that it is recorded from its first instruction.
 */
#pragma once
#include "pipeline/pipeline.h"
#include "cli/record/record_options.h"
#include "proc/proc.h"
#include <sys/types.h>

struct target {
    proc_pids pids; /* processes */
    pid_t command;  /* 0: none */
    int go;         /* pipe: closing it lets the command start; -1 */
    int exec_error; /* pipe: errno of a failed start; -1 */
};

/* Fills in the target of `config` (borrows t->pids). A COMMAND is forked and waits for record_target_release. One line
 * in why[] on failure. */
int record_target_resolve(struct target *t, const struct record_options *o, struct probe_config *config, char *why,
                          size_t len);
/* Lets the COMMAND start. Returns 0, or -errno if it could not be started. */
int record_target_release(struct target *t);
/* Tells whether all -p processes have exited. */
bool record_target_gone(const struct target *t);
void record_target_free(struct target *t);
#define AUTO_TARGET __attribute__((cleanup(target_free)))
