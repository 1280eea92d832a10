#include "tools/samite_aot/c_source.h"

#include "samite/base/error.h"
#include "samite/shipped/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace {

using samite::ScalarType;
using samite::UserError;
using samite::shipped::FormParameter;
using samite::shipped::LaunchForm;
using Forms = std::vector<LaunchForm>;

// A kernel's or parameter's name as a C identifier.
std::string identifier(const std::string &name) {
  static const std::set<std::string> taken = {
      "auto",   "break",  "case",   "char",     "const",    "continue", "default",   "do",          "double",
      "else",   "enum",   "error",  "extents",  "extern",   "float",    "for",       "goto",        "if",
      "inline", "int",    "long",   "register", "restrict", "return",   "short",     "signed",      "sizeof",
      "static", "stream", "struct", "switch",   "typedef",  "union",    "void",      "unsigned",    "volatile",
      "while",  "class",  "new",    "delete",   "this",     "template", "namespace", "error_bytes", "arguments"};
  std::string text = name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "_" : "";
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return taken.contains(text) ? text + "_" : text;
}

// A C string literal.
std::string quoted(const std::string &text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    literal += std::isalnum(code) || c == ' ' || c == '_' ? std::string(1, c) : fmt::format("\\{:03o}", code);
  }
  return literal + "\"";
}

// Small floats are passed as their bits.
std::string c_type(ScalarType type) {
  switch (type) {
    case ScalarType::Bool: return "bool";
    case ScalarType::Int8: return "int8_t";
    case ScalarType::Int16: return "int16_t";
    case ScalarType::Int32: return "int32_t";
    case ScalarType::Int64: return "int64_t";
    case ScalarType::UInt8:
    case ScalarType::Float8E4M3:
    case ScalarType::Float8E5M2: return "uint8_t";
    case ScalarType::UInt16:
    case ScalarType::Float16:
    case ScalarType::BFloat16: return "uint16_t";
    case ScalarType::UInt32: return "uint32_t";
    case ScalarType::UInt64: return "uint64_t";
    case ScalarType::Float32: return "float";
    case ScalarType::Float64: return "double";
  }
  return "";
}

bool can_track(const FormParameter &parameter) { return parameter.rank > 0 && samite::is_floating(parameter.type); }

std::string prototype(const LaunchForm &form, bool adjoint) {
  std::string text =
      fmt::format("int {}{}(const int64_t extents[{}]", identifier(form.kernel), adjoint ? "_adjoint" : "", form.rank);
  for (std::size_t i = 0; i < form.own_parameters(); ++i) {
    const FormParameter &parameter = form.parameters[i];
    const std::string name = identifier(parameter.name);
    text += parameter.rank > 0 ? ", const DLTensor *" + name : ", " + c_type(parameter.type) + " " + name;
    if (adjoint && can_track(parameter)) text += ", const DLTensor *" + name + "_gradient";
  }
  return text + ", void *stream, char *error, size_t error_bytes)";
}

std::string body(const LaunchForm &form, bool adjoint) {
  const std::size_t count = form.own_parameters();
  std::string text =
      fmt::format(" {{\n  SamiteArgument arguments[{}];\n  int opened;\n  memset(arguments, 0, sizeof arguments);\n",
                  std::max<std::size_t>(count, 1));
  for (std::size_t i = 0; i < count; ++i) {
    const FormParameter &parameter = form.parameters[i];
    const std::string name = identifier(parameter.name);
    if (parameter.rank == 0) {
      text += fmt::format("  memcpy(&arguments[{}].scalar, &{}, sizeof {});\n", i, name, name);
      continue;
    }
    text += fmt::format("  arguments[{}].values = {};\n", i, name);
    text += fmt::format("  if ({} == 0) return null_tensor({}, error, error_bytes);\n", name, quoted(parameter.name));
    if (adjoint && can_track(parameter)) text += fmt::format("  arguments[{}].gradient = {}_gradient;\n", i, name);
  }
  text += "  opened = open_kernels(error, error_bytes);\n  if (opened != SAMITE_OK) return opened;\n";
  text += fmt::format("  return samite_launch({}, {}, extents, {}, arguments, {}, stream, error, error_bytes);\n}}\n",
                      quoted(form.kernel), adjoint ? "SAMITE_ADJOINT" : "SAMITE_FORWARD", form.rank, count);
  return text;
}

bool has(const Forms &forms, const char *direction) {
  return std::ranges::any_of(forms, [&](const LaunchForm &form) { return form.direction == direction; });
}

template <class See>
void for_each_function(const std::vector<Forms> &kernels, const See &see) {
  for (const Forms &forms : kernels)
    for (const bool adjoint : {false, true})
      if (has(forms, adjoint ? "adjoint" : "forward")) see(forms, adjoint);
}

