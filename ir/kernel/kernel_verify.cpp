// The rules of well-formed kernels. Takes a kernel; throws IrError naming the instruction and the rule
// broken.
#include <algorithm>
#include <unordered_set>

#include "ir/base/text.h"
#include "ir/kernel/kernel.h"
#include "ir/kernel/kernel_rules.h"

namespace tenon::ir {
namespace {

void check_name(const std::string& name, std::unordered_set<std::string>& taken) {
  bool plain = !name.empty() && !is_digit(name[0]) && name != "mod" && std::all_of(name.begin(), name.end(), is_name_char);
  if (!plain) throw IrError("\"" + name + "\" is no name");
  if (!taken.insert(name).second) throw IrError("the name " + name + " is taken");
}

class InstrChecker {
 public:
  InstrChecker(const Kernel& kernel, size_t at) : kernel_(kernel), at_(at), instr_(kernel.instrs[at]) {}

  void check() const {
    check_args();
    switch (instr_.op) {
      case Op::Load: return check_load();
      case Op::Store: return check_store();
      case Op::Const: return check_constant();
      case Op::Scalar: return check_scalar();
      case Op::IndexOf: return check_index_of();
      default: return check_value();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw IrError(std::string(info(instr_.op).text) + ": " + reason); }
  void require(bool holds, const char* reason) const {
    if (!holds) fail(reason);
  }
  const Instr& arg(size_t i) const { return kernel_.instr(instr_.args[i]); }

  // Operands come first, and those at another level are reached by a reduction only.
  void check_args() const {
    Level meets = Level::Row;
    for (size_t i = 0; i < instr_.args.size(); ++i) {
      bool earlier = instr_.args[i] >= 0 && static_cast<size_t>(instr_.args[i]) < at_;
      require(earlier && arg(i).op != Op::Store, "an operand is no earlier value");
      meets = join(meets, arg(i).level);
    }
    if (is_reduction(instr_.op)) {
      Level within = instr_.op == Op::Contract ? Level::Contract : Level::Full;
      require(instr_.level == Level::Row, "a reduction runs at row level");
      if (meets != Level::Row && meets != within) fail("reduces a " + std::string(name(meets)) + "-level value");
    } else {
      check_within(meets, "an operand");
    }
    if (is_scan(instr_.op)) {
      require(instr_.level == Level::Full && kernel_.has(AxisKind::Serial), "a scan runs along a serial axis");
    }
  }
  void check_within(Level level, const char* what) const {
    if (level == Level::Row || level == instr_.level) return;
    fail(std::string(what) + " at " + std::string(name(level)) + " level is used at " + std::string(name(instr_.level)) + " level");
  }

  void check_index(const Index& index) const {
    check_within(level_of(kernel_, index), "an index");
    index.substitute([&](int axis, int64_t extent) {
      require(kernel_.extent(axis) == extent, "an index has another extent for an axis");
      return Index::axis(axis, extent);
    });
  }
  bool runs() const {  // at least once
    for (const Axis& a : kernel_.axes) {
      const Level level = level_of(a.kind);
      if ((level == Level::Row || level == instr_.level) && a.extent == 0) return false;
    }
    return true;
  }
  void check_access() const {
    require(instr_.slot >= 0 && static_cast<size_t>(instr_.slot) < kernel_.buffers.size(), "there is no such buffer");
    const KernelBuffer& buffer = kernel_.buffer(instr_.slot);
    if (buffer.dtype != instr_.dtype) fail(buffer.name + " is " + std::string(name(buffer.dtype)));
    check_index(instr_.index);
    for (const Guard& g : instr_.guards) check_index(g.value);
    check_position();
    // What the guards let through, and where a computed position lies, is not seen by bounds.
    if (!instr_.guards.empty() || instr_.scale != 0 || !runs()) return;
    Bounds b = instr_.index.bounds();
    if (b.lo >= 0 && b.hi < buffer.numel) return;
    fail("the index runs over " + std::to_string(b.lo) + ".." + std::to_string(b.hi) + ", but " + buffer.name + " has " +
         std::to_string(buffer.numel) + " elements");
  }

  void check_position() const {
    if (instr_.scale == 0) return;
    require(!instr_.args.empty() && arg(instr_.args.size() - 1).dtype == DType::I64, "the position is not i64");
    require(instr_.level != Level::Contract, "a contraction reads at fixed places only");
  }
  size_t operands() const { return instr_.args.size() - (instr_.scale != 0 ? 1 : 0); }  // without the position

  void check_load() const {
    check_access();
    require(operands() == (instr_.guards.empty() ? 0 : 1), "guards and a value for elsewhere come together");
    require(operands() == 0 || arg(0).dtype == instr_.dtype, "the value for elsewhere has another dtype");
  }
  void check_store() const {
    require(operands() == 1, "takes one value");
    require(arg(0).dtype == instr_.dtype, "the value has another dtype");
    check_access();
    require(kernel_.buffer(instr_.slot).role != Role::In, "the buffer is an input");
    require(instr_.level != Level::Contract, "a contract-level value is for contractions only");
  }
  void check_constant() const {
    require(instr_.args.empty(), "takes no operand");
    int bits = 8 * item_size(instr_.dtype);
    require(bits == 64 || instr_.bits >> bits == 0, "more bits than the dtype has");
  }
  void check_scalar() const {
    require(instr_.args.empty(), "takes no operand");
    require(instr_.slot >= 0 && static_cast<size_t>(instr_.slot) < kernel_.scalars.size(), "there is no such scalar");
    require(kernel_.scalars[instr_.slot].dtype == instr_.dtype, "the scalar has another dtype");
  }
  void check_index_of() const {
    require(instr_.args.empty(), "takes no operand");
    require(instr_.dtype == DType::I64, "gives i64");
    check_index(instr_.index);
  }
  void check_value() const {
    SmallVector<DType, 3> dtypes;
    for (size_t i = 0; i < instr_.args.size(); ++i) dtypes.push_back(arg(i).dtype);
    DType result = kernel_result_type(instr_.op, dtypes, instr_.dtype);
    if (result != instr_.dtype) fail("gives " + std::string(name(result)) + ", not " + std::string(name(instr_.dtype)));
  }

  const Kernel& kernel_;
  size_t at_;
  const Instr& instr_;
};

}  // namespace

void check_parameters(const Signature& signature) {
  std::unordered_set<std::string> names;
  for (const KernelBuffer& b : signature.buffers) {
    check_name(b.name, names);
    if (b.numel < 0) throw IrError("buffer " + b.name + " has a negative size");
  }
  for (const KernelScalar& s : signature.scalars) check_name(s.name, names);
}

void check_header(const Kernel& kernel) {
  std::unordered_set<std::string> axes;
  bool after_parallel = false;
  int serial = 0, others = 0;  // beside the parallel axes
  for (const Axis& a : kernel.axes) {
    check_name(a.name, axes);
    if (a.extent < 0) throw IrError("axis " + a.name + " has a negative extent");
    if (a.kind == AxisKind::Parallel && after_parallel) throw IrError("axis " + a.name + ": parallel axes come first");
    after_parallel |= a.kind != AxisKind::Parallel;
    if (a.kind == AxisKind::Serial) ++serial;
    if (a.kind != AxisKind::Parallel) ++others;
  }
  for (Level level : {Level::Row, Level::Full, Level::Contract}) kernel.extent_of(level);
  if (serial > 0 && others > 1) throw IrError("a serial axis stands alone beside the parallel ones");
  check_parameters(kernel);
}

void check_instr(const Kernel& kernel, size_t at) { InstrChecker(kernel, at).check(); }

namespace {

// What is loaded from an inout buffer is what the same point stores later.
void check_updates(const Kernel& kernel) {
  for (size_t i = 0; i < kernel.instrs.size(); ++i) {
    const Instr& load = kernel.instrs[i];
    if (load.op != Op::Load || kernel.buffer(load.slot).role != Role::InOut) continue;
    bool same_place = false;
    for (size_t j = 0; j < kernel.instrs.size(); ++j) {
      const Instr& store = kernel.instrs[j];
      if (store.op != Op::Store || store.slot != load.slot) continue;
      same_place = j > i && store.index == load.index && store.level == load.level && load.guards.empty() && store.guards.empty() &&
                   store.scale == load.scale && store.position() == load.position();
      if (!same_place) break;
    }
    const std::string& buffer = kernel.buffer(load.slot).name;
    if (!same_place) throw IrError(buffer + " is loaded at another place than it is stored at later");
    if (kernel.has(AxisKind::Inner)) throw IrError(buffer + " is loaded beside a reduction");
  }
}

}  // namespace

void verify(const Kernel& kernel) {
  try {
    check_header(kernel);
  } catch (const IrError& error) {
    throw IrError("kernel @" + kernel.name + ": " + error.what());
  }
  for (size_t i = 0; i < kernel.instrs.size(); ++i) {
    try {
      check_instr(kernel, i);
    } catch (const IrError& error) {
      throw IrError("kernel @" + kernel.name + ", instruction " + std::to_string(i) + ": " + error.what());
    }
  }
  try {
    check_updates(kernel);
  } catch (const IrError& error) {
    throw IrError("kernel @" + kernel.name + ": " + error.what());
  }
}

}  // namespace tenon::ir
