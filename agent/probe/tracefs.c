#include "probe/tracefs.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FORMAT   (64u << 10)
#define CREATE       6 /* FSCONFIG_CMD_CREATE of linux/mount.h, which sys/mount.h may be in conflict with */
#define OPEN_CLOEXEC 1 /* FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC */

/* ---- Its folder -------------------------------------------------------------------------------------------------- */

static int open_mounted(void)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        AUTO_CLOSE int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && !faccessat(fd, "events", R_OK, 0))
            return TAKE_FD(fd);
    }
    return -ENOENT;
}

/* Attached to nothing (Linux 5.2), it goes with its last descriptor. */
static int mount_own(void)
{
    AUTO_CLOSE int fs = (int)syscall(SYS_fsopen, "tracefs", OPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, CREATE, NULL, NULL, 0))
        return -errno;
    int fd = (int)syscall(SYS_fsmount, fs, OPEN_CLOEXEC, MOUNT_ATTR_RDONLY);
    return fd < 0 ? -errno : fd;
}

int tracefs_open(void)
{
    int fd = open_mounted();
    return fd >= 0 ? fd : mount_own();
}

/* ---- A tracepoint ------------------------------------------------------------------------------------------------ */

/* Reads its text, whose file does not say how long it is. Returns 0 or -errno. */
static int read_format(int tracefs, const char *category, const char *name, char *out, size_t len)
{
    char path[512];
    snprintf(path, sizeof(path), "events/%s/%s/format", category, name);
    AUTO_CLOSE int fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
    size_t at = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && at + 1 < len; at += (size_t)n)
        if ((n = read(fd, out + at, len - 1 - at)) < 0)
            return -errno;
    out[at] = 0;
    return fd < 0 ? -errno : 0;
}

/* The number behind "KEY:" in a line. */
static u64 number_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static u8 source_of(const char *type, bool array, bool is_signed, u64 size)
{
    bool chars = !strncmp(type, "char", 4) || strstr(type, " char");
    if (!strncmp(type, "__data_loc", 10))
        return chars ? XP_TP_DATA : XP_TP_NOTHING;
    if (array)
        return chars && !strchr(type, '*') ? XP_TP_ARRAY : XP_TP_NOTHING;
    if (strchr(type, '*') && chars && strstr(type, "const"))
        return XP_TP_USER;
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return XP_TP_NOTHING;
    return is_signed ? XP_TP_SIGNED : XP_TP_UNSIGNED;
}

/* Arguments of system calls are described as registers of 8 bytes without a sign, whatever their types. Of these types,
 * the kernel itself looks at fewer bytes, or at a sign (include/linux/syscalls.h). */
static const struct narrow {
    const char *type;
    u8 size, source;
} NARROW[] = {
    {"int", 4, XP_TP_SIGNED},        {"pid_t", 4, XP_TP_SIGNED},          {"clockid_t", 4, XP_TP_SIGNED},
    {"timer_t", 4, XP_TP_SIGNED},    {"mqd_t", 4, XP_TP_SIGNED},          {"key_t", 4, XP_TP_SIGNED},
    {"rwf_t", 4, XP_TP_SIGNED},      {"key_serial_t", 4, XP_TP_SIGNED},   {"__s32", 4, XP_TP_SIGNED},
    {"long", 8, XP_TP_SIGNED},       {"off_t", 8, XP_TP_SIGNED},          {"loff_t", 8, XP_TP_SIGNED},
    {"unsigned", 4, XP_TP_UNSIGNED}, {"unsigned int", 4, XP_TP_UNSIGNED}, {"u32", 4, XP_TP_UNSIGNED},
    {"__u32", 4, XP_TP_UNSIGNED},    {"uid_t", 4, XP_TP_UNSIGNED},        {"gid_t", 4, XP_TP_UNSIGNED},
    {"qid_t", 4, XP_TP_UNSIGNED},    {"umode_t", 2, XP_TP_UNSIGNED},
};

static void narrow(const char *type, struct xp_tp_field *f)
{
    if (f->source != XP_TP_UNSIGNED || f->size != 8)
        return;
    type += strncmp(type, "const ", 6) ? 0 : 6;
    for (size_t i = 0; i < sizeof(NARROW) / sizeof(*NARROW); i++)
        if (!strcmp(type, NARROW[i].type)) {
            f->size = NARROW[i].size;
            f->source = NARROW[i].source;
        }
}

