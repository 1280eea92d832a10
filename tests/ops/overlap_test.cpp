// Results that overlap inputs: refused by ready-made operations with the caller's line, except for the very same view
// if each element is read only where it is written.
#include "samite/ops/attention.h"
#include "samite/ops/grouped_matmul.h"
#include "samite/ops/layer_norm.h"
#include "samite/ops/matmul.h"
#include "samite/ops/quantise.h"
#include "samite/ops/scaled_matmul.h"
#include "samite/ops/softmax.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string line(int number) { return std::string(__FILE__) + ":" + std::to_string(number); }

Buffer<float> square() { return buffer<float>({70, 70}, numbers(70 * 70)); }

TEST(Overlap, OfAProductAndItsFactors) {
  const auto a = square(), b = square();
  const int here = __LINE__ + 1;
  const std::string message = message_of<UserError>([&] { ops::matmul(a, b, a); });
  EXPECT_THAT(message, AllOf(HasSubstr("argument 2 ('c') is written, and shares memory with argument 0 ('a')"),
                             HasSubstr("such as a clone()"), HasSubstr(line(here)), Not(HasSubstr("samite/ops/"))));
  EXPECT_THAT(message_of<UserError>([&] { ops::matmul(a, b, b); }), HasSubstr("shares memory with argument 1"));
  // Views of one storage, with common rows and without.
  const auto all = buffer<float>({150, 70}, numbers(150 * 70));
  EXPECT_THAT(message_of<UserError>([&] { ops::matmul(all.slice(0, 0, 70), b, all.slice(0, 69, 139)); }),
              HasSubstr("shares memory with argument 0"));
  ops::matmul(all.slice(0, 0, 70), b, all.slice(0, 70, 140));
  const auto halves = buffer<float>({70, 140}, numbers(70 * 140));
  ops::matmul(halves.slice(1, 0, 70), b, halves.slice(1, 70, 140));
}

TEST(Overlap, OfARecordedLaunchThatIsGivenAnotherArray) {
  const ops::Matmul product{"product", [](const ops::Sums<float> &s) { return s.values(); }};
  const auto a = square(), b = square(), c = square();
  Launch launch = product.record(a, b, c);
  EXPECT_THAT(message_of<UserError>([&] { launch.set(0, c); }), HasSubstr("is written, and shares memory with"));
}

// A residual is read at the places that the result is written to.
TEST(Overlap, OfAResidualAndItsResultIsRight) {
  const ops::Matmul layer{"layer", [](const ops::Sums<float> &s, Array<const float, 2> residual) {
                            return Tile<float>(s.values() + s.for_elements(residual));
                          }};
  const auto a = square(), b = square(), c = square(), expected = square();
  layer.launch(a, b, expected, c);
  layer.launch(a, b, c, c);
  EXPECT_EQ(c.to_vector(), expected.to_vector());
  EXPECT_THAT(message_of<UserError>([&] { layer.launch(a, b, c, c.transpose()); }),
              HasSubstr("which is read or written at other places of it"));
}

TEST(Overlap, OfRowsInPlaceIsRightAndBesideThemRefused) {
  const auto x = square(), y = square(), expected = square();
  ops::softmax(x, expected);
  ops::softmax(y, y);
  EXPECT_EQ(y.to_vector(), expected.to_vector());
  ops::layer_norm(x, expected);
  ops::layer_norm(x, x);
  EXPECT_EQ(x.to_vector(), expected.to_vector());
  const auto all = buffer<float>({71, 70}, numbers(71 * 70));
  const int here = __LINE__ + 1;
  const auto beside = [&] { ops::softmax(all.slice(0, 0, 70), all.slice(0, 1, 71)); };
  EXPECT_THAT(message_of<UserError>(beside),
              AllOf(HasSubstr("argument 1 ('y') is written, and shares memory with argument 0 ('x'), which is read or "
                              "written at other places of it"),
                    HasSubstr(line(here))));
  EXPECT_THAT(message_of<UserError>(
                  [&] { ops::layer_norm(x, x.slice(0, 0, 1).reshape({70}), buffer<float>({70}, numbers(70)), x); }),
              HasSubstr("shares memory with argument 1 ('weight')"));
}

