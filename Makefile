# xprof: `make help` lists the targets. Everything that is built goes to build/.
PREFIX  ?= /usr/local
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
V       ?= 0
# Folders of what is built: all of it; objects of unit tests; eBPF objects. tools/race.sh has them elsewhere.
B       := build
U       := $(B)/unit-obj
E       := $(B)
VERSION := $(shell cat VERSION)
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n' $(1) $(2))

WARN    := -Wall -Wextra -Werror -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter -Wno-gnu-variable-sized-type-not-at-end
CPPFLAGS := -D_GNU_SOURCE -DXPROF_VERSION='"$(VERSION)"' -Iagent -I. $(addprefix -I,$(sort $(B) $(E)))
OPT     ?= -O2
CFLAGS  := -std=gnu11 -g $(OPT) $(WARN)
LDLIBS  := -lbpf -lelf -ldw -lseccomp -lz -ldeflate -lzstd -llzma -liberty -lnghttp2 -lprotobuf-c -lcgroup -ljansson \
           -lyaml -lm -lpthread
SAN     := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

# Stubs of the CRI API: agent/container/NAME.proto -> NAME.pb-c.{h,c}, generated.
PROTO    := $(wildcard agent/container/*.proto)
STUBS    := $(PROTO:%.proto=$(B)/%.pb-c.c)
SRC      := $(filter-out %_test.c %_fuzz.c agent/base/test_main.c,$(wildcard agent/*.c agent/*/*.c agent/cli/*/*.c bpf/host/*.c))
OBJ      := $(SRC:%.c=$(B)/%.o) $(STUBS:.c=.o)
TEST_SRC := $(wildcard agent/*/*_test.c agent/cli/*/*_test.c bpf/*_test.c) agent/base/test_main.c
# Unit tests run without root and without a kernel's help: agent/probe/fake_test.c stands for what needs libbpf.
UNIT_SRC := $(filter-out agent/main.c agent/probe/% agent/inspect/stacks.c agent/cli/stack.c,$(SRC)) \
            agent/probe/cost.c agent/probe/denied.c agent/probe/denied_facts.c agent/probe/kernel_types.c agent/probe/kmem_code.c agent/probe/next_btf.c agent/probe/places_perf.c agent/probe/records.c agent/probe/rules.c \
            agent/probe/shards.c agent/probe/tracefs.c agent/probe/typed.c $(TEST_SRC)
UNIT_OBJ := $(UNIT_SRC:%.c=$(U)/%.o) $(STUBS:.c=.o)

.DELETE_ON_ERROR .SUFFIXES .SECONDARY:
.PHONY: all deps run test unit lint e2e soak bench bench-peers fuzz install clean help e2e-kube e2e-clusters manifests testdata mutate race rooms

all: $(B)/xprof ## build build/xprof

$(B)/xprof: $(OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(U)/%.o: %.c
	$(call say,CC-SAN,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -O1 -MMD -MP -c -o $@ $<

# The page of the html format is linked in by .incbin, which -MMD does not see.
$(foreach d,$(sort $(B) $(U) $(B)/fuzz-obj),$(d)/agent/profile/page.o): $(wildcard agent/profile/page/*)

include bpf/build.mk

$(B)/%.pb-c.c: %.proto
	$(call say,PROTO,$<)
	$(Q)mkdir -p $(@D) && protoc-c --proto_path=$(<D) --c_out=$(@D) $<
$(STUBS:.c=.o): %.o: %.c
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 -g $(OPT) -c -o $@ $<
$(foreach d,$(sort $(B) $(U) $(B)/fuzz-obj),$(patsubst %.c,$(d)/%.o,$(wildcard agent/container/*.c))): | $(STUBS)

$(B)/unit: $(UNIT_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) -o $@ $^ $(LDLIBS)

unit: $(B)/unit testdata ## unit tests under ASan and UBSan, without root
	$(Q)XPROF_TESTDATA=$(B)/testdata tools/unit.sh $(B)/unit $(B)/unit-logs

# Fixtures are sources: agent/ROOM/testdata/build.sh OUTDIR makes that room's from .c and .s files.
FIXTURES := $(wildcard agent/*/testdata/build.sh)
testdata: $(FIXTURES:agent/%/testdata/build.sh=$(B)/testdata/%.stamp)
.SECONDEXPANSION:
$(B)/testdata/%.stamp: agent/%/testdata/build.sh $$(wildcard agent/%/testdata/*)
	$(call say,DATA,$*)
	$(Q)mkdir -p $(@D) && CC=$(CC) CLANG=$(CLANG) bash $< $(@D) && touch $@

# libFuzzer targets: agent/ROOM/NAME_fuzz.c, linked with everything that the unit tests link but the tests.
FUZZ_SRC := $(filter-out %_test.c agent/base/test_main.c,$(UNIT_SRC)) $(wildcard agent/probe/fake_*test.c)
FUZZ_OBJ := $(FUZZ_SRC:%.c=$(B)/fuzz-obj/%.o) $(STUBS:.c=.o)
FUZZERS  := $(patsubst %_fuzz.c,$(B)/fuzz/%,$(notdir $(wildcard agent/*/*_fuzz.c)))