/* A declaration such as "unsigned long x" or "char comm[16]". */
static int read_declaration(char *text, struct tracepoint_field *out, bool *array)
{
    char *bracket = strchr(text, '['), *end = bracket ? bracket : text + strlen(text);
    *array = bracket != NULL;
    if (!strncmp(text, "__data_loc", 10)) { /* "__data_loc char[] name" */
        end = text + strlen(text);
        *array = false;
    }
    char *name = end;
    while (name > text && name[-1] != ' ' && name[-1] != '*')
        name--;
    if (name == text || name == end)
        return -EBADMSG;
    snprintf(out->name, sizeof(out->name), "%.*s", (int)(end - name), name);
    while (name > text && name[-1] == ' ')
        name--;
    snprintf(out->type, sizeof(out->type), "%.*s%s%s", (int)(name - text), text, *array ? " " : "",
             *array ? bracket : "");
    return 0;
}

/* "field:TYPE NAME; offset:8; size:4; signed:0;", with tabs between them. */
static int read_field(char *line, struct tracepoint_field *out)
{
    char *text = strstr(line, "field:"), *end = text ? strchr(text, ';') : NULL;
    bool array;
    if (!end)
        return -EBADMSG;
    *end = 0;
    if (read_declaration(text + strlen("field:"), out, &array))
        return -EBADMSG;
    u64 offset = number_of(end + 1, "offset:"), size = number_of(end + 1, "size:");
    u8 source = source_of(out->type, array, number_of(end + 1, "signed:") != 0, size);
    out->place = (struct xp_tp_field){.offset = (u32)offset, .size = (u16)size, .source = source};
    narrow(out->type, &out->place);
    if (offset + size > XP_TP_RECORD)
        out->place.source = XP_TP_NOTHING;
    return 0;
}

int tracefs_format(char *text, struct tracepoint *out)
{
    char *rest = text, *line;
    out->nfields = 0;
    out->id = 0;
    while ((line = strsep(&rest, "\n"))) {
        if (!strncmp(line, "ID:", 3))
            out->id = number_of(line, "ID:");
        struct tracepoint_field *f = &out->fields[out->nfields];
        if (line[0] != '\t' || out->nfields == TRACEPOINT_FIELDS || read_field(line, f))
            continue;
        out->nfields += strncmp(f->name, "common_", 7) != 0;
    }
    return out->id ? 0 : -EBADMSG;
}

int tracefs_read(int tracefs, const char *category, const char *name, struct tracepoint *out)
{
    AUTO_FREE char *text = malloc(MAX_FORMAT);
    if (!text)
        return -ENOMEM;
    if (strchr(category, '/') || strchr(name, '/') || category[0] == '.' || name[0] == '.')
        return -ENOENT;
    int rc = read_format(tracefs, category, name, text, MAX_FORMAT);
    return rc ? rc : tracefs_format(text, out);
}

const struct tracepoint_field *tracepoint_field_find(const struct tracepoint *t, const char *name)
{
    for (size_t i = 0; i < t->nfields; i++)
        if (!strcmp(t->fields[i].name, name))
            return &t->fields[i];
    return NULL;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.' && d->d_type == DT_DIR;
}

static void free_names(struct dirent **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static int list_category(int events, const char *category, tracefs_each *each, void *ctx)
{
    struct dirent **names;
    int rc = 0, n = scandirat(events, category, &names, is_visible, alphasort);
    for (int i = 0; i < n && !rc; i++)
        rc = each(ctx, category, names[i]->d_name);
    if (n >= 0)
        free_names(names, n);
    return rc; /* one that has gone meanwhile is none */
}

int tracefs_list(int tracefs, tracefs_each *each, void *ctx)
{
    struct dirent **names;
    AUTO_CLOSE int events = openat(tracefs, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0, n = events < 0 ? -1 : scandirat(events, ".", &names, is_visible, alphasort);
    if (n < 0)
        return -errno;
    for (int i = 0; i < n && !rc; i++)
        rc = list_category(events, names[i]->d_name, each, ctx);
    free_names(names, n);
    return rc;
}
