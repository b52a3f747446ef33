/* A file system of one file, PROGRAM, which answers the requests of the process that it starts from it, and not those
 * of others (linux/fuse.h).   hangfs MOUNTPOINT PROGRAM open|read|flush: from which request on others hang. Ends with
 * SIGTERM; then all get an error. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *mount_point, *hangs_at;
static int device, content;
static pid_t child;
static struct stat size;

static void finish(int signal)
{
    umount2(mount_point, MNT_DETACH);
    kill(child, SIGKILL);
    _exit(0);
}

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
    struct fuse_out_header out = {.len = (unsigned)(sizeof(out) + len), .error = error, .unique = in->unique};
    struct iovec parts[] = {{&out, sizeof(out)}, {(void *)data, len}};
    if (writev(device, parts, 2) < 0 && errno != ENOENT)
        perror("hangfs: reply");
}

static struct fuse_attr attr_of(unsigned long node)
{
    return (struct fuse_attr){.ino = node,
                              .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755,
                              .nlink = 1,
                              .size = node == 1 ? 0 : (unsigned long)size.st_size,
                              .blksize = 4096};
}

static void do_read(const struct fuse_in_header *in, const struct fuse_read_in *rq)
{
    static char data[1 << 20];
    ssize_t n = pread(content, data, rq->size < sizeof(data) ? rq->size : sizeof(data), (off_t)rq->offset);
    reply(in, n < 0 ? -errno : 0, data, n < 0 ? 0 : (size_t)n);
}

static int hangs(const struct fuse_in_header *in)
{
    int others = in->pid && in->pid != (unsigned)child && in->pid != (unsigned)getpid();
    return others && ((in->opcode == FUSE_OPEN && !strcmp(hangs_at, "open")) ||
                      (in->opcode == FUSE_READ && !strcmp(hangs_at, "read")) ||
                      (in->opcode == FUSE_FLUSH && !strcmp(hangs_at, "flush")));
}

static void serve(const struct fuse_in_header *in)
{
    const void *body = in + 1;
    struct fuse_entry_out entry = {.nodeid = 2, .entry_valid = 3600, .attr_valid = 3600, .attr = attr_of(2)};
    struct fuse_attr_out attr = {.attr_valid = 3600, .attr = attr_of(in->nodeid)};
    struct fuse_init_out init = {.major = 7, .minor = 31, .max_readahead = 4096, .max_write = 4096};
    struct fuse_open_out open = {.open_flags = 0}; /* nothing is kept in the page cache from one opening to the next */
    if (hangs(in))
        return;
    switch (in->opcode) {
    case FUSE_INIT:
        reply(in, 0, &init, sizeof(init));
        return;
    case FUSE_LOOKUP:
        reply(in, strcmp(body, "program") ? -ENOENT : 0, &entry, sizeof(entry));
        return;
    case FUSE_GETATTR:
        reply(in, 0, &attr, sizeof(attr));
        return;
    case FUSE_OPEN:
        reply(in, 0, &open, sizeof(open));
        return;
    case FUSE_READ:
        do_read(in, body);
        return;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        reply(in, 0, NULL, 0);
        return;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        return;
    default:
        reply(in, -ENOSYS, NULL, 0);
    }
}

static pid_t start(void)
{
    char path[4096];
    pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(path, sizeof(path), "%s/program", mount_point);
    usleep(100000);                        /* until the parent knows our number */
    execl(path, "program", "60000", NULL); /* ms */
    perror("hangfs: program");
    _exit(1);
}

int main(int argc, char **argv)
{
    static char request[(1 << 20) + 4096];
    char options[128];
    if (argc != 4)
        return 2;
    mount_point = argv[1];
    hangs_at = argv[3];
    content = open(argv[2], O_RDONLY);
    device = open("/dev/fuse", O_RDWR);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
    if (content < 0 || fstat(content, &size) || device < 0 ||
        mount("hangfs", mount_point, "fuse.hangfs", MS_NODEV, options)) {
        perror("hangfs");
        return 1;
    }
    signal(SIGTERM, finish);
    signal(SIGCHLD, SIG_IGN);
    child = start();
    while (read(device, request, sizeof(request)) > 0 || errno == EINTR || errno == ENOENT)
        serve((const struct fuse_in_header *)request);
    finish(0);
}
