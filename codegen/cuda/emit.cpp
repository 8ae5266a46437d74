// Loop tree -> CUDA C text: one function a phase, one line a statement, nothing decided here.
//
//   for %12 in %c0..%c4 step 1 unroll {          TENON_UNROLL for (int i12 = 0; i12 < 4; ++i12) {
//     %13 = add %9, %12 : i32                      const int v13 = v9 + i12;
//     %14 = load x[%13] : f32               ->     const float v14 = x[v13];
//     %15 = max %14, %c5 : f32                     const float v15 = tenon_max_f32(v14, 0.0f);
//     store y[%13], %15                            y[v13] = v15;
//   }                                            }
//
// A phase's parameters are the In, Out and Global buffers, the sizes and the scalars, each in the tree's
// order. Sizes have the tree's index type; since parameters are passed by address and the host is
// little-endian, a launcher may point each at its 64-bit value. Behind scalars stands `numbers`: null, or where on the device a word for
// each of them lies that is read in its place. So a launch that is recorded can have other scalars without being changed.
#include "codegen/cuda/emit.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ir/base/text.h"
#include "passes/schedule/branches.h"

namespace tenon::codegen::cuda {

using ir::DType;
using ir::Op;
using ir::Space;
using ir::Stmt;
using ir::StmtKind;
using ir::ValueId;

namespace {

[[noreturn]] void fail(const std::string& reason) { throw ir::IrError("cuda: " + reason); }

constexpr int kVector = 4;  // lanes of the prelude's vectors in memory

// How a value of each element type is written: in a register, in memory, and in the names of prelude
// functions.
std::string register_type(DType t) {
  constexpr const char* names[ir::kDTypeCount] = {"tenon_bool", "unsigned char",  "signed char",    "short", "int",
                                                  "long long",  "unsigned short", "unsigned short", "float", "double"};
  return names[static_cast<int>(t)];
}
std::string memory_type(DType t) { return t == DType::Bool ? "unsigned char" : register_type(t); }
std::string suffix(DType t) { return ir::is_half(t) ? "u16" : std::string(ir::name(t)); }
std::string vector_name(DType t) { return (t == DType::Bool ? "u8" : suffix(t)) + "x4"; }
bool is_tile(ir::VType t) { return t.lanes == ir::kTileLanes && (t.dtype == DType::F32 || ir::is_half(t.dtype)); }

std::string identifier(std::string_view text) {
  std::string result;
  for (char c : text) result += ir::is_letter(c) || ir::is_digit(c) ? c : '_';
  if (result.empty() || ir::is_digit(result[0])) result = "_" + result;
  return result;
}

std::string hex(uint64_t bits) {
  char text[24];
  return "0x" + std::string(text, std::to_chars(text, text + sizeof text, bits, 16).ptr);
}

// A float's exact value: in decimals where a few say it exactly, else as a hexadecimal float; nan and inf by
// bits.
std::string float_literal(double value, DType type, uint64_t bits) {
  const bool single = type == DType::F32;
  if (!std::isfinite(value)) {
    return "tenon_" + std::string(ir::name(type)) + "_from_bits(" + hex(bits) + (single ? "u)" : "ull)");
  }
  char text[64];
  std::string literal(text, std::to_chars(text, text + sizeof text, value).ptr);
  const bool eighths = value * 8 == std::trunc(value * 8) && std::fabs(value) < 1e6;
  if (!eighths) {
    literal = std::string(text, std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::hex).ptr);
    literal = (std::signbit(value) ? "-0x" : "0x") + literal;
  } else if (literal.find('.') == std::string::npos) {
    literal += ".0";
  }
  if (single) literal += "f";
  return literal[0] == '-' ? "(" + literal + ")" : literal;
}

std::string literal(ir::Constant c) {
  if (ir::is_half(c.dtype)) return "(unsigned short)" + hex(c.bits);
  if (ir::is_float(c.dtype)) return float_literal(ir::to_double(c), c.dtype, c.bits);
  const int64_t value = ir::to_int64(c);
  const std::string ending = c.dtype == DType::I64 ? "LL" : "";
  const bool least = value == INT64_MIN || (c.dtype == DType::I32 && value == INT32_MIN);
  if (least) return "(" + std::to_string(value + 1) + ending + " - 1)";
  return value < 0 ? "(" + std::to_string(value) + ending + ")" : std::to_string(value) + ending;
}

// --- operations, of operands as text

std::string symbol(Op op) {
  switch (op) {
    case Op::Add: return "+";
    case Op::Sub: return "-";
    case Op::Mul: return "*";
    case Op::Div:
    case Op::Quotient: return "/";
    case Op::Rem: return "%";
    case Op::And: return "&";
    case Op::Or: return "|";
    case Op::Xor: return "^";
    case Op::Eq: return "==";
    case Op::Ne: return "!=";
    case Op::Lt: return "<";
    case Op::Le: return "<=";
    case Op::Gt: return ">";
    case Op::Ge: return ">=";
    default: fail("no operator for " + std::string(ir::info(op).text));
  }
}

std::string boolean(Op op, const std::vector<std::string>& x) {
  switch (op) {
    case Op::Not: return "!" + x[0];
    case Op::Max: return x[0] + " | " + x[1];
    case Op::Min: return x[0] + " & " + x[1];
    default: return x[0] + " " + symbol(op) + " " + x[1];
  }
}

std::string call(const std::string& function, const std::vector<std::string>& x) {
  std::string text = function + "(";
  for (size_t i = 0; i < x.size(); ++i) text += (i ? ", " : "") + x[i];
  return text + ")";
}

std::string floating(Op op, DType type, const std::vector<std::string>& x) {
  const auto c_function = [&](const std::string& name) { return call(type == DType::F32 ? name + "f" : name, x); };
  switch (op) {
    case Op::Neg: return call("tenon_neg_" + suffix(type), x);
    case Op::Abs: return c_function("fabs");
    case Op::Floor: return c_function("floor");
    case Op::Ceil: return c_function("ceil");
    case Op::Trunc: return c_function("trunc");
    case Op::Round: return c_function("rint");
    case Op::Sqrt: return c_function("sqrt");
    case Op::Fma: return c_function("fma");
    case Op::Max: return call("tenon_max_" + suffix(type), x);
    case Op::Min: return call("tenon_min_" + suffix(type), x);
    case Op::Rem: fail("rem on floats: expand-math comes first");
    default: return x[0] + " " + symbol(op) + " " + x[1];
  }
}

std::string choice(const std::vector<std::string>& x) { return " ? " + x[0] + " : " + x[1]; }

std::string integer(Op op, DType type, const std::vector<std::string>& x) {
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Rem:
    case Op::Gcd:
    case Op::MulHi:
    case Op::Shl:
    case Op::Shr: return call("tenon_" + std::string(ir::info(op).text) + "_" + suffix(type), x);
    case Op::Not: return "(" + register_type(type) + ")~" + x[0];
    case Op::Max: return x[0] + " > " + x[1] + choice(x);
    case Op::Min: return x[0] + " < " + x[1] + choice(x);
    default: return "(" + register_type(type) + ")(" + x[0] + " " + symbol(op) + " " + x[1] + ")";
  }
}

