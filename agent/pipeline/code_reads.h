/* Decides when the memory of a process is read for generated code (generated/generated.h), and reads it. A process
 * is read while its stacks run through generated code that is unwound by frame pointer, or not at all: soon after a
 * read that brought something new, later and later after others. Each cgroup has a limited part of the time. Owned by
 * one thread.
 */
#pragma once
#include "pipeline/jobs.h"

struct code_reads;
struct hung;

#define CODE_READS_FIRST_NS     100000000ull /* after a read that brought something new */
#define CODE_READS_LONGEST_NS   (600ull * 1000000000)
#define CODE_READS_AGAIN_NS     50000000ull /* when a runtime still starts */
#define CODE_READS_PART         20          /* a cgroup's reads take this part of the time, at most */
#define CODE_READS_RUNTIME_PART 5           /* and those that find a runtime this one: each process is read once */

/* 0 or -ENOMEM. */
int code_reads_new(struct code_reads **out);
void code_reads_free(struct code_reads **r);
/* Reads the process if it is due. What makes that hang, by memory or a program on a file system that does not answer,
 * is noted in `h` (NULL: nowhere), and left alone. True: the job has a reply. */
bool code_reads_one(struct code_reads *r, struct code_job *job, struct opener *o, struct parser *p, struct hung *h);

/* The decisions, at a time. code_reads_begin tells whether a process may be read now; code_reads_end takes the outcome
 * of a read: a hash of the reply, or -errno. Returns whether the reply is new. */
bool code_reads_begin(struct code_reads *r, const struct code_job *job, u64 now_ns);
bool code_reads_end(struct code_reads *r, const struct code_job *job, int error, u64 hash, u64 took_ns, u64 now_ns);
/* Returns the number of processes whose runtime was not understood, each of which was said. Any thread may call it. */
u64 code_reads_unknown(const struct code_reads *r);