std::string comment(const Forms &forms, bool adjoint) {
  std::string text = "/* " + identifier(forms.front().kernel) + (adjoint ? ", adjoint" : "") + ":";
  std::set<std::string> lines;
  for (const LaunchForm &form : forms)
    if (form.direction == (adjoint ? "adjoint" : "forward")) lines.insert(samite::shipped::describe(form));
  for (const std::string &line : lines) text += "\n *   " + line;
  return text + " */\n";
}

}  // namespace

std::vector<Forms> forms_by_kernel(const samite::ImageArchive &archive) {
  std::map<std::string, Forms> kernels;
  for (const samite::ImageArchive::Entry &entry : archive.entries()) {
    if (entry.kind != samite::ArchivedKind::launch) continue;
    auto form = samite::shipped::form_from(entry.content);
    if (!form) throw UserError("the launch form of kernel '" + entry.kernel + "' in " + archive.name() + " is damaged");
    kernels[form->kernel].push_back(std::move(*form));
  }
  if (kernels.empty())
    throw UserError(archive.name() + " has no kernel that libsamite_runtime can launch: see docs/shipping.md");
  std::vector<Forms> list;
  for (auto &[name, forms] : kernels) list.push_back(std::move(forms));
  std::set<std::string> names;
  for_each_function(list, [&](const Forms &forms, bool adjoint) {
    const std::string name = identifier(forms.front().kernel) + (adjoint ? "_adjoint" : "");
    if (!names.insert(name).second)
      throw UserError("two functions of " + archive.name() + " would be called " + name +
                      " in C: give the kernels other names");
  });
  return list;
}

std::string c_header(const std::string &name, const std::vector<Forms> &kernels) {
  const std::string guard = "SAMITE_KERNELS_" + identifier(name);
  std::string text = fmt::format(
      "/* Kernels compiled ahead of time by Samite; made by `samite-aot c`. Link libsamite_runtime.\n"
      " *\n"
      " * A function returns 0, or a number of samite/shipped/samite_runtime.h with the reason in `error`. Arrays and\n"
      " * gradients are DLPack tensors; a null gradient takes no part. `stream` is a cudaStream_t, and null on the "
      "CPU.\n"
      " * Below are the variants that the archive has of each kernel. */\n"
      "#ifndef {0}\n#define {0}\n\n#include \"samite/shipped/samite_runtime.h\"\n\n#include <stdbool.h>\n"
      "#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      guard);
  for_each_function(kernels, [&](const Forms &forms, bool adjoint) {
    text += comment(forms, adjoint) + prototype(forms.front(), adjoint) + ";\n\n";
  });
  return text + "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string c_source(const std::string &name, const std::string &archive, const std::vector<Forms> &kernels) {
  const std::string symbol = identifier(name) + "_archive";
  std::string text = fmt::format("/* Made by `samite-aot c`. */\n#include \"{}.h\"\n\n#include <string.h>\n\n", name);
  text += fmt::format(
      "__asm__(\".section .rodata\\n\"\n"
      "        \".balign 16\\n\"\n"
      "        \"{0}_begin: .incbin \\\"{1}\\\"\\n\"\n"
      "        \"{0}_end: .byte 0\\n\"\n"
      "        \".previous\\n\");\n"
      "extern const char {0}_begin[] __asm__(\"{0}_begin\");\nextern const char {0}_end[] __asm__(\"{0}_end\");\n\n",
      symbol, archive);
  text += fmt::format(
      "/* Once: opening it again would only replace it. */\n"
      "static int open_kernels(char *error, size_t error_bytes) {{\n"
      "  static int is_open = 0;\n"
      "  int result;\n"
      "  if (__atomic_load_n(&is_open, __ATOMIC_ACQUIRE)) return SAMITE_OK;\n"
      "  result = samite_open_archive_bytes(SAMITE_RUNTIME_VERSION, \"{0}\", {1}_begin,\n"
      "                                     (size_t)({1}_end - {1}_begin), error, error_bytes);\n"
      "  if (result == SAMITE_OK) __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE);\n"
      "  return result;\n}}\n\n"
      "static int null_tensor(const char *name, char *error, size_t error_bytes) {{\n"
      "  static const char words[] = \" is a null pointer; a tensor is expected\";\n"
      "  size_t length = strlen(name);\n"
      "  if (error != 0 && error_bytes > 0) {{\n"
      "    if (length + sizeof words > error_bytes) length = 0;\n"
      "    memcpy(error, name, length);\n"
      "    strncpy(error + length, words, error_bytes - length - 1);\n"
      "    error[error_bytes - 1] = 0;\n"
      "  }}\n"
      "  return SAMITE_USER_ERROR;\n}}\n\n",
      name, symbol);
  for_each_function(kernels, [&](const Forms &forms, bool adjoint) {
    text += prototype(forms.front(), adjoint) + body(forms.front(), adjoint) + "\n";
  });
  return text;
}