// `type`: of the last operand.
std::string elementwise(Op op, DType type, const std::vector<std::string>& x) {
  if (op == Op::Where) return x[0] + " ? " + x[1] + " : " + x[2];
  if (op == Op::Check) {
    if (type != DType::I64) fail("an index that is checked is an i64");
    return call("tenon_check", x);
  }
  if (ir::is_half(type)) fail("arithmetic on 16-bit floats: expand-half comes first");
  if (ir::info(op).rule == ir::TypeRule::Compare) return x[0] + " " + symbol(op) + " " + x[1];
  if (type == DType::Bool) return boolean(op, x);
  return ir::is_float(type) ? floating(op, type, x) : integer(op, type, x);
}

std::string cast(std::string x, DType from, DType to) {
  if (from == to) return x;
  if (ir::is_half(from)) {
    x = "tenon_" + std::string(ir::name(from)) + "_to_f32(" + x + ")";
    return from == to || to == DType::F32 ? x : cast(x, DType::F32, to);
  }
  if (to == DType::Bool) return x + " != 0";
  if (ir::is_half(to)) {
    const std::string single = from == DType::F32 ? x : "(float)" + x;
    return "tenon_f32_to_" + std::string(ir::name(to)) + "(" + single + ")";
  }
  if (!ir::is_float(from) || ir::is_float(to)) return "(" + register_type(to) + ")" + x;
  const std::string function = "tenon_" + std::string(ir::name(from)) + (to == DType::I64 ? "_to_i64(" : "_to_i32(");
  const std::string whole = function + x + ")";
  return to == DType::I64 || to == DType::I32 ? whole : "(" + register_type(to) + ")" + whole;
}

