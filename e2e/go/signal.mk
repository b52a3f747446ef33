# make -f e2e/go/signal.mk B=FOLDER signal: the oracle for Go. FOLDER/e2e/go/xprof is xprof with the samples of
# signal.bpf.c, FOLDER/e2e/go/wrappers lists what is not compared.
include Makefile
S := $(B)/e2e/go
.PHONY: signal
signal: $(S)/xprof $(S)/wrappers
PROBE := $(filter $(B)/agent/probe/%,$(OBJ))

$(S)/%.bpf.o: e2e/go/%.bpf.c $(wildcard bpf/* bpf/events/*)
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -c -o $@ $<

$(S)/xprof.skel.h: $(S)/signal.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name xprof_bpf > $@

# The room that loads the programs, with these in place of its own.
$(PROBE:$(B)/%=$(S)/%): $(S)/%.o: %.c $(S)/xprof.skel.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -I$(S) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(S)/xprof: $(filter-out $(PROBE),$(OBJ)) $(PROBE:$(B)/%=$(S)/%)
$(S)/wrappers: $(S)/wrappers.o \
               $(filter $(B)/agent/base/% $(B)/agent/elf/% $(B)/agent/cfi/% $(B)/agent/dwarf/% $(B)/agent/proc/% $(B)/agent/opener/% $(B)/agent/runtime/%,$(OBJ))
$(S)/xprof $(S)/wrappers:
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
