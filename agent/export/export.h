/* Sends profiles to targets. A profile is put once and stays in a spool on disk until every target has it. Each target
 * has threads of its own that send, so that exports_put never waits for the network.
 *
 *     put -> spool (segments on disk, bounded) -> per target: cursor, window of profiles under way, exporter -> server
 *
 * At least once, within bounds. What put() accepted survives the death of the process, SIGKILL included, because it is
 * in the page cache by then; what a power cut may take is said by `sync`. A profile that a target has answered for is
 * not sent to it again, but for those under way when the process was killed. What the bounds push out, what a server
 * refuses and what is too old for it is counted by target and reason. While the disk does not take any more, profiles
 * are kept in memory, within a bound of their own.
 *
 * What an answer means:
 *   2xx                       done
 *   400 413 415 422           the profile's fault: dropped, counted, the server's message told once
 *   401 403 404 3xx 501, and
 *   a 2xx that is a web page  the configuration's fault: the profiles stay, tried every 5 s to 5 min. Credential files
 *                             are read anew for each call, so that a rotated token repairs it by itself
 *   408 429 5xx, no answer    later: 500 ms to 5 min with jitter, or when Retry-After says. While a target is sick one
 *                             profile at a time asks whether it is well again
 *   5xx or 429 for one profile again and again while others pass in between: it is the profile; dropped, counted
 *
 * Any thread may put, and ask for figures; the one that made it flushes and reconfigures. Adding an exporter: one file
 * that fills a struct exporter (exporter.h), a row in exporters.c, an EXPORT_ kind here.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

/* Why an attempt failed, or a profile was dropped: X(name, slug, help). Slugs are the values of /metrics' label. */
#define EXPORT_REASONS(X)                                                                            \
    X(TOO_OLD, "too-old", "older than the server accepts")                                           \
    X(SPOOL_FULL, "spool-full", "dropped from the full spool in favor of newer profiles")            \
    X(SPOOL_AGE, "spool-age", "in the spool for longer than allowed")                                \
    X(CORRUPT, "corrupt", "damaged in the spool")                                                    \
    X(MALFORMED, "malformed", "not a pprof profile, or larger than the limits")                      \
    X(INVALID, "invalid", "refused by the server (400, 415, 422)")                                   \
    X(TOO_LARGE, "too-large", "larger than the server accepts (413, or 429 above its burst)")        \
    X(RATE_LIMITED, "rate-limited", "above the rate limit of the server (429)")                      \
    X(SERVER_ERROR, "server-error", "the server failed (5xx)")                                       \
    X(UNAUTHORIZED, "unauthorized", "access denied (401, 403), or a credential file cannot be read") \
    X(WRONG_URL, "wrong-url", "the URL belongs to something else (404, 3xx, 501, a web page)")       \
    X(UNREACHABLE, "unreachable", "no connection to the server")                                     \
    X(TIMEOUT, "timeout", "no response in time")                                                     \
    X(TLS, "tls", "TLS failed: certificate or protocol")                                             \
    X(BAD_ANSWER, "bad-answer", "the response is not HTTP, or does not end")                         \
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

/* One profile of one interval. Names are unique and UTF-8, sanitised by who makes them; __name__ and service_name are
 * among them. Borrowed for the call. */
struct export_item {
    const struct export_label *labels;
    size_t nlabels;
    const char *type; /* "cpu": names the directory's files */
    u64 time_ns;      /* the interval's start, wall clock */
    u64 duration_ns;
    const void *pprof; /* not compressed */
    size_t len;        /* at most EXPORT_MAX_PPROF; below 1.5 MiB for Pyroscope */
};

enum export_kind { EXPORT_PYROSCOPE, EXPORT_OTLP, EXPORT_DIRECTORY };

/* Strings may be NULL: not wanted. */
struct export_target {
    enum export_kind kind;
    const char *name;   /* unique; [A-Za-z0-9._-], at most 63; its place in the spool hangs on it */
    const char *url;    /* of the server, with a path prefix or none; the exporter's path is added */
    const char *tenant; /* X-Scope-OrgID */
    const char *user, *password_file;
    const char *bearer_file;
    const char *ca_file, *cert_file, *key_file; /* PEM */
    bool insecure;                              /* do not check the server's certificate */
    const char *const *headers;                 /* "Name: value" */
    size_t nheaders;
    const struct export_label *external_labels; /* added where the profile has no label of that name */
    size_t nexternal;
    bool gzip;           /* otlp: compress the request. Pyroscope's profiles are compressed in any case */
    unsigned timeout_ms; /* of one call; 0: 15 s (a v2 Pyroscope answers after a flush) */
    unsigned parallel;   /* calls at the same time; 0: 4. The directory has one */
    const char *path;    /* directory: its folder */
    u64 max_bytes;       /* directory: oldest files are removed beyond; 0: 1 GiB */
    u64 max_age_ns;      /* directory: 0: 24 h. Servers: do not send what is older; 0: Pyroscope 1 h, otlp no limit */
};

