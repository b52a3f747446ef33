"""Runs bcc's memleak, or another of its tools:   memleak.py TOOL ARGUMENT...

bcc up to 0.26 at least leaves out the last argument of its own function that sets uprobes, the place of a reference
counter: what is found instead lets the kernel refuse the second probe of a function.
"""
import ctypes
import runpy
import sys

from bcc import libbcc

attach = libbcc.lib.bpf_attach_uprobe
attach.argtypes = list(attach.argtypes) + [ctypes.c_uint32]
libbcc.lib.bpf_attach_uprobe = lambda *arguments: attach(*arguments, 0)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
