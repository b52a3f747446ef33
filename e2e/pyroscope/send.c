/* The export room alone, for tests against real servers.
 *
 *     export-send [-s SPOOL] [-B SPOOL_BYTES] [-M MEMORY_BYTES] [-r REPLAY_BYTES_PER_S] [-y] TARGET... < COMMANDS
 *
 * TARGET is KIND:NAME:KEY=VALUE;KEY=VALUE... with the fields of struct export_target; -y: sync each. COMMANDS are
 * lines: put FILE COUNT LABEL=VALUE...   that gzipped profile so often; "%" in a value is the number. @age=SECONDS: so
 * old raw FILE COUNT LABEL=VALUE...   the file's bytes as they are flush MS | sleep MS | stats     stats: a line of
 * JSON for each target and for the spool Each command is answered by a line that begins with it and its result; news
 * come as "news ...". The end of the commands ends it without a flush.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/gz.h"
#include "export/export.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_PROFILE = 64 << 20 };

static bool set_text(struct export_target *t, const char *key, const char *value)
{
    const struct {
        const char *key, **field;
    } rows[] = {{"url", &t->url},
                {"tenant", &t->tenant},
                {"user", &t->user},
                {"password", &t->password_file},
                {"bearer", &t->bearer_file},
                {"ca", &t->ca_file},
                {"cert", &t->cert_file},
                {"key", &t->key_file},
                {"path", &t->path}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(key, rows[i].key) == 0) {
            *rows[i].field = value;
            return true;
        }
    return false;
}

static bool set_field(struct export_target *t, char *text)
{
    char *value = strchr(text, '=');
    if (!value)
        return false;
    *value++ = 0;
    if (set_text(t, text, value))
        return true;
    u64 n = strtoull(value, NULL, 10);
    if (strcmp(text, "gzip") == 0)
        t->gzip = n;
    else if (strcmp(text, "insecure") == 0)
        t->insecure = n;
    else if (strcmp(text, "timeout") == 0)
        t->timeout_ms = (unsigned)n;
    else if (strcmp(text, "parallel") == 0)
        t->parallel = (unsigned)n;
    else if (strcmp(text, "bytes") == 0)
        t->max_bytes = n;
    else
        return false;
    return true;
}

static bool parse_target(char *text, struct export_target *t)
{
    char *save, *kind = strtok_r(text, ":", &save), *name = strtok_r(NULL, ":", &save);
    if (!name)
        return false;
    t->name = name;
    t->kind = strcmp(kind, "otlp") == 0 ? EXPORT_OTLP : strcmp(kind, "dir") == 0 ? EXPORT_DIRECTORY : EXPORT_PYROSCOPE;
    for (char *field; (field = strtok_r(NULL, ";", &save));)
        if (!set_field(t, field))
            return false;
    return true;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct export_label *)a)->name, ((const struct export_label *)b)->name);
}

static void put_one(struct exports *e, const char *const words[], size_t n, unsigned nth, const struct buf *pprof)
{
    char text[EXPORT_MAX_LABELS][256];
    struct export_label labels[EXPORT_MAX_LABELS];
    struct export_item item = {
        .labels = labels, .type = "cpu", .duration_ns = NS_PER_SEC, .pprof = pprof->data, .len = pprof->len};
    u64 age = 0;
    for (size_t i = 0; i < n && i < EXPORT_MAX_LABELS; i++) {
        const char *value = strchr(words[i], '='), *mark = value ? strchr(value, '%') : NULL;
        if (!value)
            continue;
        if (strncmp(words[i], "@age=", 5) == 0) {
            age = strtoull(words[i] + 5, NULL, 10);
            continue;
        }
        int at = snprintf(text[i], sizeof(text[i]), "%.*s", (int)(mark ? mark - words[i] : 200), words[i]);
        if (mark)
            snprintf(text[i] + at, sizeof(text[i]) - (size_t)at, "%u%.100s", nth, mark + 1);
        text[i][value - words[i]] = 0;
        labels[item.nlabels++] = (struct export_label){text[i], text[i] + (value - words[i]) + 1};
    }
    qsort(labels, item.nlabels, sizeof(*labels), by_name);
    item.time_ns = clock_ns(CLOCK_REALTIME) - age * NS_PER_SEC;
    printf("put %u %d\n", nth, exports_put(e, &item));
}

static void put(struct exports *e, const char *const words[], size_t n)
{
    AUTO_FREE char *data = NULL;
    AUTO_BUF struct buf pprof = {0};
    size_t len = 0;
    int rc = n < 3 ? -1 : fs_read_file(words[1], MAX_PROFILE, &data, &len);
    if (!rc && strcmp(words[0], "put") == 0)
        rc = gz_expand(data, len, MAX_PROFILE, &pprof);
    else if (!rc)
        buf_add(&pprof, data, len);
    if (rc) {
        printf("put %d\n", rc);
        return;
    }
    for (unsigned i = 0; i < (unsigned)atoi(words[2]); i++)
        put_one(e, words + 3, n - 3, i, &pprof);
}

static void print_counts(const char *name, const u64 *counts)
{
    const char *comma = "";
    printf(",\"%s\":{", name);
    for (unsigned r = 0; r < EXPORT_NREASONS; r++)
        if (counts[r]) {
            printf("%s\"%s\":%llu", comma, export_reason_slug(r), (unsigned long long)counts[r]);
            comma = ",";
        }
    printf("}");
}

static void stats(struct exports *e)
{
    struct export_stats s;
    struct export_spool_stats spool;
    for (size_t i = 0; exports_stats(e, i, &s); i++) {
        printf(
            "{\"target\":%zu,\"name\":\"%s\",\"sent\":%llu,\"sent_bytes\":%llu,\"retried\":%llu,\"pending\":%llu,"
            "\"calls\":%llu,\"cpu\":%f,\"seconds\":%f",
            i, s.name, (unsigned long long)s.sent, (unsigned long long)s.sent_bytes, (unsigned long long)s.retried,
            (unsigned long long)s.pending, (unsigned long long)s.calls, s.call_cpu_seconds, s.call_seconds);
        print_counts("failed", s.failed);
        print_counts("dropped", s.dropped);
        printf("}\n");
    }
    exports_spool_stats(e, &spool);
    printf("{\"spool\":1,\"put\":%llu,\"disk\":%llu,\"memory\":%llu,\"corrupt\":%llu,\"errors\":%llu}\n",
           (unsigned long long)spool.put, (unsigned long long)spool.disk_bytes, (unsigned long long)spool.memory_bytes,
           (unsigned long long)spool.corrupt, (unsigned long long)spool.disk_errors);
}

static void news(struct exports *e)
{
    char line[512];
    while (exports_news(e, line, sizeof(line)))
        printf("news %s\n", line);
}

static void run(struct exports *e, char *line)
{
    const char *words[EXPORT_MAX_LABELS];
    size_t n = 0;
    char *save;
    for (char *w = strtok_r(line, " \n", &save); w && n < EXPORT_MAX_LABELS; w = strtok_r(NULL, " \n", &save))
        words[n++] = w;
    if (!n)
        return;
    if (strcmp(words[0], "put") == 0 || strcmp(words[0], "raw") == 0)
        put(e, words, n);
    else if (strcmp(words[0], "flush") == 0 && n > 1)
        printf("flush %d\n", exports_flush(e, (unsigned)atoi(words[1])));
    else if (strcmp(words[0], "mark") == 0 && n > 1)
        printf("mark %s\n", words[1]);
    else if (strcmp(words[0], "stats") == 0)
        stats(e);
    else
        printf("unknown %s\n", words[0]);
    news(e);
}

int main(int argc, char **argv)
{
    struct exports *e CLEANUP(exports_free) = NULL;
    struct export_target targets[EXPORT_MAX_TARGETS] = {0};
    struct export_config config = {.targets = targets};
    char line[4096], why[256] = "";
    for (int option; (option = getopt(argc, argv, "s:B:M:r:y")) != -1;) {
        if (option == 's')
            config.spool_dir = optarg;
        else if (option == 'B')
            config.spool_bytes = strtoull(optarg, NULL, 10);
        else if (option == 'M')
            config.memory_bytes = strtoull(optarg, NULL, 10);
        else if (option == 'r')
            config.replay_bytes_per_s = strtoull(optarg, NULL, 10);
        else if (option == 'y')
            config.sync = EXPORT_SYNC_EACH;
        else
            return 2;
    }
    for (int i = optind; i < argc && config.ntargets < EXPORT_MAX_TARGETS; i++)
        if (!parse_target(argv[i], &targets[config.ntargets++]))
            return 2;
    if (exports_new(&e, &config, why, sizeof(why))) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was acknowledged is seen even if it is killed */
    while (fgets(line, sizeof(line), stdin))
        run(e, line);
    return 0;
}
