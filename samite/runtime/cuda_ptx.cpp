#include "samite/runtime/cuda_ptx.h"

#include <fmt/format.h>

namespace samite {
namespace {

std::string write_strided_copy() {
  std::string text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry samite_copy_strided(.param .align 8 .b8 copy[128]) {
  .reg .pred %p<2>;
  .reg .b16 %h<2>;
  .reg .b32 %r<5>;
  .reg .b64 %index, %step, %count, %rest, %at, %extent, %stride, %to, %from, %bytes, %value;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  cvt.u64.u32 %index, %r3;
  mad.wide.u32 %index, %r1, %r2, %index;
  mul.wide.u32 %step, %r4, %r2;
  ld.param.u64 %count, [copy+112];
  ld.param.u64 %bytes, [copy+120];
next:
  setp.ge.u64 %p1, %index, %count;
  @%p1 bra done;
  mov.u64 %rest, %index;
  mov.u64 %to, 0;
  mov.u64 %from, 0;
)";
  for (int d = 3; d >= 0; --d)
    text += fmt::format(R"(  ld.param.u64 %extent, [copy+{}];
  rem.u64 %at, %rest, %extent;
  div.u64 %rest, %rest, %extent;
  ld.param.u64 %stride, [copy+{}];
  mad.lo.s64 %to, %at, %stride, %to;
  ld.param.u64 %stride, [copy+{}];
  mad.lo.s64 %from, %at, %stride, %from;
)",
                        16 + 8 * d, 48 + 8 * d, 80 + 8 * d);
  text += R"(  ld.param.u64 %value, [copy];
  mad.lo.s64 %to, %to, %bytes, %value;
  ld.param.u64 %value, [copy+8];
  mad.lo.s64 %from, %from, %bytes, %value;
  add.u64 %index, %index, %step;
)";
  struct Size {
    int bytes;
    const char *type, *value;
  };
  for (const Size &size : {Size{4, "u32", "%r1"}, Size{8, "u64", "%value"}, Size{2, "u16", "%h1"}})
    text += fmt::format(R"(  setp.ne.u64 %p1, %bytes, {0};
  @%p1 bra not{0};
  ld.global.{1} {2}, [%from];
  st.global.{1} [%to], {2};
  bra next;
not{0}:
)",
                        size.bytes, size.type, size.value);
  return text + R"(  ld.global.u8 %h1, [%from];
  st.global.u8 [%to], %h1;
  bra next;
done:
  ret;
}
)";
}

std::string write_condition() {
  std::string text = R"(.version 7.0
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry samite_set_condition(.param .u64 handle, .param .u64 address, .param .u32 bytes) {
  .reg .pred %p<2>;
  .reg .b16 %h1;
  .reg .b32 %bytes, %r1;
  .reg .b64 %handle, %address, %value;
  ld.param.u64 %handle, [handle];
  ld.param.u64 %address, [address];
  ld.param.u32 %bytes, [bytes];
)";
  struct Size {
    int bytes;
    const char *type, *value;
  };
  for (const Size &size :
       {Size{1, "u8", "%h1"}, Size{2, "u16", "%h1"}, Size{4, "u32", "%r1"}, Size{8, "u64", "%value"}})
    text += fmt::format(
        R"(  setp.ne.u32 %p1, %bytes, {0};
  @%p1 bra not{0};
  ld.global.{1} {2}, [%address];
{3}  bra set;
not{0}:
)",
        size.bytes, size.type, size.value,
        size.bytes == 8 ? "" : fmt::format("  cvt.u64.{} %value, {};\n", size.bytes == 4 ? "u32" : "u16", size.value));
  return text + R"(  ret;
set:
  setp.ne.u64 %p1, %value, 0;
  selp.u32 %r1, 1, 0, %p1;
  {
    .param .b64 to;
    .param .b32 is;
    st.param.b64 [to], %handle;
    st.param.b32 [is], %r1;
    call.uni cudaGraphSetConditional, (to, is);
  }
  ret;
}
)";
}

}  // namespace

const std::string &strided_copy_ptx() {
  static const std::string text = write_strided_copy();
  return text;
}

const std::string &condition_ptx() {
  static const std::string text = write_condition();
  return text;
}

const std::string &nothing_ptx() {
  static const std::string text =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry samite_nothing() {\n  ret;\n}\n";
  return text;
}

}  // namespace samite
