/* What a table is made of, and the key that this gives a file. */
#include "base/cleanup.h"
#include "elf/dynamic.h"
#include "base/siphash.h"
#include "cfi/table_elf.h"
#include <errno.h>

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* V8's embedded builtins have no FDEs but keep frame pointers; node exports what tells that they are there: up to 22 a
 * function that finds them, and what debuggers have to know of its frames. */
bool table_has_v8(const struct elf_file *e)
{
    return elf_has_dynamic_symbol(e, "_ZNK2v88internal7Isolate18embedded_blob_codeEv") ||
           elf_has_dynamic_symbol(e, "v8_Default_embedded_blob_code_") ||
           elf_has_dynamic_symbol(e, "v8dbg_off_fp_function");
}

static int copy_section(struct table_input *in, size_t i, int fd)
{
    struct cfi_section *s = &in->cfi.section[i];
    if (s->data == in->cfi.inflated.owned)
        return 0;
    if (s->len > TABLE_MAX_CFI && s->open_ended)
        s->len = TABLE_MAX_CFI;
    if (s->len > TABLE_MAX_CFI)
        return -ENOSPC;
    int err = elf_read(fd, (u64)(s->data - in->cfi.elf->map), s->len, &in->copy[i]);
    s->data = in->copy[i];
    return err;
}

int table_read(struct table_input *in, const struct elf_file *e, int fd, const struct table_code *code)
{
    AUTO_INPUT struct table_input new = {.code = code, .v8 = table_has_v8(e)};
    int err = 0;
    new.keeps_frame_pointers = new.v8;
    gap_codes_find(e, &new.known);
    loops_find(e, &new.loops);
    cfi_find(&new.cfi, e);
    for (size_t i = 0; fd >= 0 && i < new.cfi.nsections && !err; i++)
        err = copy_section(&new, i, fd);
    if (err)
        return err;
    *in = new;
    new = (struct table_input){0}; /* handed over */
    return 0;
}

void table_input_free(struct table_input *in)
{
    cfi_free(&in->cfi);
    free(in->copy[0]);
    free(in->copy[1]);
    *in = (struct table_input){0};
}

/* ---- The key ----------------------------------------------------------------------------------------------------- */

static void add_u64(struct siphash *h, u64 v)
{
    siphash_add(h, &v, sizeof(v));
}

static void add_gap_code(struct siphash *h, const struct gap_code *c)
{
    add_u64(h, c->start);
    add_u64(h, c->end);
    add_u64(h, c->n);
    for (size_t i = 0; i < c->n; i++) {
        add_u64(h, c->row[i].offset);
        add_u64(h, c->row[i].word);
    }
}

static void add_code(struct siphash *h, const struct table_code *code)
{
    add_u64(h, code ? code->n : 0);
    if (!code || !code->n)
        return;
    add_u64(h, code->start);
    add_u64(h, code->end);
    add_u64(h, (u64)code->bad << 8 | code->source);
    siphash_add(h, code->rows, code->n * sizeof(*code->rows));
}

/* All of the input: the CFI as it is stored, where it and the code lie, known gaps, V8, loops, and the rows from
 * elsewhere and for gaps. */
void table_key_of(const struct table_input *in, const u8 secret[16], struct table_key *out)
{
    const struct elf_file *e = in->cfi.elf;
    struct table_key key = {.build_id_len = e->build_id_len};
    struct siphash h;
    siphash_init(&h, secret);
    add_u64(&h, XP_TABLE_VERSION);
    add_u64(&h, in->known.n); /* with the numbers of all lists, no two inputs are one stream of bytes */
    for (size_t i = 0; i < in->known.n; i++)
        add_gap_code(&h, &in->known.v[i]);
    add_u64(&h, in->keeps_frame_pointers);
    add_u64(&h, in->v8);
    add_u64(&h, in->loops.language);
    add_u64(&h, in->loops.n);
    for (size_t i = 0; i < in->loops.n; i++) {
        add_u64(&h, in->loops.v[i].start);
        add_u64(&h, in->loops.v[i].end);
    }
    add_code(&h, in->code);
    add_u64(&h, in->ngaps);
    for (size_t i = 0; i < in->ngaps; i++)
        add_code(&h, &in->gaps[i]);
    add_u64(&h, e->nloads);
    for (size_t i = 0; i < e->nloads; i++) {
        add_u64(&h, e->loads[i].offset);
        add_u64(&h, e->loads[i].vaddr);
        add_u64(&h, e->loads[i].filesz);
        add_u64(&h, e->loads[i].flags);
    }
    for (size_t i = 0; i < in->cfi.nsections; i++) {
        const struct cfi_section *s = &in->cfi.section[i];
        add_u64(&h, s->vaddr);
        add_u64(&h, s->len);
        add_u64(&h, s->debug << 1 | s->open_ended);
        siphash_add(&h, s->data, s->len);
    }
    siphash_end(&h, key.digest);
    memcpy(key.build_id, e->build_id, e->build_id_len);
    *out = key;
}

int table_identify(int fd, const u8 secret[16], struct table_key *out)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_INPUT struct table_input in = {0};
    int err = elf_open(&e, fd);
    if (!err)
        err = table_read(&in, &e, -1, NULL);
    if (!err)
        table_key_of(&in, secret, out);
    return err;
}
