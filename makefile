# -*- mode: makefile-gmake -*-
# libpatchfd.  "make help" lists what can be made and which variables matter.

BUILD  ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
NP     ?= 1
.SUFFIXES:
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN) # a -j on the command line wins
endif
.DELETE_ON_ERROR:
.PHONY: all doc run tutorials check test testdocs teststandin sometests matrix gputest bench install dist env valgrind debug ptx clean help gentest FORCE

all: ## build the library

clean: ## remove everything that was built (PETSc stays in its cache)
	$(RM) -r $(BUILD)

# A debug PETSc finds what an optimized one cannot: misused Vecs, wrong collective calls, leaks of PETSc objects.
debug: ## run the tests with a debug build of PETSc (built once, like the other)
	+@$(MAKE) --no-print-directory test BUILD=$(BUILD)/debug PETSC_DIR= PETSC_ARCH= PATCHFD_PETSC_OPTS="--with-debugging=1 $(PATCHFD_PETSC_OPTS)"

# Needs Python and its packages, no PETSc.  -W: a link to nothing is an error.
doc: $(BUILD)/doc/venv/ready ## build the site, $(BUILD)/doc/html/index.html
	@python3 doc/manualpages.py check
	$(BUILD)/doc/venv/bin/sphinx-build -q -W --keep-going -j auto -c doc -d $(BUILD)/doc/doctrees . $(BUILD)/doc/html
	@echo "open $(BUILD)/doc/html/index.html"
$(BUILD)/doc/venv/ready: doc/requirements.txt
	python3 -m venv $(@D) && $(@D)/bin/pip install -q -r $< && touch $@

matrix: ## build and test with other versions of PETSc, other compilers and MPIs (FULL=1: all tests)
	+@config/matrix $(ARGS)

dist: ## pack what is committed as dist/patchfd-VERSION.tar.gz, with recipes for packages of it
	@config/dist

help: ## print this
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' makefile | expand -t 18
	@echo
	@echo 'Variables, as in "make run NP=2":'
	@echo '  NP, ARGS        ranks and options of "run" and "bench"'
	@echo '  PREFIX          where "install" puts things and "env" finds them ($(PREFIX)); LIBDIR: the library, if not in PREFIX/lib'
	@echo '  BUILD           the build folder ($(BUILD))'
	@echo '  VECTOR_FLAGS    what the compiler is told about the processor (-march=native where it knows that)'
	@echo '  VECTOR_LEVELS   avx2, avx512 or both: host kernels for all x86 processors and for these, chosen when the library is loaded (what "install" does)'
	@echo '  V=1             show the commands'
	@echo '  CUDA            1: with CUDA, 0: without (with it where a GPU is seen, or where the PETSc that is found has it)'
	@echo '  CUDA_PTX=80     compile kernels to PTX for this compute capability or newer, not for the GPU that PETSc was built for'
	@echo '  PETSC_DIR, PETSC_ARCH, PATCHFD_PETSC_OPTS, PATCHFD_CACHE, ...: see doc/installation.md'

ifneq ($(filter-out clean debug dist doc help matrix,$(or $(MAKECMDGOALS),all)),)

# ---- PETSc: found, or built the first time ----
# before make 4.4 $(shell) has the environment of make, without what was set after "make"
BOOTSTRAP := $(foreach v,PETSC_DIR PETSC_ARCH PATCHFD_CACHE PATCHFD_PETSC_VERSION PATCHFD_PETSC_OPTS PATCHFD_CUDA_ARCH \
  PATCHFD_SUDO CUDA LAPACKE_LIB,$(if $(filter undefined,$(origin $v)),,$v='$($v)')) config/bootstrap
