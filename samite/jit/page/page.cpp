#include "samite/jit/page/page.h"

#include "samite/base/lines.h"
#include "samite/jit/page/files.h"
#include "samite/jit/page/html.h"
#include "samite/jit/page/memory_drawing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace samite::jit {
namespace {

using html::escaped;

// 12288 as "12,288".
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}
std::string bytes_text(const std::optional<std::int64_t> &bytes) {
  return bytes ? grouped(*bytes) + " B" : "known at launch";
}
std::string file_and_line(const SourceLocation &where) {
  const std::string_view file = where.file;
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), where.line);
}

class Writer {
 public:
  explicit Writer(const Page &page) : page_(page) {
    for (std::size_t f = 0; f < page.functions.size(); ++f) {
      numbers_.emplace(page.functions[f].name, f);
      for (const schedules::DefinitionText &definition : page.functions[f].definitions)
        of_line_[{definition.where.file, definition.where.line}].insert(f);
    }
  }

  std::string write() {
    head();
    text_ += "<main>\n<div class=\"side left\">\n";
    algorithm();
    nest();
    memory();
    text_ += "</div>\n<div class=\"side right\">\n";
    emitted();
    figures();
    text_ += "</div>\n</main>\n<script>\n";
    text_ += asset("page.js");
    text_ += "</script>\n</body>\n</html>\n";
    return std::move(text_);
  }

 private:
  static std::string_view asset(std::string_view name) {
    for (const EmbeddedFile &file : embedded_page_files())
      if (file.path.ends_with(name)) return file.text;
    return "";
  }

  // The attributes of elements that belong to these Funcs.
  static std::string of(const std::set<std::size_t> &functions) {
    return functions.empty() ? "" : fmt::format(" data-f=\"{}\"", fmt::join(functions, " "));
  }
  std::set<std::size_t> numbers(const std::string &func) const {
    const auto found = numbers_.find(func);
    return found == numbers_.end() ? std::set<std::size_t>{} : std::set{found->second};
  }
  std::string of(const std::string &func) const { return of(numbers(func)); }
  // The same for elements that select the Func when clicked.
  std::string chooses(const std::string &func) const {
    const auto found = numbers_.find(func);
    return found == numbers_.end() ? "" : fmt::format(" data-f=\"{0}\" data-choose=\"{0}\"", found->second);
  }
  std::string name_of(const std::string &func) const {
    const auto found = numbers_.find(func);
    if (found == numbers_.end()) return escaped(func);
    return fmt::format("<a class=\"name\" href=\"#\" data-choose=\"{}\">{}</a>", found->second, escaped(func));
  }

  void open_panel(const char *kind, const char *title, const std::string &about) {
    text_ += fmt::format(
        "<details open class=\"panel {}\"><summary><h2>{}</h2><small>{}</small></summary>"
        "<div class=\"body\">\n",
        kind, title, escaped(about));
  }
  void close_panel() { text_ += "</div></details>\n"; }

  void head() {
    const std::string title = fmt::format("{} on {}", page_.pipeline, page_.target);
    text_ += "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    text_ +=
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n";
    text_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    text_ += "<title>" + escaped(title) + "</title>\n<style>\n";
    text_ += asset("page.css");
    for (std::size_t f = 0; f < page_.functions.size(); ++f)  // well separated hues, for any number
      text_ += fmt::format("[data-f~=\"{0}\"], [data-choose=\"{0}\"] {{ --hue: {1}; }}\n", f, (f * 137 + 25) % 360);
    text_ += "</style>\n</head>\n<body>\n<header class=\"top\">\n<div class=\"title\"><h1>" + escaped(page_.pipeline) +
             "</h1><p>" + escaped(page_.target) + ", " +
             (page_.schedule.empty() ? "no schedule of its own" : "schedule " + escaped(page_.schedule)) +
             fmt::format(", {} kernel{}</p></div>\n", page_.kernels.size(), page_.kernels.size() == 1 ? "" : "s");
    text_ += "<nav class=\"funcs\" aria-label=\"Funcs\">\n";
    for (std::size_t f = 0; f < page_.functions.size(); ++f)
      text_ += fmt::format(
          "<button data-f=\"{0}\" data-choose=\"{0}\" aria-pressed=\"false\">{1}<small>{2}</small>"
          "</button>\n",
          f, escaped(page_.functions[f].name), escaped(kept_in(page_.functions[f])));
    text_ += "</nav>\n</header>\n";
  }

