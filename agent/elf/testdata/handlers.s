# A loop of an interpreter that consists of functions, one for each of 150 instructions, which a table has; and a longer
# table of many functions that are all different.
	.macro handler number
handler_\number:
	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.endm
	.macro entry number
	.quad handler_\number
	.endm
	.altmacro

	.text
	.globl _PyEval_EvalFrameDefault
	.type _PyEval_EvalFrameDefault,@function
_PyEval_EvalFrameDefault:
	.cfi_startproc
	ret
	.cfi_endproc
	.size _PyEval_EvalFrameDefault,.-_PyEval_EvalFrameDefault
	.set i, 0
	.rept 300
	handler %i
	.set i, i + 1
	.endr
	.type after,@function
after:
	.cfi_startproc
	ret
	.cfi_endproc
	.size after,.-after

	.section .data.rel.ro,"aw"
	.balign 8
	.set i, 0
	.rept 300
	entry %i
	.set i, i + 1
	.endr
	.quad 0
	.set i, 149
	.rept 150
	entry %i
	.set i, i - 1
	.endr
	.rept 106
	.quad handler_0
	.endr
	.section .note.GNU-stack,"",@progbits
