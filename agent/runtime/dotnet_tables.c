/* The columns of the tables of metadata (ECMA-335, II.22), and their sizes (II.24.2.6). */
#include "runtime/dotnet_internal.h"

/* A column is an index of a table, by its number, or one of these. */
enum {
    TWO = 0x40,
    FOUR,
    STRING,
    GUID,
    BLOB,
    CODED = 0x80, /* an index of one of several tables */
    END = 0xff,
};
enum {
    TYPE_DEF_OR_REF,
    CONSTANT_OF,
    ATTRIBUTE_OF,
    MARSHAL_OF,
    SECURITY_OF,
    MEMBER_PARENT,
    SEMANTICS_OF,
    METHOD_OR_REF
};
enum { FORWARDED = 8, IMPLEMENTATION, ATTRIBUTE_TYPE, SCOPE, CODED_INDEXES };

struct coded {
    u8 bits;
    u8 tables[23], n;
};
static const struct coded CODED_OF[CODED_INDEXES] = {
    [TYPE_DEF_OR_REF] = {2, {0x02, 0x01, 0x1b}, 3},
    [CONSTANT_OF] = {2, {0x04, 0x08, 0x17}, 3},
    [ATTRIBUTE_OF] = {5,
                      {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14,
                       0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b},
                      22},
    [MARSHAL_OF] = {1, {0x04, 0x08}, 2},
    [SECURITY_OF] = {2, {0x02, 0x06, 0x20}, 3},
    [MEMBER_PARENT] = {3, {0x02, 0x01, 0x1a, 0x06, 0x1b}, 5},
    [SEMANTICS_OF] = {1, {0x14, 0x17}, 2},
    [METHOD_OR_REF] = {1, {0x06, 0x0a}, 2},
    [FORWARDED] = {1, {0x04, 0x06}, 2},
    [IMPLEMENTATION] = {2, {0x26, 0x23, 0x27}, 3},
    [ATTRIBUTE_TYPE] = {3, {0x06, 0x0a}, 2},
    [SCOPE] = {2, {0x00, 0x1a, 0x23, 0x01}, 4},
};

static const u8 COLUMNS[DOTNET_TABLES][DOTNET_COLUMNS + 1] = {
    [0x00] = {TWO, STRING, GUID, GUID, GUID, END},                             /* Module */
    [0x01] = {CODED | SCOPE, STRING, STRING, END},                             /* TypeRef */
    [0x02] = {FOUR, STRING, STRING, CODED | TYPE_DEF_OR_REF, 0x04, 0x06, END}, /* TypeDef */
    [0x03] = {0x04, END},                                                      /* FieldPtr */
    [0x04] = {TWO, STRING, BLOB, END},                                         /* Field */
    [0x05] = {0x06, END},                                                      /* MethodPtr */
    [0x06] = {FOUR, TWO, TWO, STRING, BLOB, 0x08, END},                        /* MethodDef */
    [0x07] = {0x08, END},                                                      /* ParamPtr */
    [0x08] = {TWO, TWO, STRING, END},                                          /* Param */
    [0x09] = {0x02, CODED | TYPE_DEF_OR_REF, END},                             /* InterfaceImpl */
    [0x0a] = {CODED | MEMBER_PARENT, STRING, BLOB, END},                       /* MemberRef */
    [0x0b] = {TWO, CODED | CONSTANT_OF, BLOB, END},                            /* Constant */
    [0x0c] = {CODED | ATTRIBUTE_OF, CODED | ATTRIBUTE_TYPE, BLOB, END},        /* CustomAttribute */
    [0x0d] = {CODED | MARSHAL_OF, BLOB, END},                                  /* FieldMarshal */
    [0x0e] = {TWO, CODED | SECURITY_OF, BLOB, END},                            /* DeclSecurity */
    [0x0f] = {TWO, FOUR, 0x02, END},                                           /* ClassLayout */
    [0x10] = {FOUR, 0x04, END},                                                /* FieldLayout */
    [0x11] = {BLOB, END},                                                      /* StandAloneSig */
    [0x12] = {0x02, 0x14, END},                                                /* EventMap */
    [0x13] = {0x14, END},                                                      /* EventPtr */
    [0x14] = {TWO, STRING, CODED | TYPE_DEF_OR_REF, END},                      /* Event */
    [0x15] = {0x02, 0x17, END},                                                /* PropertyMap */
    [0x16] = {0x17, END},                                                      /* PropertyPtr */
    [0x17] = {TWO, STRING, BLOB, END},                                         /* Property */
    [0x18] = {TWO, 0x06, CODED | SEMANTICS_OF, END},                           /* MethodSemantics */
    [0x19] = {0x02, CODED | METHOD_OR_REF, CODED | METHOD_OR_REF, END},        /* MethodImpl */
    [0x1a] = {STRING, END},                                                    /* ModuleRef */
    [0x1b] = {BLOB, END},                                                      /* TypeSpec */
    [0x1c] = {TWO, CODED | FORWARDED, STRING, 0x1a, END},                      /* ImplMap */
    [0x1d] = {FOUR, 0x04, END},                                                /* FieldRVA */
    [0x1e] = {FOUR, FOUR, END},                                                /* EncLog */
    [0x1f] = {FOUR, END},                                                      /* EncMap */
    [0x20] = {FOUR, TWO, TWO, TWO, TWO, FOUR, BLOB, STRING, STRING, END},      /* Assembly */
    [0x21] = {FOUR, END},                                                      /* AssemblyProcessor */
    [0x22] = {FOUR, FOUR, FOUR, END},                                          /* AssemblyOS */
    [0x23] = {TWO, TWO, TWO, TWO, FOUR, BLOB, STRING, STRING, BLOB, END},      /* AssemblyRef */
    [0x24] = {FOUR, 0x23, END},                                                /* AssemblyRefProcessor */
    [0x25] = {FOUR, FOUR, FOUR, 0x23, END},                                    /* AssemblyRefOS */
    [0x26] = {FOUR, STRING, BLOB, END},                                        /* File */
    [0x27] = {FOUR, FOUR, STRING, STRING, CODED | IMPLEMENTATION, END},        /* ExportedType */
    [0x28] = {FOUR, FOUR, STRING, CODED | IMPLEMENTATION, END},                /* ManifestResource */
    [0x29] = {0x02, 0x02, END},                                                /* NestedClass */
};

static u32 coded_bytes(const struct dotnet_tables *t, const struct coded *c)
{
    for (u32 i = 0; i < c->n; i++)
        if (t->rows[c->tables[i]] >= 1u << (16 - c->bits))
            return 4;
    return 2;
}

static u32 column_bytes(const struct dotnet_tables *t, u8 column)
{
    switch (column) {
    case TWO:
        return 2;
    case FOUR:
        return 4;
    case STRING:
    case GUID:
    case BLOB:
        return t->wide & 1u << (column - STRING) ? 4 : 2;
    default:
        return column & CODED ? coded_bytes(t, &CODED_OF[column & ~CODED]) : t->rows[column] >= 1u << 16 ? 4 : 2;
    }
}

u32 dotnet_column(const struct dotnet_tables *t, u32 table, u32 column, u32 *bytes)
{
    u32 at = 0;
    *bytes = 0;
    for (u32 i = 0; COLUMNS[table][i] != END; i++) {
        u32 own = column_bytes(t, COLUMNS[table][i]);
        if (i == column) {
            *bytes = own;
            return at;
        }
        at += own;
    }
    return at;
}
