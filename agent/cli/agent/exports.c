#include "cli/agent/exports.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define AT(field) offsetof(struct exporter_fields, field)
#define SECOND    1000000000ull
#define HOUR      (3600 * SECOND)
#define MAX_PAIRS 16

struct exporter_fields {
    const char *name, *type, *url, *tenant, *user_name, *password_file, *bearer_token_file, *ca_file, *cert_file,
        *key_file, *proxy, *no_proxy, *path;
    bool insecure, gzip;
    u64 timeout_ns, parallel, max_size, max_age_ns;
    char *header_lines[MAX_PAIRS]; /* owned */
    struct export_label labels[MAX_PAIRS];
    size_t nheaders, nlabels;
};

static const char *type_name(size_t i)
{
    static const char *const types[] = {
        [EXPORT_PYROSCOPE] = "pyroscope", [EXPORT_OTLP] = "otlp", [EXPORT_DIRECTORY] = "directory"};
    return i < sizeof(types) / sizeof(*types) ? types[i] : NULL;
}

/* Its fields are read like options: with the same checks and the same messages. */
static const struct option_row rows[] = {
    {"name", 0, OPTION_TEXT, "NAME", AT(name),
     .help = "unique name of the exporter; also the key of its position in the spool"},
    {"type", 0, OPTION_TEXT, "TYPE", AT(type), .value = type_name, .help = "type of the exporter"},
    {"url", 0, OPTION_TEXT, "URL", AT(url), .help = "URL of the server"},
    {"path", 0, OPTION_TEXT, "DIR", AT(path), .help = "output directory"},
    {"tenant", 0, OPTION_TEXT, "ID", AT(tenant), .help = "X-Scope-OrgID"},
    {"user-name", 0, OPTION_TEXT, "NAME", AT(user_name), .help = "user name for basic authentication"},
    {"password-file", 0, OPTION_TEXT, "FILE", AT(password_file),
     .help = "file with the password for basic authentication"},
    {"bearer-token-file", 0, OPTION_TEXT, "FILE", AT(bearer_token_file),
     .help = "file with a bearer token; read again when it changes"},
    {"ca-file", 0, OPTION_TEXT, "FILE", AT(ca_file), .help = "CA certificates for verifying the server"},
    {"cert-file", 0, OPTION_TEXT, "FILE", AT(cert_file), .help = "client certificate for servers"},
    {"key-file", 0, OPTION_TEXT, "FILE", AT(key_file), .help = "private key of the client certificate"},
    {"proxy", 0, OPTION_TEXT, "URL", AT(proxy), .help = "proxy for reaching the server; off: none"},
    {"no-proxy", 0, OPTION_TEXT, "HOST,...", AT(no_proxy), .help = "hosts that are reached without the proxy"},
    {"insecure-skip-verify", 0, OPTION_SWITCH, "on/off", AT(insecure), .fallback = "off",
     .help = "do not verify the certificate of the server"},
    {"gzip", 0, OPTION_SWITCH, "on/off", AT(gzip), .fallback = "on", .help = "compress requests"},
    {"timeout", 0, OPTION_DURATION, "TIME", AT(timeout_ns), SECOND, 600 * SECOND, .fallback = "15s",
     .help = "timeout of one call"},
    {"parallel", 0, OPTION_NUMBER, "N", AT(parallel), 1, EXPORT_MAX_PARALLEL, .fallback = "4",
     .help = "maximum number of parallel calls"},
    {"max-size", 0, OPTION_SIZE, "SIZE", AT(max_size), 1 << 20, 1ull << 40, .fallback = "1G",
     .help = "maximum size of the output directory; oldest files are removed first"},
    {"max-age", 0, OPTION_DURATION, "TIME", AT(max_age_ns), SECOND, 8760 * HOUR,
     .help = "maximum age of profiles; older ones are removed or not sent"},
};
static const struct command exporter_command = {
    .name = "agent", .rows = rows, .nrows = sizeof(rows) / sizeof(*rows), .hidden = true};

struct item { /* of the list in the file */
    struct config_file *file;
    size_t number;
};

static const char *from_item(void *ctx, const struct option_row *row, size_t i, char *where, size_t len)
{
    const struct item *item = ctx;
    char path[128];
    unsigned line;
    snprintf(path, sizeof(path), "exporters.%zu.%s", item->number, row->flag);
    const char *text = i ? NULL : config_file_take(item->file, path, &line);
    if (text)
        snprintf(where, len, "%s:%u: %s", config_file_name(item->file), line, row->flag);
    return text;
}

__attribute__((format(printf, 4, 5))) static int complain(struct buf *message, const struct config_file *f,
                                                          size_t number, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(message, "xprof agent: %s: exporter %zu: %s\n", config_file_name(f), number + 1, text);
    return -EINVAL;
}

