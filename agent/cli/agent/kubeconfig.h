/* Reads kubeconfig files as kubectl does: the cluster and user of the current context. Tokens, certificates and keys
 * can be in separate files or in the file itself (base64); plug-ins that create tokens (exec, auth-provider) are not
 * run.
 */
#pragma once
#include "cli/options/config_file.h"
#include "kube/kube.h"

struct kubeconfig { /* owns the strings of kube_config */
    struct config_file *file;
    char paths[3][4128]; /* CA, certificate, key: resolved against the directory of the file, or memfds */
    int fds[3];
};

/* Fills url, ca_file, token, token_file, cert_file, key_file and insecure_skip_verify of *out. Returns 0, or -errno and
 * one line in why[]. Call kubeconfig_free in every case, once kube_new has copied the strings and the files are no
 * longer read. */
int kubeconfig_read(struct kubeconfig *k, const char *path, struct kube_config *out, char *why, size_t len);
void kubeconfig_free(struct kubeconfig *k);
