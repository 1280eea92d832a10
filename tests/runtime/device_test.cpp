#include "samite/runtime/device.h"

#include "samite/base/error.h"
#include "samite/runtime/event.h"
#include "samite/runtime/stream.h"
#include "tests/runtime/message_of.h"

#include <algorithm>
#include <sstream>
#include <thread>

namespace samite {
namespace {

using testing::HasSubstr;

TEST(Device, CpuIsAlwaysListed) {
  std::vector<Device> devices = Device::list();

  EXPECT_NE(std::find(devices.begin(), devices.end(), Device::cpu()), devices.end());
  EXPECT_EQ(Device::preferred(), devices.front());
}

TEST(Device, SaysWhatItIs) {
  std::ostringstream stream;
  stream << Device::cpu();

  EXPECT_EQ(stream.str(), "cpu");
  EXPECT_EQ(Device::cpu().kind(), DeviceKind::cpu);
  EXPECT_EQ(Device::cpu().index(), 0);
  EXPECT_THAT(Device::cpu().name(), HasSubstr(" thread"));
}

TEST(Stream, OnTheCpuHasNothingToWaitFor) {
  Stream stream{Device::cpu()};

  stream.synchronize();

  EXPECT_EQ(stream.device(), Device::cpu());
  EXPECT_EQ(Stream::standard(Device::cpu()).to_string(), "stream on cpu");
}

TEST(Event, MeasuresTheTimeBetweenTwoMarks) {
  Stream stream{Device::cpu()};
  Event begin, end;

  begin.record(stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  end.record(stream);
  end.synchronize();

  EXPECT_GE(end.milliseconds_since(begin), 5.0);
  EXPECT_EQ(begin.milliseconds_since(end), -end.milliseconds_since(begin));
}

TEST(Event, RefusesToWaitForAMarkThatWasNeverMade) {
  Event never, recorded;
  recorded.record(Stream::standard(Device::cpu()));

  EXPECT_THAT(message_of<UserError>([&] { never.synchronize(); }), HasSubstr("never recorded"));
  EXPECT_THAT(message_of<UserError>([&] { recorded.milliseconds_since(never); }), HasSubstr("never recorded"));
  EXPECT_EQ(never.to_string(), "event, not recorded");
}

}  // namespace
}  // namespace samite
