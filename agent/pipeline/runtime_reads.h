/* Has the memory of processes read for their runtimes (runtime/runtime.h): what there is of one, and the names of its
 * frames. What was read first is kept for the names. Owned by one thread.
 */
#pragma once
#include "pipeline/jobs.h"

struct runtime_reads;
struct hung;

/* 0 or -ENOMEM. */
int runtime_reads_new(struct runtime_reads **out);
void runtime_reads_free(struct runtime_reads **r);
/* Keeps what was read of a process (job->attached). */
void runtime_reads_keep(struct runtime_reads *r, const struct code_job *job);
/* Reads the names that a job asks for. What makes that hang is noted in `h`. True: the job has a reply. */
bool runtime_reads_names(struct runtime_reads *r, struct names_job *job, struct opener *o, struct parser *p,
                         struct hung *h);
