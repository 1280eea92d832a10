#include "tests/toolchain/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace samite::test {
namespace {

std::vector<char *> pointers_to(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> changed_environment(const ChildProcess::Environment &changes) {
  std::vector<std::string> variables;
  for (char **at = environ; *at != nullptr; ++at) {
    const std::string variable = *at;
    bool replaced = false;
    for (const auto &[name, value] : changes) replaced = replaced || variable.starts_with(name + "=");
    if (!replaced) variables.push_back(variable);
  }
  for (const auto &[name, value] : changes) variables.push_back(name + "=" + value);
  return variables;
}

}  // namespace

ChildProcess::ChildProcess(const std::string &program, std::vector<std::string> arguments,
                           const Environment &environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe for a child process");
  output_end_ = ends[0];
  const std::string path = program.starts_with('/') ? program : std::string(SAMITE_TEST_PROGRAMS) + "/" + program;
  arguments.insert(arguments.begin(), path);
  std::vector<std::string> variables = changed_environment(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  const int error = posix_spawn(&process_, path.c_str(), &actions, nullptr, pointers_to(arguments).data(),
                                pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) throw std::runtime_error("cannot start " + path);
}

ChildProcess::~ChildProcess() {
  if (process_ <= 0) return;
  kill();
  wait();
}

void ChildProcess::kill() { ::kill(process_, SIGKILL); }

int ChildProcess::wait() {
  char chunk[4096];
  for (;;) {
    const ssize_t got = read(output_end_, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output_.append(chunk, static_cast<std::size_t>(got));
  }
  close(output_end_);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace samite::test
