/* xprof symbolize: reads a raw profile, looks for its files, names, writes. */
#include "cli/symbolize.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/record/output.h"
#include "cli/record/summary.h"
#include "inspect/recorded_files.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 60000
#define MAX_FILE    ((size_t)1 << 30)

struct symbolizing {
    struct symbolize_options options;
    struct toolbox tools;
    struct outputs outputs;
    struct profile profile;
    struct recorded recorded;
    struct binaries *binaries;
    struct recorded_files *files;
    char why[512];
};

static void symbolizing_free(struct symbolizing *s)
{
    recorded_files_free(&s->files);
    binaries_free(&s->binaries);
    recorded_free(&s->recorded);
    profile_free(&s->profile);
    outputs_free(&s->outputs);
    toolbox_free(&s->tools);
    options_free(&symbolize_command, &s->options);
}

static int read_file(struct symbolizing *s, const char *path)
{
    AUTO_FREE char *data = NULL;
    char what[128] = "";
    size_t len;
    int rc = fs_read_file(path, MAX_FILE, &data, &len);
    if (rc)
        snprintf(what, sizeof(what), "%s", strerror(-rc));
    else
        rc = recorded_read(data, len, &s->profile, &s->recorded, what, sizeof(what));
    if (rc)
        snprintf(s->why, sizeof(s->why), "%s: %s", path, what);
    return rc;
}

static bool has_names(const struct profile *p, const struct recorded_file *f)
{
    for (size_t i = 0; i < p->mappings.n; i++)
        if (p->mappings.v[i].has_functions && !strcmp(profile_text(p, p->mappings.v[i].name), f->path))
            return true;
    return false;
}

static void tell(const struct symbolizing *s)
{
    for (size_t i = 0; i < s->recorded.files.n; i++) {
        const struct recorded_file *f = &s->recorded.files.v[i];
        if (f->unnamed && !has_names(&s->profile, f))
            log_warn("%zu frames of %s stay without names: neither the file nor its debug file was found (build ID %s)",
                     f->unnamed, f->path, f->build_id[0] ? f->build_id : "unknown");
    }
}

static int run(struct symbolizing *s, const char *path)
{
    int rc = profile_init(&s->profile);
    if (!rc)
        rc = read_file(s, path);
    if (!rc)
        rc = toolbox_open(&s->tools, &s->options.tools, PATIENCE_MS, s->why, sizeof(s->why));
    if (!rc)
        rc = binaries_new(&s->binaries, &s->tools.config);
    if (!rc)
        rc = recorded_files_new(&s->files, s->binaries, &s->recorded);
    if (rc)
        return rc;
    struct name_source source = recorded_files_source(s->files);
    rc = recorded_name(&s->profile, &s->recorded, &source);
    if (rc)
        return rc;
    tell(s);
    rc = outputs_write(&s->outputs, &s->profile); /* says what and why */
    outputs_report(&s->outputs, stderr);
    AUTO_BUF struct buf left_out = {0};
    summary_left_out(s->profile.left_out.count, s->profile.left_out.value, &left_out);
    fwrite(left_out.data, 1, left_out.len, stderr);
    s->why[0] = 0;
    return rc ? -EIO : 0;
}

static int open_outputs(struct symbolizing *s, int operands)
{
    if (operands != 1)
        snprintf(s->why, sizeof(s->why), "no recording given: xprof symbolize FILE.pb.gz -o OUTPUT");
    else if (!s->options.outputs.n)
        snprintf(s->why, sizeof(s->why), "no output given: use -o OUTPUT");
    else
        return outputs_open(&s->outputs, &s->options.outputs, s->options.format, false, s->why, sizeof(s->why));
    return -EINVAL;
}

int cli_symbolize(int argc, char **argv)
{
    AUTO_BUF struct buf message = {0};
    CLEANUP(symbolizing_free) struct symbolizing s = {0};
    int at = argc, rc = toolbox_parse(&symbolize_command, argc, argv, &s.options, &at, &message);
    if (rc)
        return options_report(rc, &message);
    signal(SIGPIPE, SIG_IGN);
    bool usage = open_outputs(&s, argc - at) != 0;
    rc = usage ? -EINVAL : run(&s, argv[at]);
    if (rc == -ENOMEM && !s.why[0])
        log_error("out of memory");
    else if (rc && s.why[0])
        log_error("%s", s.why);
    return usage ? 2 : rc != 0;
}
