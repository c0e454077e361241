# libras_mpi. `make help` lists the targets, `make info` what this machine has; V=1 shows the commands.

VERSION := 0.1.0

# ---- What a user may set: make CC=clang BUILD=build-clang CFLAGS=-O3 ------------------------------------------------
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
NP ?= 4
ARGS ?=
T ?=
V ?=
# Empty it (make WERROR=) for a compiler that warns about more than ours.
WERROR ?= -Werror
# 0: without this library, though it may be here. `import` and `predict` then say so where they would need it.
JPEG ?= 1
PNG ?= 1
EXPAT ?= 1
# 0: without sweep files; axes on the command line need none.
YAML ?= 1
# 1: with AddressSanitizer and UndefinedBehaviorSanitizer.
SANITIZE ?=
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
MPICC ?= mpicc
MPIRUN ?= mpirun
PKG_CONFIG ?= pkg-config
NVCC ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc))

# ---- What this machine has ------------------------------------------------------------------------------------------
export PKG_CONFIG
HDF5 := $(shell tools/find-hdf5.sh)
HDF5_NAME := $(word 1,$(HDF5))
HDF5_VERSION := $(word 2,$(HDF5))
HDF5_KIND := $(word 3,$(HDF5))
HDF5_FLAGS := $(wordlist 4,$(words $(HDF5)),$(HDF5))
HDF5_CFLAGS ?= $(filter -I%,$(HDF5_FLAGS))
HDF5_LIBS ?= $(filter-out -I%,$(HDF5_FLAGS))

HAVE_MPI := $(shell command -v $(MPICC))
HAVE_CXX := $(shell command -v $(CXX))
CMOCKA := $(shell $(PKG_CONFIG) --modversion cmocka 2>/dev/null)
CMOCKA_CFLAGS = $(shell $(PKG_CONFIG) --cflags cmocka)
CMOCKA_LIBS = $(shell $(PKG_CONFIG) --libs cmocka)

