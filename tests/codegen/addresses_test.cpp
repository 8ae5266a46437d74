// Loop trees run statement by statement, each address looked at: no load or store touches what is not in its buffer, in
// no lane, whether its mask is set there or not. The results are those of the kernel interpreter.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "codegen/interpreter/interpreter.h"
#include "ir/graph/graph.h"
#include "passes/fusion/fusion.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"

namespace tenon {
namespace {

using ir::DType;
using ir::Op;
using ir::Stmt;
using ir::StmtKind;
using ir::ValueId;
using Lanes = std::vector<uint64_t>;  // bits of an element each

class Machine {
 public:
  Machine(const passes::Lowered& lowered, const std::vector<int64_t>& counts, std::vector<uint64_t> scalars)
      : lowered_(lowered), tree_(lowered.tree), scalars_(std::move(scalars)) {
    size_t argument = 0;
    for (const ir::TreeBuffer& b : tree_.buffers) {
      const bool of_kernel = b.space == ir::Space::In || b.space == ir::Space::Out;
      const int64_t count = of_kernel           ? counts.at(argument++)
                            : b.size_param >= 0 ? lowered.sizes[static_cast<size_t>(b.size_param)]
                                                : b.count;
      memory.emplace_back(static_cast<size_t>(count));
    }
    values_.resize(tree_.values.size());
  }

  void run() {
    for (const ir::Phase& phase : tree_.phases) {
      for (int64_t i = 0; i < lowered_.sizes[static_cast<size_t>(phase.extent)]; ++i) {
        of(phase.index) = {static_cast<uint64_t>(i)};
        statements(phase.body);
      }
    }
  }

  std::vector<Lanes> memory;  // by buffer
  std::string first_fault;

 private:
  ir::VType type(ValueId v) const { return tree_.values[static_cast<size_t>(v)]; }
  Lanes& of(ValueId v) { return values_[static_cast<size_t>(v)]; }
  int64_t whole(ValueId v, size_t lane = 0) { return static_cast<int64_t>(of(v)[lane]); }

  void statements(const std::vector<Stmt>& list) {
    for (const Stmt& stmt : list) statement(stmt);
  }

  void statement(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::Size: of(s.result) = {static_cast<uint64_t>(lowered_.sizes[static_cast<size_t>(s.slot)])}; break;
      case StmtKind::Let: of(s.result) = let(s); break;
      case StmtKind::Load: load(s); break;
      case StmtKind::Store: store(s); break;
      case StmtKind::For:
        for (int64_t i = whole(s.args[0]); i < whole(s.args[1]); i += s.step) {
          of(s.result) = {static_cast<uint64_t>(i)};
          statements(s.body);
        }
        break;
      case StmtKind::If: statements(of(s.args[0])[0] ? s.body : s.orelse); break;
      case StmtKind::Var: of(s.result) = of(s.args[0]); break;
      case StmtKind::Set: of(s.args[0]) = of(s.args[1]); break;
      case StmtKind::CopyAsync:
      case StmtKind::Commit:
      case StmtKind::Wait:
      case StmtKind::LoadTile:
      case StmtKind::Mma:
      case StmtKind::Prefetch:
      case StmtKind::Barrier: break;
    }
  }

  Lanes let(const Stmt& s) {
    const ir::VType to = type(s.result);
    const auto lanes = static_cast<size_t>(to.lanes);
    Lanes result(lanes);
    for (size_t l = 0; l < lanes; ++l) {
      switch (s.op) {
        case Op::Const: result[l] = s.bits; break;
        case Op::Scalar: result[l] = scalars_[static_cast<size_t>(s.slot)]; break;
        case Op::Get: result[l] = of(s.args[0])[l]; break;
        case Op::Splat: result[l] = of(s.args[0])[0]; break;
        case Op::Ramp: result[l] = of(s.args[0])[0] + l * of(s.args[1])[0]; break;
        case Op::Quotient: result[l] = of(s.args[0])[l] / of(s.args[1])[l]; break;
        case Op::Low: result[l] = of(s.args[0])[l]; break;
        case Op::High: result[l] = of(s.args[0])[l + lanes]; break;
        case Op::Reverse: result[l] = of(s.args[0])[lanes - 1 - l]; break;
        case Op::Extract: result[l] = of(s.args[0])[of(s.args[1])[0]]; break;
        case Op::Deal: {  // every n-th element of n vectors one behind the other
          const size_t place = static_cast<size_t>(s.slot) + l * s.args.size();
          result[l] = of(s.args[place / lanes])[place % lanes];
          break;
        }
        case Op::Weave: {  // back
          const size_t place = static_cast<size_t>(s.slot) * lanes + l;
          result[l] = of(s.args[place % s.args.size()])[place / s.args.size()];
          break;
        }
        default: {
          std::vector<ir::Constant> args;
          for (ValueId a : s.args) args.push_back({type(a).dtype, of(a)[l]});
          result[l] = ir::evaluate(s.op, args, to.dtype).bits;
        }
      }
    }
    return result;
  }

