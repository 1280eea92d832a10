// Any text is a kernel or a UserError with its place; any kernel is well-formed or refused by the verifier; and
// well-formed kernels go through printing, simplification, differentiation, lowering and emission.
//
// A mutation works on tokens: one is repeated, removed, exchanged, or taken from the language's words; a line is
// repeated, moved or removed. Now and then it works on bytes, for the tokenizer.
#include "samite/base/error.h"
#include "samite/ir/op.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "tests/fuzz/all_steps.h"
#include "tests/fuzz/one_input.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t max_size);

namespace samite::fuzz {
namespace {

void run(const std::string &text) {
  ir::Kernel kernel;
  try {
    kernel = ir::parse_kernel(text);
  } catch (const UserError &error) {
    if (!error.where().known()) defect("an error of the parser names no line", error.what());
    return;
  }
  const std::string printed = ir::to_string(kernel);
  try {
    if (ir::to_string(ir::parse_kernel(printed)) != printed) defect("printed and parsed again it differs", printed);
  } catch (const UserError &error) {
    defect("what was printed is not read", std::string(error.what()) + "\n" + printed);
  }
  std::optional<ir::Form> form;
  for (const ir::Form each : {ir::Form::structured, ir::Form::captured})
    if (!form && is_well_formed(kernel, each)) form = each;
  if (!form) return;
  try {
    run_all(kernel, *form);
  } catch (const UserError &) {
  } catch (const std::exception &error) {
    defect(error.what(), printed);
  }
}

const std::vector<std::string> &words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all{"bool",
                                 "i8",
                                 "i32",
                                 "i64",
                                 "u8",
                                 "u32",
                                 "u64",
                                 "f16",
                                 "f32",
                                 "f64",
                                 "bf16",
                                 "(",
                                 ")",
                                 "[",
                                 "]",
                                 "{",
                                 "}",
                                 "<",
                                 ">",
                                 ",",
                                 ":",
                                 "=",
                                 "|",
                                 "->",
                                 "+=",
                                 "..",
                                 ".",
                                 "0",
                                 "1",
                                 "-1",
                                 "2",
                                 "3",
                                 "7",
                                 "8",
                                 "16",
                                 "64",
                                 "true",
                                 "false",
                                 "1.5",
                                 "nan",
                                 "inf",
                                 "step",
                                 "in",
                                 "carry",
                                 "then",
                                 "else",
                                 "at",
                                 "\"a\"",
                                 "array",
                                 "const",
                                 "of",
                                 "last",
                                 "test",
                                 "threads",
                                 "blocks",
                                 "gradient",
                                 "if",
                                 "for",
                                 "while",
                                 "label",
                                 "leave",
                                 "store",
                                 "accumulate",
                                 "atomic",
                                 "local",
                                 "local_store",
                                 "print",
                                 "check",
                                 "custom",
                                 "adjoint_of",
                                 "assign",
                                 "tile<f32, 8, 4>",
                                 "tile<f32, 8>",
                                 "tile<i32, 8>",
                                 "tile<f32, 4, 4>",
                                 "seeds",
                                 "gradients",
                                 "adjoint",
                                 "replay",
                                 "%0",
                                 "%1",
                                 "%2",
                                 "%3",
                                 "%4",
                                 "%5",
                                 "$0",
                                 "$1",
                                 "@a",
                                 "@b",
                                 "@n",
                                 "2147483647",
                                 "-2147483648",
                                 "9223372036854775807",
                                 "stages",
                                 "distinct",
                                 "transposed",
                                 "plain",
                                 "afterwards",
                                 "shared"};
#define SAMITE_FUZZ_OP(op, text, arity, typing, pure) all.emplace_back(text);
    SAMITE_OPS(SAMITE_FUZZ_OP)
#undef SAMITE_FUZZ_OP
    return all;
  }();
  return words;
}

// Words, numbers, names with their sigils, strings, and single characters; white space apart from ends of lines goes.
std::vector<std::string> pieces_of(const std::string &text) {
  std::vector<std::string> pieces;
  const auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (joins(text[at]) || text[at] == '%' || text[at] == '@' || text[at] == '$' || text[at] == '-')
      while (end < text.size() && joins(text[end])) ++end;
    if (text[at] != ' ') pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

std::string joined(const std::vector<std::string> &pieces) {
  std::string text;
  for (const std::string &piece : pieces) {
    const bool tight = piece == "." || piece == "=" || piece == ">" || piece == "\n";
    const char last = text.empty() ? '\n' : text.back();
    if (last != '\n' && !tight && last != '.' && last != '+' && last != '-') text += ' ';
    text += piece;
  }
  return text;
}

class Mutation {
 public:
  Mutation(std::vector<std::string> pieces, unsigned seed) : pieces_(std::move(pieces)), random_(seed) {}

  std::vector<std::string> run() {
    for (std::size_t count = 1 + below(3); count > 0 && !pieces_.empty(); --count) once();
    return std::move(pieces_);
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  auto at(std::size_t place) { return pieces_.begin() + static_cast<std::ptrdiff_t>(place); }

  // From the begin of a line up to that of the next.
  std::pair<std::size_t, std::size_t> line() {
    std::size_t begin = below(pieces_.size()), end = begin;
    while (begin > 0 && pieces_[begin - 1] != "\n") --begin;
    while (end < pieces_.size() && pieces_[end] != "\n") ++end;
    return {begin, std::min(end + 1, pieces_.size())};
  }

  void once() {
    const std::size_t place = below(pieces_.size());
    switch (below(9)) {
      case 0: pieces_.erase(at(place)); return;
      case 1: pieces_.insert(at(place), pieces_[below(pieces_.size())]); return;
      case 2: pieces_[place] = words()[below(words().size())]; return;
      case 3: pieces_.insert(at(place), words()[below(words().size())]); return;
      case 4: std::swap(pieces_[place], pieces_[below(pieces_.size())]); return;
      case 5: pieces_[place] = alike(pieces_[place]); return;
      case 6: {
        const auto [begin, end] = line();
        pieces_.erase(at(begin), at(end));
        return;
      }
      case 7: {
        const auto [begin, end] = line();
        const std::vector<std::string> copy(at(begin), at(end));
        pieces_.insert(at(line().first), copy.begin(), copy.end());
        return;
      }
      default: pieces_[place] = pieces_[below(pieces_.size())];
    }
  }

  // Another of its kind, which more often leaves a kernel.
  std::string alike(const std::string &piece) {
    std::vector<const std::string *> same;
    for (const std::vector<std::string> *all : {&std::as_const(pieces_), &words()})
      for (const std::string &each : *all)
        if (each[0] == piece[0] || (std::isalpha(each[0]) != 0 && std::isalpha(piece[0]) != 0)) same.push_back(&each);
    return same.empty() ? piece : *same[below(same.size())];
  }

  std::vector<std::string> pieces_;
  std::minstd_rand random_;
};

}  // namespace
}  // namespace samite::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  using namespace samite::fuzz;
  if (size == 0 || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text =
      joined(Mutation(pieces_of(std::string(reinterpret_cast<const char *>(data), size)), seed).run());
  const std::size_t bytes = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), bytes);
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  samite::fuzz::run(std::string(reinterpret_cast<const char *>(data), size));
  return 0;
}
