#include "tests/jit/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace samite::test {
namespace {

using Json = nlohmann::json;

constexpr int patience_ms = 60'000;

// Their numbers in the browser, which does not inherit the test's own ends.
constexpr int browser_reads = 3, browser_writes = 4;

std::string from_base64(const std::string &text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) break;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  return bytes;
}

}  // namespace

std::string Browser::program() {
  for (const char *path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (access(path, X_OK) == 0) return path;
  return "";
}

Browser::Browser(const std::string &program) {
  std::array<int, 2> there{}, back{};
  if (pipe2(there.data(), O_CLOEXEC) != 0 || pipe2(back.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe to the browser");
  const std::string profile = "--user-data-dir=" + profile_.path().string();
  const std::vector<std::string> words{program,
                                       "--headless",
                                       "--no-sandbox",
                                       "--disable-gpu",
                                       "--disable-dev-shm-usage",
                                       "--no-first-run",
                                       "--disable-extensions",
                                       "--disable-component-update",
                                       "--disable-background-networking",
                                       "--hide-scrollbars",
                                       "--host-resolver-rules=MAP * ~NOTFOUND",
                                       "--remote-debugging-pipe",
                                       profile,
                                       "about:blank"};
  std::vector<char *> arguments;
  for (const std::string &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("no process for the browser");
  if (process_ == 0) {
    // Above the numbers that they will get, one of which may be in use.
    const int reads = fcntl(there[0], F_DUPFD, 10), writes = fcntl(back[1], F_DUPFD, 10);
    dup2(reads, browser_reads);
    dup2(writes, browser_writes);
    const int nowhere = ::open("/dev/null", O_RDWR);
    dup2(nowhere, 0);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    setpgid(0, 0);
    execv(program.c_str(), arguments.data());
    _exit(127);
  }
  close(there[0]);
  close(back[1]);
  to_ = there[1], from_ = back[0];
  const Json target = call("Target.createTarget", {{"url", "about:blank"}});
  session_ = call("Target.attachToTarget", {{"targetId", target.at("targetId")}, {"flatten", true}})
                 .at("sessionId")
                 .get<std::string>();
  for (const char *domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"})
    call(domain, Json::object());
}

Browser::~Browser() {
  close(to_);
  close(from_);
  kill(-process_, SIGKILL);  // with the processes that it has started
  waitpid(process_, nullptr, 0);
}

Json Browser::next_message() {
  for (std::size_t end; (end = unread_.find('\0')) == std::string::npos;) {
    pollfd wait{from_, POLLIN, 0};
    if (poll(&wait, 1, patience_ms) <= 0) throw std::runtime_error("the browser does not answer");
    std::array<char, 1 << 16> part{};
    const ssize_t size = read(from_, part.data(), part.size());
    if (size <= 0) throw std::runtime_error("the browser has ended");
    unread_.append(part.data(), static_cast<std::size_t>(size));
  }
  const std::size_t end = unread_.find('\0');
  Json message = Json::parse(unread_.substr(0, end));
  unread_.erase(0, end + 1);
  return message;
}

void Browser::heed(const Json &event) {
  const std::string method = event.value("method", "");
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Network.requestWillBeSent") requests_.push_back(event["params"]["request"]["url"].get<std::string>());
  if (method == "Runtime.exceptionThrown") complaints_.push_back(event["params"].dump());
  if (method == "Runtime.consoleAPICalled") complaints_.push_back(event["params"].dump());
  if (method == "Log.entryAdded") complaints_.push_back(event["params"]["entry"].dump());
}

Json Browser::call(const std::string &method, Json parameters) {
  Json message{{"id", ++calls_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty()) message["sessionId"] = session_;
  std::string text = message.dump();
  text += '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t size = write(to_, text.data() + sent, text.size() - sent);
    if (size <= 0) throw std::runtime_error("the browser does not listen");
    sent += static_cast<std::size_t>(size);
  }
  for (;;) {
    const Json answer = next_message();
    if (answer.value("id", 0) != calls_) {
      heed(answer);
      continue;
    }
    if (answer.contains("error")) throw std::runtime_error(method + ": " + answer["error"].dump());
    return answer["result"];
  }
}

void Browser::open(const std::filesystem::path &file, int width, int height) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
  requests_.clear();
  complaints_.clear();
  loaded_ = false;
  call("Page.navigate", {{"url", "file://" + file.string()}});
  while (!loaded_) heed(next_message());
}

void Browser::prefer_dark(bool dark) {
  call("Emulation.setEmulatedMedia",
       {{"features", Json::array({{{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}}})}});
}

Json Browser::evaluate(const std::string &expression) {
  const Json result = call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}});
  if (result.contains("exceptionDetails"))
    throw std::runtime_error(expression + ": " + result["exceptionDetails"].dump());
  return result["result"].value("value", Json());
}

void Browser::click(const std::string &selector) {
  const Json at = evaluate("(() => { const e = document.querySelector(" + Json(selector).dump() +
                           "); e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); "
                           "return [b.x + b.width / 2, b.y + b.height / 2]; })()");
  for (const char *kind : {"mousePressed", "mouseReleased"})
    call("Input.dispatchMouseEvent",
         {{"type", kind}, {"x", at[0]}, {"y", at[1]}, {"button", "left"}, {"clickCount", 1}});
}

void Browser::press(const std::string &key) {
  for (const char *kind : {"keyDown", "keyUp"}) call("Input.dispatchKeyEvent", {{"type", kind}, {"key", key}});
}

std::string Browser::picture(bool whole_page) {
  return from_base64(
      call("Page.captureScreenshot", {{"format", "png"}, {"captureBeyondViewport", whole_page}}).at("data"));
}

}  // namespace samite::test