  // The places of all lanes, after a look at them.
  std::vector<int64_t> places(const Stmt& s, size_t lanes) {
    const bool gathers = type(s.args[0]).lanes > 1;
    std::vector<int64_t> result;
    for (size_t l = 0; l < lanes; ++l) {
      result.push_back(gathers     ? whole(s.args[0], l)
                       : s.strided ? whole(s.args[0]) + static_cast<int64_t>(l) * whole(s.args[1])
                                   : whole(s.args[0]) + static_cast<int64_t>(l));
    }
    const auto count = static_cast<int64_t>(memory[static_cast<size_t>(s.buffer)].size());
    const auto inside = [&](size_t l) { return result[l] >= 0 && result[l] < count; };
    for (size_t l = 0; l < lanes; ++l) {
      // Neighbours are one access, so a lane that is masked counts too; but the last vector of all may hang over the end
      // of the buffer, by less than itself.
      const bool together = lanes > 1 && !gathers && !s.strided;
      const bool at_the_end = s.mask >= 0 && live(s, 0) && inside(0);
      if (inside(l) || (together ? !live(s, l) && at_the_end : !live(s, l))) continue;
      if (first_fault.empty())
        first_fault = tree_.buffers[static_cast<size_t>(s.buffer)].name + "[" + std::to_string(result[l]) + "] of " +
                      std::to_string(count) + " in lane " + std::to_string(l) + (live(s, l) ? "" : ", masked");
    }
    return result;
  }

  bool live(const Stmt& s, size_t lane) { return s.mask < 0 || of(s.mask)[lane] != 0; }

  void load(const Stmt& s) {
    const auto lanes = static_cast<size_t>(type(s.result).lanes);
    const std::vector<int64_t> at = places(s, lanes);
    const Lanes& buffer = memory[static_cast<size_t>(s.buffer)];
    Lanes loaded(lanes, 0);
    for (size_t l = 0; l < lanes; ++l) {
      if (live(s, l) && static_cast<uint64_t>(at[l]) < buffer.size()) loaded[l] = buffer[static_cast<size_t>(at[l])];
    }
    of(s.result) = std::move(loaded);
  }

  void store(const Stmt& s) {
    const Lanes& value = of(s.args.back());
    const std::vector<int64_t> at = places(s, value.size());
    Lanes& buffer = memory[static_cast<size_t>(s.buffer)];
    for (size_t l = 0; l < value.size(); ++l) {
      if (live(s, l) && static_cast<uint64_t>(at[l]) < buffer.size()) buffer[static_cast<size_t>(at[l])] = value[l];
    }
  }

