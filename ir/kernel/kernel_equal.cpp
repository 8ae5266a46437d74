// Compares kernels field by field; indices are interned, so each is one comparison.
#include "ir/kernel/kernel_equal.h"

#include <algorithm>
#include <functional>

#include "ir/base/mix.h"

namespace tenon::ir {
namespace {

bool same(const Axis& a, const Axis& b) { return a.extent == b.extent && a.kind == b.kind; }
bool same(const KernelBuffer& a, const KernelBuffer& b) {
  return a.dtype == b.dtype && a.role == b.role && a.numel == b.numel && a.constant == b.constant && a.unaligned == b.unaligned;
}
bool same(const KernelScalar& a, const KernelScalar& b) { return a.dtype == b.dtype; }
bool same(const Guard& a, const Guard& b) { return a.value == b.value && a.lo == b.lo && a.hi == b.hi; }

template <typename List, typename Same>
bool all_same(const List& a, const List& b, Same same_element) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_element);
}

bool same(const Instr& a, const Instr& b) {
  return a.op == b.op && a.dtype == b.dtype && a.level == b.level && a.slot == b.slot && a.bits == b.bits &&
         a.scale == b.scale && a.tree == b.tree && a.index == b.index &&
         all_same(a.args, b.args, std::equal_to<Value>()) &&
         all_same(a.guards, b.guards, [](const Guard& x, const Guard& y) { return same(x, y); });
}

struct Hash {
  uint64_t value = 0;
  void add(uint64_t word) { value = mix(value, word); }
};

}  // namespace

bool same_work(const Kernel& a, const Kernel& b) {
  const auto elements = [](const auto& x, const auto& y) { return same(x, y); };
  return all_same(a.axes, b.axes, elements) && all_same(a.buffers, b.buffers, elements) &&
         all_same(a.scalars, b.scalars, elements) && all_same(a.instrs, b.instrs, elements);
}

uint64_t hash_of_work(const Kernel& kernel) {
  Hash hash;
  for (const Axis& a : kernel.axes) hash.add(static_cast<uint64_t>(a.extent) << 2 | static_cast<uint64_t>(a.kind));
  for (const KernelBuffer& b : kernel.buffers)
    hash.add(static_cast<uint64_t>(b.numel) << 9 | static_cast<uint64_t>(b.unaligned) << 8 | static_cast<uint64_t>(b.constant) << 7 | static_cast<uint64_t>(b.dtype) << 2 | static_cast<uint64_t>(b.role));
  for (const KernelScalar& s : kernel.scalars) hash.add(static_cast<uint64_t>(s.dtype));
  for (const Instr& in : kernel.instrs) {
    hash.add(static_cast<uint64_t>(in.op) << 40 | static_cast<uint64_t>(in.dtype) << 32 |
             static_cast<uint32_t>(in.slot));
    hash.add(in.bits);
    hash.add(in.index.hash());
    for (Value a : in.args) hash.add(static_cast<uint64_t>(a));
  }
  return hash.value;
}

uint64_t hash_of_form(const Kernel& kernel) {
  Hash hash;
  for (const Axis& a : kernel.axes) hash.add(static_cast<uint64_t>(a.kind));
  for (const KernelBuffer& b : kernel.buffers) hash.add(static_cast<uint64_t>(b.dtype) << 8 | static_cast<uint64_t>(b.role));
  for (const KernelScalar& s : kernel.scalars) hash.add(static_cast<uint64_t>(s.dtype));
  for (const Instr& in : kernel.instrs) {
    hash.add(static_cast<uint64_t>(in.op) << 40 | static_cast<uint64_t>(in.dtype) << 32 | static_cast<uint32_t>(in.slot));
    for (Value a : in.args) hash.add(static_cast<uint64_t>(a));
  }
  return hash.value;
}

}  // namespace tenon::ir
