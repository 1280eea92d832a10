#include "samite/shipped/launch_form.h"

#include "samite/toolchain/image_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <limits>

namespace samite::shipped {
namespace {

constexpr std::string_view first_line = "samite launch 3";
constexpr std::size_t most_parameters = 128, most_parts = 64, most_bytes = std::size_t{1} << 16;
constexpr int most_rank = 4;

// Words of a line, each read once.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (word.empty()) good_ = false;
    return word;
  }
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  void read(T &value) {
    const std::string_view word = next();
    if constexpr (std::same_as<T, bool>) {
      value = word == "1";
      good_ &= word == "1" || word == "0";
    } else {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      good_ &= error == std::errc() && end == word.data() + word.size();
    }
  }
  void read(std::string &text) {
    auto word = from_archive_word(next());
    good_ &= word.has_value();
    text = std::move(word).value_or("");
  }
  void read(ScalarType &type) {
    const auto named = scalar_type_from_name(next());
    good_ &= named.has_value();
    type = named.value_or(type);
  }
  void read(Hash128 &hash) {
    const auto known = hash_from_hex(next());
    good_ &= known.has_value();
    hash = known.value_or(hash);
  }
  // Whether all words were read, and each was what it should be.
  bool done() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

// The inverse of Words.
class Line {
 public:
  explicit Line(std::string_view first) : text_(first) {}

  void read(const std::string &text) { add(archive_word(text)); }
  void read(ScalarType type) { add(std::string(name(type))); }
  void read(const Hash128 &hash) { add(hash.hex()); }
  void read(bool flag) { add(flag ? "1" : "0"); }
  void read(double number) { add(fmt::format("{}", number)); }
  void read(std::integral auto number) { add(fmt::format("{}", number)); }
  std::string text() const { return text_ + "\n"; }

 private:
  void add(const std::string &word) { text_ += " " + word; }

