/* Where profiles go, as the exports want to hear it: from --pyroscope-url and its like, and from the file's list.
 *
 *     exporters:
 *       - name: central          # its place in the spool hangs on it
 *         type: pyroscope        # or otlp, directory
 *         url: https://pyroscope.example
 *         headers: {X-Team: infra}
 */
#pragma once
#include "cli/agent_options.h"
#include "export/export.h"

struct agent_exports {
    struct export_config config; /* refers to what is below, to the options and to the file */
    struct export_target targets[EXPORT_MAX_TARGETS];
    struct exporter_fields *fields; /* of the file's exporters */
    size_t nfields;
};

/* 0; -EINVAL and one line in `message`. To be freed in every case. */
int agent_exports_resolve(struct agent_exports *out, const struct agent_options *o, struct config_file *file,
                          struct buf *message);
void agent_exports_free(struct agent_exports *e);
