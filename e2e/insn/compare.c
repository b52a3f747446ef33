/* Our decoder against Zydis: every executable section of ELF files, and random bytes.
 *
 *     compare [-b BYTES] [-r WINDOWS] [FILE]...
 *
 * Of each instruction the length (or that there is none), the operation, operands, size, registers written, and stores
 * are compared. -b: that many bytes of all files together, the same share of each; -r: so many windows of random bytes.
 * Differences are counted by opcode with a sample, and by reason where reasons.c has one: others make the exit
 * status 1.
 */
#include "e2e/insn/expect.h"
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_KINDS 4096

struct kind { /* of difference */
    char name[128], sample[640];
    bool known;
    u64 n;
};

struct comparison {
    ZydisDecoder decoder;
    u64 instructions, invalid, bytes, files;
    struct kind kinds[MAX_KINDS];
    size_t nkinds;
};

/* ---- one instruction ---- */

static bool same_operand(const struct insn_operand *a, const struct insn_operand *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case INSN_REG:
        return a->reg == b->reg;
    case INSN_MEM:
        return a->base == b->base && a->index == b->index && a->scale == b->scale && a->segment == b->segment &&
               a->disp == b->disp;
    case INSN_IMM:
        return a->value == b->value;
    }
    return true;
}

static bool named(const struct insn *i)
{
    return i->op > INSN_TRAP;
}

static bool differs(const char *field, const struct insn *a, const struct insn *b)
{
    switch (*field) {
    case 'o':
        return a->op != b->op;
    case 'w':
        return field[1] == 'r' ? a->writes != b->writes && a->op != INSN_TRAP : a->wide != b->wide;
    case 's':
        return field[1] == 't' ? a->stores != b->stores : named(a) && a->size != b->size;
    case 'm':
        return !same_operand(&a->mem, &b->mem);
    case 'a':
        return field[1] ? b->mem.kind && a->address_size != b->address_size : named(a) && !same_operand(&a->a, &b->a);
    case 'b':
        return named(a) && !same_operand(&a->b, &b->b);
    }
    return false;
}

static int show_operand(char *to, size_t n, const struct insn_operand *o)
{
    switch (o->kind) {
    case INSN_REG:
        return snprintf(to, n, "r%u", o->reg);
    case INSN_MEM:
        return snprintf(to, n, "[%s%d+%d*%u%+d]", o->segment ? "fs:" : "", (signed char)o->base, (signed char)o->index,
                        o->scale, o->disp);
    case INSN_IMM:
        return snprintf(to, n, "%lld", (long long)o->value);
    }
    return snprintf(to, n, "-");
}

static void show(char *to, size_t n, const struct insn *i)
{
    char a[48], b[48], mem[48];
    show_operand(a, sizeof(a), &i->a);
    show_operand(b, sizeof(b), &i->b);
    show_operand(mem, sizeof(mem), &i->mem);
    snprintf(to, n, "len %u op %u size %u writes %04x%s%s a %s b %s mem %s", i->len, i->op, i->size, i->writes,
             i->stores ? " stores" : "", i->wide ? " wide" : "", a, b, mem);
}

/* The mnemonic, or the opcode's bytes where Zydis knows no instruction. */
static void name_kind(char *to, size_t n, const char *field, const struct expectation *e, const u8 *bytes)
{
    if (e->insn.len) {
        snprintf(to, n, "%s %s", field, ZydisMnemonicGetString(e->zydis.mnemonic));
        return;
    }
    int used = snprintf(to, n, "%s", field);
    u32 at = 0;
    for (; at < INSN_MAX_BYTES && is_prefix(bytes[at]); at++)
        if (bytes[at] == 0xf0)
            used += snprintf(to + used, n - (size_t)used, " lock");
    u8 first = bytes[at];
    u32 more = first == 0x62 ? 5 : first == 0xc4 || first == 0x8f ? 4 : first == 0xc5 ? 3 : first == 0x0f ? 2 : 1;
    for (u32 end = at + more; at < end && at < INSN_MAX_BYTES && used < (int)n - 4; at++)
        used += snprintf(to + used, n - (size_t)used, " %02x", bytes[at]);
}

static void count(struct comparison *c, const char *name, bool known, const struct insn *ours,
                  const struct expectation *e, const u8 *bytes)
{
    size_t i = 0;
    while (i < c->nkinds && strcmp(c->kinds[i].name, name))
        i++;
    if (i == MAX_KINDS)
        i--;
    struct kind *k = &c->kinds[i];
    if (i == c->nkinds) {
        c->nkinds++;
        k->known = known;
        snprintf(k->name, sizeof(k->name), "%s", name);
        int used = 0;
        for (u32 b = 0; b < (ours->len > e->insn.len ? ours->len : e->insn.len); b++)
            used += sprintf(k->sample + used, "%02x ", bytes[b]);
        char text[2][256];
        show(text[0], sizeof(text[0]), ours);
        show(text[1], sizeof(text[1]), &e->insn);
        snprintf(k->sample + used, sizeof(k->sample) - (size_t)used, "\n      ours  %s\n      zydis %s", text[0],
                 text[1]);
    }
    k->n++;
}

static void note(struct comparison *c, const char *field, const struct insn *ours, const struct expectation *e,
                 const u8 *bytes)
{
    const char *reason = reason_of(field, &(struct pair){ours, e, bytes});
    char name[64];
    if (!reason)
        name_kind(name, sizeof(name), field, e, bytes);
    count(c, reason ? reason : name, reason, ours, e, bytes);
}

