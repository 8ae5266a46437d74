// A loop tree's code as bytes: keys of compiled code are made of them.
#include "ir/looptree/looptree.h"

namespace tenon::ir {
namespace {

class Writer {
 public:
  std::string take() { return std::move(out_); }

  // Seven bits a byte, the lowest first, the eighth says that more follow; of a signed number its sign first.
  template <typename... T>
  void add(T... numbers) {
    (add_number(static_cast<int64_t>(numbers)), ...);
  }
  void add(const std::vector<Stmt>& block) {
    add(block.size());
    for (const Stmt& s : block) {
      add(s.kind, s.op, s.strided | s.unroll << 1 | s.transposed << 2 | s.fast << 3, s.buffer, s.slot, s.result, s.mask, s.step, s.bits);
      add(s.args.size());
      for (const ValueId argument : s.args) add(argument);
      add(s.body);
      add(s.orelse);
    }
  }

 private:
  void add_number(int64_t number) {
    uint64_t rest = static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
    for (; rest >= 0x80; rest >>= 7) out_.push_back(static_cast<char>(rest | 0x80));
    out_.push_back(static_cast<char>(rest));
  }

  std::string out_;
};

}  // namespace

std::string code_bytes(const LoopTree& tree) {
  Writer w;
  w.add(tree.target, tree.lanes, tree.threads, tree.resident, tree.index_type, tree.size_count);
  w.add(tree.buffers.size(), tree.scalars.size(), tree.values.size(), tree.phases.size());
  for (const TreeBuffer& b : tree.buffers) w.add(b.dtype, b.space, b.size_param, b.count, b.aliased, b.stages);
  for (const DType type : tree.scalars) w.add(type);
  for (const VType& type : tree.values) w.add(type.dtype, type.lanes);
  for (const Phase& phase : tree.phases) {
    w.add(phase.index, phase.extent);
    w.add(phase.body);
  }
  return w.take();
}
bool same_code(const LoopTree& a, const LoopTree& b) { return code_bytes(a) == code_bytes(b); }

}  // namespace tenon::ir
