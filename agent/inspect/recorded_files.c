#include "inspect/recorded_files.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE         4096u
#define MAX_STAND_IN ((u64)1 << 31) /* bytes of code, none of which take memory */

struct recorded_files {
    struct binaries *binaries;
    struct name_source names; /* theirs */
    const struct recorded *recorded;
    u32 *ids; /* 0: not found */
};

/* ---- A file of which only the debug file is there ---------------------------------------------------------------- */

struct stand_in { /* an ELF file with a place for its code and a build ID, and nothing else */
    Elf64_Ehdr head;
    Elf64_Phdr code, note;
    Elf64_Nhdr id;
    char owner[4];
    u8 build_id[20];
};

static size_t parse_id(const char *hex, u8 out[20])
{
    size_t n = 0;
    unsigned byte;
    while (n < 20 && sscanf(hex + 2 * n, "%2x", &byte) == 1 && hex[2 * n + 1])
        out[n++] = (u8)byte;
    return n;
}

static int write_stand_in(const struct recorded_file *f)
{
    u64 page = f->lo % PAGE;
    struct stand_in s = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_phoff = offsetof(struct stand_in, code),
                 .e_ehsize = sizeof(Elf64_Ehdr),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 2},
        .code = {.p_type = PT_LOAD,
                 .p_flags = PF_R | PF_X,
                 .p_offset = f->lo_offset - page,
                 .p_vaddr = f->lo - page,
                 .p_align = PAGE},
        .note = {.p_type = PT_NOTE, .p_flags = PF_R, .p_offset = offsetof(struct stand_in, id), .p_align = 4},
        .id = {.n_namesz = 4, .n_type = NT_GNU_BUILD_ID},
        .owner = "GNU",
    };
    s.code.p_filesz = s.code.p_memsz = f->hi - s.code.p_vaddr + 1;
    s.id.n_descsz = (Elf64_Word)parse_id(f->build_id, s.build_id);
    s.note.p_filesz = s.note.p_memsz = sizeof(s.id) + sizeof(s.owner) + s.id.n_descsz;
    u64 size = s.code.p_offset + s.code.p_filesz;
    if (!s.id.n_descsz || f->hi < f->lo || f->lo_offset < page || size > MAX_STAND_IN)
        return -ENOENT;
    AUTO_CLOSE int fd = memfd_create("xprof-stand-in", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)(size > sizeof(s) ? size : sizeof(s))))
        return -errno;
    int rc = fs_write_all(fd, &s, sizeof(s));
    return rc ? rc : fs_open_regular(fd);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static bool is_it(const struct binaries *b, u32 id, const struct recorded_file *f)
{
    const struct binary *found = id ? binaries_get(b, id) : NULL;
    return found && !found->error && f->build_id[0] && !strcmp(found->build_id, f->build_id);
}

/* The program under its own path, should it be the same build. */
static u32 look_here(struct binaries *b, const struct recorded_file *f)
{
    AUTO_CLOSE int place = f->build_id[0] && f->path[0] == '/' ? open(f->path, O_PATH | O_CLOEXEC) : -1;
    int fd = place < 0 ? -1 : fs_open_regular(place);
    if (fd < 0)
        return 0;
    u32 id = binaries_add(b, fd, f->path, (u32)getpid());
    return is_it(b, id, f) ? id : 0;
}

static u32 look(struct binaries *b, const struct recorded_file *f)
{
    u32 id = look_here(b, f);
    int fd = id ? -1 : write_stand_in(f);
    return id || fd < 0 ? id : binaries_add(b, fd, f->path, (u32)getpid());
}

int recorded_files_new(struct recorded_files **out, struct binaries *binaries, const struct recorded *recorded)
{
    struct recorded_files *f = calloc(1, sizeof(*f));
    if (!f || !(f->ids = calloc(recorded->files.n + 1, sizeof(*f->ids)))) {
        free(f);
        return -ENOMEM;
    }
    f->binaries = binaries;
    f->recorded = recorded;
    f->names = binaries_source(binaries);
    for (size_t i = 0; i < recorded->files.n; i++)
        if (recorded->files.v[i].unnamed && recorded->files.v[i].path)
            f->ids[i] = look(binaries, &recorded->files.v[i]);
    *out = f;
    return 0;
}

void recorded_files_free(struct recorded_files **f)
{
    if (!*f)
        return;
    free((*f)->ids);
    free(TAKE_PTR(*f));
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static const struct recorded_file *file_of(const struct recorded_files *f, u32 id)
{
    size_t i = id - XP_FILE_FIRST;
    return id >= XP_FILE_FIRST && i < f->recorded->files.n ? &f->recorded->files.v[i] : NULL;
}

static bool source_file(void *ctx, u32 id, const char **path, const char **build_id)
{
    const struct recorded_file *file = file_of(ctx, id);
    if (!file)
        return false;
    *path = file->path;
    *build_id = file->build_id;
    return true;
}

static u64 source_address(void *ctx, u32 id, u64 offset)
{
    const struct recorded_file *file = file_of(ctx, id);
    return file ? offset - file->lo_offset + file->lo : offset;
}

static bool source_segment(void *ctx, u32 id, u64 offset, u64 *first, u64 *last, u64 *first_offset)
{
    const struct recorded_file *file = file_of(ctx, id);
    if (!file)
        return false;
    *first = file->lo;
    *last = file->hi;
    *first_offset = file->lo_offset;
    return true;
}

static int source_names(void *ctx, u32 id, const u64 *offsets, size_t n,
                        void (*use)(void *arg, const struct names *names), void *arg)
{
    struct recorded_files *f = ctx;
    const struct recorded_file *file = file_of(f, id);
    u32 found = file ? f->ids[file - f->recorded->files.v] : 0;
    return found ? f->names.names(f->names.ctx, found, offsets, n, use, arg) : -ENOENT;
}

struct name_source recorded_files_source(struct recorded_files *f)
{
    return (struct name_source){
        .ctx = f, .file = source_file, .names = source_names, .address = source_address, .segment = source_segment};
}
