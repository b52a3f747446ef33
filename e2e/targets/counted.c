/* Sets a uprobe that counts references (ref_ctr_offset) at the beginning of a function of a file, as other tools do,
 * and keeps it until it is ended.   counted FILE OFFSET COUNTER_OFFSET. Prints "ready". */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNTER_SHIFT 32 /* PERF_UPROBE_REF_CTR_OFFSET_SHIFT (include/linux/trace_events.h) */

int main(int argc, char **argv)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 0};
    FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    if (argc < 4 || !f || fscanf(f, "%u", &attr.type) != 1)
        return 2;
    attr.config = strtoull(argv[3], NULL, 0) << COUNTER_SHIFT;
    attr.config1 = (unsigned long)argv[1];
    attr.config2 = strtoull(argv[2], NULL, 0);
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
    if (fd < 0) {
        perror("counted");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    pause();
    return 0;
}
