// A headless Chromium that a test drives: it opens a page, clicks, and returns results of scripts in the page.
//
// The test uses the browser's DevTools protocol, over two pipes: messages are JSON, each with a zero at its end. Every
// failure of the browser's is a std::runtime_error.
#pragma once

#include "tests/base/temporary_folder.h"

#include <nlohmann/json.hpp>

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace samite::test {

class Browser {
 public:
  // The path of Chromium; empty if it is not installed.
  static std::string program();

  explicit Browser(const std::string &program);
  Browser(const Browser &) = delete;
  Browser &operator=(const Browser &) = delete;
  ~Browser();

  // Waits until the page has been loaded.
  void open(const std::filesystem::path &file, int width, int height);
  void prefer_dark(bool dark);
  // The value of a JavaScript expression, as JSON.
  nlohmann::json evaluate(const std::string &expression);
  // Presses and releases the mouse in the middle of the first element that the selector finds, which is scrolled there.
  void click(const std::string &selector);
  void press(const std::string &key);
  // A PNG of the window, or of the whole page.
  std::string picture(bool whole_page = false);

  // The events since `open`: requested URLs, and the page's errors and warnings.
  const std::vector<std::string> &requests() const { return requests_; }
  const std::vector<std::string> &complaints() const { return complaints_; }

 private:
  nlohmann::json call(const std::string &method, nlohmann::json parameters);
  nlohmann::json next_message();
  void heed(const nlohmann::json &event);

  TemporaryFolder profile_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string unread_, session_;
  int calls_ = 0;
  bool loaded_ = false;
  std::vector<std::string> requests_, complaints_;
};

}  // namespace samite::test
