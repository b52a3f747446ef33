/* Makes the rules of the discovery thread from options and from the targets in the file.
 *
 *     targets:                   # the first that matches gives its labels; '*' stands for any characters
 *       - image: "*postgres*"
 *         labels: {service_name: db, team: storage}
 *       - unit: nginx.service
 *     default-target: {team: platform}
 */
#pragma once
#include "cli/agent/agent_options.h"
#include "discover/discover.h"

struct agent_rules; /* the owner of what the rules refer to; takes options and file over */

/* Makes rules; *o and *file belong to them from then on, and go when rules->release is called. `kube`: pods come from
 * somewhere. `node`: its name. 0, or -EINVAL and one line in `message`: nothing was taken. */
int agent_rules_make(struct discover_rules *rules, struct agent_options *o, struct config_file **file, bool kube,
                     const char *node, struct buf *message);
/* The options behind rules; valid until their release. */
const struct agent_options *agent_rules_options(const struct discover_rules *rules);
/* Labels of all profiles: --label, and the node. */
const struct label_set *agent_rules_labels(const struct discover_rules *rules);
