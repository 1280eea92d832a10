// A reference to a function that is called only before the callee returns, so nothing is copied. For each lambda, of
// which a kernel has several, the compiler generates a tenth of the code that std::function takes. Like C++26's
// std::function_ref (P0792R14), without pointers to members.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace samite {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F &, Args...>)
  FunctionRef(F &&function) noexcept
      // A static_cast cannot convert the address of a function.
      : function_(const_cast<void *>(reinterpret_cast<const void *>(&function))),
        call_([](void *own, Args... args) -> R {
          return static_cast<R>((*reinterpret_cast<std::remove_reference_t<F> *>(own))(std::forward<Args>(args)...));
        }) {}

  R operator()(Args... args) const { return call_(function_, std::forward<Args>(args)...); }

 private:
  void *function_;
  R (*call_)(void *own, Args... args);
};

}  // namespace samite
