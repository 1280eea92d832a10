#include "samite/jit/named_adjoints.h"

#include "samite/base/error.h"
#include "samite/jit/add_to_archive.h"
#include "samite/jit/definition.h"
#include "samite/toolchain/archives.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

namespace samite::jit {
namespace {

constexpr const char *variable = "SAMITE_AOT_ADJOINTS";

struct NamedAdjoint {
  std::string kernel;
  std::vector<std::string> arrays;
  std::string text() const {
    std::string names;
    for (const std::string &array : arrays) names += (names.empty() ? "" : ",") + array;
    return kernel + "(" + names + ")";
  }
};

[[noreturn]] void refuse(std::string_view text) {
  throw UserError(std::string(variable) + " has \"" + std::string(text) +
                  "\"; each kernel is written with the arrays that track gradients, as in scale(y,x)");
}

std::vector<std::string> names_in(std::string_view list, std::string_view whole) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, end);
    if (name.empty()) refuse(whole);
    names.emplace_back(name);
    if (end == list.size()) return names;
    list.remove_prefix(end + 1);
  }
}

// Kernels are separated by spaces or semicolons, and have none inside.
std::vector<NamedAdjoint> read(std::string_view text) {
  std::vector<NamedAdjoint> adjoints;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ;"), text.size()));
    if (text.empty()) return adjoints;
    const std::string_view one = text.substr(0, text.find_first_of(" ;"));
    const std::size_t open = one.find('(');
    if (open == 0 || open == std::string_view::npos || one.back() != ')') refuse(one);
    adjoints.push_back({std::string(one.substr(0, open)), names_in(one.substr(open + 1, one.size() - open - 2), one)});
    text.remove_prefix(one.size());
  }
}

// The named adjoints of this process.
class NamedAdjoints {
 public:
  static NamedAdjoints &instance() {
    static NamedAdjoints &one = *new NamedAdjoints;  // never destroyed, since the end of the process asks it
    return one;
  }

  void record(KernelDefinition &definition, SourceLocation where) {
    {
      const std::lock_guard lock(mutex_);
      constructed_.insert(definition.name());
    }
    bool is_named = false;
    for (const NamedAdjoint &adjoint : adjoints_) {
      if (adjoint.kernel != definition.name()) continue;
      is_named = true;
      try {
        add_to_archive(definition, {.direction = Direction::adjoint, .active = adjoint.arrays}, where);
      } catch (const UserError &error) {
        throw UserError(std::string(error.what()) + "\n" + variable + " names " + adjoint.text());
      }
    }
    if (is_named) add_to_archive(definition, {}, where);
  }

 private:
  NamedAdjoints() {
    const char *text = std::getenv(variable);
    adjoints_ = read(text ? text : "");
    if (!adjoints_.empty()) std::atexit([] { instance().require_all(); });
  }

  // A build whose archive lacks a kernel must not continue.
  void require_all() {
    std::string missing, there;
    for (const NamedAdjoint &adjoint : adjoints_)
      if (!constructed_.contains(adjoint.kernel)) missing += " " + adjoint.text();
    if (missing.empty()) return;
    for (const std::string &name : constructed_) there += " " + name;
    std::fprintf(stderr, "samite: %s names%s, but the program constructs no kernel of that name; its kernels are:%s\n",
                 variable, missing.c_str(), there.empty() ? " none" : there.c_str());
    std::fflush(nullptr);
    std::_Exit(1);
  }

  std::vector<NamedAdjoint> adjoints_;
  std::mutex mutex_;
  std::set<std::string> constructed_;
};

}  // namespace

void record_named_adjoints(KernelDefinition &definition, SourceLocation where) {
  if (records_archive()) NamedAdjoints::instance().record(definition, where);
}

}  // namespace samite::jit
