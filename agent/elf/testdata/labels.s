# Functions with tables of their own labels: one with many, as interpreters have them; one with fewer; and a longer table
# of the starts of functions.
	.macro function name
	.type \name,@function
\name:
	.cfi_startproc
	.endm
	.macro finish name
	ret
	.cfi_endproc
	.size \name,.-\name
	.endm

	.text
	.globl ruby_run_node
	function ruby_run_node
	finish ruby_run_node

	function few
	nop
few_labels:
	.fill 100, 1, 0x90
	finish few

	function vm_exec_core
	nop
labels:
	.fill 130, 1, 0x90
	finish vm_exec_core

	function after
	finish after

	.section .data.rel.ro,"aw"
	.balign 8
	.quad after
	.set i, 0
	.rept 100
	.quad few_labels + i
	.set i, i + 1
	.endr
	.set i, 0
	.rept 130
	.quad labels + (i * 37) % 130
	.set i, i + 1
	.endr
	.quad labels - 1
	.rept 200
	.quad vm_exec_core
	.endr
	.section .note.GNU-stack,"",@progbits