std::string cast_tile(const std::string& x, DType from, DType to) {
  if (from != DType::F32 || !ir::is_half(to)) fail("tiles are cast from f32 to 16-bit floats");
  return "tenon_tile_to_" + std::string(ir::name(to)) + "(" + x + ")";
}

std::string bitcast(const std::string& x, DType from, DType to) {
  if (to == DType::F32 || to == DType::F64) {
    if (from == to) return x;
    return "tenon_" + std::string(ir::name(to)) + (to == DType::F32 ? "_from_bits((unsigned)" : "_from_bits((unsigned long long)") + x +
           ")";
  }
  if (from == DType::F32 || from == DType::F64) {
    return "(" + register_type(to) + ")tenon_" + std::string(ir::name(from)) + "_bits(" + x + ")";
  }
  return "(" + register_type(to) + ")" + x;
}

// --- memory

void mark_used(const std::vector<Stmt>& stmts, std::set<int32_t>& used) {
  for (const Stmt& stmt : stmts) {
    if (stmt.buffer >= 0) used.insert(stmt.buffer);
    if (stmt.kind == StmtKind::CopyAsync) used.insert(stmt.slot);
    mark_used(stmt.body, used);
    mark_used(stmt.orelse, used);
  }
}

int64_t shared_bytes(const ir::TreeBuffer& buffer) {
  constexpr int64_t kAlignment = 16;
  return (buffer.count * ir::item_size(buffer.dtype) + kAlignment - 1) / kAlignment * kAlignment;
}

// 0 if the text may declare what a phase that uses these buffers needs.
int64_t dynamic_shared_bytes(const ir::LoopTree& tree, const std::set<int32_t>& used) {
  int64_t bytes = 0;
  for (int32_t i : used) bytes += tree.buffers[i].space == Space::Shared ? shared_bytes(tree.buffers[i]) : 0;
  return bytes > ir::kStaticSharedBytes ? bytes : 0;
}

class PhasePrinter {
 public:
  PhasePrinter(const ir::LoopTree& tree, const std::vector<std::string>& buffers)
      : tree_(tree), buffers_(buffers), names_(tree.values.size()), index_(ir::index_values(tree)), unrolled_(tree.values.size(), false) {}

  std::string run(const ir::Phase& phase) {
    mark_used(phase.body, used_);
    signature(phase);
    read_numbers();
    declare_memory();
    define(phase.index, "(" + register_type(tree_.index_type) + ")TENON_BLOCK");
    block(phase.body);
    return out_ + "}\n";
  }

 private:
  DType dtype(ValueId v) const { return tree_.values[v].dtype; }
  int lanes(ValueId v) const { return tree_.values[v].lanes; }
  const std::string& name(ValueId v) const { return names_[v]; }
  const ir::TreeBuffer& buffer(int32_t i) const { return tree_.buffers[i]; }

