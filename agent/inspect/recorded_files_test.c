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

/* Puts a fixture where the desk looks for the debug file of this build ID. */
static int file_debug(struct desk *d, const char *fixture, const char *id)
{
    char command[9000], debug[4096];
    path_of(fixture, debug);
    snprintf(command, sizeof(command), "mkdir -p %s/.build-id/%.2s && cp %s %s/.build-id/%.2s/%s.debug", d->dir, id,
             debug, d->dir, id, id + 2);
    return system(command);
}

/* Only the debug file is there, under its build ID in a folder: a stand-in says where the code lies. */
TEST(recorded_files_are_named_by_their_debug_file_alone)
{
    static const struct {
        const char *recorded, *debug, *symbol, *name;
        u64 more; /* the mapping begins this much later, not at a page */
    } cases[] = {{"elf/dwarf-cpp-stripped", "dwarf-cpp", "_ZN4shop3runEi", "shop::run(int)", 0},
                 {"elf/dwarf-cpp-stripped", "dwarf-cpp", "_ZN4shop3runEi", "shop::run(int)", 1},
                 {"elf/dwarf-moved", "dwarf-moved", "split", "split", 0},
                 {"elf/dwarf-moved", "dwarf-moved", "split", "split", 0x10}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_DESK d = {.dir = ""};
        CLEANUP(recorded_files_free) struct recorded_files *f = NULL;
        CLEANUP(recorded_free) struct recorded r = {0};
        char name[64] = "", debug[64];
        u64 at = offset_of(cases[i].debug, cases[i].symbol);
        snprintf(debug, sizeof(debug), "elf/%s", cases[i].debug);
        CHECK_EQ(desk_new(&d), 0);
        CHECK_EQ(record_file(&r, &d, cases[i].recorded, NULL), 0);
        struct recorded_file *file = &r.files.v[0];
        CHECK_EQ(file_debug(&d, debug, file->build_id), 0);
        free(file->path);
        file->path = strdup("/nowhere/program");
        file->lo += cases[i].more;
        file->lo_offset += cases[i].more;
        CHECK_EQ(recorded_files_new(&f, d.binaries, &r), 0);
        struct name_source s = recorded_files_source(f);
        CHECK_EQ(s.names(s.ctx, XP_FILE_FIRST, &at, 1, first_name, name), 0);
        CHECK_STR(name, cases[i].name);
        recorded_files_free(&f);
        CHECK(!f);
    }
}

/* Recordings are not believed: no stand-in for a mapping that cannot be, or for a file without a build ID. */
TEST(recorded_files_that_cannot_be_have_no_stand_in)
{
    static const struct recorded_file cases[] = {
        {.lo = 0x401000, .hi = 0x401fff, .lo_offset = 0x1000, .build_id = "", .unnamed = 1},
        {.lo = 0x401000, .hi = 0x401fff, .lo_offset = 0x1000, .build_id = "no hex", .unnamed = 1},
        {.lo = 0x401000, .hi = 0x400fff, .lo_offset = 0x1000, .build_id = "aabb", .unnamed = 1},
        {.lo = 0x401010, .hi = 0x401fff, .lo_offset = 0x000f, .build_id = "aabb", .unnamed = 1},
        {.lo = 0x401000, .hi = 0x401fff, .lo_offset = 1ull << 31, .build_id = "aabb", .unnamed = 1},
        {.lo = 0x401000, .hi = 0x401fff, .lo_offset = 0x1000, .build_id = "aabb", .unnamed = 1},
        {.lo = 0x401000, .hi = 0x401000, .lo_offset = (1ull << 31) - 1 - 0xfff, .build_id = "aabb", .unnamed = 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_DESK d = {.dir = ""};
        CLEANUP(recorded_files_free) struct recorded_files *f = NULL;
        CLEANUP(recorded_free) struct recorded r = {0};
        CHECK_EQ(desk_new(&d), 0);
        struct recorded_file *file = VEC_PUSH(&r.files);
        *file = cases[i];
        file->path = strdup("/nowhere/program");
        CHECK_EQ(recorded_files_new(&f, d.binaries, &r), 0);
        const struct binary *b = binaries_get(d.binaries, XP_FILE_FIRST);
        CHECK_EQ(b != NULL, i >= 5);
        if (b) {
            CHECK_STR(b->build_id, "aabb");
            CHECK_STR(b->path, "/nowhere/program");
            CHECK_EQ(b->error, 0);
        }
    }
}
