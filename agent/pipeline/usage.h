/* Measures the agent's own CPU time and memory, including the parser process. */
#pragma once
#include "bpf/types.h"

struct parser;

/* Returns the CPU time of all parser processes so far, in seconds. */
double usage_parser_cpu(struct parser *p);
/* Returns the CPU time of this process and of all parser processes so far, in seconds. */
double usage_cpu(struct parser *p);
/* Returns the resident memory of both processes, in bytes. */
u64 usage_rss(const struct parser *p);
