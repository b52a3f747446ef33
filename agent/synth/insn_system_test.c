/* Instructions of systems, groups that the ModRM byte divides, and encodings that do not exist. */
#include "synth/insn_rows_test.h"

/* What only systems use: registers that it writes are lost for whoever follows a stack through it. */
TEST(insn_system)
{
#define ALL "- = rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15"
    static const struct row rows[] = {
        {"0f 00 c0", "- = rax"}, /* sldt */
        {"0f 00 0b", "- store"}, /* str */
        {"0f 00 d1", "-"},       /* lldt */
        {"0f 00 e1", "-"},       /* verr */
        {"0f 00 f1", "invalid"},
        {"f2 0f 00 f1", "-"}, /* lkgs */
        {"f2 0f 00 f9", "invalid"},
        {"0f 01 c1", ALL},                   /* vmcall: the hypervisor may answer anywhere */
        {"0f 01 c5", "- = rax rcx rdx rbx"}, /* pconfig */
        {"0f 01 d0", "- = rax rdx"},         /* xgetbv */
        {"0f 01 ee", "- = rax rdx"},         /* rdpkru */
        {"0f 01 f9", "- = rax rcx rdx"},     /* rdtscp */
        {"0f 01 ca", "-"},                   /* clac */
        {"f3 0f 01 ca", "trap"},             /* eretu */
        {"f3 0f 01 ec", "trap"},             /* uiret */
        {"0f 01 fc", "- store wide"},        /* clzero: a cache line */
        {"0f 01 e3", "- = rbx"},             /* smsw */
        {"0f 01 f3", "-"},                   /* lmsw */
        {"0f 01 03", "- store wide"},        /* sgdt */
        {"0f 01 0b", "- store wide"},        /* sidt */
        {"0f 01 13", "-"},                   /* lgdt */
        {"0f 01 23", "- store"},             /* smsw */
        {"0f 01 3b", "-"},                   /* invlpg */
        {"f3 0f 01 2b", "- store"},          /* rstorssp */
        {"0f 05", "- = rax rcx r11"},        /* syscall */
        {"0f 34", "- = rax rcx rsp r11"},    /* sysenter: the stack is another one */
        {"0f 07", "trap"},                   /* sysret */
        {"0f 35", "trap"},                   /* sysexit */
        {"0f 20 c3", "- = rbx"},             /* from cr0 */
        {"0f 21 c6", "- = rsi"},             /* from dr0 */
        {"0f 37", ALL},                      /* getsec */
        {"0f 78 c1", "- = rcx"},             /* vmread */
        {"0f a2", "- = rax rcx rdx rbx"},    /* cpuid */
        {"0f 31", "- = rax rdx"},            /* rdtsc */
        {"f3 0f 1e cb", "- = rbx"},          /* rdsspd: what endbr64 looks like */
        {"f3 0f 1e d3", "nop"},              /* the same with another number is none */
        {"66 0f 1a 03", "-"},                /* bndmov */
        {"66 0f 1b 03", "- store wide"},     /* the other direction */
        {"0f 1a c0", "nop"},                 /* with no memory it is a hint */
        {"f3 0f 1a c0", "-"},                /* bndcl */
        {"f3 0f 1b c0", "nop"},
        {"f2 0f 1b c0", "-"}, /* bndcn */
    };
    CHECK_ROWS(rows);
#undef ALL
}

