/* Sends profiles to targets. exports_put stores each profile once, in a spool on disk, where it stays until every
 * target has it. Each target has its own sending threads, so exports_put never waits for the network.
 *
 *     put -> spool (segments on disk, bounded) -> per target: cursor, window of profiles in flight, exporter -> server
 *
 * Delivery is at least once, within limits. A profile that exports_put accepted survives the death of the process, even
 * by SIGKILL, because it is in the page cache by then; `sync` decides what a power failure may lose. A profile that a
 * target has acknowledged is not sent to it again, except for those in flight when the process was killed. Profiles
 * that the limits push out, that a server refuses or that are too old for it are counted by target and reason. While
 * the disk accepts no writes, profiles are kept in memory, up to a limit of its own.
 *
 * The meaning of responses:
 *   2xx                       done
 *   400 413 415 422           the profile is at fault: dropped and counted; the server's message is logged once
 *   401 403 404 407 3xx 501, and
 *   a 2xx that is a web page  the configuration is at fault: profiles are kept and retried every 5 s to 5 min.
 *                             Credential files are read again for each call, so that a rotated token takes effect
 *   408 429 5xx, no response  retried after 500 ms to 5 min with jitter, or after Retry-After. While a target fails,
 *                             only one profile at a time is sent to it
 *   5xx or 429 again and again for one profile while others succeed: the profile is dropped and counted
 *
 * Any thread may call exports_put and read statistics; only the thread that called exports_new flushes and
 * reconfigures. A new exporter needs one file that fills a struct exporter (exporter.h), a row in exporters.c, and an
 * EXPORT_ kind here.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

/* Reasons why an attempt failed or a profile was dropped: X(name, slug, help). Slugs are the label values in
 * /metrics. */
#define EXPORT_REASONS(X)                                                                                 \
    X(TOO_OLD, "too-old", "older than the server accepts")                                                \
    X(SPOOL_FULL, "spool-full", "dropped from the full spool in favor of newer profiles")                 \
    X(SPOOL_AGE, "spool-age", "in the spool for longer than allowed")                                     \
    X(CORRUPT, "corrupt", "damaged in the spool")                                                         \
    X(MALFORMED, "malformed", "not a pprof profile, or larger than the limits")                           \
    X(INVALID, "invalid", "refused by the server (400, 415, 422)")                                        \
    X(TOO_LARGE, "too-large", "larger than the server accepts (413, or 429 above its burst)")             \
    X(RATE_LIMITED, "rate-limited", "above the rate limit of the server (429)")                           \
    X(SERVER_ERROR, "server-error", "the server failed (5xx)")                                            \
    X(UNAUTHORIZED, "unauthorized", "access denied (401, 403, 407), or a credential file cannot be read") \
    X(WRONG_URL, "wrong-url", "the URL belongs to something else (404, 3xx, 501, a web page)")            \
    X(UNREACHABLE, "unreachable", "no connection to the server")                                          \
    X(TIMEOUT, "timeout", "no response in time")                                                          \
    X(TLS, "tls", "TLS failed: certificate or protocol")                                                  \
    X(BAD_ANSWER, "bad-answer", "the response is not HTTP, or does not end")                              \
    X(DISK, "disk", "the directory cannot be written")

enum export_reason {
#define X(name, slug, help) EXPORT_##name,
    EXPORT_REASONS(X)
#undef X
        EXPORT_NREASONS
};
const char *export_reason_slug(enum export_reason r);
const char *export_reason_help(enum export_reason r);

enum { EXPORT_MAX_LABELS = 64, EXPORT_MAX_TARGETS = 16, EXPORT_MAX_PARALLEL = 16, EXPORT_MAX_PPROF = 32 << 20 };

struct export_label {
    const char *name, *value;
};

/* One profile of one interval. Label names are unique, UTF-8 and sanitised by the caller; __name__ and service_name are
 * required. Borrowed for the call. */
struct export_item {
    const struct export_label *labels;
    size_t nlabels;
    const char *type; /* such as "cpu": part of file names in a directory */
    u64 time_ns;      /* start of the interval, wall clock */
    u64 duration_ns;
    const void *pprof; /* not compressed */
    size_t len;        /* at most EXPORT_MAX_PPROF; below 1.5 MiB for Pyroscope */
};

enum export_kind { EXPORT_PYROSCOPE, EXPORT_OTLP, EXPORT_DIRECTORY };

