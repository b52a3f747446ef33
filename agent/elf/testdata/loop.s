# The loop of an interpreter, with the part of it that a compiler puts elsewhere, between other functions.
	.text
	.globl before
	.type before,@function
before:
	.cfi_startproc
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	nop
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size before,.-before

	.globl _PyEval_EvalFrameDefault
	.type _PyEval_EvalFrameDefault,@function
_PyEval_EvalFrameDefault:
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	nop
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size _PyEval_EvalFrameDefault,.-_PyEval_EvalFrameDefault

	.globl after
	.type after,@function
after:
	.cfi_startproc
	ret
	.cfi_endproc
	.size after,.-after

	.type _PyEval_EvalFrameDefault.cold,@function
_PyEval_EvalFrameDefault.cold:
	.cfi_startproc
	.cfi_def_cfa_offset 64
	nop
	ud2
	.cfi_endproc
	.size _PyEval_EvalFrameDefault.cold,.-_PyEval_EvalFrameDefault.cold

	.type _PyEval_EvalFrameDefaults,@function
_PyEval_EvalFrameDefaults:
	.cfi_startproc
	ret
	.cfi_endproc
	.size _PyEval_EvalFrameDefaults,.-_PyEval_EvalFrameDefaults
	.section .note.GNU-stack,"",@progbits
