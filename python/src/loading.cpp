#include "loading.h"

#include "samite/base/hash.h"
#include "samite/jit/kernel.h"
#include "samite/toolchain/build_identifier.h"
#include "samite/toolchain/object_cache.h"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace samite::python {
namespace {

std::string library_file() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void *>(&jit::check_index), &found) == 0 || !found.dli_fname) return {};
  return found.dli_fname;
}

Hash128 key_of(const std::vector<std::string> &parts) {
  Hasher hasher;
  for (const std::string &part : parts) hasher.add(part);
  return hasher.result();
}

nb::object cache_find(const std::string &hex) {
  return at_python_line([&]() -> nb::object {
    const auto key = hash_from_hex(hex);
    const auto content = key ? object_cache()->find(*key) : std::nullopt;
    if (!content) return nb::none();
    return nb::bytes(content->data(), content->size());
  });
}

void cache_publish(const std::string &hex, const nb::bytes &content) {
  at_python_line([&] {
    const auto key = hash_from_hex(hex);
    if (!key) return;
    const std::shared_ptr<ObjectCache> cache = object_cache();
    cache->remove(*key);  // an entry of other headers
    cache->publish(*key, {content.c_str(), content.size()});
  });
}

}  // namespace

void define_loading(nb::module_ &module) {
  module.def("library_file", &library_file, "The path of libsamite, as the dynamic loader opened it.");
  module.def("library_build", [] { return build_identifier(library_file()); });
  module.def("cache_key", [](const std::vector<std::string> &parts) { return key_of(parts).hex(); });
  module.def("cache_find", &cache_find, nb::arg("key"), "The entry in the cache on disk, or None.");
  module.def("cache_publish", &cache_publish, nb::arg("key"), nb::arg("content"));
}

}  // namespace samite::python