FOUND := $(shell $(BOOTSTRAP))
ifneq ($(.SHELLSTATUS),0)
$(error no PETSc; the lines above say why)
endif
override PETSC_DIR  := $(patsubst PETSC_DIR=%,%,$(filter PETSC_DIR=%,$(FOUND)))
override PETSC_ARCH := $(patsubst PETSC_ARCH=%,%,$(filter PETSC_ARCH=%,$(FOUND)))
export PETSC_DIR PETSC_ARCH
# Not conf/rules: all that it would add here is a "clean" that deletes by pattern in the source tree.
include $(PETSC_DIR)/lib/petsc/conf/variables

# ---- flags ----
# code for PETSc's GPU, or PTX for this compute capability, which drivers translate for any newer GPU
ifneq ($(CUDA_PTX),)
ifneq ($(shell test '$(CUDA_PTX)' -ge 80 2>/dev/null && echo yes),yes)
$(error CUDA_PTX=$(CUDA_PTX): it must be a compute capability, 80 or newer, without the point)
endif
override CUDAC_FLAGS := $(filter-out -gencode -gencode=% arch=% -arch=%,$(CUDAC_FLAGS)) -gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
endif
# the first since gcc 12
VECTOR_TYPES := typedef double V __attribute__((vector_size(16))); typedef long long M __attribute__((vector_size(16)));
ifneq ($(shell for f in 'vector(a, a, 1, 0)' '(a, (M){1, 0})'; do echo '$(VECTOR_TYPES) V g(V a) { return __builtin_shuffle'"$$f"'; }' | \
  $(CC) -xc -c - -o /dev/null 2>/dev/null && echo yes && break; done),yes)
$(error the compiler $(CC) has no vectors, neither __builtin_shufflevector nor __builtin_shuffle; take gcc 11 or newer, or clang)
endif
# -isystem because the warnings are for our files, not for PETSc's headers; -O3 because PETSc's default is less, but debug builds stay debug builds
LAPACKE_LIB ?= -llapacke
# with levels the processor that compiles does not matter, nor does VECTOR_FLAGS, which "make install" sets to nothing
VECTOR_FLAGS_avx2   := -march=x86-64-v3
VECTOR_FLAGS_avx512 := -march=x86-64-v4
ifneq ($(filter-out avx2 avx512,$(VECTOR_LEVELS)),)
$(error VECTOR_LEVELS=$(VECTOR_LEVELS): it may contain avx2 and avx512)
endif
PROCESSOR_GIVEN := $(filter-out undefined,$(origin VECTOR_FLAGS))$(VECTOR_LEVELS)
ifneq ($(VECTOR_LEVELS),)
override VECTOR_FLAGS := $(VECTOR_LEVELS:%=-DPATCHFD_LEVEL_%)
else ifeq ($(origin VECTOR_FLAGS),undefined)
VECTOR_FLAGS := $(shell $(CC) -march=native -xc -c /dev/null -o /dev/null 2>/dev/null && echo -march=native)
endif
OPTIMIZE    := $(if $(shell grep 'define PETSC_USE_DEBUG ' $(PETSCCONF_H)),,-O3)
INCLUDES    := -I$(CURDIR)/include $(patsubst -I%,-isystem %,$(PETSC_CC_INCLUDES))
override CFLAGS    := $(INCLUDES) -Wall -Wextra -g $(OPTIMIZE) $(VECTOR_FLAGS) $(CFLAGS)
# CUDA files are many and take half of the time of a build: no complex numbers (PETSc's are Thrust's there, half of all lines of headers), and what runs on the host there is set-up
override CUDAFLAGS := $(INCLUDES) -I$(CURDIR)/src/cuda -Xcompiler -Wall,-Wextra -g -lineinfo $(OPTIMIZE) -DPETSC_SKIP_COMPLEX $(OPTIMIZE:-O3=-Xcompiler -O1) $(CUDAFLAGS)

