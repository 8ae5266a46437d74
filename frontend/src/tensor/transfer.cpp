// Transfers to CUDA devices, and the bounds of the integers among them.
#include "frontend/src/tensor/transfer.h"

#include <algorithm>
#include <array>

#include "ir/base/of_thread.h"
#include "runtime/device/device.h"

namespace tenon {
namespace {

struct Bounds {
  std::weak_ptr<runtime::Buffer> buffer;
  uint64_t written = 0;  // the buffer's, at the transfer
  int64_t least = 0, greatest = 0;
};

// The last few of a thread: the indices and targets of the step at hand.
struct Recent {
  std::array<Bounds, 16> bounds;
  size_t next = 0;
};
template <typename T>
void note(const std::shared_ptr<runtime::Buffer>& buffer, const unsigned char* elements, int64_t count) {
  const auto* values = reinterpret_cast<const T*>(elements);
  const auto [least, greatest] = std::minmax_element(values, values + count);
  Recent* recent = ir::OfThread<Recent>::get();
  if (!recent) return;
  recent->bounds[recent->next] = {buffer, buffer->written, *least, *greatest};
  recent->next = (recent->next + 1) % recent->bounds.size();
}

}  // namespace

NodeRef transferred(const TensorImpl& t, ir::DeviceTag to, bool non_blocking) {
  if (t.device() != runtime::kHostTag || !device_with(to).is_cuda() || !t.contiguous() || t.numel() == 0) return {};
  const Op op = t.storage().value()->op();
  if (op == Op::Const || op == Op::Iota) return {};  // made there
  refuse_in_capture("a value of the host is copied to the device");
  const auto from = t.storage().realise();
  const size_t item = static_cast<size_t>(ir::item_size(t.dtype())), begin = at(t.offset()) * item;
  const auto* elements = static_cast<const unsigned char*>(from->data()) + begin;
  auto buffer = device_elements(elements, at(t.numel()) * item, to, non_blocking ? from : nullptr);
  if (t.dtype() == DType::I64) note<int64_t>(buffer, elements, t.numel());
  if (t.dtype() == DType::I32) note<int32_t>(buffer, elements, t.numel());
  return ir::make_input(t.dtype(), t.sizes(), std::move(buffer), to);
}

// A buffer that an evaluation took over, or that others may write, has a plan, a later number or is exposed.
std::optional<std::pair<int64_t, int64_t>> transferred_range(const ir::Node& node) {
  if (node.op() != Op::Input || node.device() == runtime::kHostTag) return std::nullopt;
  const auto buffer = runtime::buffer_of(node);
  if (!buffer || buffer->plan >= 0 || buffer->exposed) return std::nullopt;
  const uint64_t written = buffer->written;
  const Recent* recent = ir::OfThread<Recent>::get();
  if (!recent) return std::nullopt;
  for (const Bounds& b : recent->bounds) {
    if (b.written == written && b.buffer.lock() == buffer) return std::pair(b.least, b.greatest);
  }
  return std::nullopt;
}

}  // namespace tenon
