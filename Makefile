# The two commands, and what developers use beside them. CMake does the work: see CMakePresets.json.
#
#   make demo          build, then recover a diffused photograph through the adjoint of the whole diffusion
#   make test          build, then run the tests
#   make bench         build, then run the benchmarks against their peers
#   make gcc           the library, the tools and the examples by GCC, which `make test` compiles with Clang, and their tests
#   make asan, tsan    the tests with sanitizers
#   make fuzz          each fuzzer for FUZZ_SECONDS, 60 where it is not set: see tests/fuzz/README.md
#   make every-target  the tests of numbers, with kernels compiled for other levels of x86-64; TARGETS=all for all of it
#   make install       the library and its tools into PREFIX; needs no tests' packages
#   make package       the same as .deb and .tar.zst, in build/install
#   make wheel         a wheel with the compiler inside, in build/wheels
#   make bundle        what runs on CUDA, with its libraries, for a machine that has a GPU and no compilers
#   make site          the documentation as a site in build/site, and a check of its links and its search
#   make format, format-check, tidy

.DEFAULT_GOAL := test
.PHONY: demo test bench gcc asan tsan fuzz every-target bundle format format-check tidy install dependencies cuda-toolchain
.PHONY: python-environment sanitizers site clean build-dependencies what-is-installed package wheel

DEMO ?= inverse_heat
# For instance CONFIGURE_ARGUMENTS=-DSAMITE_WERROR=ON, TEST_ARGUMENTS='--tests-regex Adjoint'.
CONFIGURE_ARGUMENTS ?=
TEST_ARGUMENTS ?=
PREFIX ?= /usr/local

dependencies:
	@scripts/install-dependencies

build-dependencies:
	@scripts/install-dependencies scripts/packages-build.txt

# The tests compile for CUDA, which needs no GPU but NVIDIA's compiler; without it they say what they skip.
cuda-toolchain: | dependencies
	@scripts/install-cuda-toolchain build/cuda-toolchain

# The package for Python is built with nanobind and tested with NumPy and JAX, in an environment of the build's own;
# without it CMake leaves the package out.
python-environment: | dependencies
	@scripts/install-python-environment build/python-environment

# Clang's: it compiles sanitized code in two thirds of GCC's time, to code that takes half of it, and has libFuzzer.
sanitizers: | dependencies
	@scripts/install-dependencies scripts/packages-sanitizers.txt

# Ninja configures again by itself when a CMakeLists.txt changes, but does not know the presets.
build/%/build.ninja: CMakePresets.json | dependencies
	cmake --preset $* $(CONFIGURE_ARGUMENTS)

demo: build/release/build.ninja
	cmake --build --preset release --target example_$(DEMO)
	build/release/examples/$(DEMO)

test: cuda-toolchain python-environment build/release/build.ninja
	cmake --build --preset release
	ctest --preset release $(TEST_ARGUMENTS)

gcc: build/gcc/build.ninja
	cmake --build --preset gcc
	ctest --preset gcc $(TEST_ARGUMENTS)

bench: build/release/build.ninja
	cmake --build --preset release --target bench

# What sanitizers have nothing to see in is left out, see tests/CMakeLists.txt; `make test` runs all of it.
#
# At exit LeakSanitizer stops all threads, and dies of it now and then ("Tracer caught signal 11") where one of oneTBB's
# is just ending. A test that failed is run once more: what is wrong with the code fails twice.
asan: cuda-toolchain sanitizers build/asan/build.ninja
	cmake --build --preset asan
	ctest --preset asan --repeat until-pass:2 $(TEST_ARGUMENTS)

tsan: cuda-toolchain sanitizers build/tsan/build.ninja
	cmake --build --preset tsan
	ctest --preset tsan $(TEST_ARGUMENTS)

fuzz: sanitizers build/asan/build.ninja
	cmake --build --preset asan --target fuzzers
	scripts/run-fuzzers build/asan/tests/fuzz tests/fuzz/corpus

every-target: cuda-toolchain build/release/build.ninja
	cmake --build --preset release --target samite_tests_autodiff samite_tests_codegen samite_tests_jit \
	  samite_tests_lang samite_tests_ops samite_tests_passes samite_tests_schedule samite_tests_solve samite_tests_tiles
	scripts/test-every-target build/release

bundle: build/release/build.ninja
	cmake --build --preset release --target bundle_programs
	scripts/make-bundle build/release build/samite-cuda

# Needs neither tests' packages nor Clang: what builds is the machine's own compiler.
what-is-installed: build-dependencies
	cmake --preset install $(CONFIGURE_ARGUMENTS)
	cmake --build --preset install

install: what-is-installed
	cmake --install build/install --prefix $(PREFIX)

package: what-is-installed
	cd build/install && cpack

wheel: build-dependencies
	@scripts/install-dependencies scripts/packages-wheel.txt
	scripts/make-wheel build/wheels

format format-check:
	@scripts/install-dependencies scripts/packages-style.txt
	scripts/$@

# clang-tidy needs to know how each source is compiled, and nothing that is built.
tidy: | dependencies
	@scripts/install-dependencies scripts/packages-style.txt
	cmake --preset release -B build/tidy $(CONFIGURE_ARGUMENTS)
	scripts/tidy build/tidy

# Chromium opens the pages where it is installed: see scripts/packages-browser.txt.
site:
	@scripts/install-dependencies scripts/packages-site.txt
	scripts/build-site
	site/check build/site

clean:
	rm -rf build
