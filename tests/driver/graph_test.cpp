#include "samite/driver/graph_executable.h"

#include "samite/driver/copy.h"
#include "tests/driver/small_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;

struct GraphOf : testing::Test {
  FakeDriver fake;
  Context context = Context::primary(fake.driver(), 0);
  Stream stream = Stream::create(context);
  Kernel kernel = test::load(fake, context, test::add_code());
  DeviceMemory sum = DeviceMemory::allocate(stream, MemoryPool::standard(context), 4);
  PreparedLaunch add{stream, kernel, {}, {"user.cpp", 5}};

  GraphOf() {
    fill_words(stream, sum.address(), 0, 1);
    stream.synchronize();
  }

  GraphNode add_node(Graph &graph, int amount, std::span<const GraphNode> after = {}) {
    CUdeviceptr target = sum.address();
    void *parameters[] = {&target, &amount};
    return graph.add(add, parameters, after);
  }

  int result() {
    int value = 0;
    copy_to_host(stream, &value, sum.address(), 4);
    stream.synchronize();
    return value;
  }
};

TEST_F(GraphOf, LaunchesRunsAsOftenAsItIsLaunched) {
  Graph graph = Graph::create(context);
  const GraphNode first = add_node(graph, 1);
  const GraphNode second = add_node(graph, 10, {{first}});
  graph.add_empty({{first, second}});
  const GraphExecutable executable = GraphExecutable::instantiate(graph);

  executable.upload(stream);
  executable.launch(stream);
  executable.launch(stream);

  EXPECT_EQ(result(), 22);
  EXPECT_EQ(graph.nodes().size(), 3u);
}

TEST_F(GraphOf, LaunchesKeepsItsKernelsAlive) {
  std::optional<Graph> graph = Graph::create(context);
  {
    const Kernel other = test::load(fake, context, {.name = "other"});
    graph->add(PreparedLaunch(stream, other, {}, {}), nullptr);
  }
  std::optional<GraphExecutable> executable = GraphExecutable::instantiate(*graph);
  graph.reset();

  EXPECT_NO_THROW(executable->launch(stream));
  EXPECT_EQ(fake.count("cuLibraryUnload"), 0);
  executable.reset();

  EXPECT_EQ(fake.count("cuLibraryUnload"), 1);
  EXPECT_EQ(fake.count("cuGraphDestroy"), 1);
  EXPECT_EQ(fake.count("cuGraphExecDestroy"), 1);
}

TEST_F(GraphOf, LaunchesKeepsWhatItIsTold) {
  auto memory = std::make_shared<const DeviceMemory>(DeviceMemory::allocate(stream, MemoryPool::standard(context), 64));
  std::optional<Graph> graph = Graph::create(context);
  graph->keep_alive(memory);
  memory.reset();

  EXPECT_EQ(fake.count("cuMemFreeAsync"), 0);
  graph.reset();
  EXPECT_EQ(fake.count("cuMemFreeAsync"), 1);
}

TEST_F(GraphOf, LaunchesHasItsArgumentsEditedWhereItRuns) {
  Graph graph = Graph::create(context);
  const GraphNode node = add_node(graph, 1);
  GraphExecutable executable = GraphExecutable::instantiate(graph);
  executable.launch(stream);

  CUdeviceptr target = sum.address();
  int amount = 100;
  void *parameters[] = {&target, &amount};
  executable.set(node, add, parameters);
  executable.launch(stream);

  EXPECT_EQ(result(), 101);
}

TEST_F(GraphOf, LaunchesIsEditedForWhatIsUpdatedToIt) {
  Graph graph = Graph::create(context);
  Graph::Conditional taken = graph.add_if(graph.add_condition(1));
  const GraphNode node = add_node(taken.body, 1);
  GraphExecutable executable = GraphExecutable::instantiate(graph);

  CUdeviceptr target = sum.address();
  int amount = 100;
  void *parameters[] = {&target, &amount};
  taken.body.set(node, add, parameters);
  executable.launch(stream);
  EXPECT_EQ(result(), 1);
  executable.update(graph);
  executable.launch(stream);
  EXPECT_EQ(result(), 101);
}

TEST_F(GraphOf, LaunchesKeepsAKernelThatWasSetLater) {
  Graph graph = Graph::create(context);
  const GraphNode node = add_node(graph, 1);
  GraphExecutable executable = GraphExecutable::instantiate(graph);
  {
    const Kernel other = test::load(fake, context, {.name = "other"});
    executable.set(node, PreparedLaunch(stream, other, {}, {}), nullptr);
  }

  EXPECT_NO_THROW(executable.launch(stream));
  EXPECT_EQ(result(), 0);
}

TEST_F(GraphOf, LaunchesMayLeaveOneOut) {
  Graph graph = Graph::create(context);
  const GraphNode node = add_node(graph, 1);
  add_node(graph, 10);
  GraphExecutable executable = GraphExecutable::instantiate(graph);

  executable.enable(node, false);
  executable.launch(stream);
  executable.enable(node, true);
  executable.launch(stream);

  EXPECT_EQ(result(), 21);
}

TEST_F(GraphOf, LaunchesBecomesAnotherOfTheSameForm) {
  Graph graph = Graph::create(context), other = Graph::create(context);
  add_node(graph, 1);
  const GraphNode node = add_node(other, 7);
  GraphExecutable executable = GraphExecutable::instantiate(graph);

  executable.update(other);
  executable.launch(stream);
  EXPECT_EQ(result(), 7);

  executable.enable(node, false);
  executable.launch(stream);
  EXPECT_EQ(result(), 7);
}