# ---- the library ----
OUT     := $(abspath $(BUILD))
VERSION := $(shell sed -n 's/.*PATCHFD_VERSION_[A-Z]* *\([0-9]\)/\1/p' include/petscpatchfd.h)
PETSC_VERSION = $(shell sed -n 's/.define PETSC_VERSION_M[AJIN]*OR  *//p' $(PETSC_DIR)/include/petscversion.h)
# as PETSc's: a minor version may change the interface, a subminor one may not (packages/README.md)
SONAME  := libpatchfd.$(SL_LINKER_SUFFIX).$(word 1,$(VERSION)).$(word 2,$(VERSION))
LIB     := $(OUT)/lib/libpatchfd.$(SL_LINKER_SUFFIX)
ARCHIVE := $(OUT)/obj/libpatchfd.a
# Programs are linked as a user's are, but those that call hidden functions: with CUDA 200 MB each.  $1: the name of the program.
HIDDEN := <patchfd/private/([^c]|c[^o])
HIDDEN := $(HIDDEN)$(patsubst tests/%,|"%",$(shell grep -lE '$(HIDDEN)' tests/*.h))
HIDDEN := $(basename $(shell grep -lE '$(subst $() |,|,$(HIDDEN))' tests/*.c benchmarks/*.c))
link = $(if $(filter $(HIDDEN),$1),$(ARCHIVE),-L$(OUT)/lib -Wl,-rpath,$(OUT)/lib -lpatchfd) $(if $(filter tutorials/%,$1),,$(LAPACKE_LIB)) $(PETSC_LIB)
# a PETSc without CUDA knows nvcc, too, where there is one
HAVE_CUDA := $(shell grep "define PETSC_HAVE_CUDA " $(PETSCCONF_H))
# What has templates of a precision T, a dimension DIM, cells with matrices of their own PLACE, or a KIND of points is compiled once for each of
# them: FILE.T-float.DIM-3 is FILE.cu with -DINSTANCE_T=float -DINSTANCE_DIM=3.
by = $(foreach f,$2,$(addprefix $f.,$1))
BY_T     := $(call by,T-double T-float,dg/smoother_fast fields/fast fit/cells fit/kernel lattice/march points/product smoother/place_row smoother/plane \
              smoother/strip smoother/volume terms/fast)
BY_DIM   := $(call by,DIM-2 DIM-3,$(call by,T-double T-float,bands/operator_fast smoother/place stokes/operator_fast terms/operator_fast transfer/mixed_fast))
BY_PLACE := $(call by,PLACE-false PLACE-true,$(call by,T-double T-float,operator/march operator/plane) \
              $(call by,DIM-2 DIM-3,$(call by,T-double T-float,transfer/fast)))
BY_KIND  := $(call by,$(addprefix KIND-POINTS_,COLLOCATED FEW GAUSS MANY MASS),$(call by,T-double T-float,points/planes))
INSTANCES := $(patsubst %,src/cuda/%.cu,$(BY_KIND) $(BY_PLACE) $(BY_DIM) $(BY_T))
instance  = $(subst ., ,$(1:.cu=))
CUDA_SOURCES = $(INSTANCES) $(filter-out $(foreach i,$(INSTANCES),$(firstword $(call instance,$i)).cu),$(wildcard src/cuda/*/*.cu))
SOURCES   := $(wildcard src/*/*.c) $(if $(HAVE_CUDA),$(CUDA_SOURCES))
LEVELS  := $(if $(VECTOR_LEVELS),plain $(VECTOR_LEVELS))
TABLES  := src/host/double.c src/host/float.c
SOURCES := $(TABLES) $(filter-out $(TABLES),$(SOURCES)) # these take most of the time: first, so that all cores end together
OBJECTS := $(patsubst %,$(OUT)/obj/%.o,$(if $(LEVELS),$(foreach l,$(LEVELS),$(TABLES:.c=.$l.c)) $(filter-out $(TABLES),$(SOURCES)),$(SOURCES)))
BENCHES := $(patsubst %.c,$(OUT)/bin/%,$(wildcard benchmarks/*.c))

comma   := ,
# a line a command; "make V=1" shows the commands
say = $(if $(V),,@printf '%8s %s\n' $1 '$(2:$(CURDIR)/%=%)'; )

# What will be done, for how long, where; "env" is for eval, and "install" has its own line.
ifeq ($(MAKELEVEL)$(filter env $(if $(PROCESSOR_GIVEN),,install),$(MAKECMDGOALS))$(wildcard $(LIB)),0)
$(info libpatchfd: PETSc $(subst $() ,.,$(PETSC_VERSION)) in $(PETSC_DIR)$(PETSC_ARCH:%=/%); building the library \
$(if $(HAVE_CUDA),with CUDA in $(BUILD)/$(comma) about 15 minutes,for the host in $(BUILD)/$(comma) 2 to 3 minutes) on two cores)
endif

all: $(LIB)
$(ARCHIVE): $(OBJECTS) $(OUT)/sources
	@$(RM) $@ && $(AR) crs $@ $(OBJECTS)
$(LIB): $(ARCHIVE)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CLINKER) -shared -Wl,-soname,$(SONAME) -o $(@D)/$(SONAME) $(OBJECTS) $(LDFLAGS) $(LAPACKE_LIB) $(PETSC_LIB)
	@test $(SONAME) = $(@F) || ln -sf $(SONAME) $@
# Variables for the debugger in loops that are optimized take a quarter of the tables' time: these have only lines.
$(OUT)/obj/src/host/double.% $(OUT)/obj/src/host/float.%: DEBUG_INFO := $(if $(OPTIMIZE),-g1)
# before PETSc 3.24 these write to $*.o
COMPILE   = $(subst -o $*.o,-o $@,$(PETSC_COMPILE_SINGLE))
CUCOMPILE = $(subst -o $*.o,-o $@,$(PETSC_CUCOMPILE_SINGLE))
$(OUT)/obj/%.c.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(COMPILE) $(C_DEPFLAGS) $(DEBUG_INFO) $(abspath $<)
define LEVEL_RULE
$(OUT)/obj/%.$1.c.o: %.c $(OUT)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$< for $1)$$(COMPILE) $$(C_DEPFLAGS) $$(DEBUG_INFO) -DPATCHFD_LEVEL=$1 $$(VECTOR_FLAGS_$1) $$(abspath $$<)
endef
$(foreach l,$(LEVELS),$(eval $(call LEVEL_RULE,$l)))
.SECONDEXPANSION:
$(OUT)/obj/%.cu.o: $$(firstword $$(call instance,$$*)).cu $(OUT)/flags
	@mkdir -p $(@D)
	$(call say,CUDAC,$*.cu)$(CUCOMPILE) $(CUDA_DEPFLAGS) $(patsubst %,-DINSTANCE_%,$(subst -,=,$(wordlist 2,9,$(call instance,$*)))) $(abspath $<)
$(OUT)/bin/%: $(OUT)/obj/%.c.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CLINKER) $(EXEFLAGS) -o $@ $(filter %.o,$^) $(call link,$(@:$(OUT)/bin/%=%))
ifneq ($(HAVE_CUDA),)
$(OUT)/bin/benchmarks/kernels $(OUT)/bin/benchmarks/cg: $(OUT)/obj/benchmarks/rates.cu.o
endif
# FFTW, for a comparison, where there is one
FFTW = $(shell pkg-config --silence-errors --libs fftw3)
$(OUT)/bin/benchmarks/channel: LAPACKE_LIB += $(FFTW)
$(OUT)/obj/benchmarks/channel.c.o: C_DEPFLAGS += $(if $(FFTW),-DHAVE_FFTW $(shell pkg-config --cflags fftw3))
# A Fortran program that calls C, where there is a compiler
FORTRAN := $(if $(shell command -v gfortran),$(OUT)/bin/tutorials/fortran/pressure)
$(OUT)/obj/%.f90.o: %.f90
	@mkdir -p $(@D)
	$(call say,FC,$<)gfortran -O2 -Wall -J $(@D) -c -o $@ $<
$(OUT)/bin/tutorials/fortran/pressure: $(OUT)/obj/tutorials/fortran/pressure.f90.o $(OUT)/obj/tutorials/fortran/plan.c.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CLINKER) $(EXEFLAGS) -o $@ $(filter %.o,$^) $(call link,tutorials/fortran/pressure) -lgfortran -lm
.PRECIOUS: $(OUT)/obj/%.c.o
-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)

# Files that change when their content does: another PETSC_DIR or other flags build everything again, tests too; another list of sources links again.
$(OUT)/flags:   CONTENT = $(PETSC_DIR) $(PETSC_ARCH) $(CONFIGURE_OPTIONS) $(CFLAGS) $(CUDAFLAGS) $(CUDA_PTX) $(LAPACKE_LIB)
$(OUT)/sources: CONTENT = $(SOURCES)
$(OUT)/flags $(OUT)/sources: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(CONTENT))' | cmp -s - $@ || { $(RM) -r $(OUT)/test; echo '$(subst ','\'',$(CONTENT))' >$@; }

# ---- programs ----
# Containers often run as root and have fewer cores than ranks: Open MPI (5 through its PRRTE) has to be told that both are meant.
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export PRTE_MCA_rmaps_default_mapping_policy := :oversubscribe
# Several tests at a time share the cores: no binding, no spinning, no threads.
TESTENV := OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 \
           OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

run: $(OUT)/bin/tutorials/poisson ## solve a Poisson problem
	$(MPIEXEC) -n $(NP) $< $(ARGS)
check: $(OUT)/bin/tutorials/poisson ## see in seconds whether it works: one small solve on 1 and on 2 ranks
	@echo "on 1 rank:" && $(TESTENV) $(MPIEXEC) -n 1 $< -dm_box_cells 8,8,8 -ksp_error_if_not_converged
	@echo "on 2 ranks:" && $(TESTENV) $(MPIEXEC) -n 2 $< -dm_box_cells 8,8,8 -ksp_error_if_not_converged
	@echo "libpatchfd works with PETSc in $(PETSC_DIR)"
tutorials: $(patsubst tutorials/%.c,$(OUT)/bin/tutorials/%,$(wildcard tutorials/*.c)) ## build the tutorials
bench: $(BENCHES) $(OUT)/bin/tutorials/poisson ## run the benchmarks: kernels, solvers, mixed against double precision
	$(foreach b,$(BENCHES),$(MPIEXEC) -n $(NP) $b $(ARGS) &&) true
	$(MPIEXEC) -n $(NP) $(OUT)/bin/tutorials/poisson -dm_box_cells 32 -dm_box_degree 3
	$(MPIEXEC) -n $(NP) $(OUT)/bin/tutorials/poisson -dm_box_cells 14 -dm_box_degree 7

# ---- tests: PETSc's harness on the /*TEST*/ blocks, then loading into unmodified PETSc programs ----
HARNESS := $(firstword $(wildcard $(PETSC_DIR)/share/petsc/examples/gmakefile.test $(PETSC_DIR)/gmakefile.test))
ifneq ($(if $(HARNESS),,$(filter test sometests gputest testdocs valgrind,$(MAKECMDGOALS))),)
$(error the PETSc in $(PETSC_DIR) has no share/petsc/examples, without which nothing can be tested; PATCHFD_PETSC_VERSION=3.26.1 builds one that has)
endif
TESTDIR := $(OUT)/test
TIMEOUT ?= 180

# What "requires: gpu" means: a device is there now.  gmakegentest.py reads it from <pkg-dir>/include/<pkg-name>conf.h.
gentest: $(LIB) $(TESTDIR)/.DIR
	@mkdir -p $(OUT)/include
	@$(foreach p,$(TEST_PROGRAMS),echo '-Wl,-S $(call link,$p)' >$(TESTDIR)/$p.lib &&) true
	@if nvidia-smi -L >/dev/null 2>&1; then echo '#define PATCHFD_HAVE_GPU 1'; fi >$(OUT)/include/patchfdconf.h
	@$(PYTHON) $(dir $(HARNESS))config/gmakegentest.py --petsc-dir=$(PETSC_DIR) --petsc-arch=$(PETSC_ARCH) --srcdir=$(CURDIR) --testdir=$(TESTDIR) \
	  --pkg-name=patchfd --pkg-dir=$(OUT) --pkg-arch= --pkg-pkgs="tests tutorials"

# The harness does not know that its programs depend on the library: those linked with an older one go.  It has one list of libraries for all:
# each program's own are in a file beside it, without lines for debuggers, which are half of what is linked.
TEST_PROGRAMS := $(basename $(wildcard tests/*.c tutorials/*.c))
$(TESTDIR)/.DIR: $(ARCHIVE)
	@mkdir -p $(TESTDIR)/tests $(TESTDIR)/tutorials && $(RM) $(TEST_PROGRAMS:%=$(TESTDIR)/%) && touch $@

PLUGIN_PROGRAMS := $(patsubst %,$(OUT)/bin/plugin/%,ksp/ksp/tutorials/ex2 ksp/ksp/tutorials/ex29 ksp/ksp/tutorials/ex34 ksp/ksp/tutorials/ex45 ksp/ksp/tutorials/ex50 snes/tutorials/ex5 snes/tutorials/ex12 snes/tutorials/ex13 snes/tutorials/ex17 snes/tutorials/ex19 ts/tutorials/ex7 ts/tutorials/ex45)
$(OUT)/bin/plugin/%: $(dir $(HARNESS))src/%.c $(OUT)/flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CLINKER) $(CCPPFLAGS) -w -o $@ $< $(PETSC_LIB)

# The host's half of the GPU code, where kernels can be compiled and not run: programs with a CUDA runtime that launches nothing.
STANDIN := $(if $(HAVE_CUDA),$(shell nvidia-smi -L >/dev/null 2>&1 || echo $(OUT)/lib/standin.so))
STANDIN += $(if $(STANDIN),$(addprefix $(OUT)/bin/tests/,cells cuda fields latticecuda patches plans points))
$(OUT)/lib/standin.so: tests/standin/cuda.c $(OUT)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CFLAGS) -Wno-unused-parameter -fPIC -shared -o $@ $<

# The harness exits 0 on failures and says nothing of tests that never ran: config/tally reads its records.
# It writes them to test_ARCH_tap.log, whatever TESTLOGTAPFILE says, and here ARCH is empty.
# Not the harness's own target "test", whose closing advice does not hold here.
# What starts MPI programs may be several words ("mpiexec --oversubscribe"): here it always is, so that nothing can rely on one.
test sometests gputest run-valgrind: override MPIEXEC := env $(MPIEXEC)
# TESTDIR/expected has the names of the tests that must have a record.  Tests take longer to compile than to run: less of it.
HARNESS_MAKE = $(TESTENV) $(MAKE) --no-print-directory --keep-going -f $(HARNESS) PETSC_DIR=$(PETSC_DIR) PETSC_ARCH=$(PETSC_ARCH) \
  TESTSRCDIR=$(CURDIR) TESTDIR=$(TESTDIR) TESTLOGTAPFILE=$(TESTDIR)/test__tap.log TESTLOGERRFILE=$(TESTDIR)/test__err.log \
  pkgs="tests tutorials" CFLAGS='$(CFLAGS:-O3=-O1)' CUDAFLAGS='$(CUDAFLAGS)' PETSC_TEST_LIB='@$$@.lib' NO_RM=1 DIFF_NUMBERS=1 TIMEOUT=$(TIMEOUT)
test: gentest $(BENCHES) $(PLUGIN_PROGRAMS) $(FORTRAN) $(STANDIN) tutorials ## run all tests
	@sed -n 's/^test-[a-z.]* := //p' $(TESTDIR)/testfiles | tr ' ' '\n' >$(TESTDIR)/expected
	+-@$(HARNESS_MAKE) test-tests test-tutorials | grep -v "^Using MAKEFLAGS"
	-@config/testsource | tee $(TESTDIR)/source_tap.log
	-@$(TESTENV) config/testplugin '$(MPIEXEC)' $(LIB) $(OUT)/bin/plugin | tee $(TESTDIR)/plugin_tap.log
	-@$(TESTENV) config/testpython '$(MPIEXEC)' '$(PYTHON)' $(LIB) | tee $(TESTDIR)/python_tap.log
	-@$(TESTENV) config/testfortran $(FORTRAN) | tee $(TESTDIR)/fortran_tap.log
	-@$(TESTSTANDIN) | tee $(TESTDIR)/standin_tap.log
	+-@$(TESTDOCS) | tee $(TESTDIR)/docs_tap.log
	@config/tally $(TESTDIR) test_ source plugin python fortran standin docs

TESTSTANDIN = $(TESTENV) config/teststandin $(if $(STANDIN),$(firstword $(STANDIN)) '$(MPIEXEC)' $(OUT)/bin/tests)
teststandin: $(STANDIN) ## run the host's half of the GPU code, on a machine without a GPU
	@$(TESTSTANDIN)

TESTDOCS = $(TESTENV) VECTOR_FLAGS='$(VECTOR_FLAGS)' PETSC_PYTHON='$(PYTHON)' BUILD=$(BUILD) $(PYTHON) config/testdocs
testdocs: $(OUT)/bin/plugin/ksp/ksp/tutorials/ex45 tutorials ## run the commands of the documents, or of DOCS="README.md doc/options.md"
	+@$(TESTDOCS) $(DOCS)

# Tests with these names, and the library in PETSc's programs.
sometests: gentest $(PLUGIN_PROGRAMS)
	@sed -n 's/^test-[a-z.]* := //p' $(TESTDIR)/testfiles | tr ' ' '\n' | grep -E '$(TESTS)' >$(TESTDIR)/expected
	+-@$(HARNESS_MAKE) TESTTARGETS="$$(tr '\n' ' ' <$(TESTDIR)/expected)" test | grep -v "^Using MAKEFLAGS"
	-@$(TESTENV) config/testplugin '$(MPIEXEC)' $(LIB) $(OUT)/bin/plugin | tee $(TESTDIR)/plugin_tap.log
	@config/tally $(TESTDIR) test_ plugin

# The harness finds tests by what they require, but not under their names, which it has only for those in PETSc's own folders.
gputest: gentest ## run the tests that need a GPU
	@$(HARNESS_MAKE) -s query=requires queryval=gpu print-test | tr ' ' '\n' | sed -n 's/.*_\(tests\|tutorials\)-/\1-/p' >$(TESTDIR)/expected
	+-@$(HARNESS_MAKE) TESTTARGETS="$$(tr '\n' ' ' <$(TESTDIR)/expected)" test | grep -v "^Using MAKEFLAGS"
	@config/tally $(TESTDIR) test_

# What needs a newer GPU is guarded: kernels with instructions of their own (copies, tensor products, clusters) for the oldest GPU that doc/gpu.md promises.
PTX_SOURCES := base/device.cu lattice/stencil.cu points/packed.cu fields/fast.T-float.cu
ptx: ## compile some GPU kernels for the oldest GPUs
	+@$(if $(HAVE_CUDA),$(MAKE) --no-print-directory BUILD=$(BUILD)/ptx CUDA_PTX=80 $(PTX_SOURCES:%=$(OUT)/ptx/obj/src/cuda/%.o),echo "this PETSc has no CUDA")

valgrind: ## run the first test of each test program under valgrind, on 1 and on 2 ranks (ALL=1: all tests)
	@$(BOOTSTRAP) need valgrind
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/valgrind VECTOR_FLAGS='$(VALGRIND_VECTOR_FLAGS)' run-valgrind
# valgrind knows AVX2 but not AVX-512
VALGRIND_VECTOR_FLAGS := $(if $(shell grep -sow -m1 avx2 /proc/cpuinfo),-mavx2 -mfma)
VALGRIND_PROGRAMS     := $(patsubst %.c,$(OUT)/bin/%,$(wildcard tests/*.c))
.PHONY: run-valgrind
run-valgrind: $(VALGRIND_PROGRAMS)
	@$(TESTENV) ALL=$(ALL) OPENBLAS_CORETYPE=Haswell PYTHONPATH=$(dir $(HARNESS))config $(PYTHON) config/valgrind '$(MPIEXEC)' $^

# ---- installation ----
install: ## copy headers, library, patchfd.pc and the Python module to PREFIX
# What is installed may run on another machine than this one: a build for all processors, unless VECTOR_FLAGS or VECTOR_LEVELS say for which.
ifeq ($(PROCESSOR_GIVEN),)
	@echo "libpatchfd: building for all processors in $(BUILD)/install, the host kernels once for each kind; \"make install VECTOR_FLAGS='$(VECTOR_FLAGS)'\" installs what runs here"
	+@$(MAKE) --no-print-directory install BUILD=$(BUILD)/install VECTOR_FLAGS= VECTOR_LEVELS='$(if $(filter x86_64,$(shell uname -m)),avx2 avx512)'
else
install: $(LIB)
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 include/*.h $(DESTDIR)$(PREFIX)/include
	install -m 755 $(OUT)/lib/$(SONAME) $(DESTDIR)$(LIBDIR)
	install -m 644 python/patchfd.py $(DESTDIR)$(LIBDIR)
	test $(SONAME) = $(notdir $(LIB)) || ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/$(notdir $(LIB))
	sed -e 's|@PREFIX@|$(shell realpath -m --relative-to=$(LIBDIR)/pkgconfig $(PREFIX))|' -e 's|@VERSION@|$(subst $() ,.,$(VERSION))|' \
	  -e 's|@LAPACKE_LIB@|$(LAPACKE_LIB)|' -e 's|@PETSC@|$(subst $() ,.,$(PETSC_VERSION))|' \
	  -e 's|@PETSC_NEXT@|$(word 1,$(PETSC_VERSION)).$(shell expr $(word 2,$(PETSC_VERSION)) + 1)|' \
	  config/patchfd.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/patchfd.pc
endif

# For eval: no progress, no commands.  A PETSC_ARCH of another PETSc would be wrong beside an installed one.  PETSc may have its own MPI.
# No LD_LIBRARY_PATH: library and programs have the folders of what they need in them.
env: ## print what a shell needs to use what was installed: eval "$(make -s env PREFIX=...)"
	@echo "export PETSC_DIR='$(PETSC_DIR)'"
	@echo "$(if $(PETSC_ARCH),export PETSC_ARCH='$(PETSC_ARCH)',unset PETSC_ARCH)"
	@echo "export PKG_CONFIG_PATH='$(abspath $(LIBDIR))/pkgconfig:$(PETSC_DIR)$(PETSC_ARCH:%=/%)/lib/pkgconfig'\"\$${PKG_CONFIG_PATH:+:\$$PKG_CONFIG_PATH}\""
	@echo "export PYTHONPATH='$(abspath $(LIBDIR))'\"\$${PYTHONPATH:+:\$$PYTHONPATH}\""
	@$(if $(filter /%,$(firstword $(CC))),test "$$(command -v mpicc)" = '$(firstword $(CC))' || echo "export PATH='$(patsubst %/,%,$(dir $(firstword $(CC))))'\":\$$PATH\"")
	@test "$$(id -u)" != 0 || echo "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"

endif