  void line(const std::string& text) { out_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n"; }

  const std::string& fresh(ValueId v, const char* prefix) { return names_[v] = prefix + std::to_string(next_++); }

  std::string type_name(ValueId v) const {
    if (lanes(v) == 1) return register_type(dtype(v));
    return "tenon_" + (is_tile(tree_.values[v]) ? suffix(dtype(v)) + "x8" : vector_name(dtype(v)));
  }

  void define(ValueId v, const std::string& text) {
    const std::string type = type_name(v);
    line("const " + type + " " + fresh(v, "v") + " = " + text + ";");
  }

  void signature(const ir::Phase& phase) {
    std::vector<std::string> parameters;
    for (size_t i = 0; i < tree_.buffers.size(); ++i) {
      const ir::TreeBuffer& b = tree_.buffers[i];
      if (b.space == Space::Local || b.space == Space::Shared) continue;
      parameters.push_back((b.space == Space::In ? "const " : "") + memory_type(b.dtype) + (b.aliased ? "* " : "* TENON_RESTRICT ") +
                           buffers_[i]);
    }
    for (int32_t i = 0; i < tree_.size_count; ++i) {
      parameters.push_back(register_type(tree_.index_type) + " s" + std::to_string(i));
    }
    for (size_t i = 0; i < tree_.scalars.size(); ++i) {
      parameters.push_back(register_type(tree_.scalars[i]) + " a" + std::to_string(i));
    }
    if (!tree_.scalars.empty()) parameters.push_back("const unsigned long long* TENON_RESTRICT numbers");
    out_ += "// kernel " + tree_.name + ", phase " + phase.name + ": s" + std::to_string(phase.extent) + " blocks of " +
            std::to_string(tree_.threads) + " threads\n";
    std::string text = "TENON_KERNEL void TENON_LAUNCH(" + std::to_string(tree_.threads) + ", " + std::to_string(tree_.resident) + ") " +
                       function_name(tree_.name, phase) + "(";
    for (size_t i = 0; i < parameters.size(); ++i) text += (i ? ", " : "") + parameters[i];
    out_ += text + ") {\n";
  }

  void read_numbers() {
    if (tree_.scalars.empty()) return;
    line("if (numbers) {");
    for (size_t i = 0; i < tree_.scalars.size(); ++i) {
      const std::string number = std::to_string(i);
      line("  a" + number + " = *(const " + register_type(tree_.scalars[i]) + "*)(numbers + " + number + ");");
    }
    line("}");
  }

  void declare_memory() {
    const std::string shared = dynamic_shared_bytes(tree_, used_) > 0 ? "TENON_DYNAMIC_SHARED(" : "TENON_SHARED(";
    int64_t offset = 0;
    for (int32_t i : used_) {
      const ir::TreeBuffer& b = buffer(i);
      const std::string name = buffers_[i], type = memory_type(b.dtype);
      if (b.space != Space::Local && b.space != Space::Shared) continue;
      if (b.size_param >= 0) fail("'" + b.name + "' must have a constant size");
      if (b.space == Space::Local) {
        line(type + " " + name + "[" + std::to_string(b.count) + "];");
        continue;
      }
      line(shared + type + ", " + name + ", " + std::to_string(b.count) + ", " + std::to_string(offset) + ");");
      offset += shared_bytes(b);
    }
  }

  void block(const std::vector<Stmt>& stmts) {
    for (const Stmt& stmt : stmts) statement(stmt);
  }

  void nested(const std::vector<Stmt>& stmts) {
    ++indent_;
    block(stmts);
    --indent_;
  }

  void statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::Let: return let(stmt);
      case StmtKind::Size: names_[stmt.result] = "s" + std::to_string(stmt.slot); return;
      case StmtKind::Load: return load(stmt);
      case StmtKind::LoadTile:
        return define(stmt.result,
                      call(stmt.transposed ? "tenon_load_turned_tile" : "tenon_load_tile", {place(stmt.buffer, stmt.args[0])}));
      case StmtKind::Mma: {
        const std::string function = "tenon_mma_" + std::string(ir::name(dtype(stmt.args[0])));
        return define(stmt.result, call(function, {name(stmt.args[0]), name(stmt.args[1]), name(stmt.args[2])}));
      }
      case StmtKind::Store: return store(stmt);
      case StmtKind::CopyAsync: {
        const std::string places = place(stmt.buffer, stmt.args[0]) + ", " + place(stmt.slot, stmt.args[1]);
        return line("tenon_copy_async(" + places + ", " + (stmt.mask < 0 ? "1" : name(stmt.mask)) + ");");
      }
      case StmtKind::Commit: return line("TENON_COMMIT();");
      case StmtKind::Wait: return line("TENON_WAIT(" + std::to_string(stmt.slot) + ");");
      case StmtKind::For: return loop(stmt);
      case StmtKind::If:
        line("if (" + name(stmt.args[0]) + ") {");
        nested(stmt.body);
        if (!stmt.orelse.empty()) {
          line("} else {");
          nested(stmt.orelse);
        }
        return line("}");
      case StmtKind::Var: {
        const std::string init = name(stmt.args[0]), type = type_name(stmt.result);
        return line(type + " " + fresh(stmt.result, "r") + " = " + init + ";");
      }
      case StmtKind::Set: return line(name(stmt.args[0]) + " = " + name(stmt.args[1]) + ";");
      case StmtKind::Prefetch: throw ir::IrError("a prefetch has no meaning on a GPU");
      case StmtKind::Barrier: return line("TENON_BARRIER();");
    }
  }

  // Arithmetic is on single elements: a schedule writes a loop over lanes.
  DType scalar(ValueId v) const {
    if (lanes(v) != 1) fail("arithmetic on vectors");
    return dtype(v);
  }

  void loop(const Stmt& stmt) {
    const std::string begin = name(stmt.args[0]), end = name(stmt.args[1]);
    const std::string i = fresh(stmt.result, "i");
    const std::string step = stmt.step == 1 ? "++" + i : i + " += " + std::to_string(stmt.step);
    if (stmt.unroll) line("TENON_UNROLL");
    unrolled_[stmt.result] = stmt.unroll && unrolled_[stmt.args[0]] && unrolled_[stmt.args[1]];
    line("for (" + register_type(dtype(stmt.result)) + " " + i + " = " + begin + "; " + i + " < " + end + "; " + step + ") {");
    nested(stmt.body);
    line("}");
  }

  // --- memory

  // What unrolled loops know is added to the address, last, where an instruction has room for it: NVRTC adds indices in 32 bits, which may
  // wrap as far as it knows, and so would compute each place anew.
  std::string place(int32_t buffer, ValueId index) const {
    const auto found = behind_.find(index);
    if (found == behind_.end()) return "&" + buffers_[buffer] + "[" + name(index) + "]";
    return "&" + buffers_[buffer] + "[" + name(found->second.first) + "] + " + name(found->second.second);
  }

  std::string element(const Stmt& stmt) const {
    const ValueId index = stmt.args[0];
    if (lanes(index) != 1 || (stmt.strided && lanes_of(stmt) != 1)) fail("a gather of several lanes");
    const auto found = behind_.find(index);
    if (found == behind_.end() || buffer(stmt.buffer).space == Space::Local) return buffers_[stmt.buffer] + "[" + name(index) + "]";
    return "(" + buffers_[stmt.buffer] + " + " + name(found->second.first) + ")[" + name(found->second.second) + "]";
  }

  int lanes_of(const Stmt& stmt) const { return lanes(stmt.kind == StmtKind::Load ? stmt.result : stmt.args.back()); }

  void load(const Stmt& stmt) {
    const DType type = dtype(stmt.result);
    const std::string place = element(stmt);
    if (lanes(stmt.result) == 1) {
      const std::string value = type == DType::Bool ? place + " != 0" : place;
      if (stmt.mask < 0) return define(stmt.result, value);
      return define(stmt.result, name(stmt.mask) + " ? " + value + " : " + literal({type, 0}));
    }
    // Registers have no alignment: a vector is packed from them element by element.
    const bool local = buffer(stmt.buffer).space == Space::Local;
    define(stmt.result, (local ? "tenon_pack_" : "tenon_load_") + vector_of(stmt) + "(&" + place + ")");
  }

  void store(const Stmt& stmt) {
    const ValueId value = stmt.args.back();
    if (lanes(value) == 1) {
      const std::string text = element(stmt) + " = " + name(value) + ";";
      return line(stmt.mask < 0 ? text : "if (" + name(stmt.mask) + ") " + text);
    }
    const bool unpacks = buffer(stmt.buffer).space == Space::Local && lanes(value) != kVector;
    line((unpacks ? "tenon_unpack_" : "tenon_store_") + vector_of(stmt) + "(&" + element(stmt) + ", " + name(value) + ");");
  }

  // The prelude's name of a vector that is loaded or stored.
  std::string vector_of(const Stmt& stmt) const {
    if (stmt.mask >= 0 || stmt.strided) fail("vectors in memory have neither mask nor stride");
    const ir::TreeBuffer& b = buffer(stmt.buffer);
    if (lanes_of(stmt) == kVector) return vector_name(b.dtype);
    const bool moves = lanes_of(stmt) == ir::kTileLanes && (ir::is_half(b.dtype) ? b.space != Space::Local || stmt.kind == StmtKind::Load
                                                                                 : b.space == Space::Local && b.dtype == DType::F32);
    if (!moves) fail("vectors have four lanes; eight, if they are 16-bit floats, or f32 in registers");
    return suffix(b.dtype) + "x8";
  }

  // --- operations

  void let(const Stmt& stmt) {
    const ValueId v = stmt.result;
    const auto arg = [&](size_t i) { return name(stmt.args[i]); };
    switch (stmt.op) {
      case Op::Const:
        names_[v] = literal({dtype(v), stmt.bits});
        unrolled_[v] = true;
        if (dtype(v) == DType::F32) known_[v] = static_cast<uint32_t>(stmt.bits);
        if (!is_tile(tree_.values[v])) scalar(v);
        else names_[v] = call("tenon_splat_" + suffix(dtype(v)) + "x8", {names_[v]});
        return;
      case Op::Scalar:
        names_[v] = "a" + std::to_string(stmt.slot);
        if (ir::is_float(dtype(v))) known_[v] = std::bit_cast<uint32_t>(1.0F);
        return;
      case Op::ThreadId: return define(v, "(" + register_type(dtype(v)) + ")TENON_THREAD");
      case Op::Get: return define(v, arg(0));
      case Op::Extract: {
        const bool boolean = dtype(v) == DType::Bool;
        if (is_tile(tree_.values[stmt.args[0]]) && ir::is_half(dtype(v))) return define(v, call("tenon_lane_u16x8", {arg(0), arg(1)}));
        return define(v, arg(0) + ".lane[" + arg(1) + "]" + (boolean ? " != 0" : ""));
      }
      case Op::Shuffle:
      case Op::ShuffleDown: {
        const std::string function = stmt.op == Op::Shuffle ? "tenon_shuffle_" : "tenon_shuffle_down_";
        return define(v, function + suffix(scalar(v)) + "(" + arg(0) + ", " + arg(1) + ")");
      }
      case Op::Cast:
        if (is_tile(tree_.values[v])) return define(v, cast_tile(arg(0), dtype(stmt.args[0]), dtype(v)));
        if (ir::is_half(dtype(stmt.args[0])) && known_.count(stmt.args[0]) != 0) known_[v] = known_.at(stmt.args[0]);
        return define(v, cast(arg(0), scalar(stmt.args[0]), dtype(v)));
      case Op::Bitcast: return define(v, bitcast(arg(0), scalar(stmt.args[0]), dtype(v)));
      default: break;
    }
    scalar(v);
    const bool may_wrap = stmt.op == Op::Add || stmt.op == Op::Sub || stmt.op == Op::Mul || stmt.op == Op::Quotient;
    unrolled_[v] = index_[v] && std::all_of(stmt.args.begin(), stmt.args.end(), [&](ValueId a) { return unrolled_[a]; });
    if (index_[v] && stmt.op == Op::Add && unrolled_[stmt.args[1]] && !unrolled_[v]) behind_[v] = {stmt.args[0], stmt.args[1]};
    if (index_[v] && may_wrap) return define(v, arg(0) + " " + symbol(stmt.op) + " " + arg(1));  // stays within its type
    std::vector<std::string> x;
    for (ValueId arg_of : stmt.args) x.push_back(name(arg_of));
    if (stmt.fast || chooses_zeros(stmt)) return define(v, call("tenon_fast_" + std::string(ir::info(stmt.op).text) + "_f32", x));
    define(v, elementwise(stmt.op, dtype(stmt.args.back()), x));
  }

  // Whether the machine's maximum or minimum of f32 gives the operation's bits. If the operands are 0 and -0, the operation gives the
  // second one, the machine's maximum 0 and its minimum -0; a scalar of a GPU is never zero (passes/fusion/build.cpp).
  bool chooses_zeros(const Stmt& stmt) const {
    if ((stmt.op != Op::Max && stmt.op != Op::Min) || dtype(stmt.args[0]) != DType::F32) return false;
    const auto is = [&](size_t i, float zero) {
      const auto found = known_.find(stmt.args[i]);
      if (found == known_.end()) return false;
      const auto value = std::bit_cast<float>(found->second);
      return value != 0 || std::signbit(value) == std::signbit(zero);
    };
    const float first = stmt.op == Op::Max ? -0.0F : 0.0F;
    return is(0, first) || is(1, -first);
  }

  const ir::LoopTree& tree_;
  const std::vector<std::string>& buffers_;                // their names in the text
  std::vector<std::string> names_;                         // of each value; literals and parameters stand for themselves
  std::vector<bool> index_;                                // ir::index_values
  std::vector<bool> unrolled_;                             // indices that are constants once loops are unrolled
  std::map<ValueId, std::pair<ValueId, ValueId>> behind_;  // indices that are one and such a constant
  std::map<ValueId, uint32_t> known_;                      // bits of f32 constants; of scalars those of another number than 0
  std::set<int32_t> used_;                                 // buffers this phase touches
  std::string out_;
  int indent_ = 1;
  int next_ = 0;
};

