// What an Error says besides its message: the call, and with TENON_TRACE=1 the stack.
#include "frontend/src/tensor/call.h"

#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/stack_trace.h"
#include "frontend/src/tensor/text.h"
#include "runtime/base/options.h"
#include "runtime/device/device.h"
#include "tenon/print.h"

namespace tenon {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "MaxPool2DWithIndicesBackward0" -> "max_pool2d_with_indices"
std::string operation_name(std::string_view name) {
  name = name.substr(0, name.find("Backward"));
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (!is_upper(name[i])) {
      result += name[i];
      continue;
    }
    const bool before_lower = i + 1 < name.size() && is_lower(name[i + 1]);
    if (i > 0 && (is_lower(name[i - 1]) || (before_lower && (is_digit(name[i - 1]) || is_upper(name[i - 1]))))) result += '_';
    result += static_cast<char>(name[i] - 'A' + 'a');
  }
  return result;
}

std::string described(const Tensor& x) {
  if (!x.defined()) return "undefined Tensor";
  return repr(x.scalar_type()).substr(std::string_view("tenon.").size()) + text(x.sizes());
}

std::string described(TensorList list) {
  constexpr size_t kShown = 4;
  std::string result;
  for (size_t i = 0; i < list.size() && i < kShown; ++i) result += (i ? ", " : "") + described(list[i]);
  if (list.size() > kShown) result += text(", ... ", list.size(), " tensors");
  return "[" + result + "]";
}

detail::ErrorPlace place_of_error() {
  const std::string call = CallScope::description();
  return {call.empty() ? call : "\n  in " + call, runtime::options().trace ? text_of_stack(call_stack()) : std::string()};
}

const bool installed = [] {
  detail::error_place = place_of_error;
  return true;
}();

}  // namespace

std::string CallScope::description() {
  const CallScope* call = std::exchange(this_thread.call, nullptr);  // what is asked below may fail as well
  if (!call) return {};
  std::string operands;
  for (size_t i = 0; i < call->count_; ++i) {
    const Operand& o = call->operands_[i];
    const auto* maybe = o.kind == Kind::MaybeTensor ? static_cast<const optional<Tensor>*>(o.data) : nullptr;
    if (maybe && (!*maybe || !(*maybe)->defined())) continue;  // was not given
    if (!operands.empty()) operands += ", ";
    switch (o.kind) {
      case Kind::Tensor: operands += described(*static_cast<const Tensor*>(o.data)); break;
      case Kind::MaybeTensor: operands += described(**maybe); break;
      case Kind::Tensors: operands += described(TensorList(static_cast<const Tensor*>(o.data), o.count)); break;
      case Kind::Number: operands += text(*static_cast<const Scalar*>(o.data)); break;
    }
  }
  this_thread.call = call;
  return operation_name(call->name_) + "(" + operands + ")";
}

bool CallScope::begins_with_tensor() {
  const CallScope* call = this_thread.call;
  if (!call || call->count_ == 0) return false;
  const Operand& first = call->operands_[0];
  const bool tensors = first.kind == Kind::Tensor || first.kind == Kind::Tensors;
  return tensors && first.count > 0 && static_cast<const Tensor*>(first.data)->defined();
}

int8_t CallScope::device() {
  if (this_thread.device != Thread::kOfOperands) return this_thread.device;
  const CallScope* call = this_thread.call;
  if (!call) return 0;
  for (size_t i = 0; i < call->count_; ++i) {
    const Operand& o = call->operands_[i];
    if (o.kind == Kind::Number) continue;
    if (o.kind == Kind::MaybeTensor && !*static_cast<const optional<Tensor>*>(o.data)) continue;
    const Tensor* x = o.kind == Kind::MaybeTensor ? &**static_cast<const optional<Tensor>*>(o.data) : static_cast<const Tensor*>(o.data);
    for (uint32_t k = 0; k < o.count; ++k) {
      if (x[k].defined() && !x[k].is_cpu()) return tag_of(x[k].device());
    }
  }
  return 0;
}

ir::DeviceTag call_device() { return runtime::only_host() ? runtime::kHostTag : CallScope::device(); }
NodeRef constant_node(ir::Constant value, std::span<const int64_t> shape) { return ir::make_const(value, shape, call_device()); }
NodeRef iota_node(std::span<const int64_t> shape, int64_t dim) { return ir::make_iota(shape, dim, call_device()); }

}  // namespace tenon
