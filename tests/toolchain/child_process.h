// A test program in a separate process: for effects that only another process can show, such as a cache that outlives
// its writer. The programs are in programs/; any other is named by its full path.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace samite::test {

class ChildProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  ChildProcess(const std::string &program, std::vector<std::string> arguments, const Environment &environment = {});
  ChildProcess(const ChildProcess &) = delete;
  ChildProcess &operator=(const ChildProcess &) = delete;
  ~ChildProcess();

  void kill();
  int wait();                                            // the exit status; negative is the signal that ended it
  const std::string &output() const { return output_; }  // standard output and error, after `wait`

 private:
  pid_t process_ = -1;
  int output_end_ = -1;
  std::string output_;
};

}  // namespace samite::test