# What `import` reads pictures and their boxes by, and `sweep` its files, each optional: "VERSION FLAGS...", or nothing.
find_library = $(shell CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' LDFLAGS='$(LDFLAGS)' tools/find-library.sh $(1))
jpeg := $(if $(filter-out 0,$(JPEG)),$(call find_library,jpeg))
png := $(if $(filter-out 0,$(PNG)),$(call find_library,png))
expat := $(if $(filter-out 0,$(EXPAT)),$(call find_library,expat))
yaml := $(if $(filter-out 0,$(YAML)),$(call find_library,yaml))
flags_of = $(wordlist 2,$(words $(1)),$(1))
found_flags := $(foreach library,jpeg png expat yaml,$(call flags_of,$($(library))))
found_cppflags := $(if $(jpeg),-DLM_HAVE_JPEG) $(if $(png),-DLM_HAVE_PNG) $(if $(expat),-DLM_HAVE_EXPAT) \
    $(if $(yaml),-DLM_HAVE_YAML) $(filter -I%,$(found_flags))
found_libs := $(filter-out -I%,$(found_flags))

# The reference is compiled a second time, with -mfma, where the compiler makes code for x86-64.
FMA := $(filter x86_64-% amd64-%,$(shell $(CC) -dumpmachine 2>/dev/null))

# A parallel HDF5's headers include mpi.h; ours never do.
LIBCC := $(if $(filter parallel,$(HDF5_KIND)),$(MPICC),$(CC))

# ---- Flags ----------------------------------------------------------------------------------------------------------
# The contract of numbers (src/arithmetic.h) comes last: no user's -Ofast may undo it. No -march=native: paths are
# chosen at run time.
ARITHMETIC := -ffp-contract=off -fno-fast-math
comma := ,
ifeq ($(SANITIZE),1)
sanitizers := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
CPPFLAGS_ALL = -D_GNU_SOURCE $(if $(FMA),-DLM_HAVE_REFERENCE_FMA) $(cuda_define) $(found_cppflags) -Isrc -I$(BUILD) \
    $(HDF5_CFLAGS) $(CPPFLAGS)
CFLAGS_ALL = -std=c11 -O2 -g -Wall -Wextra $(WERROR) $(sanitizers) $(CFLAGS) $(ARITHMETIC)
CXXFLAGS_ALL = -std=c++17 -O2 -g -Wall -Wextra $(WERROR) $(CXXFLAGS) $(ARITHMETIC)
LDFLAGS_ALL = $(sanitizers) $(LDFLAGS)
LIBS_ALL = $(HDF5_LIBS) $(found_libs) -lm -pthread $(LDLIBS)
DEPS = -MMD -MP

# ---- Sources --------------------------------------------------------------------------------------------------------
src := $(filter-out src/reference.c,$(wildcard src/*.c)) src/reference_plain.c $(if $(FMA),src/reference_fma.c)
lib_objects := $(src:%.c=$(BUILD)/%.o)
mpi_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard mpi/*.c))
unit_tests := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c))
unit_helpers := $(patsubst tests/unit/%.cpp,$(BUILD)/tests/%,$(wildcard tests/unit/*.cpp))
perf_tests := $(patsubst tests/perf/%.c,$(BUILD)/perf/%, \
    $(filter-out tests/perf/baseline.c tests/perf/filter%,$(wildcard tests/perf/*.c)))
# The window filter, an example for the performance model: in measurements and tests, never in the program.
filter_objects := $(patsubst tests/perf/%.c,$(BUILD)/perf/%.o,$(wildcard tests/perf/filter*.c))
library := $(BUILD)/liblibras.a
program := $(BUILD)/libras_mpi

c_files := $(wildcard $(foreach d,src mpi cuda tests/unit tests/perf tests/cuda tests/gpu tests/fuzz,$(addprefix $(d)/*.,c h cpp cu cuh)))
shell_files := $(wildcard .ci/run tools/*.sh tests/*.sh tests/*/*.sh tests/slurm/slurm-sandbox jobs/*.sh jobs/*.slurm)

# ---- Output: one short line a step, in colour on a terminal; V=1: the commands themselves ---------------------------
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
colour := $(if $(NO_COLOR),,$(MAKE_TERMOUT))
say = @printf '$(if $(colour),\033[32m)%8s$(if $(colour),\033[0m) %s\n' '$(1)' '$(2)'
endif
MAKEFLAGS += --no-builtin-rules
# A sub-make on all cores, unless the user has said how many.
all_cores = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
submake = @+$(MAKE) --no-print-directory $(all_cores)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all lib tests run check sanitize check-gpu perf bench bench-model bench-caching format lint lint-c lint-shell help info install uninstall clean deps pictures
.PHONY: libras_mpi need-mpi need-hdf5 FORCE check-kill check-resume bench-scaling

# ---- The GPU backend ------------------------------------------------------------------------------------------------
-include cuda/cuda.mk
-include tests/fuzz/fuzz.mk

# ---- Building -------------------------------------------------------------------------------------------------------
## all: the program, ./libras_mpi (the default)
all: libras_mpi

# The users' name for the program: a link to the last one built.
libras_mpi: $(program)
	$(Q)[ "$$(readlink $@)" = '$<' ] || ln -sfn '$<' $@

## lib: the library, $(BUILD)/liblibras.a (needs no MPI)
lib: $(library)

$(program): $(mpi_objects) $(library) $(cuda_library) | need-mpi
	$(call say,MPILD,$@)
	$(Q)$(MPICC) $(LDFLAGS_ALL) $(mpi_objects) $(library) $(cuda_link) $(LIBS_ALL) -o $@

$(library): $(lib_objects)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/src/%.o: src/%.c $(BUILD)/flags | $(BUILD)/version.h need-hdf5
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(DEPS) -c $< -o $@

$(BUILD)/src/reference_%.o: src/reference.c $(BUILD)/flags | $(BUILD)/version.h need-hdf5
	$(call say,CC,$< ($*))
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) -DLM_REFERENCE_SUFFIX=$* $(CFLAGS_ALL) $(if $(filter fma,$*),-mfma) $(DEPS) -c $< -o $@

$(BUILD)/mpi/%.o: mpi/%.c $(BUILD)/flags | $(BUILD)/version.h need-mpi need-hdf5
	$(call say,MPICC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(MPICC) $(CPPFLAGS_ALL) -Icuda $(CFLAGS_ALL) $(DEPS) -c $< -o $@

no_mpi = $(MPICC) is missing: apt-get install libopenmpi-dev openmpi-bin, or load your cluster'\''s MPI module, \
    or say MPICC=/path/to/mpicc
no_hdf5 = HDF5 is missing: apt-get install libhdf5-dev pkg-config, or load your cluster'\''s HDF5 module, or set HDF5_DIR
need-mpi:
	@$(if $(HAVE_MPI),:,echo >&2 '$(no_mpi)'; exit 1)
need-hdf5:
	@$(if $(HDF5_LIBS),:,echo >&2 '$(no_hdf5)'; exit 1)

# Both are rewritten only when they change: then everything, or what includes version.h, is built again.
$(BUILD)/flags: export text = $(CC) $(LIBCC) $(MPICC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LIBS_ALL)
$(BUILD)/version.h: export text = $(version_h)
$(BUILD)/flags $(BUILD)/version.h: FORCE
	@mkdir -p $(@D); printf '%s\n' "$$text" | cmp -s - $@ || printf '%s\n' "$$text" >$@

COMMIT = $(or $(shell git describe --always --dirty --abbrev=12 2>/dev/null),unknown)
define version_h
#define LM_VERSION "$(VERSION)"
#define LM_COMMIT "$(COMMIT)"
endef

-include $(lib_objects:.o=.d) $(mpi_objects:.o=.d) $(filter_objects:.o=.d) \
    $(addsuffix .d,$(unit_tests) $(perf_tests))

# ---- Tests ----------------------------------------------------------------------------------------------------------
## tests: builds the unit tests
ifneq ($(CMOCKA),)
tests: $(unit_tests) $(fuzzers) $(if $(HAVE_CXX),$(unit_helpers) $(host_tests))
	@rm -f $(BUILD)/tests/not-built
else
tests: lib $(if $(HAVE_CXX),$(host_tests))
	@mkdir -p $(BUILD)/tests && echo 'cmocka is missing: apt-get install libcmocka-dev' | tee $(BUILD)/tests/not-built
endif

$(BUILD)/tests/%: tests/unit/%.c $(library) $(cuda_library) $(BUILD)/flags
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) $(CMOCKA_CFLAGS) $(CFLAGS_ALL) $(DEPS) -MT $@ -MF $@.d $< $(filter %.o,$^) \
	    $(library) $(cuda_link) $(LDFLAGS_ALL) $(CMOCKA_LIBS) $(LIBS_ALL) -o $@

# C++ beside the unit tests: what the real libstdc++ does, for comparison. Nothing of ours is linked.
$(BUILD)/tests/%: tests/unit/%.cpp $(BUILD)/flags
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS_ALL) $< -o $@

# The rival of cpu_speed, alone with these flags: the fastest that this machine's compiler makes of plain loops. (With
# -std=c11 gcc would not fuse.)
$(BUILD)/perf/baseline.o: tests/perf/baseline.c tests/perf/baseline.h $(BUILD)/flags
	$(call say,CC,$< (-O3 -march=native -ffast-math))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O3 -march=native -ffast-math -ffp-contract=fast -Wall -Wextra $(WERROR) -c $< -o $@

$(BUILD)/perf/cpu_speed: $(BUILD)/perf/baseline.o

# For this machine, which may have fused multiply-add: without it fmaf is a library's function, of the same bits.
$(filter_objects): $(BUILD)/perf/%.o: tests/perf/%.c $(BUILD)/flags
	$(call say,CC,$< (-march=native))
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) -march=native $(CFLAGS_ALL) $(DEPS) -c $< -o $@

$(BUILD)/tests/test_filter $(BUILD)/tests/test_filter_report: $(filter_objects)
$(BUILD)/tests/test_filter $(BUILD)/tests/test_filter_report: private CPPFLAGS += -Itests/perf

$(BUILD)/perf/model_accuracy: private CPPFLAGS += -Icuda

$(BUILD)/perf/caching_accuracy: $(filter_objects) $(filter_gpu)
$(BUILD)/perf/caching_accuracy: private CPPFLAGS += -Icuda -Itests/gpu -Itests/perf -Itests/unit

$(BUILD)/perf/%: tests/perf/%.c $(library) $(cuda_library) $(BUILD)/flags
	$(call say,PERF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(DEPS) -MT $@ -MF $@.d $< $(filter %.o,$^) \
	    $(library) $(cuda_link) $(LDFLAGS_ALL) $(LIBS_ALL) -o $@

## run: installs what is missing, builds, and runs ./libras_mpi on 4 ranks (NP=2 ARGS="--epochs 3")
run:
	@tools/deps.sh run
	$(submake) all
	@$(as_root) $(MPIRUN) --oversubscribe -np $(NP) ./libras_mpi $(ARGS)

# Open MPI refuses to run as root unless both are set; in a container there is nobody else.
as_root = $(if $(filter 0,$(shell id -u)),OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)

## check: installs what is missing, builds, and runs every test (T=unit or T=tests/house/test_style.sh: only these)
check:
	@tools/deps.sh check
	$(submake) all tests
	@LIBRAS_BUILD='$(BUILD)' tests/run $(T)

## sanitize: the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
sanitize:
	@tools/deps.sh check
	$(submake) BUILD=build-asan SANITIZE=1 tests
	@LIBRAS_BUILD=build-asan tests/run unit cuda fuzz

## check-kill: runs killed at random moments (N=200): the old file, or the whole new one
N ?= 200
check-kill: all
	@$(as_root) MPIRUN='$(MPIRUN) --oversubscribe' tests/mpi/kill_at_random.sh $(N)

## check-resume: a sweep of 2,000 trials killed at random moments (N=100) and resumed: the bits of an unbroken run
check-resume: N = 100
check-resume: all
	@$(as_root) MPIRUN='$(MPIRUN) --oversubscribe' tests/mpi/resume_at_random.sh $(N) $(ARGS)

## check-gpu: on a machine with a GPU: every variant bit for bit, and compute-sanitizer's four tools
check-gpu:
	$(submake) all gpu-bits
	@$(as_root) LIBRAS_BUILD='$(BUILD)' tests/gpu/check_gpu.sh

## perf: builds the measurements in tests/perf and runs them one after the other
perf: $(perf_tests)
	@for test in $(perf_tests); do echo "$$test"; "./$$test" || exit; done

## bench-scaling: a sweep and inference on 1, 2, 4, ... GPUs: times, efficiency, the same bits (ARGS="--device cpu --most 2")
bench-scaling: all
	@MPIRUN='$(MPIRUN) --oversubscribe' tests/perf/scaling.py $(ARGS)

## bench: the CPU kernels side by side with plain loops built by -O3 -march=native -ffast-math, on one core
bench: $(BUILD)/perf/cpu_speed
	@$(BUILD)/perf/cpu_speed $(ARGS)

## bench-model: the performance model against this machine: predicted and measured, what its decisions were worth (15 minutes; ARGS="--csv FILE")
bench-model: all $(BUILD)/perf/model_accuracy $(BUILD)/perf/caching_accuracy
	@$(as_root) ./libras_mpi calibrate --out $(BUILD)/machine.txt
	@$(BUILD)/perf/model_accuracy $(ARGS) $(BUILD)/machine.txt
	@$(BUILD)/perf/caching_accuracy $(BUILD)/machine.txt

## bench-caching: a window filter on a GPU, with and without a tile in shared memory: what was predicted, who chose right (2 minutes)
bench-caching: $(BUILD)/perf/caching_accuracy
	@$(BUILD)/perf/caching_accuracy --csv $(BUILD)/caching.csv $(ARGS)

## pictures: the pictures of README.md, made anew from real runs (h5py, matplotlib)
pictures: all
	@$(as_root) tools/pictures.sh

## format: clang-format over all C, C++ and CUDA files
format:
	clang-format -i $(c_files)

## lint: clang-format and shellcheck, as checks
lint: lint-c lint-shell
lint-c:
	$(Q)clang-format --dry-run -Werror --ferror-limit=2 $(c_files)
lint-shell:
	$(Q)shellcheck -S style $(shell_files)

# ---- About ----------------------------------------------------------------------------------------------------------
## help: this list
help:
	@echo 'make TARGET [V=1] [CC=...] [MPICC=...] [CFLAGS=...] [BUILD=build] [PREFIX=/usr/local] [DESTDIR=]'
	@awk -F': ' '/^## [a-z-]+: / { gsub(/[$$][(]BUILD[)]/, "$(BUILD)"); \
	    printf "  %-10s %s\n", substr($$1, 4), substr($$0, length($$1) + 3) }' $(filter-out %.d,$(MAKEFILE_LIST))

row = @printf '%-10s %-22s %s\n' '$(1)' '$(or $(strip $(2)),missing)' '$(strip $(3))'
cc_version = $(shell $(CC) -dumpfullversion -dumpversion 2>/dev/null)
mpi_version = $(if $(HAVE_MPI),$(or $(shell $(MPICC) --showme:version 2>&1 | grep -oE '[0-9]+\.[0-9.]+'),found))
nvcc_version = $(if $(NVCC),$(shell $(NVCC) --version | sed -n 's/.*release \([0-9.]*\).*/\1/p'))
without = $(if $(filter 0,$($(1))),$(1)=0,apt-get install $(2))
left_out = import reads none: $(call without,$(1),$(2))
## info: what this machine has, and what is missing
info:
	$(call row,libras_mpi,$(VERSION),$(COMMIT))
	$(call row,compiler,$(cc_version),$(or $(shell command -v $(CC)),apt-get install gcc))
	$(call row,target,$(shell $(CC) -dumpmachine),the reference is built $(if $(FMA),twice: plain and with -mfma,once))
	$(call row,MPI,$(mpi_version),$(or $(HAVE_MPI),apt-get install libopenmpi-dev openmpi-bin))
	$(call row,HDF5,$(HDF5_VERSION),$(if $(HDF5),$(HDF5_NAME)$(comma) $(HDF5_KIND): \
	    $(HDF5_FLAGS),apt-get install libhdf5-dev pkg-config))
	$(call row,cmocka,$(CMOCKA),$(if $(CMOCKA),unit tests,unit tests are skipped: apt-get install libcmocka-dev))
	$(call row,libjpeg,$(firstword $(jpeg)),$(if $(jpeg),import reads JPEG,$(call left_out,JPEG,libjpeg-dev)))
	$(call row,libpng,$(firstword $(png)),$(if $(png),import reads PNG,$(call left_out,PNG,libpng-dev)))
	$(call row,expat,$(firstword $(expat)),$(if $(expat),import reads boxes,$(call left_out,EXPAT,libexpat1-dev)))
	$(call row,libyaml,$(firstword $(yaml)),$(if $(yaml),sweep files,no sweep files: $(call without,YAML,libyaml-dev)))
	$(call row,nvcc,$(nvcc_version),$(if $(cuda_on),$(NVCC): code for $(CUDA_ARCHS:%=sm_%),$(if $(NVCC),$(NVCC): not used (CUDA=0)$(comma) )no GPU backend))

# ---- Installing -----------------------------------------------------------------------------------------------------
docs := $(wildcard README.md LICENSE CHANGELOG.md CITATION.cff CONTRIBUTING.md results/README.md datasets/README.md \
    datasets/letters.png results/pictures/*.png)
report := $(wildcard results/report.py results/analysis.ipynb results/report_lib/*.py)
jobs := $(wildcard jobs/*.slurm jobs/*.sh jobs/*.md jobs/*.yaml)
man := $(wildcard man/*.1)
bindir = $(DESTDIR)$(PREFIX)/bin
mandir = $(DESTDIR)$(PREFIX)/share/man/man1
docdir = $(DESTDIR)$(PREFIX)/share/doc/libras_mpi
jobdir = $(DESTDIR)$(PREFIX)/share/libras_mpi/jobs
reportdir = $(DESTDIR)$(PREFIX)/share/libras_mpi/results

## install: program, manual page, documents, job scripts and report.py under DESTDIR and PREFIX
install: all
	install -d '$(bindir)' '$(mandir)' '$(docdir)' '$(jobdir)'
	install -m 755 $(program) '$(bindir)'
	$(if $(man),install -m 644 $(man) '$(mandir)')
	for doc in $(docs); do install -D -m 644 "$$doc" '$(docdir)'/"$$doc" || exit; done
	install -m 644 $(jobs) '$(jobdir)'
	for file in $(report); do install -D -m 644 "$$file" '$(DESTDIR)$(PREFIX)/share/libras_mpi'/"$$file" || exit; done
	$(if $(report),chmod 755 '$(reportdir)/report.py')

## uninstall: removes what install put there
uninstall:
	rm -f '$(bindir)/libras_mpi' $(man:man/%='$(mandir)/%') $(docs:%='$(docdir)/%') $(jobs:jobs/%='$(jobdir)/%')
	rm -rf $(report:results/%='$(reportdir)/%') '$(reportdir)/report_lib/__pycache__'
	-rmdir '$(reportdir)/report_lib' '$(reportdir)' '$(docdir)/results/pictures' '$(docdir)/results' '$(docdir)/datasets' '$(docdir)' '$(jobdir)' '$(dir $(jobdir))'

## deps: installs what run and check need and this machine lacks (apt-get)
deps:
	@tools/deps.sh check

## clean: removes the build folders and the link ./libras_mpi
clean:
	rm -rf $(sort $(BUILD) build build-asan build-fuzz) libras_mpi