TEST_F(GraphOf, LaunchesDoesNotBecomeOneOfAnotherForm) {
  Graph graph = Graph::create(context), other = Graph::create(context);
  add_node(graph, 1);
  add_node(other, 1);
  add_node(other, 1);
  GraphExecutable executable = GraphExecutable::instantiate(graph);

  EXPECT_THAT(message_of<UserError>([&] { executable.update(other); }),
              AllOf(HasSubstr("nodes or edges are others"), HasSubstr("Instantiate")));
  executable.launch(stream);
  EXPECT_EQ(result(), 1);
}

TEST_F(GraphOf, AGraphRunsIt) {
  Graph inner = Graph::create(context), outer = Graph::create(context);
  add_node(inner, 3);
  const GraphNode first = outer.add(inner);
  outer.add(inner, {{first}});

  GraphExecutable::instantiate(outer).launch(stream);

  EXPECT_EQ(result(), 6);
  EXPECT_THROW(outer.add(outer), UserError);
}

TEST_F(GraphOf, AConditionRunsItsBodyAsLongAsItHolds) {
  int rounds = 0;
  Graph graph = Graph::create(context);
  const Condition again = graph.add_condition(1);
  const Kernel count = test::load(fake, context, {.name = "count", .run = [&](void **) {
                                                    if (++rounds % 4 == 0) fake.set_condition(again.raw, 0);
                                                  }});
  Graph::Conditional loop = graph.add_while(again);
  loop.body.add(PreparedLaunch(stream, count, {}, {}), nullptr);
  add_node(loop.body, 1);
  const GraphExecutable executable = GraphExecutable::instantiate(graph);

  executable.launch(stream);
  EXPECT_EQ(result(), 4);
  executable.launch(stream);
  EXPECT_EQ(result(), 8) << "the condition has its first value again";
}

TEST_F(GraphOf, AConditionThatIsNotMetRunsNothing) {
  Graph graph = Graph::create(context);
  Graph::Conditional branch = graph.add_if(graph.add_condition(0));
  add_node(branch.body, 1);

  GraphExecutable::instantiate(graph).launch(stream);

  EXPECT_EQ(result(), 0);
}

TEST_F(GraphOf, AConditionsBodyIsKeptByItsGraph) {
  std::optional<Graph> graph = Graph::create(context);
  {
    const Kernel other = test::load(fake, context, {.name = "other"});
    graph->add_if(graph->add_condition(1)).body.add(PreparedLaunch(stream, other, {}, {}), nullptr);
  }
  EXPECT_EQ(fake.count("cuLibraryUnload"), 0);
  graph.reset();
  EXPECT_EQ(fake.count("cuLibraryUnload"), 1);
}

TEST(GraphOnAnOlderDriver, HasNoConditions) {
  FakeDriver fake({.version = 12020});
  Graph graph = Graph::create(Context::primary(fake.driver(), 0));

  EXPECT_THAT(message_of<DeviceError>([&] { graph.add_condition(1); }),
              AllOf(HasSubstr("cuGraphConditionalHandleCreate"), HasSubstr("12.3")));
}

TEST_F(GraphOf, NodesOfAnotherGraphIsRefused) {
  Graph graph = Graph::create(context), other = Graph::create(context);
  const GraphNode foreign = add_node(other, 1);

  EXPECT_THAT(message_of<UserError>([&] { add_node(graph, 1, {{foreign}}); }), HasSubstr("another graph"));
}

TEST_F(GraphOf, AnotherDeviceIsRefused) {
  Graph graph = Graph::create(context);
  const GraphExecutable executable = GraphExecutable::instantiate(graph);
  const Context second = Context::primary(context.shared_driver(), 1);
  const Stream far = Stream::create(second);

  EXPECT_THAT(message_of<UserError>([&] { executable.launch(far, {"user.cpp", 9}); }),
              AllOf(HasSubstr("user.cpp:9"), HasSubstr("of cuda:0"), HasSubstr("of cuda:1")));
  Graph of_second = Graph::create(second);
  EXPECT_THROW(of_second.add(add, nullptr), UserError);
}

TEST_F(GraphOf, ALaunchThatTheDriverRefusesNamesItsKernel) {
  Graph graph = Graph::create(context);
  fake.fail(Entry::GraphAddKernelNode, Result::invalid_value);

  EXPECT_THAT(message_of<DriverError>([&] { add_node(graph, 1); }),
              HasSubstr("user.cpp:5: kernel \"add\": cuGraphAddKernelNode("));
}

TEST_F(GraphOf, AFaultIsNamedWithItsKernels) {
  const Kernel astray = test::load(fake, context, test::fault_code(fake));
  Graph graph = Graph::create(context);
  add_node(graph, 1);
  graph.add(PreparedLaunch(stream, astray, {}, {}), nullptr);
  const GraphExecutable executable = GraphExecutable::instantiate(graph);
  executable.launch(stream, {"user.cpp", 33});

  EXPECT_THAT(message_of<DriverError>([&] { stream.synchronize(); }),
              HasSubstr("graph of 2 launches (add, astray) at user.cpp:33"));
}

TEST_F(GraphOf, LaunchesMayBeUsedFromManyThreads) {
  Graph graph = Graph::create(context);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 25; ++j) add_node(graph, 1);
    });
  for (std::thread &thread : threads) thread.join();
  threads.clear();
  const GraphExecutable executable = GraphExecutable::instantiate(graph);

  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { executable.launch(stream); });
  for (std::thread &thread : threads) thread.join();

  EXPECT_EQ(result(), 400);
}

}  // namespace
}  // namespace samite::driver
