/* Signatures of instances of generic methods, in images that were compiled ahead of time: which method it is, and where
 * the signature ends (ECMA-335, II.23.2; dotnet/runtime: src/coreclr/inc/corcompile.h, ENCODE_METHOD_SIG_*).
 */
#include "runtime/dotnet_internal.h"

#define MAX_DEPTH 16
#define MAX_TYPES 256 /* of a signature */

enum { /* II.23.1.16, and those that only these images have */
       TYPE_PRIMITIVE_END = 0x0e,
       TYPE_PTR,
       TYPE_BYREF,
       TYPE_VALUETYPE,
       TYPE_CLASS,
       TYPE_VAR,
       TYPE_ARRAY,
       TYPE_GENERICINST,
       TYPE_TYPEDBYREF,
       TYPE_I = 0x18,
       TYPE_U,
       TYPE_FNPTR = 0x1b,
       TYPE_OBJECT,
       TYPE_SZARRAY,
       TYPE_MVAR,
       TYPE_CMOD_REQD,
       TYPE_CMOD_OPT,
       TYPE_NATIVE_VALUETYPE = 0x3d,
       TYPE_CANON,
       TYPE_MODULE,
};
enum { /* flags of a method */
       UNBOXING = 1,
       INSTANTIATING = 2,
       METHOD_INSTANTIATION = 4,
       SLOT = 8,
       MEMBER_REF = 0x10,
       CONSTRAINED = 0x20,
       OWNER_TYPE = 0x40,
       OTHER_MODULE = 0x80,
};

struct signature {
    struct memory *m;
    u64 at;
    u32 types; /* that may still come */
    bool ok;
    bool elsewhere; /* it is about another module */
};

/* II.23.2: in one, two or four bytes, the highest ones first. */
static u32 compressed(struct signature *s)
{
    u32 first = (u32)memory_u(s->m, s->at, 1, &s->ok), bytes = first < 0x80 ? 1 : first < 0xc0 ? 2 : 4;
    u32 v = first & (bytes == 1 ? 0x7f : bytes == 2 ? 0x3f : 0x1f);
    for (u32 i = 1; i < bytes; i++)
        v = v << 8 | (u32)memory_u(s->m, s->at + i, 1, &s->ok);
    s->at += bytes;
    return v;
}

static void skip_type(struct signature *s, u32 depth);

static void skip_types(struct signature *s, u32 n, u32 depth)
{
    for (; n && s->ok; n--)
        skip_type(s, depth);
}

static void skip_array(struct signature *s, u32 depth)
{
    skip_type(s, depth);
    compressed(s); /* its rank; then sizes and lower bounds */
    for (int part = 0; part < 2; part++)
        for (u32 n = compressed(s); n && s->ok; n--)
            compressed(s);
}

static void skip_type(struct signature *s, u32 depth)
{
    u32 type = compressed(s);
    s->ok = s->ok && depth < MAX_DEPTH && s->types-- > 0;
    if (!s->ok || (type && type < TYPE_PTR) || type == TYPE_TYPEDBYREF || type == TYPE_I || type == TYPE_U ||
        type == TYPE_OBJECT || type == TYPE_CANON)
        return;
    switch (type) {
    case TYPE_VALUETYPE:
    case TYPE_CLASS:
    case TYPE_VAR:
    case TYPE_MVAR:
        compressed(s);
        break;
    case TYPE_PTR:
    case TYPE_BYREF:
    case TYPE_SZARRAY:
    case TYPE_NATIVE_VALUETYPE:
        skip_type(s, depth + 1);
        break;
    case TYPE_ARRAY:
        skip_array(s, depth + 1);
        break;
    case TYPE_GENERICINST:
        skip_type(s, depth + 1);
        skip_types(s, compressed(s), depth + 1);
        break;
    case TYPE_CMOD_REQD:
    case TYPE_CMOD_OPT:
        compressed(s);
        skip_type(s, depth + 1);
        break;
    case TYPE_MODULE:
        compressed(s);
        s->elsewhere = true;
        skip_type(s, depth + 1);
        break;
    default: /* pointers to functions, and what nobody knows */
        s->ok = false;
    }
}

/* Whether the type is of another module is a matter of its definition, not of what it is an instance of. */
static void skip_owner(struct signature *s)
{
    bool ok = true;
    u64 next = s->at;
    u32 type = (u32)memory_u(s->m, next, 1, &ok);
    type = type == TYPE_GENERICINST ? (u32)memory_u(s->m, next + 1, 1, &ok) : type;
    skip_type(s, 0);
    s->elsewhere = type == TYPE_MODULE;
}

bool dotnet_signature(struct memory *m, u64 *at, u32 *method)
{
    struct signature s = {.m = m, .at = *at, .types = MAX_TYPES, .ok = true};
    u32 flags = compressed(&s);
    if (flags & OTHER_MODULE)
        compressed(&s);
    if (flags & OWNER_TYPE)
        skip_owner(&s);
    u32 row = compressed(&s);
    bool here = !s.elsewhere && !(flags & (OTHER_MODULE | SLOT | MEMBER_REF));
    if (flags & METHOD_INSTANTIATION)
        skip_types(&s, compressed(&s), 0);
    if (flags & CONSTRAINED)
        skip_type(&s, 0);
    *method = here ? row : 0;
    *at = s.at;
    return s.ok;
}
