# The two main commands, demo and test, and others for developers. CMake does the work: see CMakePresets.json.
#
#   make demo          build, then recover a diffused photograph through the adjoint of the whole diffusion
#   make test          build, then run the tests
#   make bench         build, then run the benchmarks against their peers
#   make gcc           the library, the tools and the examples with GCC (`make test` uses Clang), and their tests
#   make asan, tsan    the tests with sanitizers
#   make fuzz          each fuzzer for FUZZ_SECONDS, by default 60: see tests/fuzz/README.md
#   make every-target  the numerical tests, with kernels for other levels of x86-64; TARGETS=all runs all of them
#   make install       the library and its tools into PREFIX; does not need the packages for tests
#   make package       the same as .deb and .tar.zst, in build/install
#   make wheel         a wheel that contains the compiler, in build/wheels
#   make bundle        the CUDA programs with their libraries, for a machine with a GPU and no compilers
#   make site          the documentation as a site in build/site, and a check of its links and search
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

# The tests compile for CUDA, which needs NVIDIA's compiler but no GPU; without the compiler they report what they skip.
cuda-toolchain: | dependencies
	@scripts/install-cuda-toolchain build/cuda-toolchain

# The Python package is built with nanobind and tested with NumPy and JAX, in an environment inside the build folder;
# without it CMake leaves the package out.
python-environment: | dependencies
	@scripts/install-python-environment build/python-environment

# The sanitizers are Clang's: it compiles sanitized code in two thirds of GCC's time, the code runs in half the time,
# and libFuzzer comes with it.
sanitizers: | dependencies
	@scripts/install-dependencies scripts/packages-sanitizers.txt

# Ninja reconfigures by itself when a CMakeLists.txt changes, but does not know about the presets.
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

# Tests in which sanitizers can find nothing are left out, see tests/CMakeLists.txt; `make test` runs all tests.
#
# At exit LeakSanitizer stops all threads, and now and then crashes ("Tracer caught signal 11") if one of oneTBB's
# threads is just ending. A failed test therefore runs once more: a real fault fails twice.
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

# Needs neither the packages for tests nor Clang: the machine's own compiler builds it.
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

# clang-tidy needs the compile command of each source, but no build outputs.
tidy: | dependencies
	@scripts/install-dependencies scripts/packages-style.txt
	cmake --preset release -B build/tidy $(CONFIGURE_ARGUMENTS)
	scripts/tidy build/tidy

# The check opens the pages in Chromium if it is installed: see scripts/packages-browser.txt.
site:
	@scripts/install-dependencies scripts/packages-site.txt
	scripts/build-site
	site/check build/site

clean:
	rm -rf build
