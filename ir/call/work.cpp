// Compares kernels and calls field by field; indices are interned, so each is one comparison.
#include "ir/call/work.h"

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
  return a.op == b.op && a.dtype == b.dtype && a.level == b.level && a.slot == b.slot && a.bits == b.bits && a.scale == b.scale &&
         a.tree == b.tree && a.index == b.index && all_same(a.args, b.args, std::equal_to<Value>()) &&
         all_same(a.guards, b.guards, [](const Guard& x, const Guard& y) { return same(x, y); });
}

bool same_parameters(const Signature& a, const Signature& b) {
  const auto elements = [](const auto& x, const auto& y) { return same(x, y); };
  return all_same(a.buffers, b.buffers, elements) && all_same(a.scalars, b.scalars, elements);
}

bool same_type(const Node& a, const Node& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); }

bool same(const Kernel& a, const Kernel& b) {
  const auto elements = [](const auto& x, const auto& y) { return same(x, y); };
  return same_parameters(a, b) && all_same(a.axes, b.axes, elements) && all_same(a.instrs, b.instrs, elements);
}

bool same(const Call& a, const Call& b) {
  const auto same_result = [](const NodeRef& x, const NodeRef& y) {
    return x->op() == y->op() && same_type(*x, *y) && x->ints() == y->ints();
  };
  return same_parameters(a, b) && a.operands == b.operands && a.stored == b.stored && all_same(a.results, b.results, same_result) &&
         all_same(a.node().inputs(), b.node().inputs(), [](const Node* x, const Node* y) { return same_type(*x, *y); });
}

struct Hash {
  uint64_t value = 0;
  void add(uint64_t word) { value = mix(value, word); }
};

// With lengths and places, or without.
void add(Hash& hash, const Signature& signature, bool whole) {
  for (const KernelBuffer& b : signature.buffers) {
    hash.add(static_cast<uint64_t>(b.dtype) << 8 | static_cast<uint64_t>(b.role));
    if (whole) hash.add(static_cast<uint64_t>(b.numel) << 2 | static_cast<uint64_t>(b.unaligned) << 1 | static_cast<uint64_t>(b.constant));
  }
  for (const KernelScalar& s : signature.scalars) hash.add(static_cast<uint64_t>(s.dtype));
}

void add(Hash& hash, const Kernel& kernel, bool whole) {
  for (const Axis& a : kernel.axes) hash.add((whole ? static_cast<uint64_t>(a.extent) << 2 : 0) | static_cast<uint64_t>(a.kind));
  for (const Instr& in : kernel.instrs) {
    hash.add(static_cast<uint64_t>(in.op) << 40 | static_cast<uint64_t>(in.dtype) << 32 | static_cast<uint32_t>(in.slot));
    if (whole) hash.add(in.bits);
    if (whole) hash.add(in.index.hash());
    for (Value a : in.args) hash.add(static_cast<uint64_t>(a));
  }
}

void add(Hash& hash, const Call& call, bool whole) {
  for (const NodeRef& result : call.results) {
    hash.add(static_cast<uint64_t>(result->op()));
    for (const int64_t n : result->ints()) hash.add(whole ? static_cast<uint64_t>(n) : 0);
  }
  for (const std::vector<View>* views : {&call.operands, &call.stored}) {
    for (const View& view : *views) hash.add(whole ? static_cast<uint64_t>(view.offset) : 0);
  }
}

uint64_t hash_of(const Work& work, bool whole) {
  Hash hash;
  add(hash, signature(work), whole);
  std::visit([&](const auto& of) { add(hash, of, whole); }, work);
  return hash.value;
}

}  // namespace

const Signature& signature(const Work& work) {
  return std::visit([](const auto& of) -> const Signature& { return of; }, work);
}
Signature& signature(Work& work) {
  return std::visit([](auto& of) -> Signature& { return of; }, work);
}

std::string print(const Work& work) {
  return std::visit([](const auto& of) { return print(of); }, work);
}
void verify(const Work& work) {
  std::visit([](const auto& of) { verify(of); }, work);
}

bool same_work(const Work& a, const Work& b) {
  return std::visit(
      [](const auto& x, const auto& y) {
        if constexpr (std::is_same_v<decltype(x), decltype(y)>) return same(x, y);
        else return false;
      },
      a, b);
}

uint64_t hash_of_work(const Work& work) { return hash_of(work, true); }
uint64_t hash_of_form(const Work& work) { return hash_of(work, false); }

}  // namespace tenon::ir
