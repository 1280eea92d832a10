// The arguments of a failed driver call, as an error prints them: "stream=0x7f…, flags=1, priority=0".
//
// Text is made only for a failed call: until then an argument is a tag and a word.
#pragma once

#include "samite/driver/abi_launch.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace samite::driver {

class Argument {
 public:
  template <class T>
  Argument(T value) {
    if constexpr (std::is_same_v<T, std::nullptr_t>) {
      set_address(0);
    } else if constexpr (std::is_same_v<T, const char *>) {
      kind_ = Kind::text;
      text_ = value;
    } else if constexpr (std::is_same_v<T, const LaunchConfig *>) {
      kind_ = Kind::launch;
      launch_ = value;
    } else if constexpr (std::is_pointer_v<T>) {
      if constexpr (is_result<std::remove_pointer_t<T>>)
        kind_ = Kind::result;
      else
        set_address(reinterpret_cast<std::uintptr_t>(value));
    } else if constexpr (std::is_enum_v<T>) {
      set_number(static_cast<long long>(value));
    } else if constexpr (std::is_same_v<T, CUdeviceptr>) {  // 64-bit flags also have this type
      set_address(value);
    } else {
      static_assert(std::is_integral_v<T>);
      set_number(static_cast<long long>(value));
    }
  }

  std::string to_string() const;

 private:
  enum class Kind : char { number, address, text, launch, result };

  // An output of the driver: an address on the caller's stack, which tells a reader nothing.
  template <class T>
  static constexpr bool is_result =
      !std::is_const_v<T> && (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                              (std::is_pointer_v<T> && !std::is_void_v<std::remove_pointer_t<T>>));

  void set_number(long long value) {
    kind_ = Kind::number;
    number_ = value;
  }
  void set_address(std::uintptr_t value) {
    kind_ = Kind::address;
    address_ = value;
  }

  Kind kind_ = Kind::result;
  union {
    long long number_ = 0;
    std::uintptr_t address_;
    const char *text_;
    const LaunchConfig *launch_;
  };
};

// "name=value" for each argument, with its name in `parameters` ("(CUstream stream, unsigned flags)"); outputs of the
// driver are omitted.
std::string arguments_text(std::string_view parameters, std::initializer_list<Argument> arguments);

}  // namespace samite::driver
