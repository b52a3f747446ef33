#include "cli/check_internal.h"
#include "base/cleanup.h"
#include "base/own_code.h"
#include "events/made.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_FUNCTION "kprobe:vfs_read"

/* A function to be probed. */
__attribute__((noinline)) static int probed(int number)
{
    __asm__ volatile("" : "+r"(number));
    return number;
}

static void check_functions(void)
{
    static const char *const can[] = {
        [PROBE_LINKS_MULTI] = "can be probed, many by one link",
        [PROBE_LINKS_PERF] =
            "can be probed, 1000 at once: each takes a perf event (from Linux 6.6 on, many have a link)",
        [PROBE_LINKS_PLAIN] =
            "can be probed, 1000 at once: each takes a perf event, and sites of USDT probes are not "
            "told apart (from Linux 5.15 on, they are)",
    };
    u64 offset = own_code_offset((uintptr_t)probed);
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct probe_places places = {.fd = fd, .offsets = &offset, .n = 1, .when = PROBE_CALLS};
    struct probe_config one = {.events = {{.how = PROBE_KIND, .object = "function", .places = &places}}, .nevents = 1};
    if (fd < 0 || !offset)
        check_line("--", "functions", "no function of this program is found in its file");
    else
        check_on_demand("functions", &one, can[probe_links_here(false)]);
}

static void check_kprobes(void)
{
    static const struct event_choice all = {.period = 1};
    struct event_made made = {.n = 0};
    char why[512];
    const struct event_kind *kind = event_make(&made, KERNEL_FUNCTION, &all, why, sizeof(why));
    bool many = probe_links_here(true) == PROBE_LINKS_MULTI;
    if (kind) {
        struct probe_config one = {.events = {kind->probe}, .nevents = 1};
        check_on_demand("kernel functions", &one,
                        many ? "can be probed, those of a pattern by one link"
                             : "can be probed, those of a pattern by a perf event each");
    } else {
        const char *line = strstr(why, KERNEL_FUNCTION ": ");
        check_line("--", "kernel functions", "%s", line ? line + strlen(KERNEL_FUNCTION ": ") : why);
    }
    event_made_free(&made);
}

void check_probes(void)
{
    check_functions();
    check_kprobes();
}
