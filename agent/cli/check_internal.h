/* What the files of xprof check share.
 */
#pragma once
#include "probe/probe.h"

/* Prints a line. */
void check_line(const char *mark, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Loads and attaches what is loaded on demand otherwise. `can`: what works then. */
void check_on_demand(const char *name, struct probe_config *cfg, const char *can);

/* ---- check_probes.c ---- */

/* Probes of functions of programs and of the kernel. */
void check_probes(void);
