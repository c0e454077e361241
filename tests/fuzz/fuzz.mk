# fuzz.mk: tests/fuzz's part of the Makefile: every tests/fuzz/fuzz_*.c is a target for libFuzzer. The ordinary builds link
# it with replay.c, which runs it over files; `make fuzz` builds everything once more, by clang, with libFuzzer in it.

FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang
FUZZING ?=

fuzz_sources := $(wildcard tests/fuzz/fuzz_*.c)
fuzzers := $(fuzz_sources:tests/fuzz/%.c=$(BUILD)/fuzz/%)
ifeq ($(FUZZING),1)
sanitizers += -fsanitize=fuzzer-no-link
fuzz_main = -fsanitize=fuzzer
# No reader runs there, and clang takes minutes for each with its checks in.
$(BUILD)/src/simd_%.o: private sanitizers :=
else
fuzz_main = tests/fuzz/replay.c
endif

.PHONY: fuzz fuzzers
fuzzers: $(fuzzers) $(BUILD)/tests/make_results $(BUILD)/tests/make_packed

$(BUILD)/fuzz/%: tests/fuzz/%.c tests/fuzz/fuzz_file.h tests/fuzz/replay.c $(library) $(cuda_library) $(BUILD)/flags
	$(call say,FUZZ,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $< $(fuzz_main) $(library) $(cuda_link) $(LDFLAGS_ALL) $(LIBS_ALL) -o $@

## fuzz: every reader under libFuzzer, FUZZ_SECONDS=60 each, two at a time, in build-fuzz (needs clang)
fuzz:
	@tools/deps.sh check
	$(submake) all tests
	@! tests/fuzz/can_fuzz.sh '$(FUZZ_CC)' || $(MAKE) --no-print-directory $(all_cores) BUILD=build-fuzz CC='$(FUZZ_CC)' \
	    SANITIZE=1 FUZZING=1 fuzzers
	@LIBRAS_BUILD='$(BUILD)' FUZZ_CC='$(FUZZ_CC)' FUZZ_SECONDS='$(FUZZ_SECONDS)' tests/run tests/fuzz/fuzz.sh
