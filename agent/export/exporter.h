/* The interface of exporters: an exporter takes one profile and reports the result. An exporter instance belongs to one
 * thread; a target with several calls at the same time has several.
 */
#pragma once
#include "export/export.h"
#include "export/record.h"

enum verdict_kind {
    VERDICT_DONE,
    VERDICT_RETRY,   /* later; `guilty` when it may be this profile's fault */
    VERDICT_DROP,    /* never */
    VERDICT_BLOCKED, /* nothing will pass before somebody repairs something outside */
    VERDICT_STOPPED, /* broken off because of *stop: as if it had not been tried */
};

struct verdict {
    enum verdict_kind kind;
    enum export_reason reason; /* unless done */
    bool guilty;
    u64 retry_after_ms; /* what the server asked for; 0: nothing */
    u64 rejected;       /* done, but that many profiles in it were refused (OTLP's partial success) */
    u64 bytes;          /* sent */
    double seconds, cpu_seconds;
    char message[256]; /* one clean line */
};

struct exporter {
    const char *slug;
    u64 max_age_ns; /* what the server takes; 0: anything */
    bool serial;    /* one instance a target */
    /* 0, or -errno and a line in why[]. The target outlives the instance. */
    int (*new)(void **out, const struct export_target *t, char *why, size_t size);
    void (*send)(void *self, const struct export_profile *p, const volatile bool *stop, struct verdict *out);
    void (*free)(void *self);
};

extern const struct exporter exporter_pyroscope, exporter_otlp, exporter_directory;

/* NULL: there is no such kind. */
const struct exporter *exporter_of(enum export_kind kind);