  const passes::Lowered& lowered_;
  const ir::LoopTree& tree_;
  std::vector<uint64_t> scalars_;
  std::vector<Lanes> values_;
};

// Every kernel of the graph under every vector width.
void check(const std::string& text) {
  CAPTURE(text);
  const ir::Graph graph = ir::parse_graph(text);
  std::mt19937 random(7);
  std::map<const ir::Node*, codegen::HostTensor> tensors;
  for (const ir::NodeRef& input : graph.inputs) {
    codegen::HostTensor t = codegen::HostTensor::zeros(input->dtype(), input->shape());
    for (int64_t e = 0; e < t.numel(); ++e) t.set(e, ir::constant(input->dtype(), static_cast<int64_t>(random() % 5)));
    tensors[input.get()] = std::move(t);
  }
  for (const passes::FusedKernel& fused : passes::fuse(graph.outputs).kernels) {
    REQUIRE(!fused.call());
    const ir::Kernel kernel = passes::run_kernel_passes(fused.kernel());
    std::vector<int64_t> counts;
    std::vector<void*> buffers;
    for (const ir::Node* node : fused.inputs) buffers.push_back(tensors.at(node).data.data());
    for (const ir::Node* node : fused.outputs) {
      tensors[node] = codegen::HostTensor::zeros(node->dtype(), node->shape());
      buffers.push_back(tensors[node].data.data());
    }
    for (const ir::KernelBuffer& b : kernel.buffers) counts.push_back(b.numel);
    std::vector<uint64_t> scalars;
    for (const ir::Node* node : fused.scalars) scalars.push_back(node->bits());
    codegen::interpret(kernel, buffers.data(), scalars.data());
    for (int bits : {128, 256, 512}) {
      CAPTURE(bits);
      const passes::Lowered lowered = passes::lower(kernel, ir::CpuTarget{bits});
      ir::verify(lowered.tree);
      Machine machine(lowered, counts, scalars);
      for (size_t i = 0; i < fused.inputs.size(); ++i) {
        const codegen::HostTensor& t = tensors.at(fused.inputs[i]);
        for (size_t e = 0; e < machine.memory[i].size(); ++e) machine.memory[i][e] = t.get(static_cast<int64_t>(e)).bits;
      }
      machine.run();
      CHECK(machine.first_fault == "");
      for (size_t k = 0; k < fused.outputs.size(); ++k) {
        const codegen::HostTensor& t = tensors.at(fused.outputs[k]);
        bool same = true;
        for (int64_t e = 0; e < t.numel(); ++e)
          same = same && machine.memory[fused.inputs.size() + k][static_cast<size_t>(e)] == t.get(e).bits;
        CHECK(same);
      }
    }
  }
}

}  // namespace

TEST_CASE("no lane of a guarded load leaves its buffer: cats that their readers take in") {
  for (int width : {1, 3, 5, 16, 17, 40, 100}) {
    for (const char* dtype : {"f32", "u8", "f64"}) {
      const std::string t = dtype, w = std::to_string(width), both = std::to_string(2 * width);
      check("graph @g(%x: " + t + "[3," + w + "], %y: " + t + "[3," + w + "]) {\n  %0 = cat %x, %y dim=1 : " + t + "[3," + both +
            "]\n  %1 = mul %0, %0 : " + t + "[3," + both + "]\n  return %1\n}");
      check("graph @g(%x: " + t + "[3," + w + "], %y: " + t + "[4," + w + "]) {\n  %0 = cat %x, %y dim=0 : " + t + "[7," + w +
            "]\n  %1 = mul %0, %0 : " + t + "[7," + w + "]\n  return %1\n}");
      check("graph @g(%x: " + t + "[2," + w + "], %y: " + t + "[2," + w + "]) {\n  %0 = cat %x, %y, %x dim=1 : " + t + "[2," +
            std::to_string(3 * width) + "]\n  %1 = flip %0 dims=[0,1] : " + t + "[2," + std::to_string(3 * width) +
            "]\n  %2 = reduce.max %1 dims=[1] : " + t + "[2,1]\n  return %2\n}");
    }
  }
}

TEST_CASE("no lane of a guarded load leaves its buffer: pads and windows over them") {
  for (int width : {1, 3, 15, 16, 33, 70}) {
    const std::string w = std::to_string(width), padded = std::to_string(width + 4);
    check("graph @p(%x: f32[3," + w + "]) {\n  %c = const 0.0 : f32[]\n  %0 = pad %x, %c lo=[1,1] hi=[2,3] : f32[6," + padded +
          "]\n  return %0\n}");
    check("graph @w(%x: f32[3," + w + "]) {\n  %c = const 0.0 : f32[]\n  %0 = pad %x, %c lo=[1,2] hi=[1,2] : f32[5," + padded +
          "]\n  %1 = strided %0 sizes=[3,5,3," + w + "] strides=[" + padded + ",1," + padded + ",1] offset=0 : f32[3,5,3," + w +
          "]\n  %2 = reduce.sum %1 dims=[0,1] : f32[1,1,3," + w + "]\n  return %2\n}");
    check("graph @s(%x: f32[3," + w + "]) {\n  %c = const 1.5 : f32[]\n  %0 = pad %x, %c lo=[0,3] hi=[0,1] : f32[3," + padded +
          "]\n  %1 = scan.sum %0 dim=1 : f32[3," + padded + "]\n  return %1\n}");
  }
}

}  // namespace tenon
