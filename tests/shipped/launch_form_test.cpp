// A written launch form is read back, and nothing else is accepted: the runner trusts its offsets.
#include "samite/shipped/launch_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::shipped {
namespace {

LaunchForm some_form() {
  LaunchForm form;
  form.kernel = "a kernel\nwith % in its name";
  form.direction = "adjoint";
  form.target = "x86-64-v3";
  form.rank = 2;
  form.argument_bytes = 128;
  form.parameters = {{"y", ScalarType::Float32, 2, 0},
                     {"x", ScalarType::Float64, 2, 40, 3, -1, 2},
                     {"n", ScalarType::Int32, 0, 80},
                     {"", ScalarType::Float32, 2, 88, 0, 0}};
  form.active = 1;
  form.adjoint.values_after = 2;
  form.adjoint.changed = 4;
  form.facts.unit_stride = 3;
  form.facts.may_alias = true;
  form.covers = {{1, 1, 0}};
  form.facts.rows.tensor_maps = 1;
  form.parts = {{hash_of({"image"}), "entry", 2.5, 8, true, true, true, false, 128, 4, 2, 64, 1000},
                {hash_of({"other"}), "second"}};
  form.parts[0].tensor_maps = {{0, ScalarType::Float32, 2, 64, 32, true}, {3, ScalarType::Float32, 2, 1, 8}};
  return form;
}

TEST(LaunchForms, AreReadAsTheyWereWritten) {
  const LaunchForm form = some_form();
  const auto read = form_from(to_text(form));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, form);
  EXPECT_EQ(read->own_parameters(), 3u);
}

TEST(LaunchForms, ThatAreCutShortAreRefused) {
  const std::string text = to_text(some_form());
  const std::size_t lines_that_may_go = text.rfind("covers");  // a form without parts and covers is one, too
  for (std::size_t length = 0; length < lines_that_may_go; ++length) {
    const auto read = form_from(text.substr(0, length));
    EXPECT_TRUE(!read || text[length - 1] == '\n') << length;
    if (read) EXPECT_LT(read->parameters.size(), 4u + (length == lines_that_may_go));
  }
  EXPECT_FALSE(form_from(text.substr(0, text.size() - 1)));
  EXPECT_FALSE(form_from(""));
}

// Each would make the runner read or write outside the block of arguments, or run a loop of a wrong length.
TEST(LaunchForms, WithPlacesOutsideOfTheirBlockAreRefused) {
  const auto refused = [](const auto &change) {
    LaunchForm form = some_form();
    change(form);
    return !form_from(to_text(form));
  };
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parameters[1].offset = 96; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parameters[1].offset = std::size_t{0} - 8; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parameters[1].offset = 44; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parameters[1].rank = 5; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parameters[3].primal = 3; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parameters[3].primal = 1; })) << "of another type";
  EXPECT_TRUE(refused([](LaunchForm &form) { form.rank = 0; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.argument_bytes = 1 << 20; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.covers[0].dimension = 2; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.covers[0].array = -1; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parts[0].lanes = 0; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parts[0].threads_per_block = 4096; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parts[0].tensor_maps[1].array = 4; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parts[0].tensor_maps[1].array = 2; })) << "a scalar";
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parts[0].tensor_maps[1].rank = 3; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parts[0].tensor_maps[1].type = ScalarType::Float16; }));
  EXPECT_TRUE(refused([](LaunchForm &form) { form.parts[0].tensor_maps[0].rows = 257; }));
  EXPECT_FALSE(refused([](LaunchForm &) {}));
}

TEST(LaunchForms, OfAnotherVersionAreRefused) {
  std::string text = to_text(some_form());
  text.replace(text.find("launch 3"), 8, "launch 4");
  EXPECT_FALSE(form_from(text));
}

}  // namespace
}  // namespace samite::shipped
