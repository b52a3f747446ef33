/* Explains why the kernel refused what a recording needs. A capability is missing, or all are there and something else
 * says no: a user namespace, a seccomp filter, kernel lockdown, perf_event_paranoid, the limit of locked memory, a
 * Linux security module. Error numbers hardly differ, so facts about this process decide, some of which are tried.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

enum denied_call {
    DENIED_BPF,    /* loading eBPF programs */
    DENIED_PERF,   /* opening perf events on a CPU */
    DENIED_ACCESS, /* reading processes and files of others */
};

enum denied_by {
    DENIED_BY_CAPABILITY,
    DENIED_BY_USER_NAMESPACE,
    DENIED_BY_SECCOMP,
    DENIED_BY_LOCKDOWN,
    DENIED_BY_PARANOID,
    DENIED_BY_MEMLOCK,
    DENIED_BY_MODULE,
};

struct denied_facts {
    u64 capabilities;    /* the effective ones, a bit each */
    bool user_namespace; /* another than the initial one: its capabilities do not count there */
    bool bpf_filtered;   /* a seccomp filter keeps bpf(2) from the kernel */
    bool perf_filtered;  /* and perf_event_open(2) */
    bool bpf_works;      /* a map is made, and a program that does nothing is loaded */
    bool lockdown;       /* eBPF programs load, but not if they read kernel memory: mode confidentiality */
    bool memlock;        /* memory of maps counts as locked, and is limited: before Linux 5.11 */
    long paranoid;       /* kernel.perf_event_paranoid */
    char module[160];    /* what AppArmor or SELinux calls this process; empty: unconfined, or none of them */
};

/* For who tried a call and got `err` (-errno): if it was refused, writes a line that says what and why. Collects the
 * facts itself. DENIED_BPF and DENIED_PERF only. */
bool denied_explains(int err, enum denied_call call, char *why, size_t len);
/* Whether that error says that the call was refused to this process. The verifier gives EACCES, too, to programs that
 * it does not take: who may load others was refused nothing. */
bool denied_refuses(const struct denied_facts *f, int err, enum denied_call call);
/* What a kernel that lets this process load programs has against some of them. */
const char *denied_rejection(int err);

/* Finds out all of it. Needs no privileges. */
void denied_collect(struct denied_facts *out);
/* Tells what was in the way of a call that failed with EPERM or EACCES, and writes a line with the remedy. `capability`
 * is the one (CAP_...) that DENIED_ACCESS is about, and ignored for the others. */
enum denied_by denied_why(const struct denied_facts *f, enum denied_call call, unsigned capability, char *why,
                          size_t len);
