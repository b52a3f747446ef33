/* Builds the rules of the discovery thread from options and from the targets in the file.
 *
 *     targets:                   # the first that matches gives its labels; '*' stands for any characters
 *       - image: "*postgres*"
 *         labels: {service_name: db, team: storage}
 *       - unit: nginx.service
 *     default-target: {team: platform}
 */
#pragma once
#include "cli/agent/agent_events.h"
#include "discover/discover.h"

struct agent_rules; /* owns everything that the rules refer to, including options and file */

/* Builds the rules and takes ownership of *o and *file, until rules->release is called. `events`:
 * those of the agent (borrowed until then). `kube`: there is a source of
 * pods. `node`: the name of the node. Returns 0, or -EINVAL and one line in `message`; the caller then keeps *o and
 * *file. */
int agent_rules_make(struct discover_rules *rules, struct agent_options *o, struct config_file **file,
                     const struct agent_events *events, bool kube, const char *node, struct buf *message);
/* Returns the options of the rules; valid until the rules are released. */
const struct agent_options *agent_rules_options(const struct discover_rules *rules);
/* Returns the labels of all profiles: --label, and the node. */
const struct label_set *agent_rules_labels(const struct discover_rules *rules);
