#!/bin/bash
# Segments that TCP sends again are as many as the kernel's own books say, by the function that sent last; those of a
# connection that is not answered are connect's. Whoever has sent before xprof looked is known by its cgroup.
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare iptables nstat
. e2e/io/lib.sh

cat >"$TMP/sender.c" <<'END'
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static char data[65536];
static __attribute__((noinline)) int send_much(int fd, int n)
{
    int sent = 0;
    for (int i = 0; i < n; i++)
        sent += write(fd, data, sizeof(data)) == sizeof(data);
    return sent;
}
/* Many small ones, each after an answer: what is lost has to wait for a timer. */
static __attribute__((noinline)) int send_little(int fd, int n)
{
    int sent = 0;
    for (int i = 0; i < n; i++)
        sent += send(fd, data, 100, 0) == 100 && recv(fd, data, 1, 0) == 1;
    return sent;
}
static __attribute__((noinline)) int ask_in_vain(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), times = 1;
    setsockopt(fd, IPPROTO_TCP, 7 /* TCP_SYNCNT */, &times, sizeof(times));
    return connect(fd, (void *)&a, sizeof(a)) && errno == ETIMEDOUT;
}
/* Sends what nobody gets, and waits. */
static int stall(int l, struct sockaddr_in *a)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (void *)a, sizeof(*a)) || system("iptables -A INPUT -j DROP") || send(fd, data, 100, 0) != 100)
        return 1;
    puts("stalled");
    fflush(stdout);
    sleep(7);
    return 0;
}
int main(int argc, char **argv)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM, 0), many = argc > 1 ? atoi(argv[1]) : 100;
    if (bind(l, (void *)&a, len) || listen(l, 9) || getsockname(l, (void *)&a, &len))
        return 1;
    if (argc > 2)
        return stall(l, &a);
    if (!fork()) {
        for (int k = 0; k < 2; k++) {
            int s = accept(l, NULL, NULL);
            for (ssize_t n, all = 0; (n = recv(s, data, sizeof(data), 0)) > 0; all += n)
                if (k && send(s, "x", 1, 0) != 1)
                    return 1;
        }
        return 0;
    }
    int much = socket(AF_INET, SOCK_STREAM, 0), little = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(much, (void *)&a, len) || send_much(much, many) != many)
        return 1;
    close(much);
    if (connect(little, (void *)&a, len) || send_little(little, 60) != 60)
        return 1;
    close(little);
    if (!ask_in_vain())
        return 1;
    while (wait(NULL) > 0)
        ;
    sleep(1); /* the ends of connections may be sent again, too */
    return 0;
}
END
gcc -O1 -w -fno-optimize-sibling-calls -o "$TMP/sender" "$TMP/sender.c"

# Every tenth packet is lost, and the one port does not answer.
cat >"$TMP/run.sh" <<END
ip link set lo up
sysctl -qw net.ipv4.tcp_syn_linear_timeouts=0 2>/dev/null
iptables -A INPUT -p tcp --dport 9 -j DROP
iptables -A INPUT -p tcp -m statistic --mode random --probability 0.1 -j DROP
"$TMP/sender" 300
status=\$?
nstat -asz TcpRetransSegs | awk '/TcpRetransSegs/ { print \$2 }' >"$TMP/books"
exit \$status
END
unshare -n iptables -A INPUT -m statistic --mode random --probability 0.05 -j DROP 2>/dev/null ||
    skip "iptables cannot drop packets at random here"
record -e net -o "$TMP/x.pb.gz" -- unshare -n bash "$TMP/run.sh"
expect '.lost.sum + .lost.wait' == 0
own=$(<"$TMP/books")
all=$(sum_of "$TMP/x.pb.gz" retransmits)
much=$(sum_of "$TMP/x.pb.gz" retransmits '^send_much$')
little=$(sum_of "$TMP/x.pb.gz" retransmits '^send_little$')
vain=$(sum_of "$TMP/x.pb.gz" retransmits '^ask_in_vain$')
echo "$own segments were sent again, $all seen: $much by send_much, $little by send_little, $vain by ask_in_vain"
# Two may be missing: a SYN-ACK of a connection that is not accepted yet is nobody's, and left out of a command. Now and
# then the request of ask_in_vain is missing, too; the reason is not known.
((all <= own && all >= own - 2)) || fail "not as many as the kernel counts"
((vain > 0 || all < own)) || fail "no request for a connection was sent again"
((much > 0 && little > 0)) || fail "they are not where they were sent"

# Of everybody: a socket that nobody was seen to send on is its cgroup's.
unshare -n bash -c "ip link set lo up; exec '$TMP/sender' 1 stall" >"$TMP/stalled" &
running=$!
at_exit "kill $running"
await grep -q stalled "$TMP/stalled"
record -e net -a -d 5s -o "$TMP/x.pb.gz"
all=$(sum_of "$TMP/x.pb.gz" retransmits)
GOTOOLCHAIN=local go tool pprof -tags -sample_index=retransmits "$TMP/x.pb.gz" 2>/dev/null | grep -Fq '[unknown]' ||
    fail "$all segments, none of a process that was there before"