  std::string text_;
};

// The members of each kind of line, in order: for reading and writing.
constexpr auto see_form = [](auto &line, auto &form) {
  line.read(form.kernel), line.read(form.direction), line.read(form.target), line.read(form.rank);
  line.read(form.argument_bytes), line.read(form.active), line.read(form.written), line.read(form.adjoint.values_read);
  line.read(form.adjoint.values_after), line.read(form.adjoint.changed);
  line.read(form.narrow), line.read(form.facts.distinct), line.read(form.facts.unit_stride),
      line.read(form.facts.unaliased), line.read(form.facts.rows.aligned);
  line.read(form.facts.rows.whole), line.read(form.facts.rows.tensor_maps), line.read(form.facts.wide_index),
      line.read(form.facts.may_alias), line.read(form.workspace_bytes);
};
constexpr auto see_parameter = [](auto &line, auto &parameter) {
  line.read(parameter.name), line.read(parameter.type), line.read(parameter.rank), line.read(parameter.offset);
  line.read(parameter.last_extent), line.read(parameter.primal);
  line.read(parameter.narrow);
};
constexpr auto see_cover = [](auto &line, auto &cover) {
  line.read(cover.array), line.read(cover.dimension), line.read(cover.launch_dimension);
};
constexpr auto see_part = [](auto &line, auto &part) {
  line.read(part.image), line.read(part.entry), line.read(part.cost), line.read(part.lanes);
  line.read(part.one_thread), line.read(part.uses_workspace), line.read(part.grid_stride), line.read(part.grid_axes);
  line.read(part.threads_per_block), line.read(part.instances_per_thread), line.read(part.march);
  line.read(part.tile_threads), line.read(part.shared_bytes);
};
// Each follows its part.
constexpr auto see_map = [](auto &line, auto &map) {
  line.read(map.array), line.read(map.type), line.read(map.rank), line.read(map.rows), line.read(map.columns);
  line.read(map.values);
};

bool is_sound(const FormParameter &parameter, const LaunchForm &form) {
  if (parameter.rank < 0 || parameter.rank > most_rank || parameter.offset % 8 != 0) return false;
  const std::size_t bytes = parameter.rank == 0 ? 8 : 8 + 16 * static_cast<std::size_t>(parameter.rank);
  if (parameter.offset > form.argument_bytes || bytes > form.argument_bytes - parameter.offset) return false;
  if (parameter.primal < 0) return true;
  if (static_cast<std::size_t>(parameter.primal) >= form.own_parameters()) return false;
  const FormParameter &primal = form.parameters[static_cast<std::size_t>(parameter.primal)];
  return primal.primal < 0 && primal.rank == parameter.rank && primal.type == parameter.type;
}

bool is_sound(const FormTensorMap &map, const LaunchForm &form) {
  constexpr std::int64_t most_in_box = 256;
  const auto is_side = [](std::int64_t side) { return side >= 1 && side <= most_in_box; };
  if (map.array < 0 || static_cast<std::size_t>(map.array) >= form.parameters.size()) return false;
  const FormParameter &array = form.parameters[static_cast<std::size_t>(map.array)];
  const bool is_copied = size_of(map.type) == 1 || map.type == ScalarType::Float16 ||
                         map.type == ScalarType::BFloat16 || map.type == ScalarType::Float32;
  return map.rank >= 2 && map.rank == array.rank && map.type == array.type && is_copied && is_side(map.rows) &&
         is_side(map.columns);
}

bool is_sound(const FormPart &part, const LaunchForm &form) {
  constexpr int most_threads = 1024;
  const auto is_count = [](int number) { return number >= 1 && number <= most_threads; };
  return part.cost >= 0 && is_count(part.lanes) && is_count(part.threads_per_block) &&
         is_count(part.instances_per_thread) && is_count(part.march) && part.tile_threads >= 0 &&
         part.tile_threads <= most_threads && part.shared_bytes >= 0 &&
         part.shared_bytes <= std::numeric_limits<std::int32_t>::max() && part.tensor_maps.size() <= most_parameters &&
         std::ranges::all_of(part.tensor_maps, [&](const FormTensorMap &map) { return is_sound(map, form); });
}

bool is_sound(const LaunchForm &form) {
  if (form.rank < 1 || form.rank > most_rank || form.argument_bytes > most_bytes) return false;
  if (form.parameters.size() > most_parameters || form.parts.size() > most_parts || form.workspace_bytes < 0)
    return false;
  const auto is_covered = [&](const CoveredDimension &cover) {
    return cover.array >= 0 && static_cast<std::size_t>(cover.array) < form.own_parameters() && cover.dimension >= 0 &&
           cover.dimension < form.parameters[static_cast<std::size_t>(cover.array)].rank &&
           cover.launch_dimension >= 0 && cover.launch_dimension < form.rank;
  };
  return std::ranges::all_of(form.parameters, [&](const auto &parameter) { return is_sound(parameter, form); }) &&
         std::ranges::all_of(form.parts, [&](const FormPart &part) { return is_sound(part, form); }) &&
         std::ranges::all_of(form.covers, is_covered);
}

template <class T, class See>
bool read_into(std::vector<T> &list, Words &words, const See &see) {
  see(words, list.emplace_back());
  return words.done();
}

}  // namespace

std::size_t LaunchForm::own_parameters() const {
  return static_cast<std::size_t>(std::ranges::count_if(parameters, [](const auto &one) { return one.primal < 0; }));
}

std::string to_text(const LaunchForm &form) {
  std::string text = std::string(first_line) + "\n";
  const auto add = [&](std::string_view kind, const auto &value, const auto &see) {
    Line line(kind);
    see(line, value);
    text += line.text();
  };
  add("form", form, see_form);
  for (const FormParameter &parameter : form.parameters) add("parameter", parameter, see_parameter);
  for (const CoveredDimension &cover : form.covers) add("covers", cover, see_cover);
  for (const FormPart &part : form.parts) {
    add("part", part, see_part);
    for (const FormTensorMap &map : part.tensor_maps) add("map", map, see_map);
  }
  return text;
}

std::optional<LaunchForm> form_from(std::string_view text) {
  LaunchForm form;
  bool has_form = false;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (is_first && line != first_line) return std::nullopt;
    if (is_first) continue;
    Words words(line);
    const std::string_view kind = words.next();
    bool read = false;
    if (kind == "form" && !has_form) {
      see_form(words, form);
      read = has_form = words.done();
    } else if (kind == "parameter") {
      read = read_into(form.parameters, words, see_parameter);
    } else if (kind == "covers") {
      read = read_into(form.covers, words, see_cover);
    } else if (kind == "part") {
      read = read_into(form.parts, words, see_part);
    } else if (kind == "map" && !form.parts.empty()) {
      read = read_into(form.parts.back().tensor_maps, words, see_map);
    }
    if (!read) return std::nullopt;
  }
  if (!has_form || !is_sound(form)) return std::nullopt;
  return form;
}

}  // namespace samite::shipped