/* The number of bytes to go on by. */
static size_t compare_one(struct comparison *c, const u8 *bytes, size_t n)
{
    static const char *const fields[] = {"op", "writes", "stores", "wide", "address size", "mem", "size", "a", "b"};
    struct expectation e;
    struct insn ours = {0};
    expect(&c->decoder, bytes, n, &e);
    insn_decode(bytes, n, &ours);
    c->instructions++;
    c->invalid += !e.insn.len;
    if (ours.len != e.insn.len)
        note(c, !ours.len ? "invalid" : !e.insn.len ? "valid" : "length", &ours, &e, bytes);
    else if (ours.len)
        for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
            if (differs(fields[i], &ours, &e.insn))
                note(c, fields[i], &ours, &e, bytes);
    return e.insn.len ? e.insn.len : 1;
}

/* ---- where instructions come from ---- */

static void compare_bytes(struct comparison *c, const u8 *bytes, size_t n)
{
    for (size_t at = 0; at < n;)
        at += compare_one(c, bytes + at, n - at);
    c->bytes += n;
}

static void compare_sections(struct comparison *c, const u8 *image, size_t n, size_t budget)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)image;
    if (n < sizeof(*h) || memcmp(h->e_ident, ELFMAG "\2\1", 6) || h->e_machine != EM_X86_64 || h->e_shoff > n ||
        (n - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
        return;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(image + h->e_shoff);
    c->files++;
    for (u32 i = 0; i < h->e_shnum && budget; i++) {
        if (!(s[i].sh_flags & SHF_EXECINSTR) || s[i].sh_type != SHT_PROGBITS || s[i].sh_offset > n ||
            s[i].sh_size > n - s[i].sh_offset)
            continue;
        size_t size = s[i].sh_size < budget ? s[i].sh_size : budget;
        compare_bytes(c, image + s[i].sh_offset, size);
        budget -= size;
    }
}

static void compare_file(struct comparison *c, const char *path, size_t budget)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size) {
        void *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image != MAP_FAILED) {
            compare_sections(c, image, (size_t)st.st_size, budget);
            munmap(image, (size_t)st.st_size);
        }
    }
    close(fd);
}

static u64 next_random(u64 *state)
{
    u64 x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* Random bytes alone would show the big maps too rarely: most windows begin with a way into one, some with more
 * prefixes before, some are cut. The number of bytes that are there. */
static size_t random_window(u64 *state, u8 bytes[INSN_MAX_BYTES + 9])
{
    static const char *const ways[] = {
        "",         "\x0f",     "\x0f\x38",     "\x0f\x3a",     "\x66",     "\xf3",     "\xf2",     "\x66\x0f",
        "\xf3\x0f", "\xf2\x0f", "\x66\x0f\x38", "\x66\x0f\x3a", "\x48",     "\x48\x0f", "\xc5",     "\xc4\xe1",
        "\xc4\xe2", "\xc4\xe3", "\x62\xf1",     "\x62\xf2",     "\x62\xf3", "\x62\xf5", "\x62\xf6", "\x8f\xe8",
        "\x8f\xe9", "\x8f\xea", "\xf3\x0f\x38", "\xf2\x0f\x38", "\x0f\x0f", "\xf0",     "",         "\x48\x0f\x3a"};
    static const u8 prefixes[8] = {0x66, 0xf2, 0xf3, 0x67, 0x64, 0x2e, 0x48, 0x4d};
    u64 r[4] = {next_random(state), next_random(state), next_random(state), next_random(state)};
    size_t used = 0;
    if (!(r[3] & 3))
        for (u32 n = r[3] >> 2 & 15; used < n % 9; used++)
            bytes[used] = prefixes[r[3] >> (8 + 3 * used) & 7];
    const char *way = ways[r[3] >> 59];
    memcpy(bytes + used, r, INSN_MAX_BYTES);
    memcpy(bytes + used, way, strlen(way));
    bool cut = (r[3] >> 40 & 7) == 0;
    return cut ? r[3] >> 43 & 15 : INSN_MAX_BYTES + 9;
}

static void compare_random(struct comparison *c, u64 windows)
{
    u64 state = 88172645463325252ull;
    for (u64 i = 0; i < windows; i++) {
        u8 bytes[INSN_MAX_BYTES + 9] = {0};
        compare_one(c, bytes, random_window(&state, bytes));
    }
}

static int report(const struct comparison *c)
{
    u64 unexplained = 0;
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = &c->kinds[i];
        unexplained += k->known ? 0 : k->n;
        printf("%s %8llu %s\n      %s\n", k->known ? "known" : "DIFF ", (unsigned long long)k->n, k->name, k->sample);
    }
    printf("%llu instructions, %llu of them invalid, %llu files, %.1f MB; %llu differences without a reason\n",
           (unsigned long long)c->instructions, (unsigned long long)c->invalid, (unsigned long long)c->files,
           (double)c->bytes / 1e6, (unsigned long long)unexplained);
    return unexplained > 0;
}

int main(int argc, char **argv)
{
    static struct comparison c;
    size_t budget = 0;
    u64 windows = 0;
    for (int o; (o = getopt(argc, argv, "b:r:")) != -1;) {
        if (o == '?')
            return 2;
        *(o == 'b' ? (u64 *)&budget : &windows) = strtoull(optarg, NULL, 0);
    }
    ZydisDecoderInit(&c.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    size_t share = budget && optind < argc ? budget / (size_t)(argc - optind) : SIZE_MAX;
    for (int i = optind; i < argc; i++)
        compare_file(&c, argv[i], share);
    compare_random(&c, windows);
    return report(&c);
}
