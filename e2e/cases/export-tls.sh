#!/bin/bash
# TLS with our own authority, basic authentication, client certificates, through a real nginx: what is right arrives;
# what is wrong loses nothing, says why, and is repaired by writing the file anew.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

need openssl nginx
need_server
record_profile
free_ports
tls=$port
free_ports
start_server v1
cd "$TMP"
make_cert() { # NAME SUBJECT_NAME [AUTHORITY]
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out "$1.pem" \
        -extfile <(echo "subjectAltName=$2") 2>/dev/null
}
for ca in ca other; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $ca.key -out $ca.pem -days 2 \
        -subj "/CN=$ca" 2>/dev/null
done
make_cert right IP:127.0.0.1
make_cert wrong DNS:elsewhere.test
make_cert client DNS:agent.test
echo "me:$(openssl passwd -apr1 secret)" >users
mkdir -p nginx
chmod 755 . nginx
cat >nginx.conf <<EOF2
pid $TMP/nginx/pid;
error_log $TMP/nginx/error;
user root;
events {}
http {
    access_log off;
    client_body_temp_path nginx/b; proxy_temp_path nginx/p; fastcgi_temp_path nginx/f;
    uwsgi_temp_path nginx/u; scgi_temp_path nginx/s;
    ssl_certificate_key right.key;
    ssl_certificate right.pem;
    server {
        listen 127.0.0.1:$tls ssl http2;
        location / { proxy_pass $url/; }
        location /auth/ { auth_basic x; auth_basic_user_file users; proxy_pass $url/; }
    }
    server {
        listen 127.0.0.1:$((tls + 1)) ssl;
        ssl_certificate wrong.pem; ssl_certificate_key wrong.key;
        location / { proxy_pass $url; }
    }
    server {
        listen 127.0.0.1:$((tls + 2)) ssl;
        ssl_client_certificate ca.pem; ssl_verify_client on;
        location / { proxy_pass $url; }
    }
}
EOF2
nginx -p "$TMP" -c nginx.conf -e "$TMP/nginx/error" 8>&-
cd - >/dev/null
await test -s "$TMP/nginx/pid"
at_exit "kill $(cat "$TMP/nginx/pid")"
base=https://127.0.0.1

echo wrong >"$TMP/password"
start_sender -s "$TMP/spool" \
    "pyroscope:right:url=$base:$tls/;ca=$TMP/ca.pem" \
    "pyroscope:auth:url=$base:$tls/auth;ca=$TMP/ca.pem;user=me;password=$TMP/password" \
    "pyroscope:client:url=$base:$((tls + 2));ca=$TMP/ca.pem;cert=$TMP/client.pem;key=$TMP/client.key" \
    "pyroscope:name:url=$base:$((tls + 1));ca=$TMP/ca.pem" \
    "pyroscope:stranger:url=$base:$tls;ca=$TMP/other.pem" \
    "pyroscope:system:url=$base:$tls" \
    "pyroscope:nocert:url=$base:$((tls + 2));ca=$TMP/ca.pem" \
    "pyroscope:insecure:url=$base:$((tls + 1));insecure=1"
say put "$TMP/x.pb.gz" 2 __name__=process_cpu service_name=shop pod=p%
for i in 0 2 7; do await_stat $i '.sent == 2'; done
for i in 3 4 5; do await_stat $i '.failed.tls > 0 and .sent == 0 and .pending == 2'; done
await_stat 6 '.sent == 0 and .dropped.invalid == 2' # nginx says 400 to who has no certificate
await_stat 1 '.failed.unauthorized > 0 and .pending == 2'
grep -q '^news auth: unauthorized: 401 ' "$TMP/sent" || fail "it does not say that the password is wrong"
grep -q '^news name: tls: .*127.0.0.1' "$TMP/sent" || fail "it does not say which name is wrong"
has_nanoseconds $cpu '{service_name="shop",pod="p1"}' burn || fail "nothing arrived"
echo secret >"$TMP/password"
await_stat 1 '.sent == 2 and .pending == 0'
end_sender
