// The operation that the program called, for the second line of an Error. A scope on the stack of each public
// function notes its name and where its operands are; they are printed only if something is thrown. The outermost of nested
// scopes counts: that is the call the program made. While that runs code of the program (a hook), the calls there count.
//
//   Tensor argmax(const Tensor& self, ...) {
//     CallScope call("argmax", self);
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "tenon/tensor.h"

namespace tenon {

class CallScope {
 public:
  // The name is an operation's or its GradFn's: "MulBackward0" is mul. Operands are tensors, optional tensors,
  // lists of tensors and numbers, and must outlive the scope.
  template <typename... Operands>
  explicit CallScope(const char* name, const Operands&... operands) {
    if (outermost_) return;
    name_ = name;
    (note(operands), ...);
    outermost_ = this;
  }
  ~CallScope() {
    if (outermost_ == this) outermost_ = nullptr;
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // While it lives code of the program runs, within a call or not.
  class Outside {
   public:
    Outside() : call_(std::exchange(outermost_, nullptr)), device_(std::exchange(device_there_, kOfOperands)) {}
    ~Outside() {
      outermost_ = call_;
      device_there_ = device_;
    }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    const CallScope* call_;
    int8_t device_;
  };
  // While it lives the call is at work on this device: a backward pass goes through several.
  class On {
   public:
    explicit On(int8_t device) : before_(std::exchange(device_there_, device)) {}
    ~On() { device_there_ = before_; }
    On(const On&) = delete;
    On& operator=(const On&) = delete;

   private:
    int8_t before_;
  };

  // "mul(float32[2, 3], 2.5)"; empty if no operation is being called.
  static std::string description();
  // Whether an operation is being called and its first operand is a tensor, or a list that begins with one.
  static bool begins_with_tensor();
  // Where the call is at work (On); else of the first operand that is a tensor elsewhere than on the host; the host's if there is none.
  static int8_t device();

 private:
  enum class Kind : uint8_t { Tensor, MaybeTensor, Tensors, Number };
  struct Operand {
    const void* data;
    uint32_t count;
    Kind kind;
  };
  static constexpr size_t kMost = 6;  // operands that are noted

  void note(const void* data, Kind kind, size_t count = 1) {
    if (count_ < kMost) operands_[count_++] = {data, static_cast<uint32_t>(count), kind};
  }
  void note(const Tensor& x) { note(&x, Kind::Tensor); }
  void note(const optional<Tensor>& x) { note(&x, Kind::MaybeTensor); }
  void note(const Scalar& x) { note(&x, Kind::Number); }
  void note(TensorList list) { note(list.data(), Kind::Tensors, list.size()); }

  // In the space that the loader reserves: reading it is one instruction.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local const CallScope* outermost_;
  static constexpr int8_t kOfOperands = -1;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local int8_t device_there_;
  const char* name_;
  size_t count_ = 0;
  std::array<Operand, kMost> operands_;  // the first count_ of them
};

}  // namespace tenon
