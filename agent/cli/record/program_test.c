#include "base/cleanup.h"
#include "base/test.h"
#include "cli/record/program.h"
#include "probe/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ground {
    char folder[64], path[PATH_MAX], *old;
};

static void put(struct ground *g, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", g->folder, name);
    AUTO_FCLOSE FILE *f = fopen(path, "we");
    fputs(text, f);
    chmod(path, 0755);
}

/* "" if it is not found; else what is behind the folder. */
static const char *found(struct ground *g, const char *name)
{
    if (program_find(name, g->path, sizeof(g->path)))
        return "";
    size_t len = strlen(g->folder);
    return !strncmp(g->path, g->folder, len) && g->path[len] == '/' ? g->path + len + 1 : g->path;
}

static void begin(struct ground *g)
{
    char folders[128];
    strcpy(g->folder, "/tmp/program.XXXXXX");
    CHECK(mkdtemp(g->folder));
    g->old = strdup(getenv("PATH"));
    snprintf(folders, sizeof(folders), "/nowhere:%s", g->folder);
    setenv("PATH", folders, 1);
}

static void end(struct ground *g, const char *const *names)
{
    char path[160];
    for (; *names; names++) {
        snprintf(path, sizeof(path), "%s/%s", g->folder, *names);
        unlink(path);
    }
    rmdir(g->folder);
    setenv("PATH", g->old, 1);
    free(g->old);
}

TEST(programs_are_found_as_they_are_executed)
{
    static const char *const names[] = {"tool", "script", "byenv", "none", NULL};
    struct ground g;
    char tiny[4];
    begin(&g);
    put(&g, "tool", "\177ELF");
    put(&g, "script", "#! /bin/sh -e\necho");
    put(&g, "byenv", "#!/usr/bin/env tool\n");
    put(&g, "none", "#!/does/not/exist");
    CHECK_STR(found(&g, "tool"), "tool");
    CHECK_STR(found(&g, "script"), "/bin/sh");
    CHECK_STR(found(&g, "byenv"), "tool");
    CHECK_STR(found(&g, "none"), "");
    CHECK_STR(found(&g, "other"), "");
    CHECK_STR(found(&g, "/bin/sh"), "/bin/sh");
    CHECK_STR(found(&g, "./tool"), "");
    CHECK_EQ(program_find("/bin/sh", tiny, sizeof(tiny)), -ENAMETOOLONG);
    end(&g, names);
}

TEST(programs_are_mapped_as_code)
{
    void *at = program_map("/proc/self/exe");
    CHECK(at && !memcmp(at, "\177ELF", 4));
    program_unmap(at);
    CHECK(!program_map("/does/not/exist"));
    CHECK(!program_map("/tmp"));
    program_unmap(NULL);
}

TEST(files_of_probes_are_mapped_as_code)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct probe_places file = {.fd = fd}, none = {.fd = -1};
    struct probe_config c = {.nevents = 4, .events = {{.places = &none}, {.places = &file}, {0}, {.places = &file}}};
    struct program_probed p;
    program_map_probed(&c, &p);
    CHECK_EQ(p.n, 2);
    CHECK(!memcmp(p.at[1], "\177ELF", 4));
    program_unmap_probed(&p);
    CHECK_EQ(p.n, 0);
}
