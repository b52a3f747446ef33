# How the eBPF objects are built: included by the Makefile.

BPF_FLAGS := -g -O2 -target bpf -mcpu=v2 -Wall -Wextra -Werror -Wno-unused-parameter \
             -Wno-gnu-variable-sized-type-not-at-end -I. -idirafter /usr/include/$(shell $(CC) -print-multiarch)
# The eBPF objects, each one for all kernels (CO-RE); -mcpu=v2 because 5.10's verifier knows no more.
SKELS := $(patsubst %,$(E)/%.skel.h,xprof address contention sched sleepers tasks timeline wakers resume resume_impl finish)
$(E)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<

# Programs on uprobes claim their scratch memory by compare-and-swap; what they attach by needs a newer kernel anyway.
$(patsubst %,$(E)/bpf/kinds/%.bpf.o,memory badfree goroutines $(foreach k,function function_latency usdt,$k $k_mapped)): BPF_FLAGS += -mcpu=v3

$(SKELS): $(E)/%.skel.h: $(E)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Kinds of events, one file each: a table of all by name. What debuggers need of them is left out.
KINDS := $(patsubst bpf/kinds/%.bpf.c,%,$(wildcard bpf/kinds/*.bpf.c))
$(E)/kinds.skel.h: $(KINDS:%=$(E)/bpf/kinds/%.bpf.o)
	$(call say,SKEL,$@)
	$(Q)for k in $(KINDS); do $(BPFTOOL) gen object $(E)/bpf/kinds/$$k.o $(E)/bpf/kinds/$$k.bpf.o && \
	    $(BPFTOOL) gen skeleton $(E)/bpf/kinds/$$k.o name $${k}_bpf || exit; done > $@
	$(Q)( echo 'static const struct { const char *name; const void *(*bytes)(size_t *); } KIND_OBJECTS[] = {'; \
	    for k in $(KINDS); do echo "{\"$$k\", $${k}_bpf__elf_bytes},"; done; echo '};' ) >> $@

$(filter $(B)/agent/probe/%,$(OBJ)): | $(SKELS) $(E)/kinds.skel.h
