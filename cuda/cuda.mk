# cuda.mk: the GPU backend's part of the Makefile. nvcc is found by PATH or in /usr/local/cuda/bin; without it, or with
# CUDA=0, the build has no GPU backend, and says so when one is asked for. The sanitizers' build has none either: there
# the kernels run on the host (tests/cuda).

CUDA ?= $(if $(filter 1,$(SANITIZE)),0,1)
# 1: kernels with -G, for compute-sanitizer and cuda-gdb.
CUDA_DEBUG ?=
NVCCFLAGS ?=

cuda_on := $(if $(and $(filter-out 0,$(CUDA)),$(NVCC)),1)

ifeq ($(cuda_on),1)
# From 7.5 up, and 7.0 where the toolkit still makes it: those of the list that it knows, and PTX of the newest of them for
# what comes later.
cuda_known := $(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-arch 2>/dev/null))
CUDA_ARCHS ?= $(filter $(cuda_known),70 75 80 86 89 90 100 120)
cuda_newest := $(lastword $(CUDA_ARCHS))
cuda_codes := $(foreach a,$(CUDA_ARCHS),-gencode=arch=compute_$a,code=sm_$a) \
    -gencode=arch=compute_$(cuda_newest),code=compute_$(cuda_newest)
# The toolkit is where nvcc says it is: its own folder may be a link.
cuda_top := $(shell $(NVCC) --dryrun -E -x cu /dev/null 2>&1 | sed -n 's/^\#\$$ TOP=//p')
cuda_lib := $(firstword $(wildcard $(foreach d,lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib lib,$(cuda_top)/$d/libcudart_static.a)))
cuda_include := $(firstword $(wildcard $(foreach d,include targets/x86_64-linux/include targets/sbsa-linux/include,$(cuda_top)/$d/cuda_runtime_api.h)))
cuda_libs := $(cuda_lib) -lpthread -ldl -lrt

# The contract of numbers, again: no contraction, no flushing, no approximations (src/arithmetic.h).
nvcc_flags = -std=c++17 -O3 $(if $(CUDA_DEBUG),-G -g,-lineinfo) -Isrc -Icuda -I$(BUILD) --threads 2 \
    $(if $(WERROR),-Werror all-warnings -Xcompiler=-Wall$(comma)-Wextra$(comma)-Werror) -Xcompiler=-fno-exceptions$(comma)-fno-threadsafe-statics $(NVCCFLAGS) \
    -fmad=false -ftz=false -prec-div=true -prec-sqrt=true $(cuda_codes)

cuda_define := -DLM_HAVE_CUDA
cuda_library := $(BUILD)/liblibras_cuda.a
cuda_objects := $(patsubst %.c,$(BUILD)/%.o,$(filter-out cuda/none.c,$(wildcard cuda/*.c))) \
    $(patsubst %.cu,$(BUILD)/%.o,$(wildcard cuda/*.cu))
# Each needs the other: the backends are in the library's list, and they use the library.
cuda_link := -Wl,--start-group $(cuda_library) $(library) -Wl,--end-group $(cuda_libs)

$(cuda_library): $(cuda_objects)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# nvcc takes its time: it works again when its own flags change, not when the library's do.
$(BUILD)/nvcc-flags: export text = $(NVCC) $(nvcc_flags)
$(BUILD)/nvcc-flags: FORCE
	@mkdir -p $(@D); printf '%s\n' "$$text" | cmp -s - $@ || printf '%s\n' "$$text" >$@

$(BUILD)/cuda/%.o: cuda/%.cu $(BUILD)/nvcc-flags
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(nvcc_flags) -MD -MP -MF $(@:.o=.d) -c $< -o $@

# The window filter's kernels, for tests and measurements.
filter_gpu := $(BUILD)/gpu/filter_gpu.o
$(filter_gpu): tests/gpu/filter_gpu.cu $(BUILD)/nvcc-flags
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(nvcc_flags) -Itests/perf -Itests/gpu -MD -MP -MF $(@:.o=.d) -c $< -o $@
else
lib_objects += $(BUILD)/cuda/none.o
endif

cuda_cflags = -Icuda $(if $(cuda_on),-isystem $(dir $(cuda_include)) -DLM_CUDA_BUILT_FOR='"$(CUDA_ARCHS:%=sm_%) and PTX $(cuda_newest)"')
$(BUILD)/cuda/%.o: cuda/%.c $(BUILD)/flags | $(BUILD)/version.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(cuda_cflags) $(CFLAGS_ALL) $(DEPS) -c $< -o $@

-include $(wildcard $(BUILD)/cuda/*.d $(BUILD)/gpu/*.d)

# ---- Tests ----------------------------------------------------------------------------------------------------------
# Every kernel on the host, against the reference: no GPU and no nvcc.
host_layouts := $(BUILD)/cuda/layout.o $(BUILD)/cuda/quick_layout.o
host_tests := $(patsubst tests/cuda/%.cpp,$(BUILD)/tests/%,$(wildcard tests/cuda/test_*.cpp))
$(host_tests): $(BUILD)/tests/%: tests/cuda/%.cpp $(wildcard cuda/*.cuh cuda/*.h tests/cuda/*.h) $(host_layouts) \
    $(library) $(cuda_library) $(BUILD)/flags
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -Isrc -Icuda -Itests/perf -Itests/gpu -I$(BUILD) $(CXXFLAGS_ALL) $(sanitizers) $< $(filter %.o,$^) \
	    $(library) $(cuda_link) $(LDFLAGS_ALL) $(LIBS_ALL) -o $@

$(BUILD)/tests/test_host_filter: $(filter_objects) $(wildcard tests/gpu/filter*h tests/perf/filter*.h)

# Every variant on the GPU, against the reference.
$(BUILD)/gpu/gpu_bits: tests/gpu/gpu_bits.c $(library) $(cuda_library) $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) -Icuda $(CFLAGS_ALL) $(DEPS) -MT $@ -MF $@.d $< $(library) $(cuda_link) \
	    $(LDFLAGS_ALL) $(LIBS_ALL) -o $@

# The figures of gpu:fast beside their floors.
$(BUILD)/gpu/fast_speed: tests/gpu/fast_speed.c $(library) $(cuda_library) $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) $(cuda_cflags) $(CFLAGS_ALL) $(DEPS) -MT $@ -MF $@.d $< $(library) $(cuda_link) \
	    $(LDFLAGS_ALL) $(LIBS_ALL) -o $@

.PHONY: bench-gpu
## bench-gpu: one training, thousands of them, and inference on a GPU, beside what the GPU could do at most
bench-gpu: $(BUILD)/gpu/fast_speed
	$(Q)$(BUILD)/gpu/fast_speed $(REPEATS) $(LIBRAS_DATA)

# The window filter's kernels on the GPU, against theirs.
$(BUILD)/gpu/filter_bits: tests/gpu/filter_bits.c $(filter_objects) $(filter_gpu) $(library) $(cuda_library) $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(LIBCC) $(CPPFLAGS_ALL) -Icuda -Itests/perf -Itests/gpu $(CFLAGS_ALL) $(DEPS) -MT $@ -MF $@.d $< \
	    $(filter %.o,$^) $(library) $(cuda_link) $(LDFLAGS_ALL) $(LIBS_ALL) -o $@

.PHONY: gpu-bits
gpu-bits: $(BUILD)/gpu/gpu_bits $(BUILD)/gpu/filter_bits
