/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The part of the contract (bpf/xprof.h, which includes it) about interpreters whose frames are one list for each
 * thread: Ruby, PHP and Perl; and about .NET and BEAM, whose frames are addresses. User space fills this in
 * (agent/runtime/ruby.h, php.h, perl.h, dotnet.h, beam.h). Everything in it is the container's to choose: it leads to
 * reads of its own process only.
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
 *   PHP        function (zend_function)        line, 0: unknown; and XP_PHP_MAIN   XP_PHP_WORDS of it
 *              XP_PHP_CODE and a file's name   the same                            the text
 *   Perl       CV                              see XP_PERL_AT                      its code: XP_PERL_COOKIE
 *   .NET, BEAM none: the address itself        0                                   0
 *
 * The cookie tells whether what is at the address is still the same when the frame gets its name. It is 0 if that could
 * not be read.
 */
enum xp_language {
    XP_LANGUAGE_PYTHON,
    XP_LANGUAGE_RUBY,
    XP_LANGUAGE_PHP,
    XP_LANGUAGE_PERL,
    XP_LANGUAGE_DOTNET,
    XP_LANGUAGE_BEAM = 6,
    XP_LANGUAGE_PYTHON_CALLS = 7, /* of files only (XP_TABLE_LANGUAGE): the loop is many functions (loops.h) */
};

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
#define XP_PHP_TOP       (1u << 17) /* ZEND_CALL_TOP: the outermost frame of a call of the loop, if it is no INTERNAL one */
#define XP_PHP_GENERATOR (1u << 24) /* ZEND_CALL_GENERATOR */
#define XP_PHP_INTERNAL  1          /* ZEND_INTERNAL_FUNCTION: implemented in C */
#define XP_PHP_MAIN      (1u << 31) /* of a position: XP_PHP_TOP is set, so that code of no function is the script's */
/* The first word of a cookie, where its function is not INTERNAL: its name, and two words of that from the length on.
 * Requests have the same things in the same places, but others in other scripts. */
#define XP_PHP_NAME(name, text) ((name) ^ ((text)[0] ^ (text)[1] << 8) * 0x94d049bb133111ebull)
/* The fourth word. */
#define XP_PHP_FILE(file, lines) ((file) ^ (lines)*0xbf58476d1ce4e5b9ull >> 40)
/* Code of no function (of a script, or of what it includes) is thrown away when it has run, and the next one often is
 * where it was. So the address is that of its file's name (zend_string), and the cookie is that of its text. */
#define XP_PHP_CODE   (1ull << 55) /* is added to the address */
#define XP_PHP_LENGTH 16           /* zend_string.len, and its text */
#define XP_PHP_TEXT   24
#define XP_PHP_TAIL   24 /* so many bytes at the end of a text are part of the cookie */
struct xp_php {
    u16 frame;                               /* current_execute_data */
    u16 call_opline, call_func;              /* zend_execute_data */
    u16 call_info, call_prev;                /* This.u1.type_info; prev_execute_data */
    u16 op_line, op_bytes;                   /* zend_op.lineno; its size */
    u16 function_type, function_words;       /* a byte; three words in a row: function_name, scope, prototype */
    u16 function_file;                       /* op_array.filename, and the lines behind it; not of INTERNAL functions */
    u16 function_ops, function_nops;         /* opcodes; last (32 bits) */
    u16 call_result;                         /* return_value: that of a generator is the zend_generator */
    u16 generator_call;                      /* execute_data */
    u16 generator_children, generator_child; /* node.children (32 bits); the only one of them. 0: not known */
    s32 loop;                                /* some code of the loop, from `root` on; 0: not known */
};

/* Perl: the state is an interpreter; without ithreads, its variables are at these distances from each other. Contexts
 * are an array for each stackinfo, the outermost one first; only those of subs, formats and evals are frames.
 *
 * The position of a frame tells its COP, by its distance from the CV in units of 8 bytes; or, if the COP is too far
 * away or none of the program's (PL_compiling), its line. 0: unknown. */
#define XP_PERL_AT(distance) ((u32)(distance) << 1)
#define XP_PERL_LINE(line)   ((u32)(line) << 1 | 1)
/* The cookie: stash, name, and the number that a piece of code has, whichever closure it is of. */
#define XP_PERL_WORDS         6 /* xcv_stash, xcv_start_u, xcv_root_u, xcv_gv_u, xcv_file, xcv_padlist_u */
#define XP_PERL_COOKIE(w, id) XP_SCRIPT_COOKIE((w)[0], (w)[3], (id), 0)

#define XP_PERL_NULL  0     /* CXt_NULL: a block of sort. Its code is the sub's around it, in a loop of its own */
#define XP_PERL_BLOCK 2     /* CXt_BLOCK: what the program itself begins with */
#define XP_PERL_FAKE  0x80u /* CXp_SUB_RE_FAKE: code in a pattern, which is the sub's around it, too */
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
    u16 body_words;                /* of XPVCV: XP_PERL_WORDS in a row from xcv_stash on */
    u16 cop_words;                 /* two of a COP: op_targ; 9 bits of its type, and in the upper half its line */
    u16 pad_id;                    /* xpadl_id */
};

/* Erlang's virtual machine (BEAM): the state is ErtsSchedulerData, that of a scheduler's thread. */
struct xp_beam {
    u64 exit;                /* where the first function of a process returns to (beam_normal_exit) */
    u64 main;                /* generated code that runs the scheduler (process_main) */
    u64 caller;              /* where that was called: a return address; 0: not known */
    u32 main_bytes;          /* of it */
    u32 frame;               /* of it: less than 64 bytes above these from ErtsSchedulerRegisters on is its caller */
    u16 registers;           /* rbx, from ErtsSchedulerRegisters on */
    u16 scheduler_registers; /* ErtsSchedulerData.registers, .current_process */
    u16 scheduler_process;
    u16 pad;
};

struct xp_script {
    u64 root;    /* address; see enum xp_script_root */
    s64 tls;     /* from the thread's TLS base on */
    u32 slot;    /* see XP_ROOT_THREAD */
    u8 language; /* enum xp_language; not Python. .NET has nothing else */
    u8 found;    /* enum xp_script_root */
    u16 pad;
    union {
        struct xp_ruby ruby;
        struct xp_php php;
        struct xp_perl perl;
        struct xp_beam beam;
    };
};
_Static_assert(sizeof(struct xp_script) == 64, "no hidden padding");
