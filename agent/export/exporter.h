/* The interface of exporters: an exporter takes one profile and reports the result. An exporter instance belongs to one
 * thread; a target with several calls at the same time has several.
 */
#pragma once
#include "export/export.h"
#include "export/record.h"

enum verdict_kind {
    VERDICT_DONE,
    VERDICT_RETRY,   /* retry later; `guilty` if this profile may be at fault */
    VERDICT_DROP,    /* do not retry */
    VERDICT_BLOCKED, /* nothing can be sent until the configuration or server is repaired */
    VERDICT_STOPPED, /* aborted because of *stop; does not count as an attempt */
};

struct verdict {
    enum verdict_kind kind;
    enum export_reason reason; /* unless done */
    bool guilty;
    u64 retry_after_ms; /* delay requested by the server; 0: none */
    u64 rejected;       /* done, but the server rejected this many profiles (OTLP's partial success) */
    u64 bytes;          /* sent */
    double seconds, cpu_seconds;
    char message[256]; /* one line without control characters */
};

struct exporter {
    const char *slug;
    u64 max_age_ns; /* maximum age that the server accepts; 0: any */
    bool serial;    /* one instance per target */
    /* Returns 0, or -errno and a line in why[]. The target outlives the instance. */
    int (*new)(void **out, const struct export_target *t, char *why, size_t size);
    void (*send)(void *self, const struct export_profile *p, const volatile bool *stop, struct verdict *out);
    void (*free)(void *self);
};

extern const struct exporter exporter_pyroscope, exporter_otlp, exporter_directory;

/* Returns NULL if there is no such kind. */
const struct exporter *exporter_of(enum export_kind kind);
