// The headers use the terms of the glossary in CONTRIBUTING.md, and their comments are plain sentences.
#include "text_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace samite::house {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

const fs::path repository = SAMITE_SOURCE_DIR;

struct GlossaryRow {
  std::string term;
  std::vector<std::string> instead;  // words that must not replace it
};

std::string without_spaces(const std::string &text) {
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

std::vector<std::string> split_at(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (std::string word = without_spaces(part); !word.empty()) parts.push_back(std::move(word));
  return parts;
}

// The rows of the table under "## Glossary".
std::vector<GlossaryRow> glossary_of(const std::string &markdown) {
  std::vector<GlossaryRow> rows;
  const std::size_t heading = markdown.find("## Glossary\n");
  EXPECT_NE(heading, std::string::npos);
  if (heading == std::string::npos) return rows;
  std::istringstream lines(markdown.substr(heading));
  bool in_rows = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      if (in_rows) break;
    } else if (line.starts_with("|---")) {
      in_rows = true;
    } else if (in_rows) {
      const std::vector<std::string> columns = split_at(line, '|');
      rows.push_back({columns[0], columns.size() > 2 ? split_at(columns[2], ',') : std::vector<std::string>()});
    }
  }
  return rows;
}

struct Comment {
  int line;  // of its first line, from 1 on
  std::string text;
};

// The comments of a header, each without its slashes as one line of text. Lines that only begin with a comment belong
// together; a blank comment line, or a line that is set off by spaces, ends a sentence.
std::vector<Comment> comments_of(const std::string &header) {
  std::vector<Comment> comments;
  std::istringstream lines(header);
  bool goes_on = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t slashes = line.find("//"), code = line.find_first_not_of(' ');
    const bool in_text = slashes != std::string::npos && line.substr(0, slashes).find('"') != std::string::npos;
    if (slashes == std::string::npos || in_text) {
      goes_on = false;
      continue;
    }
    const std::string written = line.substr(slashes + 2), text = without_spaces(written);
    const bool alone = slashes == code, set_off = written.starts_with("   ");
    if (goes_on && alone && !text.empty() && !set_off)
      comments.back().text += ' ' + text;
    else if (!text.empty())
      comments.push_back({number, text});
    goes_on = alone && !text.empty() && !set_off;
  }
  return comments;
}

std::string in_lower_case(std::string text) {
  for (char &c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool has_word(const std::string &text, const std::string &phrase) {
  const std::string plain = in_lower_case(text), word = in_lower_case(phrase);
  for (std::size_t at = 0; (at = plain.find(word, at)) != std::string::npos; at += word.size()) {
    const auto is_letter = [&](std::size_t place) {
      return place < plain.size() && ((plain[place] >= 'a' && plain[place] <= 'z') || plain[place] == '_');
    };
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  }
  return false;
}

// "header.h:3: such a one", one for each phrase that hides who does what, for each sentence that does not begin with
// its subject, and for each word that the glossary replaces.
std::vector<std::string> unclear_words(const std::string &name, const std::string &header,
                                       const std::vector<GlossaryRow> &glossary) {
  std::vector<std::string> phrases{"nobody", "somebody", "whoever", "such a one", "such one"};
  for (const GlossaryRow &row : glossary) phrases.insert(phrases.end(), row.instead.begin(), row.instead.end());
  const std::regex inverted("(^|[.] )(Of|What is of|What of) ");
  std::vector<std::string> found;
  for (const Comment &comment : comments_of(header)) {
    const std::string place = name + ":" + std::to_string(comment.line) + ": ";
    for (const std::string &phrase : phrases)
      if (has_word(comment.text, phrase)) found.push_back(place + phrase);
    if (std::regex_search(comment.text, inverted)) found.push_back(place + "a sentence begins with Of or What");
  }
  return found;
}

std::vector<fs::path> library_headers() {
  std::vector<fs::path> headers;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(repository / "samite"))
    if (entry.path().extension() == ".h") headers.push_back(entry.path());
  std::ranges::sort(headers);
  return headers;
}

TEST(Glossary, TermsAreUsedInTheHeaders) {
  std::string comments;
  for (const fs::path &path : library_headers())
    for (const Comment &comment : comments_of(text_of(path))) comments += comment.text + '\n';
  const std::vector<GlossaryRow> glossary = glossary_of(text_of(repository / "CONTRIBUTING.md"));
  EXPECT_GE(glossary.size(), 30u);
  for (const GlossaryRow &row : glossary)
    EXPECT_TRUE(has_word(comments, row.term) || has_word(comments, row.term + "s")) << row.term;
}

TEST(Glossary, HeadersUseItsTermsInPlainSentences) {
  const std::vector<GlossaryRow> glossary = glossary_of(text_of(repository / "CONTRIBUTING.md"));
  for (const fs::path &path : library_headers())
    EXPECT_THAT(unclear_words(fs::relative(path, repository).string(), text_of(path), glossary), IsEmpty());
}

TEST(Glossary, UnclearWordsAreFound) {
  const std::vector<GlossaryRow> glossary{{"warp group", {"group of warps"}}};
  const char *header =
      "// Multiplies. Of a loop, it takes the sums.\n"
      "#pragma once\n"
      "\n"
      "// Each group of\n"
      "// warps has a part.\n"
      "int parts();  // nobody reads them\n"
      "const char *url = \"https://example.org/nobody\";\n"
      "// A list:\n"
      "//\n"
      "//   what is of rows   whoever\n"
      "// Offsets of What they are.\n";
  EXPECT_THAT(unclear_words("planted.h", header, glossary),
              ElementsAre("planted.h:1: a sentence begins with Of or What", "planted.h:4: group of warps",
                          "planted.h:6: nobody", "planted.h:10: whoever"));
}

}  // namespace
}  // namespace samite::house
