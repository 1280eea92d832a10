#include "samite/jit/graph.h"

#include "samite/base/error.h"
#include "samite/driver/capture.h"
#include "samite/driver/graph_executable.h"
#include "samite/jit/cuda_launch.h"
#include "samite/jit/tape.h"

#include <algorithm>
#include <ostream>

namespace samite {

struct Graph::Contents {
  struct Step {
    Launch launch;
    std::vector<driver::GraphNode> nodes;  // on CUDA
    bool enabled = true;                   // on the CPU
  };
  std::vector<Step> steps;
  std::optional<driver::GraphExecutable> executable;  // none on the CPU
};

namespace jit {
namespace {

thread_local GraphCapture *current_capture = nullptr;

}  // namespace

GraphCapture::GraphCapture(const Stream &stream) : stream_(stream), contents_(std::make_shared<Graph::Contents>()) {
  if (current_capture) throw UserError("this thread captures a graph already; end that capture before another begins");
  current_capture = this;
}

GraphCapture::~GraphCapture() { current_capture = nullptr; }

GraphCapture *GraphCapture::current() { return current_capture; }

void GraphCapture::add(const Launch &launch) {
  if (!(launch.stream() == stream_))
    throw UserError(launch.to_string() + " cannot be captured: it is on " + launch.stream().to_string() +
                    ", and the capture is of " + stream_.to_string() + "; record it with LaunchOptions::stream");
  Graph::Contents::Step step{launch, {}};
  if (launch.cuda()) launch.cuda()->run_into(launch.arguments(), &step.nodes);
  contents_->steps.push_back(std::move(step));
}

}  // namespace jit

Graph capture(const Stream &stream, const std::function<void()> &work) {
  jit::GraphCapture capture(stream);
  if (const CudaStream *cuda = stream.cuda()) {
    const driver::Graph graph = driver::capture(cuda->stream(), work);
    capture.contents()->executable = driver::GraphExecutable::instantiate(graph);
  } else {
    work();
  }
  return Graph(stream, capture.contents());
}

std::size_t Graph::size() const { return contents_->steps.size(); }

void Graph::launch() { launch(stream_); }

void Graph::launch(const Stream &stream) {
  if (!(stream.device() == device()))
    throw UserError("a graph of " + device().to_string() + " is launched on " + stream.to_string() +
                    "; use a stream of its own device");
  if (Tape::recording())
    throw UserError(
        "a graph cannot be put on a tape, which keeps values between launches; record the launches "
        "themselves, or capture their adjoints, too");
  for (Contents::Step &step : contents_->steps) {
    if (!step.enabled) continue;
    if (contents_->executable)
      step.launch.mark_written();
    else
      step.launch.launch();
  }
  if (!contents_->executable) return;
  contents_->executable->launch(stream.cuda()->stream());
  bool debug = false;
  for (const Contents::Step &step : contents_->steps) {
    step.launch.cuda()->hear_in(*stream.cuda());
    debug = debug || step.launch.cuda()->debug();
  }
  if (debug) stream.synchronize();
}

const Launch &Graph::at(std::size_t number) const {
  if (number >= size())
    throw UserError("a graph of " + std::to_string(size()) + " launches has none of number " + std::to_string(number));
  return contents_->steps[number].launch;
}

void Graph::set(std::size_t number, const Launch &launch) {
  const Launch &before = at(number);
  if (before.kernel_name() != launch.kernel_name() || before.direction() != launch.direction() ||
      !(before.device() == launch.device()))
    throw UserError("launch " + std::to_string(number) + " of the graph is a " + before.to_string() +
                    "; it cannot become a " + launch.to_string());
  Contents::Step &step = contents_->steps[number];
  if (contents_->executable) {
    if (static_cast<std::size_t>(launch.cuda()->kernel_count()) != step.nodes.size())
      throw UserError("launch " + std::to_string(number) + " of the graph runs " + std::to_string(step.nodes.size()) +
                      " kernels, and the " + launch.to_string() + " " + std::to_string(launch.cuda()->kernel_count()) +
                      "; capture the graph anew");
    launch.cuda()->put_in(*contents_->executable, step.nodes, launch.arguments());
  }
  step.launch = launch;
}

void Graph::enable(std::size_t number, bool enabled) {
  at(number);
  Contents::Step &step = contents_->steps[number];
  if (contents_->executable)
    for (const driver::GraphNode &node : step.nodes) contents_->executable->enable(node, enabled);
  step.enabled = enabled;
}

std::string Graph::to_string() const {
  std::string text =
      "Graph of " + std::to_string(size()) + (size() == 1 ? " launch on " : " launches on ") + device().to_string();
  for (const Contents::Step &step : contents_->steps)
    text += "\n  " + step.launch.to_string() + (step.enabled ? "" : ", not enabled");
  return text;
}

std::ostream &operator<<(std::ostream &stream, const Graph &graph) { return stream << graph.to_string(); }

}  // namespace samite
