/* Builds the configuration of the exports from options such as --pyroscope-url and from the list in the file.
 *
 *     exporters:
 *       - name: central          # its place in the spool hangs on it
 *         type: pyroscope        # or otlp, directory
 *         url: https://pyroscope.example
 *         headers: {X-Team: infra}
 */
#pragma once
#include "cli/agent/agent_options.h"
#include "export/export.h"

struct agent_exports {
    struct export_config config; /* refers to the members below, the options and the file */
    struct export_target targets[EXPORT_MAX_TARGETS];
    struct exporter_fields *fields; /* for the exporters in the file */
    size_t nfields;
};

/* Returns 0, or -EINVAL and one line in `message`. Call agent_exports_free in every case. */
int agent_exports_resolve(struct agent_exports *out, const struct agent_options *o, struct config_file *file,
                          struct buf *message);
void agent_exports_free(struct agent_exports *e);
