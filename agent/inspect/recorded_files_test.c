#include "inspect/desk_test.h"
#include "base/test.h"
#include "elf/facts.h"
#include "cfi/fixture.h"
#include "inspect/recorded_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static u64 offset_of(const char *fixture, const char *symbol)
{
    AUTO_ELF struct elf_file e = {0};
    return fixture_elf(fixture, &e) ? ~0ull : fixture_symbol(&e, symbol);
}

/* The fixture as a recording has it; `id` in place of its own build ID, unless NULL. */
static int record_file(struct recorded *r, struct desk *d, const char *fixture, const char *id)
{
    struct facts f;
    u32 known = add_fixture(d, fixture);
    struct recorded_file *place = VEC_PUSH(&r->files);
    if (!known || !place || binaries_facts(d->binaries, known, &f))
        return -1;
    const struct facts_segment *s = &f.segments[0];
    *place = (struct recorded_file){.path = strdup(binaries_get(d->binaries, known)->path),
                                    .lo = s->vaddr & ~4095ull,
                                    .hi = s->vaddr + s->size - 1,
                                    .lo_offset = s->offset & ~4095ull,
                                    .unnamed = 1};
    snprintf(place->build_id, sizeof(place->build_id), "%s", id ? id : binaries_get(d->binaries, known)->build_id);
    return 0;
}

TEST(recorded_files_are_found_by_path_and_build_id)
{
    static const char other[] = "00112233445566778899aabbccddeeff00112233";
    AUTO_DESK d = {.dir = ""};
    CLEANUP(recorded_files_free) struct recorded_files *f = NULL;
    CLEANUP(recorded_free) struct recorded r = {0};
    const char *path, *id;
    char name[64] = "";
    u64 first, last, offset, at = offset_of("moved", "first");
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(record_file(&r, &d, "elf/moved", NULL), 0);
    CHECK_EQ(record_file(&r, &d, "elf/moved", other), 0); /* another build lies there now */
    CHECK_EQ(record_file(&r, &d, "elf/moved", NULL), 0);
    r.files.v[2].unnamed = 0; /* nobody will ask */
    CHECK_EQ(recorded_files_new(&f, d.binaries, &r), 0);
    struct name_source s = recorded_files_source(f);
    CHECK_EQ(s.names(s.ctx, XP_FILE_FIRST, &at, 1, first_name, name), 0);
    CHECK_STR(name, "first");
    strcpy(name, "-");
    s.names(s.ctx, XP_FILE_FIRST + 1, &at, 1, first_name, name);
    CHECK(strcmp(name, "first") != 0);
    CHECK_EQ(s.names(s.ctx, XP_FILE_FIRST + 2, &at, 1, first_name, name), -ENOENT);
    CHECK_EQ(s.names(s.ctx, XP_FILE_FIRST + 3, &at, 1, first_name, name), -ENOENT);
    CHECK_EQ(s.names(s.ctx, 0, &at, 1, first_name, name), -ENOENT);
    CHECK(s.file(s.ctx, XP_FILE_FIRST + 1, &path, &id) && !s.file(s.ctx, XP_FILE_FIRST + 3, &path, &id));
    CHECK_STR(path, r.files.v[0].path);
    CHECK_STR(id, other);
    CHECK(s.segment(s.ctx, XP_FILE_FIRST, 0, &first, &last, &offset));
    CHECK(!s.segment(s.ctx, XP_FILE_FIRST + 3, 0, &first, &last, &offset));
    CHECK(first == r.files.v[0].lo && last == r.files.v[0].hi && offset == r.files.v[0].lo_offset);
    CHECK_EQ(s.address(s.ctx, XP_FILE_FIRST, offset + 5), first + 5);
    CHECK_EQ(s.address(s.ctx, XP_FILE_FIRST + 3, 5), 5);
}

/* Only the debug file is there, under its build ID in a folder: a stand-in says where the code lies. */
TEST(recorded_files_are_named_by_their_debug_file_alone)
{
    AUTO_DESK d = {.dir = ""};
    CLEANUP(recorded_files_free) struct recorded_files *f = NULL;
    CLEANUP(recorded_free) struct recorded r = {0};
    char name[64] = "", command[9000], debug[4096];
    u64 at = offset_of("dwarf-cpp", "main");
    path_of("elf/dwarf-cpp-debug", debug);
    if (access(debug, R_OK))
        SKIP("there is no such fixture");
    CHECK_EQ(desk_new(&d), 0);
    CHECK_EQ(record_file(&r, &d, "elf/dwarf-cpp-stripped", NULL), 0);
    struct recorded_file *file = &r.files.v[0];
    snprintf(command, sizeof(command), "mkdir -p %s/.build-id/%.2s && cp %s %s/.build-id/%.2s/%s.debug", d.dir,
             file->build_id, debug, d.dir, file->build_id, file->build_id + 2);
    CHECK_EQ(system(command), 0);
    free(file->path);
    file->path = strdup("/nowhere/program");
    CHECK_EQ(recorded_files_new(&f, d.binaries, &r), 0);
    struct name_source s = recorded_files_source(f);
    if (at == ~0ull)
        at = file->lo_offset + (file->hi - file->lo) / 2;
    CHECK_EQ(s.names(s.ctx, XP_FILE_FIRST, &at, 1, first_name, name), 0);
    CHECK(name[0] != 0);
}
