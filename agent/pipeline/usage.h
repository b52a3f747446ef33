/* Measures the agent's own CPU time and memory, including the parser process. */
#pragma once
#include "bpf/types.h"

struct parser;

/* CPU time of the parser process that runs now, seconds. */
double usage_parser_cpu(const struct parser *p);
/* That, and this process's. */
double usage_cpu(const struct parser *p);
/* Resident memory of both, bytes. */
u64 usage_rss(const struct parser *p);
