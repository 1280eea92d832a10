#include "samite/driver/stream.h"

#include "samite/driver/event.h"
#include "tests/driver/fake/fake_driver.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;

TEST(Stream, IsDestroyedWithItsLastCopy) {
  FakeDriver fake;
  {
    const Stream stream = Stream::create(Context::primary(fake.driver(), 0));
    const Stream copy = stream;
    EXPECT_EQ(copy, stream);
  }
  EXPECT_EQ(fake.count("cuStreamDestroy"), 1);
}

TEST(Stream, HasThePriorityItWasAskedFor) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Stream stream = Stream::create(context, -3);
  int priority = 0;

  context.call<Entry::StreamGetPriority>(stream.raw(), &priority);

  EXPECT_EQ(priority, -3);
}

TEST(Stream, ThatIsBorrowedIsNotDestroyed) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  CUstream raw = nullptr;
  context.call<Entry::StreamCreateWithPriority>(&raw, 0u, 0);

  Stream::borrow(context, raw).synchronize();
  EXPECT_EQ(fake.count("cuStreamDestroy"), 0);

  context.call<Entry::StreamDestroy>(raw);
}

TEST(Stream, ThatIsTheDefaultOneMayBeBorrowed) {
  FakeDriver fake;
  const Stream stream = Stream::borrow(Context::primary(fake.driver(), 0), nullptr);

  EXPECT_TRUE(stream.needs_current_context());
  EXPECT_NO_THROW(stream.synchronize());
}

TEST(Stream, OfAnotherDeviceIsNotBorrowed) {
  FakeDriver fake;
  const auto driver = fake.driver();
  const Context first = Context::primary(driver, 0), second = Context::primary(driver, 1);
  const Stream foreign = Stream::create(second);

  const std::string message = message_of<UserError>([&] { Stream::borrow(first, foreign.raw()); });

  EXPECT_THAT(message, AllOf(HasSubstr("belongs to another context"), HasSubstr("cuda:0")));
}

TEST(Stream, TellsWhetherItIsFinished) {
  FakeDriver fake;
  const Stream stream = Stream::create(Context::primary(fake.driver(), 0));
  fake.fail(Entry::StreamQuery, Result::not_ready);

  EXPECT_FALSE(stream.finished());
  EXPECT_TRUE(stream.finished());
}

TEST(Event, MarksAStreamAndAnotherWaits) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Stream first = Stream::create(context), second = Stream::create(context);
  const Event event = Event::create(context);

  event.record(first);
  second.wait(event);
  event.synchronize();

  EXPECT_TRUE(event.reached());
}

TEST(Event, MeasuresTimeBetweenMarks) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Stream stream = Stream::create(context);
  const Event start = Event::create(context, Timing::on), end = Event::create(context, Timing::on);

  start.record(stream);
  end.record(stream);

  EXPECT_EQ(end.milliseconds_since(start), 1.0f);
}

TEST(Event, WithoutTimingHasNoTime) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Event start = Event::create(context), end = Event::create(context, Timing::on);

  EXPECT_THAT(message_of<UserError>([&] { end.milliseconds_since(start); }), HasSubstr("Timing::on"));
}

TEST(Event, OfOneDeviceIsNotRecordedOnAnother) {
  FakeDriver fake;
  const auto driver = fake.driver();
  const Event event = Event::create(Context::primary(driver, 0));
  const Stream stream = Stream::create(Context::primary(driver, 1));

  EXPECT_THAT(message_of<UserError>([&] { event.record(stream); }),
              AllOf(HasSubstr("cuda:0"), HasSubstr("cuda:1"), HasSubstr("own device")));
}

}  // namespace
}  // namespace samite::driver