enum export_sync {
    EXPORT_SYNC_NONE, /* the kernel's own time: a power cut may lose the last half minute */
    EXPORT_SYNC_EACH, /* fdatasync in every put: a power cut loses nothing that was put */
};

struct export_config {
    const struct export_target *targets;
    size_t ntargets;
    const char *spool_dir; /* NULL: in memory only */
    u64 spool_bytes;       /* on disk; 0: 256 MiB */
    u64 spool_age_ns;      /* 0: 24 h. By wall clock: a profile from the future is a fresh one */
    u64 memory_bytes;      /* when there is no disk; 0: 16 MiB */
    enum export_sync sync;
    u64 replay_bytes_per_s; /* of each target, not compressed: it paces what an outage left; 0: 1 MiB/s */
};

struct exports;

/* 0, or -errno and a line in why[]: -EBUSY: another agent uses the spool; -EINVAL: a target is misconfigured; -ENOENT,
 * -EACCES: a certificate file cannot be read. A spool folder that cannot be used is no error: memory only, and
 * exports_news() says so. */
int exports_new(struct exports **out, const struct export_config *config, char *why, size_t size);
/* What exports_new() would say about the targets, on a machine that has their files; nothing is started or written. */
int exports_check(const struct export_config *config, char *why, size_t size);
/* Ends all threads, at the latest when the calls under way see it (0.5 s). What is not sent stays in the spool. */
void exports_free(struct exports **e);

/* 0: kept for every target (or there is none). -E2BIG: too many labels or bytes; -ENOMEM. Counted. */
int exports_put(struct exports *e, const struct export_item *item);

/* Tries everything at once, without pacing, and waits until all is sent or the time is over: 0 or -ETIMEDOUT. */
int exports_flush(struct exports *e, unsigned timeout_ms);

/* New targets and limits; a target whose name stays keeps its place in the spool and its counters, one that is new
 * begins with the next profile, what is left for one that goes is forgotten. The spool's folder and sync stay what they
 * were. On error everything goes on as before. */
int exports_reconfigure(struct exports *e, const struct export_config *config, char *why, size_t size);

struct export_stats {
    char name[64];
    u64 sent, sent_bytes;                                         /* profiles; bytes of them on the wire */
    u64 retried;                                                  /* attempts that will be repeated */
    u64 failed[EXPORT_NREASONS];                                  /* attempts, those that dropped a profile included */
    u64 dropped[EXPORT_NREASONS], dropped_bytes[EXPORT_NREASONS]; /* profiles; bytes as in the spool */
    u64 pending;                                                  /* profiles not answered for yet */
    u64 oldest_ns;                                                /* age of the oldest of them; 0: none */
    u64 last_success_ns;                                          /* wall clock; 0: never */
    u64 calls;
    double call_seconds, call_cpu_seconds; /* sums over the calls */
    bool sick;                             /* the last call failed by no fault of its profile */
    char error[256];                       /* of the last call that failed: one clean line */
};
/* Of target i in the order of the configuration; false: there is none. */
bool exports_stats(struct exports *e, size_t i, struct export_stats *out);

struct export_spool_stats {
    u64 put, put_bytes; /* profiles; as stored */
    u64 refused;        /* exports_put returned an error */
    u64 disk_bytes, memory_bytes, segments;
    u64 corrupt; /* records cut off or unreadable when the spool was opened */
    u64 disk_errors;
    char error[256]; /* why profiles go to memory; empty while the disk takes them */
};
void exports_spool_stats(struct exports *e, struct export_spool_stats *out);

/* The next line worth a log entry, "TARGET: REASON: what was said": each reason once for a target until
 * the target is well again. To be asked now and then until it says false: no news. */
bool exports_news(struct exports *e, char *line, size_t size);