  std::string kept_in(const schedules::FunctionText &function) const {
    if (function.output) return "output";
    for (const PageTemporary &temporary : page_.temporaries)
      if (temporary.func == function.name) return "device memory";
    for (const PageKernel &kernel : page_.kernels)
      for (const schedules::KeptMemory &kept : kernel.memory.kept)
        if (kept.func == function.name)
          return kept.memory + (kept.bytes ? ", " + grouped(*kept.bytes) + " B" : std::string());
    const bool has_loops =
        std::ranges::any_of(page_.nest, [&](const schedules::NestLine &line) { return line.func == function.name; });
    return has_loops ? "" : "inlined";
  }

  void algorithm() {
    open_panel("algorithm", "Algorithm", page_.schedule.empty() ? "" : "with its schedule");
    for (const schedules::FunctionText &function : page_.functions) {
      text_ += fmt::format("<details open class=\"func\"{}><summary>{} <small>{}</small></summary>\n",
                           of(function.name), name_of(function.name), escaped(function.type));
      for (const schedules::DefinitionText &definition : function.definitions) {
        text_ += "<div class=\"definition\"><pre>";
        for (std::size_t i = 0; i < definition.lines.size(); ++i)
          text_ += (i == 0 ? "" : "\n") + html::highlighted(definition.lines[i]);
        text_ += "</pre>";
        if (definition.where.known())
          text_ += fmt::format("<span class=\"at\" title=\"{}\">line {}</span>",
                               escaped(file_and_line(definition.where)), definition.where.line);
        text_ += "</div>\n";
      }
      if (!function.directives.empty()) {
        text_ += "<ul class=\"schedule\">";
        for (const std::string &directive : function.directives)
          text_ += "<li><code>" + escaped(directive) + "</code></li>";
        text_ += "</ul>\n";
      }
      text_ += "</details>\n";
    }
    close_panel();
  }

  // The name of the Func in a line selects it; the text before it describes the line.
  std::string nest_line(const schedules::NestLine &line) const {
    const std::size_t at = line.func.empty() ? std::string::npos : line.text.find(" " + line.func);
    const bool begins = !line.func.empty() && line.text.starts_with(line.func);
    if (begins) return name_of(line.func) + escaped(std::string_view(line.text).substr(line.func.size()));
    if (at == std::string::npos || line.text.starts_with("kernel "))
      return fmt::format("<b class=\"{}\">{}</b>", line.text == "barrier" ? "barrier" : "quiet", escaped(line.text));
    return fmt::format("<b class=\"kind\">{}</b> {}{}", escaped(line.text.substr(0, at)), name_of(line.func),
                       escaped(std::string_view(line.text).substr(at + 1 + line.func.size())));
  }

  void nest() {
    open_panel("loops", "Loop nest", "");
    text_ += "<div class=\"nest\">\n";
    int depth = 0;
    const auto close_to = [&](int to) {
      for (; depth > to; --depth) text_ += "</details>\n";
    };
    for (std::size_t i = 0; i < page_.nest.size(); ++i) {
      const schedules::NestLine &line = page_.nest[i];
      close_to(line.depth);
      if (i + 1 < page_.nest.size() && page_.nest[i + 1].depth > line.depth) {
        text_ += fmt::format("<details open{}><summary>{}</summary>\n", of(line.func), nest_line(line));
        ++depth;
      } else {
        text_ += fmt::format("<div class=\"leaf\"{}>{}</div>\n", of(line.func), nest_line(line));
      }
    }
    close_to(0);
    text_ += "</div>\n";
    close_panel();
  }

