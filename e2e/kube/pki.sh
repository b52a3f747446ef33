#!/bin/bash
# A certificate authority, what it signs for a test cluster, and a token and kubeconfig for everyone who takes part.
#   pki.sh FOLDER ADDRESS
set -euo pipefail

mkdir -p "$1"
cd "$1"
folder=$PWD address=$2

new_key() { # FILE
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null
}

new_certificate() { # NAME SUBJECT EXTENSION...
    local name=$1 subject=$2
    shift 2
    new_key "$name.key"
    openssl req -new -key "$name.key" -subj "$subject" |
        openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$name.crt" \
            -extfile <(printf '%s\n' "$@") 2>/dev/null
}

# tokens.csv is the API server's: token, name, uid, groups.
new_user() { # NAME USER [GROUP]
    local token
    token=$(openssl rand -hex 16)
    echo "$token,$2,$2${3:+,$3}" >>tokens.csv
    echo "$token" >"$1.token"
    cat >"$1.conf" <<EOF
apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: "https://$address", certificate-authority: "$folder/ca.crt"}}]
users: [{name: user, user: {token: "$token"}}]
contexts: [{name: e2e, context: {cluster: e2e, user: user}}]
EOF
}

new_key ca.key
openssl req -x509 -new -key ca.key -subj /CN=e2e -days 30 -out ca.crt \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
new_certificate apiserver /CN=kube-apiserver extendedKeyUsage=serverAuth \
    "subjectAltName=DNS:kubernetes.default.svc,DNS:kubernetes,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1,IP:$address"
new_certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client extendedKeyUsage=clientAuth
new_key sa.key
openssl pkey -in sa.key -pubout -out sa.pub
new_user admin admin system:masters
new_user scheduler system:kube-scheduler
new_user kubelet system:node:node1 system:nodes
new_user agent agent   # who may read pods and namespaces
new_user agent2 agent # the same after its token was rotated
new_user modest modest # who may read pods only