/* Groups that the ModRM byte divides, by its number and by whether it names memory. */
TEST(insn_groups)
{
    static const struct row rows[] = {
        {"0f ae 03", "- store wide"},      /* fxsave */
        {"0f ae 0b", "-"},                 /* fxrstor */
        {"0f ae 13", "-"},                 /* ldmxcsr */
        {"0f ae 1b", "- store"},           /* stmxcsr */
        {"0f ae 23", "- store wide"},      /* xsave */
        {"0f ae 2b", "-"},                 /* xrstor */
        {"0f ae 33", "- store wide"},      /* xsaveopt */
        {"0f ae 3b", "-"},                 /* clflush */
        {"f3 0f ae 33", "- store"},        /* clrssbsy */
        {"0f ae e8", "nop"},               /* lfence */
        {"0f ae f8", "nop"},               /* sfence */
        {"f3 0f ae c3", "- = rbx"},        /* rdfsbase */
        {"f3 0f ae cb", "- = rbx"},        /* rdgsbase */
        {"f3 0f ae d3", "-"},              /* wrfsbase */
        {"0f c7 0b", "- = rax rdx store"}, /* cmpxchg8b */
        {"48 0f c7 0b", "- = rax rdx store wide"},
        {"0f c7 23", "- store wide"}, /* xsavec */
        {"0f c7 2b", "- store wide"}, /* xsaves */
        {"0f c7 1b", "-"},            /* xrstors */
        {"0f c7 3b", "- store"},      /* vmptrst */
        {"0f c7 33", "-"},            /* vmptrld */
        {"0f c7 f3", "- = rbx"},      /* rdrand */
        {"0f c7 fb", "- = rbx"},      /* rdseed */
        {"f3 0f c7 fb", "- = rbx"},   /* rdpid */
        {"f3 0f c7 f3", "-"},         /* senduipi */
        {"0f c7 cb", "invalid"},
        {"0f ba e3 07", "-"},       /* bt */
        {"0f ba eb 07", "- = rbx"}, /* bts */
        {"0f ba 2b 07", "- store"},
        {"0f ba db 07", "invalid"},
        {"0f ab 03", "- store wide"}, /* bts: the bit may be far away */
        {"0f ab c3", "- = rbx"},
        {"66 0f a0", "- = rsp store"}, /* push fs, of 2 bytes */
        {"66 0f a1", "- = rsp"},
        {"0f a7 c0", "- = rax rcx rdx rsi rdi store wide"}, /* xstore */
        {"0f a6 03", "invalid"},
        {"0f 38 f0 03", "- = rax"}, /* movbe */
        {"0f 38 f1 03", "- store"},
        {"f2 0f 38 f1 c3", "- = rax"},      /* crc32 */
        {"66 0f 38 f6 c3", "- = rax"},      /* adcx */
        {"f3 0f 38 f6 c3", "- = rax"},      /* adox */
        {"0f 38 f6 03", "- store"},         /* wrss */
        {"66 0f 38 f5 03", "- store"},      /* wruss */
        {"0f 38 f9 03", "- store"},         /* movdiri */
        {"66 0f 38 f8 03", "- store wide"}, /* movdir64b: to where rax points */
        {"f2 0f 38 f8 cb", "- = rbx"},      /* urdmsr */
        {"f3 0f 38 f8 cb", "-"},            /* uwrmsr: both are read */
        {"f3 0f 38 fb c3", "- = rax"},      /* encodekey */
        {"0f 38 fc 03", "- store"},         /* aadd */
    };
    CHECK_ROWS(rows);
}

/* What looks like an instruction and is none, beside its neighbours: cr1, cr9, dr8; aesdecwide256kl, pfadd, hreset,
 * fnop, fnstsw and urdmsr with other numbers. */
TEST(insn_that_do_not_exist)
{
    static const struct row rows[] = {
        {"0f 20 d8", "- = rax"},
        {"0f 20 c8", "invalid"},
        {"44 0f 20 c0", "- = rax"},
        {"44 0f 20 c8", "invalid"},
        {"0f 22 d8", "-"},
        {"0f 22 e8", "invalid"},
        {"0f 21 f8", "- = rax"},
        {"44 0f 21 c0", "invalid"},
        {"f3 0f 38 d8 1b", "-"},
        {"f3 0f 38 d8 23", "invalid"},
        {"0f 0f c1 9e", "-"},
        {"0f 0f c1 00", "invalid"},
        {"f3 0f 3a f0 c0 01", "-"},
        {"f3 0f 3a f0 c1 01", "invalid"},
        {"d9 d0", "-"},
        {"d9 d1", "invalid"},
        {"d9 03", "-"},
        {"d9 0b", "invalid"},
        {"df e0", "- = rax"},
        {"df e1", "invalid"},
        {"c4 e7 7b f8 c0 00 01 00 00", "- = rax"},
        {"c4 e7 7a f8 c0 00 01 00 00", "-"}, /* uwrmsr */
        {"c4 e7 79 f8 c0 00 01 00 00", "invalid"},
        {"c4 e7 7b f8 00 00 01 00 00", "invalid"},
        {"c4 e7 7b f9 c0 00 01 00 00", "invalid"},
    };
    CHECK_ROWS(rows);
}

/* Registers whose numbers are in the prefixes of vectors, and how much is stored. */
TEST(insn_prefixes_of_vectors)
{
    static const struct row rows[] = {
        {"c5 f9 7e c0", "- = rax"},
        {"c4 c1 79 7e c0", "- = r8"},
        {"c4 e1 f9 7e c7", "- = rdi"},
        {"c4 41 f9 7e c7", "- = r15"},
        {"62 f1 7d 08 7e c0", "- = rax"},
        {"62 d1 7d 08 7e c0", "- = r8"},
        {"c4 e2 70 f7 c2", "- = rax"},
        {"c4 62 70 f7 c2", "- = r8"},
        {"c4 e2 70 f3 c8", "- = rcx"},
        {"c4 e2 38 f3 c8", "- = r8"},
        {"8f e9 70 01 c8", "- = rcx"},
        {"8f e9 38 01 c8", "- = r8"},
        {"c5 f8 29 44 24 f8", "- store wide"},
        {"c4 e3 79 1d 04 24 00", "- store"},
        {"c4 e3 7d 1d 04 24 00", "- store wide"},
        {"62 f3 7d 48 1d 04 24 00", "- store wide"},
        {"c5 f9 d6 04 24", "- store"},
        {"c5 fa 11 04 24", "- store"},
    };
    CHECK_ROWS(rows);
}