  // The Funcs whose local arrays a line of emitted text names: a3, a4[…].
  std::set<std::size_t> kept_in_line(const PageKernel &kernel, std::string_view line) const {
    std::set<std::size_t> found;
    const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] != 'a' || (i > 0 && (is_name(line[i - 1]) || line[i - 1] == '.'))) continue;
      std::size_t end = i + 1, number = 0;
      while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) && end - i < 8)
        number = 10 * number + static_cast<std::size_t>(line[end++] - '0');
      if (end == i + 1 || (end < line.size() && is_name(line[end])) || number >= kernel.arrays.size()) continue;
      found.merge(numbers(kernel.arrays[number]));
    }
    return found;
  }

  void emitted() {
    open_panel("text", "Emitted text", page_.target == "cpu" ? "C++" : "CUDA C++");
    for (const PageKernel &kernel : page_.kernels) {
      text_ += fmt::format("<details open><summary><h3>{}</h3></summary>\n<pre>", escaped(kernel.name));
      std::string_view rest = kernel.text;
      for (std::size_t i = 0; !rest.empty(); ++i) {
        const std::string_view line = take_line(rest);
        std::set<std::size_t> functions = kept_in_line(kernel, line);
        if (i < kernel.text_lines.size())
          if (const auto found = of_line_.find({kernel.text_lines[i].file, kernel.text_lines[i].line});
              found != of_line_.end())
            functions.insert(found->second.begin(), found->second.end());
        text_ += fmt::format("<span class=\"l\"{}>{}</span>", of(functions), html::highlighted(line));
      }
      text_ += "</pre></details>\n";
    }
    close_panel();
  }

  void draw(const html::Drawing &drawing) {
    text_ += html::drawn(drawing, [&](const std::string &func) { return chooses(func); });
  }

  void table_head(const std::vector<std::string_view> &cells) {
    text_ += "<div class=\"scroll\"><table><thead><tr>";
    for (const std::string_view cell : cells)
      text_ += cell.starts_with('#') ? fmt::format("<th class=\"number\">{}</th>", cell.substr(1))
                                     : fmt::format("<th>{}</th>", cell);
    text_ += "</tr></thead><tbody>\n";
  }
  void end_table() { text_ += "</tbody></table></div>\n"; }

  void memory() {
    open_panel("memory wide", "Memory over time", "");
    if (!page_.temporaries.empty()) {
      text_ += "<details open><summary><h3>Device memory, between kernels</h3></summary>\n";
      html::Drawing drawing{.end = 0, .axis = "launches of kernels", .pieces = {}};
      drawing.end = static_cast<int>(page_.kernels.size());
      for (const PageTemporary &temporary : page_.temporaries)
        drawing.pieces.push_back({.func = temporary.func,
                                  .label = temporary.func + ", " + bytes_text(temporary.bytes),
                                  .title = temporary.func,
                                  .first = temporary.first,
                                  .last = temporary.last});
      draw(drawing);
      table_head({"Func", "memory", "elements of", "#bytes", "launches"});
      for (const PageTemporary &temporary : page_.temporaries)
        text_ += fmt::format(
            "<tr class=\"kept\"{}><td>{}</td><td>device memory</td><td>{}</td><td class=\"number\">{}"
            "</td><td>{} to {}</td></tr>\n",
            of(temporary.func), name_of(temporary.func), escaped(temporary.type), bytes_text(temporary.bytes),
            temporary.first, temporary.last);
      end_table();
      text_ += "</details>\n";
    }
    for (const PageKernel &kernel : page_.kernels) memory_of(kernel);
    if (page_.temporaries.empty() &&
        std::ranges::all_of(page_.kernels, [](const PageKernel &kernel) { return kernel.memory.kept.empty(); }))
      text_ +=
          "<p class=\"note\">No Func is kept: each is computed where it is needed, or fills an array of the "
          "caller's.</p>\n";
    close_panel();
  }

  void memory_of(const PageKernel &kernel) {
    if (kernel.memory.kept.empty()) return;
    text_ += fmt::format("<details open><summary><h3>{}{}</h3></summary>\n", escaped(kernel.name),
                         kernel.memory.shared_bytes == 0
                             ? ""
                             : fmt::format(": {} bytes of shared memory a block", grouped(kernel.memory.shared_bytes)));
    html::Drawing shared{
        .end = kernel.memory.statements, .bytes = kernel.memory.shared_bytes, .axis = "", .pieces = {}};
    html::Drawing own = shared;
    shared.axis = fmt::format("shared memory, offset 0 to {} upwards, over statements of the kernel",
                              grouped(kernel.memory.shared_bytes));
    own.axis = "what each thread or task has for itself, over statements of the kernel";
    for (const schedules::KeptMemory &kept : kernel.memory.kept) {
      html::Piece piece{.func = kept.func,
                        .label = kept.func + ", " + bytes_text(kept.bytes),
                        .title = fmt::format("{}: {} of {}, statements {} to {}", kept.func, bytes_text(kept.bytes),
                                             kept.memory, kept.first, kept.last),
                        .first = kept.first,
                        .last = kept.last,
                        .offset = kept.offset,
                        .bytes = kept.bytes.value_or(0)};
      if (kept.stored) piece.stored = {kept.stored->first, kept.stored->last};
      if (kept.loaded) piece.loaded = {kept.loaded->first, kept.loaded->last};
      (kept.offset ? shared : own).pieces.push_back(std::move(piece));
    }
    if (!shared.pieces.empty()) draw(shared);
    if (!own.pieces.empty()) draw(own);
    text_ +=
        "<p class=\"legend\">A box is there from the first statement that needs it to the last one. Thick bar: it "
        "is stored to. Thin bar: it is loaded from.</p>\n";
    table_head({"Func", "memory", "#elements", "of", "#bytes", "#offset", "statements"});
    for (const schedules::KeptMemory &kept : kernel.memory.kept)
      text_ += fmt::format(
          "<tr class=\"kept\"{}><td>{}</td><td>{}</td><td class=\"number\">{}</td><td>{}</td>"
          "<td class=\"number\">{}</td><td class=\"number\">{}</td><td>{} to {}</td></tr>\n",
          of(kept.func), name_of(kept.func), escaped(kept.memory), kept.elements ? grouped(*kept.elements) : "?",
          escaped(kept.type), bytes_text(kept.bytes), kept.offset ? grouped(*kept.offset) : "", kept.first, kept.last);
    end_table();
    text_ += "</details>\n";
  }

  void figures() {
    open_panel("figures", "Figures", "");
    for (const PageKernel &kernel : page_.kernels) {
      text_ += fmt::format("<details open><summary><h3>{}</h3></summary>\n", escaped(kernel.name));
      if (!kernel.problem.empty()) text_ += "<p class=\"note\">Not compiled: " + escaped(kernel.problem) + "</p>\n";
      table_head({"", "#"});
      const auto row = [&](std::string_view what, const std::string &value, bool warn = false) {
        text_ += fmt::format("<tr><td>{}</td><td class=\"number{}\">{}</td></tr>\n", what, warn ? " warn" : "",
                             escaped(value));
      };
      if (kernel.threads > 0) row("threads a block", grouped(kernel.threads));
      if (kernel.memory.shared_bytes > 0) row("shared memory, planned", grouped(kernel.memory.shared_bytes) + " B");
      if (kernel.figures) {
        const ReportedVariant &variant = *kernel.figures;
        const auto bytes = [](std::size_t size) { return grouped(static_cast<std::int64_t>(size)) + " B"; };
        if (variant.resources.registers > 0) {
          const std::size_t spilled = variant.resources.spill_store_bytes + variant.resources.spill_load_bytes;
          row("registers a thread", grouped(variant.resources.registers));
          row("spilled", bytes(spilled), spilled > 0);
          row("stack a thread", bytes(variant.resources.local_bytes), variant.resources.local_bytes > 0);
          row("shared memory", bytes(variant.resources.shared_bytes));
        }
        row("image", bytes(variant.image_bytes) + (variant.from == "built" ? "" : ", from " + variant.from));
        row("time to make it", fmt::format("{:.1f} ms", variant.milliseconds));
        for (const ReportedVariant::Step &step : variant.steps)
          row("&nbsp;&nbsp;" + escaped(step.name), fmt::format("{:.1f} ms", step.milliseconds));
        for (const ReportedObject &object : variant.objects)
          row(object.operation.empty() ? "the kernel's own object" : escaped(object.operation),
              object.from == "built" ? fmt::format("built in {:.1f} ms", object.milliseconds)
                                     : "reused from " + object.from);
      }
      end_table();
      text_ += "</details>\n";
    }
    close_panel();
  }

  const Page &page_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::pair<std::string, std::uint32_t>, std::set<std::size_t>> of_line_;
  std::string text_;
};

}  // namespace

std::string to_html(const Page &page) { return Writer(page).write(); }

}  // namespace samite::jit
