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

#include "frontend/src/tensor/context.h"

namespace tenon {

class CallScope {
 public:
  // The name is an operation's or its GradFn's: "MulBackward0" is mul. Operands are tensors, optional tensors,
  // lists of tensors and numbers, and must outlive the scope.
  template <typename... Operands>
  explicit CallScope(const char* name, const Operands&... operands) {
    if (this_thread.call) return;
    name_ = name;
    (note(operands), ...);
    this_thread.call = this;
  }
  ~CallScope() {
    if (this_thread.call == this) this_thread.call = nullptr;
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // While it lives code of the program runs, within a call or not.
  class Outside {
   public:
    Outside() : call_(std::exchange(this_thread.call, nullptr)), device_(std::exchange(this_thread.device, Thread::kOfOperands)) {}
    ~Outside() {
      this_thread.call = call_;
      this_thread.device = device_;
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
    explicit On(int8_t device) : before_(std::exchange(this_thread.device, device)) {}
    ~On() { this_thread.device = before_; }
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

  const char* name_;
  size_t count_ = 0;
  std::array<Operand, kMost> operands_;  // the first count_ of them
};

// The device of the tensors that the program's call was given, else the host's: where the numbers and positions lie that an
// operation adds of its own.
ir::DeviceTag call_device();
NodeRef constant_node(ir::Constant value, std::span<const int64_t> shape);
NodeRef iota_node(std::span<const int64_t> shape, int64_t dim);

}  // namespace tenon