/* Strings may be NULL: not set. */
struct export_target {
    enum export_kind kind;
    const char *name;   /* unique; [A-Za-z0-9._-], at most 63; identifies its spool cursor */
    const char *url;    /* server URL, optionally with a path prefix; the exporter adds its path */
    const char *tenant; /* X-Scope-OrgID */
    const char *user, *password_file;
    const char *bearer_file;
    const char *ca_file, *cert_file, *key_file; /* PEM */
    const char *proxy, *no_proxy;               /* net/proxy.h: proxy_config_of */
    bool insecure;                              /* do not verify the server's certificate */
    const char *const *headers;                 /* "Name: value" */
    size_t nheaders;
    const struct export_label *external_labels; /* added unless the profile has a label of that name */
    size_t nexternal;
    bool gzip;           /* otlp: compress requests. Profiles for Pyroscope are always compressed */
    unsigned timeout_ms; /* per call; 0: 15 s (Pyroscope v2 responds after a flush) */
    unsigned parallel;   /* concurrent calls; 0: 4. A directory has one */
    const char *path;    /* directory: its path */
    u64 max_bytes;       /* directory: maximum size, oldest files are removed; 0: 1 GiB */
    u64 max_age_ns;      /* maximum age of files or unsent profiles; 0: directory 24 h, Pyroscope 1 h, otlp none */
};

enum export_sync {
    EXPORT_SYNC_NONE, /* no fdatasync: a power failure may lose the last half minute */
    EXPORT_SYNC_EACH, /* fdatasync in every put: a power failure loses nothing */
};

struct export_config {
    const struct export_target *targets;
    size_t ntargets;
    const char *spool_dir; /* NULL: in memory only */
    u64 spool_bytes;       /* on disk; 0: 256 MiB */
    u64 spool_age_ns;      /* 0: 24 h. By wall clock; a profile from the future counts as new */
    u64 memory_bytes;      /* limit of the spool in memory, if the disk cannot be used; 0: 16 MiB */
    enum export_sync sync;
    u64 replay_bytes_per_s; /* rate limit per target for the backlog of an outage, uncompressed; 0: 1 MiB/s */
};

struct exports;

/* Returns 0, or -errno and a line in why[]. -EBUSY: another agent uses the spool; -EINVAL: a target is misconfigured;
 * -ENOENT, -EACCES: a certificate file cannot be read. An unusable spool directory is not an error: the spool is then
 * in memory, and exports_news() reports it. */
int exports_new(struct exports **out, const struct export_config *config, char *why, size_t size);
/* Checks the targets as exports_new() does, on a machine that has their files. Starts and writes nothing. */
int exports_check(const struct export_config *config, char *why, size_t size);
/* Stops all threads; calls in flight notice within 0.5 s. Unsent profiles stay in the spool. */
void exports_free(struct exports **e);

/* Returns 0: stored for every target (or there is none); -E2BIG: too many labels or bytes; -ENOMEM. Errors are
 * counted. */
int exports_put(struct exports *e, const struct export_item *item);

/* Sends everything without delays or pacing and waits until all is sent. Returns 0 or -ETIMEDOUT. */
int exports_flush(struct exports *e, unsigned timeout_ms);

/* Replaces targets and limits. A target with the name of a previous one keeps its spool cursor and counters; a new
 * target starts with the next profile; the backlog of a removed target is discarded. The spool's directory and `sync`
 * do not change. After an error the previous configuration stays in effect. */
int exports_reconfigure(struct exports *e, const struct export_config *config, char *why, size_t size);

struct export_stats {
    char name[64];
    u64 sent, sent_bytes;                                         /* profiles; their bytes on the wire */
    u64 retried;                                                  /* attempts that will be repeated */
    u64 failed[EXPORT_NREASONS];                                  /* attempts, including those that dropped a profile */
    u64 dropped[EXPORT_NREASONS], dropped_bytes[EXPORT_NREASONS]; /* profiles; bytes as in the spool */
    u64 pending;                                                  /* profiles not acknowledged yet */
    u64 oldest_ns;                                                /* age of the oldest of them; 0: none */
    u64 last_success_ns;                                          /* wall clock; 0: never */
    u64 calls;
    double call_seconds, call_cpu_seconds; /* sums over all calls */
    bool sick;                             /* the last call failed by no fault of its profile */
    char error[256];                       /* of the last failed call: one line without control characters */
};
/* Statistics of target i, in the order of the configuration. False: there is no such target. */
bool exports_stats(struct exports *e, size_t i, struct export_stats *out);

struct export_spool_stats {
    u64 put, put_bytes; /* profiles; as stored */
    u64 refused;        /* exports_put returned an error */
    u64 disk_bytes, memory_bytes, segments;
    u64 corrupt; /* records cut off or unreadable when the spool was opened */
    u64 disk_errors;
    char error[256]; /* why profiles are kept in memory; "" while the disk is used */
};
void exports_spool_stats(struct exports *e, struct export_spool_stats *out);

/* Returns the next line for the log, "TARGET: REASON: message": each reason once per target until the target recovers.
 * Call it from time to time until it returns false: nothing new. */
bool exports_news(struct exports *e, char *line, size_t size);
