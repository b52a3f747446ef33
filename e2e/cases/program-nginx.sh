#!/bin/bash
# A real program: nginx, one worker under load.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

PATH=$PATH:/usr/sbin
need nginx curl
head -c 100000 /dev/urandom | od -x >"$TMP/page.txt"
cat >"$TMP/nginx.conf" <<CONF
daemon off;
user root;
worker_processes 1;
pid $TMP/nginx.pid;
error_log $TMP/error.log;
events { worker_connections 64; }
http {
    access_log off;
    gzip on;
    gzip_types text/plain;
    types { text/plain txt; }
    server { listen unix:$TMP/nginx.sock; root $TMP; }
}
CONF
nginx -e "$TMP/error.log" -c "$TMP/nginx.conf" 2>"$TMP/nginx.err" &
server=$!
at_exit "kill $server"
await curl -sf --unix-socket "$TMP/nginx.sock" -o /dev/null http://localhost/page.txt
record_in_background -p $server
curl -sf --unix-socket "$TMP/nginx.sock" -H 'Accept-Encoding: gzip' 'http://localhost/page.txt?[1-80]' -o /dev/null
kill -INT "$xprof"
wait "$recorder"
expect_samples 100
expect_complete 99
expect_share 95 '(_start|main);(.*;)?ngx_process_events_and_timers' 'ngx_http_[^;]*;?.*'
expect_stack 'ngx_process_events_and_timers;(.*;)?deflate' "$profile" 30
