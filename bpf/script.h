/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) about interpreters whose frames are one list for each
 * thread: Ruby, PHP and Perl. User space fills this in (agent/runtime/ruby.h, php.h, perl.h). Everything in it is the
 * container's to choose: it leads to reads of its own process only.
 */
#pragma once

/* ---- Frames --------------------------------------------------------------------------------------------------------
 * A frame of any such language has two words: XP_WORD_SCRIPT and, towards the root, XP_WORD_MORE.
 *
 *   SCRIPT exact(1) language(3) address(56)
 *   MORE   cookie(28) position(32)
 *
 *   language   address of                      position                            cookie of
 *   Python     code object                     see bpf/python.h
 *   Ruby       iseq; its method's entry        of the next instruction, in bytes   XP_RUBY_WORDS of the iseq's body
 *              method entry                    XP_RUBY_NATIVE                      XP_RUBY_WORDS of it
 *   PHP        function (zend_function)        line; 0: unknown                    XP_PHP_WORDS of it
 *   Perl       CV                              (COP - CV) / 8, signed; 0: unknown  XP_PERL_WORDS of its body
 *
 * The cookie tells whether what is at the address is still the same when the frame gets its name. It is 0 if that could
 * not be read.
 */
enum xp_language { XP_LANGUAGE_PYTHON, XP_LANGUAGE_RUBY, XP_LANGUAGE_PHP, XP_LANGUAGE_PERL };

#define XP_SCRIPT_WORD(language, address) \
    ((u64)XP_WORD_SCRIPT << 60 | (u64)(language) << 56 | ((u64)(address) & ((1ull << 56) - 1)))
#define XP_LANGUAGE(word)          ((u32)((word) >> 56) & 7)
#define XP_IS_SCRIPT(word, wanted) (XP_WORD_KIND(word) == XP_WORD_SCRIPT && XP_LANGUAGE(word) == (wanted))

/* The cookie of up to four words. */
#define XP_SCRIPT_COOKIE(a, b, c, d) \
    ((u32)((((u64)(a) ^ (u64)(b) << 13 ^ (u64)(c) << 26 ^ (u64)(d) << 39) * 0x9e3779b97f4a7c15ull) >> 36))

/* ---- A process -----------------------------------------------------------------------------------------------------
 * Offsets are in bytes from the start of their structure. The frames of one call of the interpreter's loop end with one
 * that says so: there the next call of the loop, towards the root, goes on.
 */
enum xp_script_root {
    XP_ROOT_AT,      /* the state begins at `root` */
    XP_ROOT_POINTER, /* its address is at `root` */
    XP_ROOT_THREAD,  /* its address is at `tls` from the thread's TLS base on; if `slot`, a pointer is there, and the
                        address of the state is `slot` - 1 bytes behind what it points to */
};

/* Ruby: the state is rb_execution_context_t. Its control frames are an array, the innermost one first. */
#define XP_RUBY_NATIVE 0xffffffffu /* the position of a method that is implemented in C */
#define XP_RUBY_FINISH 0x20u       /* VM_FRAME_FLAG_FINISH: the outermost frame of a call of the loop */
#define XP_RUBY_MAGIC  0x7fff0001u /* VM_FRAME_MAGIC_MASK */
#define XP_RUBY_METHOD 0x11110001u /* VM_FRAME_MAGIC_METHOD */
#define XP_RUBY_BLOCK  0x22220001u
#define XP_RUBY_CFUNC  0x55550001u
#define XP_RUBY_RESCUE 0x78880001u
#define XP_RUBY_DUMMY  0x79990001u /* the first frame of a thread, which Ruby does not show either */
#define XP_RUBY_LOCAL  2u          /* VM_ENV_FLAG_LOCAL: not that of a block, which has the one around it in ep[-1] */
#define XP_RUBY_BLOCKS 8           /* in each other, whose method is looked for */
#define XP_RUBY_IMEMO  0xf01fu     /* of an object's flags: its type, and the kind of objects of the machine itself */
#define XP_RUBY_SVAR   0x201au     /* T_IMEMO, imemo_svar: has what would be in its place */
#define XP_RUBY_ENTRY  0x601au     /* imemo_ment: a method entry */
struct xp_ruby {
    u16 stack, stack_size, frame;       /* vm_stack, vm_stack_size (in words), cfp */
    u16 frame_pc, frame_iseq, frame_ep; /* rb_control_frame_t; *ep is its flags, ep[-2] the method entry of a cfunc */
    u16 frame_bytes;                    /* its size */
    u16 iseq_body, body_code;           /* rb_iseq_t.body; iseq_encoded in it */
    u16 body_words, entry_words;        /* three words in a row: of the body (its location), of a method entry */
    u16 pad[5];
};

/* PHP: the state is executor_globals. Its frames are a list. */
#define XP_PHP_TOP      (1u << 17) /* ZEND_CALL_TOP: the outermost frame of a call of the loop */
#define XP_PHP_INTERNAL 1          /* ZEND_INTERNAL_FUNCTION: implemented in C */
struct xp_php {
    u16 frame;                         /* current_execute_data */
    u16 call_opline, call_func;        /* zend_execute_data */
    u16 call_info, call_prev;          /* This.u1.type_info; prev_execute_data */
    u16 op_line, op_bytes;             /* zend_op.lineno; its size */
    u16 function_type, function_words; /* a byte; three words in a row: function_name, scope, prototype */
    u16 function_file;                 /* op_array.filename, the fourth word; only of functions that are not INTERNAL */
    u16 function_ops, function_nops;   /* opcodes; last (32 bits) */
    u16 pad[4];
};

/* Perl: the state is an interpreter; without ithreads, its variables are at these distances from each other. Contexts
 * are an array for each stackinfo, the outermost one first; only those of subs, formats and evals are frames. */
struct xp_perl {
    s32 stackinfo, cop, main;      /* PL_curstackinfo, PL_curcop, PL_main_cv */
    u16 info_contexts, info_prev;  /* si_cxstack, si_prev */
    u16 info_index;                /* si_cxix (32 bits) */
    u16 context_bytes;             /* sizeof(PERL_CONTEXT) */
    u16 context_cop;               /* blk_oldcop: the COP that called */
    u16 context_sub_return;        /* blk_sub.retop: 0 in the outermost frame of a call of the loop */
    u16 context_sub, context_eval; /* blk_sub.cv, blk_eval.cv; blocks of eval have none */
    u16 subs, evals;               /* bit n: contexts of type n (CXTYPE) are subs or formats, evals */
    u16 cv_body;                   /* SV.sv_any */
    u16 body_words;                /* four words in a row of XPVCV: xcv_stash .. xcv_gv_u */
    u16 pad[2];
};

struct xp_script {
    u64 root;    /* address; see enum xp_script_root */
    s64 tls;     /* from the thread's TLS base on */
    u32 slot;    /* see XP_ROOT_THREAD */
    u8 language; /* enum xp_language; not Python */
    u8 found;    /* enum xp_script_root */
    u16 pad;
    union {
        struct xp_ruby ruby;
        struct xp_php php;
        struct xp_perl perl;
    };
};
_Static_assert(sizeof(struct xp_script) == 64, "no hidden padding");
