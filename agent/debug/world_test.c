#include "debug/world_test.h"
#include "base/fs.h"
#include "dwarf/crafted.h"
#include "parser/parser.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_free(struct world *w)
{
    char command[128];
    debug_files_free(&w->files);
    debug_trace_free(&w->trace);
    parser_free(&w->parser);
    xp_cleanup_close(&w->container);
    xp_cleanup_close(&w->host);
    snprintf(command, sizeof(command), "rm -rf %s", w->dir);
    if (*w->dir && system(command))
        printf("  %s stays\n", w->dir);
}

static int make_root(struct world *w, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s/bin", w->dir, name);
    if (fs_mkdirs(path))
        return -1;
    path[strlen(path) - 4] = 0;
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool world_new(struct world *w)
{
    const struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    *w = (struct world){.container = -1, .host = -1, .files = DEBUG_FILES_NONE};
    strcpy(w->dir, "/tmp/xprof-test-XXXXXX");
    if (!mkdtemp(w->dir) || parser_new(&w->parser, &limits))
        return false;
    w->container = make_root(w, "container");
    w->host = make_root(w, "host");
    snprintf(w->users, sizeof(w->users), "%s/users", w->dir);
    w->dirs[0] = w->users;
    w->places = (struct debug_search_paths){.parser = w->parser, .host = w->host, .dirs = w->dirs, .ndirs = 1};
    return w->container >= 0 && w->host >= 0;
}

static size_t from_hex(const char *hex, u8 *out)
{
    size_t n = 0;
    for (; hex && hex[2 * n]; n++)
        sscanf(hex + 2 * n, "%2hhx", &out[n]);
    return n;
}

void make_file(struct buf *out, const struct made *m)
{
    struct crafted_section s[6];
    unsigned n = 0;
    u8 note[64] = {4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0}, link[64] = {0}, alt[128] = {0};
    if (m->id) {
        note[4] = (u8)from_hex(m->id, note + 16);
        s[n++] = (struct crafted_section){.name = ".note.gnu.build-id", .data = note, .len = 16u + note[4]};
    }
    if (m->info)
        s[n++] = (struct crafted_section){.name = ".debug_info", .data = m->info, .len = strlen(m->info)};
    if (m->link) {
        size_t at = (strlen(m->link) + 4) & ~3ul;
        memcpy(link, m->link, strlen(m->link));
        memcpy(link + at, &m->crc, 4);
        s[n++] = (struct crafted_section){.name = ".gnu_debuglink", .data = link, .len = at + 4};
    }
    if (m->alt) {
        size_t len = strlen(m->alt) + 1;
        memcpy(alt, m->alt, len);
        len += from_hex(m->alt_id, alt + len);
        s[n++] = (struct crafted_section){.name = ".gnu_debugaltlink", .data = alt, .len = len};
    }
    if (m->package)
        s[n++] = (struct crafted_section){.name = ".debug_cu_index", .data = "index", .len = 5};
    if (m->symbols)
        s[n++] = (struct crafted_section){.name = ".symtab", .data = "symbols", .len = 7};
    crafted_elf(out, s, n);
}

u32 put_file(struct world *w, const char *where, const struct made *m)
{
    AUTO_BUF struct buf b = {0};
    char path[256];
    struct debug_links l = {0};
    make_file(&b, m);
    snprintf(path, sizeof(path), "%s/%s", w->dir, where);
    *strrchr(path, '/') = 0;
    fs_mkdirs(path);
    path[strlen(path)] = '/';
    fs_replace_file(path, b.data, b.len, 0600);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    parser_links(w->parser, fd, true, &l);
    return l.crc;
}

bool look(struct world *w, const char *outcome)
{
    char path[256];
    debug_files_free(&w->files);
    debug_trace_free(&w->trace);
    snprintf(path, sizeof(path), "%s/container/bin/x", w->dir);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct debug_subject s = {.fd = fd, .root = w->container, .path = "/bin/x"};
    if (debug_files_find(&w->places, &s, &w->files, &w->trace))
        return false;
    for (size_t i = 0; i < w->trace.v.n; i++)
        if (!strcmp(w->trace.v.v[i].outcome, outcome))
            return true;
    for (size_t i = 0; i < w->trace.v.n; i++)
        printf("  %s %s: %s\n", w->trace.v.v[i].whose, w->trace.v.v[i].place, w->trace.v.v[i].outcome);
    return false;
}

const char *whose_is_used(const struct world *w)
{
    for (size_t i = 0; i < w->trace.v.n; i++)
        if (!strcmp(w->trace.v.v[i].outcome, "used"))
            return w->trace.v.v[i].whose;
    return "nobody's";
}
