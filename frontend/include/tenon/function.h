// A function as a value: std::function without its header, which is a tenth of what <tenon/tenon.h> takes to parse.
#pragma once

#include "tenon/error.h"

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tenon {

template <typename Signature>
class Function;

// Copies share the state of the function that they were made of.
template <typename Result, typename... Args>
class Function<Result(Args...)> {
 public:
  Function() = default;
  Function(std::nullptr_t) {}
  template <typename F>
  requires(!std::is_same_v<F, Function> && std::is_invocable_r_v<Result, F&, Args...>) Function(F f)
      : state_(std::make_shared<F>(std::move(f))), call_([](void* state, Args... args) -> Result {
          // apply calls pointers to members too
          return static_cast<Result>(std::apply(*static_cast<F*>(state), std::forward_as_tuple(std::forward<Args>(args)...)));
        }) {}

  explicit operator bool() const { return call_ != nullptr; }
  Result operator()(Args... args) const {
    if (!call_) throw Error("Calling an empty Function");
    return call_(state_.get(), std::forward<Args>(args)...);
  }

 private:
  std::shared_ptr<void> state_;
  Result (*call_)(void* state, Args... args) = nullptr;
};

}  // namespace tenon