TEST(Overlap, OfAttention) {
  const Extents heads{1, 1, 40, 16};
  const auto x = [&] { return buffer<float>(heads, numbers(40 * 16)); };
  const auto q = x(), k = x(), v = x(), out = x(), g = x(), dq = x(), dk = x();
  const Buffer<float> sums(device(), {1, 1, 40});
  EXPECT_THAT(message_of<UserError>([&] { ops::attention(q, k, v, k, sums); }),
              HasSubstr("argument 3 ('out') is written, and shares memory with argument 1 ('k')"));
  EXPECT_THAT(message_of<UserError>([&] { ops::attention(q, k, v, v, sums); }), HasSubstr("argument 2 ('v')"));
  ops::attention(q, k, v, out, sums);
  EXPECT_THAT(message_of<UserError>([&] { ops::attention_adjoint(q, k, v, out, sums, g, dq, dk, dq); }),
              HasSubstr("expected gradients with memory of their own; those of q and v share theirs"));
  EXPECT_THAT(message_of<UserError>([&] { ops::attention_adjoint(q, k, v, out, sums, g, k, dk, dq); }),
              HasSubstr("shares memory with argument 1 ('k')"));
}

TEST(Overlap, OfScalesAndGroups) {
  const Buffer<f8e4m3> a(device(), {70, 70}), b(device(), {70, 70});
  const auto c = square();
  EXPECT_THAT(message_of<UserError>([&] {
                ops::scaled_matmul(a, b, c.slice(0, 0, 1).slice(1, 0, 1), c.slice(0, 1, 2).slice(1, 0, 1), c);
              }),
              HasSubstr("shares memory with argument 2"));
  EXPECT_THAT(message_of<UserError>([&] { ops::quantise(c, a, c.slice(1, 0, 1)); }),
              HasSubstr("argument 2 ('scale') is written, and shares memory with argument 0 ('x')"));
  const Buffer<std::int32_t> offsets(device(), {2}, {0, 70});
  EXPECT_THAT(message_of<UserError>([&] { ops::grouped_matmul(c, c.reshape({1, 70, 70}), offsets, c); }),
              HasSubstr("shares memory with argument 0"));
}

// A stencil that writes over its input would read its own results. A single element-wise Func does not, unless its
// schedule computes some elements twice.
TEST(Overlap, OfAPipeline) {
  const Pipeline stencil{"stencil", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                           Var y{"y"}, x{"x"};
                           Func result{"result", out};
                           result(y, x) = in(max(y - 1, 0), x) + in(y, x);
                         }};
  const Pipeline doubled{"doubled", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                           Var y{"y"}, x{"x"};
                           Func result{"result", out};
                           result(y, x) = 2.0f * in(y, x);
                         }};
  const Pipeline twice{"twice", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                         Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"};
                         Func result{"result", out};
                         result(y, x) = 2.0f * in(y, x);
                         schedule_cpu([&] { result.split(x, xo, xi, 16, Tail::shift_inwards); });
                       }};
  const auto x = square(), expected = square();
  EXPECT_THAT(message_of<UserError>([&] { stencil.launch(x, x); }),
              HasSubstr("pipeline 'stencil': argument 0 ('out') is written, and shares memory with argument 1 ('in')"));
  EXPECT_THAT(message_of<UserError>([&] { twice.launch(x, x); }), HasSubstr("argument 0 ('out') is written"));
  doubled.launch(expected, x);
  doubled.launch(x, x);
  EXPECT_EQ(x.to_vector(), expected.to_vector());
  EXPECT_THAT(message_of<UserError>([&] { doubled.launch(x.transpose(), x); }), HasSubstr("shares memory with"));
}

}  // namespace
}  // namespace samite::test