// Buffer names as identifiers that meet neither each other, nor a keyword, nor the names of values: the schedules' own, like
// x0, are kept; no keyword ends in a digit, and values are v, i, r, s or a with a number.
std::vector<std::string> buffer_names(const ir::LoopTree& tree) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const ir::TreeBuffer& buffer : tree.buffers) {
    std::string name = identifier(buffer.name);
    const bool like_value =
        std::string("virsa").find(name[0]) != std::string::npos && name.find_first_not_of("0123456789", 1) == std::string::npos;
    if (like_value || !ir::is_digit(name.back())) name += "_";
    while (!taken.insert(name).second) name += "_";
    names.push_back(name);
  }
  return names;
}

}  // namespace

std::string function_name(const std::string& tree, const ir::Phase& phase) { return identifier(tree) + "_" + identifier(phase.name); }

int64_t dynamic_shared_bytes(const ir::LoopTree& tree, const ir::Phase& phase) {
  std::set<int32_t> used;
  mark_used(phase.body, used);
  return dynamic_shared_bytes(tree, used);
}

std::string emit_kernels(const ir::LoopTree& given) {
  const std::optional<ir::LoopTree> branched = passes::branch_around_arms(given);
  const ir::LoopTree& tree = branched ? *branched : given;
  if (tree.target != ir::TargetKind::Cuda) fail("'" + tree.name + "' is a loop tree for a CPU");
  const std::vector<std::string> buffers = buffer_names(tree);
  std::string text;
  for (const ir::Phase& phase : tree.phases) {
    if (!text.empty()) text += "\n";
    text += PhasePrinter(tree, buffers).run(phase);
  }
  return text;
}

std::string emit(const ir::LoopTree& tree) { return prelude() + emit_kernels(tree); }

}  // namespace tenon::codegen::cuda