$(B)/fuzz-obj/%.o: %.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 -g -O1 -w -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(B)/fuzz/%: $$(wildcard agent/*/$$*_fuzz.c) $(FUZZ_OBJ)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 -g -O1 -w -fsanitize=fuzzer,address,undefined -o $@ $^ $(LDLIBS)

fuzz: $(FUZZERS) testdata ## each libFuzzer target for FUZZ_SECONDS (60)
	$(Q)for f in $(FUZZERS); do echo "fuzz $$(basename $$f)"; mkdir -p $(B)/corpus/$$(basename $$f); \
	  $$f -max_total_time=$(or $(FUZZ_SECONDS),60) -verbosity=0 -rss_limit_mb=2048 -timeout=10 $(B)/corpus/$$(basename $$f) || exit 1; done

mutate: $(B)/unit testdata ## put N (50) faults into the sources, chosen by SEED (1), and list those that no unit test notices
	$(Q)B=$(B) MAKE=$(MAKE) tools/mutate.py $(or $(N),50) $(or $(SEED),1) $(filter-out %_test.c,$(FUZZ_SRC))
race: testdata ## unit tests, and a run of the agent (root), under ThreadSanitizer
	$(Q)B=$(B) MAKE=$(MAKE) tools/race.sh

# The oracle: our unwinder against libdwfl on the same registers and memory of a live process.
$(B)/oracle: $(patsubst %.c,$(B)/%.o,$(wildcard e2e/oracle/*.c)) \
             $(filter $(B)/agent/base/% $(B)/agent/elf/% $(B)/agent/cfi/% $(B)/agent/proc/% $(B)/bpf/host/%,$(OBJ))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Single rooms, for tests against real servers.
$(B)/kube-watch: $(B)/e2e/kube/watch.o $(filter $(B)/agent/kube/%,$(OBJ))
$(B)/export-send: $(B)/e2e/pyroscope/send.o $(filter $(B)/agent/export/%,$(OBJ))
$(B)/cri-ps: $(B)/e2e/cri/ps.o $(filter $(B)/agent/container/%,$(OBJ))
$(B)/kube-watch $(B)/export-send $(B)/cri-ps: $(filter $(B)/agent/base/% $(B)/agent/net/%,$(OBJ))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Benchmarks: bench/NAME.c is linked with everything but main(); bench/*.sh measure the whole program.
BENCHES := $(patsubst %.c,$(B)/%,$(wildcard bench/*.c))
$(B)/bench/html: $(B)/e2e/html/synth.o
$(BENCHES): $(B)/bench/%: $(B)/bench/%.o $(filter-out $(B)/agent/main.o,$(OBJ))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# References that need an eBPF program of their own.
$(B)/bench/%.bpf.o: bench/ref/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -c -o $@ $<
$(B)/bench/%.skel.h: $(B)/bench/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@
$(B)/bench/fpstack: bench/ref/fpstack.c $(B)/bench/fpstack.skel.h
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -I$(B)/bench -o $@ $< -lbpf

bench: all $(BENCHES) ## benchmarks against their references, as a table
	$(Q)XPROF=$(B)/xprof tools/bench.sh $(BENCHES) $(filter-out bench/heaptrack.sh bench/peers% bench/programs.sh bench/sizing.sh,$(wildcard bench/*.sh))

bench-peers: all ## the same against other profilers, which it builds into the user's cache (root)
	$(Q)XPROF=$(B)/xprof tools/bench.sh bench/peers.sh bench/java.sh bench/heaptrack.sh

deps: ## install what building needs and what is missing
	$(Q)CC=$(CC) tools/deps.sh build

lint: all ## style, rooms, sizes, warnings of gcc, clang and clang-tidy
	$(Q)B=$(B) tools/lint.sh

E2E_PROGRAMS := $(addprefix $(B)/,oracle cri-ps export-send bench/attach)
e2e: all $(E2E_PROGRAMS) ## end-to-end tests (root)
	$(Q)XPROF=$(abspath $(B)/xprof) ORACLE=$(abspath $(B)/oracle) e2e/run.sh

e2e-kube: all ## the chart in a real Kubernetes with a real Pyroscope, all built from source (root)
	$(Q)XPROF=$(abspath $(B)/xprof) e2e/install/kube.sh default

e2e-clusters: all $(B)/kube-watch ## the same in other kinds of clusters, and what goes wrong in them (root)
	$(Q)export XPROF=$(abspath $(B)/xprof); e2e/install/kube.sh other; rc=$$?; e2e/run.sh -d cluster && exit $$rc
soak: all ## hostile neighbours beside containers whose profiles must not suffer, for MINUTES (10), not part of e2e (root)
	$(Q)XPROF=$(abspath $(B)/xprof) MINUTES=$(or $(MINUTES),10) e2e/soak.sh
rooms: ## the layers of agent/, and which room uses which
	@awk -v PRINT=1 -f tools/rooms.awk agent/rooms.allow
manifests: all ## what is made from the chart: its README, its schema, deploy/manifests
	$(Q)B=$(B) tools/chart.sh

test: ## everything that CI runs on one machine: deps, lint, unit, race, e2e
	$(Q)CC=$(CC) tools/deps.sh build test
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all testdata $(B)/unit $(E2E_PROGRAMS) $(B)/kube-watch
	$(Q)tools/lint_test.sh && $(MAKE) --no-print-directory lint unit race
	$(Q)tools/servers.sh && $(MAKE) --no-print-directory e2e

SUDO = $(if $(filter-out 0,$(shell id -u)),sudo)
run: ## deps, build, record the machine for 10 s, and say where the page lies
	$(Q)$(MAKE) --no-print-directory deps && $(MAKE) --no-print-directory all
	$(Q)$(SUDO) $(B)/xprof record -a -d 10s --top 20 -o xprof.html
	@echo "flame graph: $(CURDIR)/xprof.html"

SHARE = $(DESTDIR)$(PREFIX)/share
install: all ## binary, bash completion, licence, README and systemd unit below PREFIX; the unit's configuration in /etc
	$(Q)install -D -m 0755 $(B)/xprof $(DESTDIR)$(PREFIX)/bin/xprof
	$(Q)$(B)/xprof completion bash > $(B)/completion.bash
	$(Q)install -D -m 0644 $(B)/completion.bash $(SHARE)/bash-completion/completions/xprof
	$(Q)install -d $(SHARE)/doc/xprof && install -m 0644 $(wildcard README.md LICENSE) $(SHARE)/doc/xprof
	$(Q)sed 's|/usr/local|$(PREFIX)|' deploy/systemd/xprof.service > $(B)/xprof.service
	$(Q)install -D -m 0644 $(B)/xprof.service $(DESTDIR)$(PREFIX)/lib/systemd/system/xprof.service
	$(Q)[ -e $(DESTDIR)/etc/xprof/xprof.yaml ] || install -D -m 0644 deploy/systemd/xprof.yaml $(DESTDIR)/etc/xprof/xprof.yaml

clean: ## remove build/
	$(Q)rm -rf $(B)

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' Makefile | sed -E 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/' | expand -t 16

-include $(OBJ:.o=.d) $(wildcard $(B)/e2e/*/*.d $(B)/bench/*.d) $(BENCHES:=.d) $(UNIT_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) $(wildcard $(E)/bpf/*.d $(E)/bpf/kinds/*.d)
