# `cpack` in the build folder makes the Debian packages samite-runtime and samite-development, and a .tar.zst archive of
# each, which can be unpacked anywhere.
#
#   cmake --preset install && cmake --build --preset install && cd build/install && cpack
set(CPACK_GENERATOR DEB TZST)
set(CPACK_PACKAGE_NAME samite)
set(CPACK_PACKAGE_VENDOR Samite)
set(CPACK_PACKAGE_CONTACT "The Samite developers <samite@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_RUNTIME_GROUP runtime)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME samite-runtime)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME samite-development)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The libraries and tools that programs with Samite run with.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The headers and the CMake package that programs with Samite are built with.")
# dpkg-shlibdeps finds the packages that the libraries depend on.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/samite)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "samite-runtime (= ${PROJECT_VERSION}), g++ | clang-22")
include(CPack)