/* headers: and labels: are maps of an exporter's. */
static int take_pairs(struct exporter_fields *x, struct config_file *f, size_t number, struct buf *message)
{
    for (int headers = 0; headers < 2; headers++) {
        char list[64], path[320];
        const char *key;
        snprintf(list, sizeof(list), "exporters.%zu.%s", number, headers ? "headers" : "labels");
        for (size_t i = 0; (key = config_file_key(f, list, i, NULL)); i++) {
            snprintf(path, sizeof(path), "%s.%s", list, key);
            const char *value = config_file_take(f, path, NULL);
            if (i >= MAX_PAIRS)
                return complain(message, f, number, "more than %d %s", MAX_PAIRS, headers ? "headers" : "labels");
            if (!value)
                continue;
            if (!headers)
                x->labels[x->nlabels++] = (struct export_label){key, value};
            else if (asprintf(&x->header_lines[x->nheaders++], "%s: %s", key, value) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static int check(const struct exporter_fields *x, const struct config_file *f, size_t number, struct buf *message)
{
    if (!x->name || !x->type)
        return complain(message, f, number, "name and type are needed");
    bool directory = !strcmp(x->type, type_name(EXPORT_DIRECTORY));
    if (directory ? !x->path : !x->url)
        return complain(message, f, number, "%s is needed", directory ? "path" : "url");
    if (!!x->cert_file != !!x->key_file)
        return complain(message, f, number, "cert-file and key-file belong together");
    if (x->proxy && !agent_options_is_proxy(x->proxy))
        return complain(message, f, number, "proxy: a URL such as http://proxy.example:3128 is needed, or off");
    return 0;
}

/* Without a proxy of its own, the agent's. */
static struct export_target target_of(const struct exporter_fields *x, const struct agent_options *o)
{
    enum export_kind kind = 0;
    while (strcmp(type_name(kind), x->type) != 0)
        kind++;
    return (struct export_target){
        .kind = kind,
        .name = x->name,
        .url = x->url,
        .tenant = x->tenant,
        .user = x->user_name,
        .password_file = x->password_file,
        .bearer_file = x->bearer_token_file,
        .ca_file = x->ca_file,
        .cert_file = x->cert_file,
        .key_file = x->key_file,
        .proxy = x->proxy ? x->proxy : o->proxy,
        .no_proxy = x->no_proxy ? x->no_proxy : o->no_proxy,
        .insecure = x->insecure,
        .headers = (const char *const *)x->header_lines,
        .nheaders = x->nheaders,
        .external_labels = x->labels,
        .nexternal = x->nlabels,
        .gzip = x->gzip,
        .timeout_ms = (unsigned)(x->timeout_ns / 1000000),
        .parallel = (unsigned)x->parallel,
        .path = x->path,
        .max_bytes = x->max_size,
        .max_age_ns = x->max_age_ns,
    };
}

static int add(struct agent_exports *e, const struct export_target *t, struct buf *message)
{
    for (size_t i = 0; i < e->config.ntargets; i++)
        if (!strcmp(e->targets[i].name, t->name)) {
            buf_printf(message, "xprof agent: two exporters have the name %s\n", t->name);
            return -EINVAL;
        }
    if (e->config.ntargets == EXPORT_MAX_TARGETS) {
        buf_printf(message, "xprof agent: more than %d exporters\n", EXPORT_MAX_TARGETS);
        return -EINVAL;
    }
    e->targets[e->config.ntargets++] = *t;
    return 0;
}

/* Those that options ask for. */
static int add_options(struct agent_exports *e, const struct agent_options *o, struct buf *message)
{
    struct export_target server = {
        .tenant = o->tenant,
        .user = o->user_name,
        .password_file = o->password_file,
        .bearer_file = o->bearer_token_file,
        .ca_file = o->ca_file,
        .cert_file = o->cert_file,
        .key_file = o->key_file,
        .proxy = o->proxy,
        .no_proxy = o->no_proxy,
        .gzip = true,
    };
    int rc = 0;
    if (o->pyroscope_url) {
        server.kind = EXPORT_PYROSCOPE;
        server.name = "pyroscope";
        server.url = o->pyroscope_url;
        rc = add(e, &server, message);
    }
    if (!rc && o->otlp_url) {
        server.kind = EXPORT_OTLP;
        server.name = "otlp";
        server.url = o->otlp_url;
        rc = add(e, &server, message);
    }
    struct export_target directory = {.kind = EXPORT_DIRECTORY,
                                      .name = "directory",
                                      .path = o->output_dir,
                                      .max_bytes = o->output_size,
                                      .max_age_ns = o->output_age_ns};
    if (!rc && o->output_dir)
        rc = add(e, &directory, message);
    return rc;
}

static int add_item(struct agent_exports *e, const struct agent_options *o, struct config_file *f, size_t number,
                    struct buf *message)
{
    struct exporter_fields *x = &e->fields[number];
    struct item item = {f, number};
    struct option_source source = {from_item, &item};
    char name[] = "agent", *argv[] = {name, NULL};
    int at;
    int rc = options_parse_from(&exporter_command, 1, argv, &source, 1, x, &at, message);
    if (!rc)
        rc = take_pairs(x, f, number, message);
    if (!rc)
        rc = check(x, f, number, message);
    if (rc)
        return rc;
    struct export_target t = target_of(x, o);
    return add(e, &t, message);
}

int agent_exports_resolve(struct agent_exports *out, const struct agent_options *o, struct config_file *file,
                          struct buf *message)
{
    *out = (struct agent_exports){.nfields = file ? config_file_items(file, "exporters") : 0};
    out->fields = calloc(out->nfields + 1, sizeof(*out->fields));
    int rc = out->fields ? add_options(out, o, message) : -ENOMEM;
    for (size_t i = 0; i < out->nfields && !rc; i++)
        rc = add_item(out, o, file, i, message);
    out->config.targets = out->targets;
    out->config.spool_dir = o->state_dir;
    out->config.spool_bytes = o->spool_size;
    out->config.spool_age_ns = o->spool_age_ns;
    return rc;
}

void agent_exports_free(struct agent_exports *e)
{
    for (size_t i = 0; e->fields && i < e->nfields; i++)
        for (size_t k = 0; k < e->fields[i].nheaders; k++)
            free(e->fields[i].header_lines[k]);
    free(TAKE_PTR(e->fields));
}
