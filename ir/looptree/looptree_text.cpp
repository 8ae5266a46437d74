// The text form of loop trees: a printer and a recursive-descent parser that is its exact inverse.
// The form is shown in looptree.h.
#include <charconv>
#include <string>
#include <unordered_map>

#include "ir/looptree/looptree_check.h"
#include "ir/op/lexer.h"

namespace tenon::ir {

namespace {

constexpr std::string_view kSpaces[] = {"in", "out", "global", "local", "shared"};

bool is_one_of_many(Op op) { return op == Op::Deal || op == Op::Weave; }

class Printer {
 public:
  Printer(const LoopTree& tree, bool names) : tree_(tree), names_(names), numbers_(tree.values.size(), -1) {}

  std::string run() {
    header();
    for (size_t i = 0; i < tree_.phases.size(); ++i) {
      const Phase& phase = tree_.phases[i];
      out_ += "  phase " + (names_ ? phase.name : "p" + std::to_string(i)) + ": parallel " + define(phase.index) + " in 0..s" +
              std::to_string(phase.extent) + " {\n";
      block(phase.body, 4);
      out_ += "  }\n";
    }
    return std::move(out_) + "}\n";
  }

 private:
  std::string buffer_name(int32_t i) const { return names_ ? tree_.buffers[i].name : "b" + std::to_string(i); }
  std::string define(ValueId v) {
    numbers_[v] = next_++;
    return use(v);
  }
  std::string use(ValueId v) const { return "%" + std::to_string(numbers_[v]); }
  std::string type(ValueId v) const {
    const VType t = tree_.values[v];
    return std::string(name(t.dtype)) + (t.lanes == 1 ? "" : "x" + std::to_string(t.lanes));
  }

  void header() {
    out_ += "looptree ";
    if (names_) out_ += "@" + tree_.name + " ";
    out_ += tree_.target == TargetKind::Cpu ? "cpu" : "cuda";
    if (tree_.lanes != 1) out_ += " lanes=" + std::to_string(tree_.lanes);
    if (tree_.threads != 1) out_ += " threads=" + std::to_string(tree_.threads);
    if (tree_.resident != 1) out_ += " resident=" + std::to_string(tree_.resident);
    if (tree_.index_type == DType::I32) out_ += " index=i32";
    out_ += " {\n  params ";
    for (size_t i = 0; i < tree_.buffers.size(); ++i) {
      const TreeBuffer& buffer = tree_.buffers[i];
      out_ += buffer_name(static_cast<int32_t>(i)) + ": " + std::string(name(buffer.dtype)) + " " +
              std::string(kSpaces[static_cast<size_t>(buffer.space)]);
      if (buffer.aliased) out_ += " aliased";
      if (buffer.space != Space::In && buffer.space != Space::Out) {
        out_ += buffer.size_param >= 0 ? "[s" + std::to_string(buffer.size_param) + "]" : "[" + std::to_string(buffer.count) + "]";
      }
      if (buffer.stages != 1) out_ += " stages " + std::to_string(buffer.stages);
      out_ += ", ";
    }
    for (size_t i = 0; i < tree_.scalars.size(); ++i) {
      out_ += "a" + std::to_string(i) + ": " + std::string(name(tree_.scalars[i])) + " scalar, ";
    }
    out_ += "sizes " + std::to_string(tree_.size_count) + "\n";
  }

  void block(const std::vector<Stmt>& stmts, size_t indent) {
    for (const Stmt& stmt : stmts) {
      out_.append(indent, ' ');
      statement(stmt, indent);
      out_ += "\n";
    }
  }

  std::string place(const Stmt& stmt) const {
    std::string text = " " + buffer_name(stmt.buffer) + "[" + use(stmt.args[0]);
    if (stmt.strided) text += " stride " + use(stmt.args[1]);
    text += "]";
    return stmt.mask < 0 ? text : text + " mask " + use(stmt.mask);
  }

  std::string right_side(const Stmt& stmt) const {
    const VType type = tree_.values[stmt.result];
    if (stmt.kind == StmtKind::Size) return "size s" + std::to_string(stmt.slot);
    if (stmt.kind == StmtKind::Load) return "load" + place(stmt);
    if (stmt.kind == StmtKind::LoadTile) return "load_tile" + place(stmt) + (stmt.transposed ? " transposed" : "");
    if (stmt.op == Op::Const) return "const " + print(Constant{type.dtype, stmt.bits});
    if (stmt.op == Op::Scalar) return "scalar a" + std::to_string(stmt.slot);
    std::string text(stmt.kind == StmtKind::Mma ? "mma" : info(stmt.op).text);
    for (size_t i = 0; i < stmt.args.size(); ++i) text += (i ? ", " : " ") + use(stmt.args[i]);
    if (is_one_of_many(stmt.op)) text += " at " + std::to_string(stmt.slot);
    if (stmt.fast) text += " fast";
    return text;
  }

  void statement(const Stmt& stmt, size_t indent) {
    switch (stmt.kind) {
      case StmtKind::Let:
      case StmtKind::Size:
      case StmtKind::Load:
      case StmtKind::LoadTile:
      case StmtKind::Mma: {
        const std::string value = right_side(stmt);
        out_ += define(stmt.result) + " = " + value + " : " + type(stmt.result);
        return;
      }
      case StmtKind::Store: out_ += "store" + place(stmt) + ", " + use(stmt.args.back()); return;
      case StmtKind::CopyAsync:
        out_ += "copy_async " + buffer_name(stmt.buffer) + "[" + use(stmt.args[0]) + "] from " + buffer_name(stmt.slot) + "[" +
                use(stmt.args[1]) + "]" + (stmt.mask < 0 ? "" : " mask " + use(stmt.mask));
        return;
      case StmtKind::Commit: out_ += "commit"; return;
      case StmtKind::Wait: out_ += "wait " + std::to_string(stmt.slot); return;
      case StmtKind::Prefetch: out_ += "prefetch" + place(stmt); return;
      case StmtKind::Var: {
        const std::string value = use(stmt.args[0]);
        out_ += "var " + define(stmt.result) + " = " + value;
        return;
      }
      case StmtKind::Set: out_ += "set " + use(stmt.args[0]) + ", " + use(stmt.args[1]); return;
      case StmtKind::Barrier: out_ += "barrier"; return;
      case StmtKind::For:
        out_ += "for " + define(stmt.result) + " in " + use(stmt.args[0]) + ".." + use(stmt.args[1]) + " step " +
                std::to_string(stmt.step) + (stmt.unroll ? " unroll {\n" : " {\n");
        break;
      case StmtKind::If: out_ += "if " + use(stmt.args[0]) + " {\n"; break;
    }
    block(stmt.body, indent + 2);
    out_.append(indent, ' ');
    if (stmt.kind == StmtKind::If && !stmt.orelse.empty()) {
      out_ += "} else {\n";
      block(stmt.orelse, indent + 2);
      out_.append(indent, ' ');
    }
    out_ += "}";
  }

  const LoopTree& tree_;
  const bool names_;
  std::vector<ValueId> numbers_;  // printed number of each value, in order of definition
  ValueId next_ = 0;
  std::string out_;
};

constexpr size_t kMaxOneOfMany = 64;

class Parser : Lexer {
 public:
  Parser(std::string_view text, std::string_view file) : Lexer(text, file, "#", true), checker_(tree_) {}

  LoopTree run() {
    try {
      header();
      params();
      checker_.check_header();
      while (!accept("}")) phase();
      skip_space();
      if (at_ != text_.size()) fail("text after the end");
    } catch (const IrError& error) {
      fail_at(start_, error.what());
    }
    return std::move(tree_);
  }

 private:
  // Errors are reported at the token last looked at, or the statement: run() adds the place.
  [[noreturn]] void fail(const std::string& reason) const override { throw IrError(reason); }

  int64_t number(int64_t limit = INT32_MAX) {
    skip_space();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0 || value > limit) fail("expected a number in range");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  int32_t parameter(char letter) {  // s3, a0
    expect_prefix(letter);
    return static_cast<int32_t>(number());
  }
  void expect_prefix(char letter) {
    skip_space();
    if (at_ + 1 >= text_.size() || text_[at_] != letter || text_[at_ + 1] < '0' || text_[at_ + 1] > '9') {
      fail(std::string("expected ") + letter + " and a number");
    }
    ++at_;
  }

  // --- values ---
  ValueId use() {
    expect_prefix('%');
    const size_t place = start_;
    const auto found = values_.find(number());
    start_ = place;
    if (found == values_.end()) fail("this value is not defined");
    return found->second;
  }
  void define(int64_t number, ValueId id) { values_[number] = id; }
  int64_t new_name() {
    expect_prefix('%');
    return number();
  }
  ValueId fresh(VType type) {
    tree_.values.push_back(type);
    return static_cast<ValueId>(tree_.values.size() - 1);
  }
  DType dtype(std::string_view text) const {
    const std::optional<DType> type = dtype_from_name(text);
    if (!type) fail("'" + std::string(text) + "' is not a type");
    return *type;
  }
  VType type() {
    std::string_view text = word("a type");
    int16_t lanes = 1;
    if (const size_t x = text.find('x'); x != std::string_view::npos) {
      const auto [end, error] = std::from_chars(text.data() + x + 1, text.data() + text.size(), lanes);
      if (error != std::errc() || end != text.data() + text.size()) fail("lanes are not a number");
      text = text.substr(0, x);
    }
    return {dtype(text), lanes};
  }
  VType type_of(ValueId v) const { return tree_.values[v]; }

  // --- the tree ---
  void header() {
    expect("looptree");
    if (accept("@")) tree_.name = word("a name");
    tree_.target = accept("cuda") ? TargetKind::Cuda : (expect("cpu"), TargetKind::Cpu);
    while (!accept("{")) {
      if (accept("lanes")) {
        expect("=");
        tree_.lanes = static_cast<int>(number());
      } else if (accept("threads")) {
        expect("=");
        tree_.threads = static_cast<int>(number());
      } else if (accept("resident")) {
        expect("=");
        tree_.resident = static_cast<int>(number());
      } else {
        expect("index");
        expect("=");
        tree_.index_type = dtype(word("a type"));
      }
    }
  }

  void params() {
    expect("params");
    while (!accept("sizes")) {
      const std::string name(word("a parameter"));
      expect(":");
      const DType element = dtype(word("a type"));
      if (accept("scalar")) {
        tree_.scalars.push_back(element);
      } else {
        tree_.buffers.push_back(buffer(name, element));
      }
      expect(",");
    }
    tree_.size_count = static_cast<int32_t>(number(1 << 20));
    for (size_t i = 0; i < tree_.buffers.size(); ++i) buffers_[tree_.buffers[i].name] = static_cast<int32_t>(i);
  }

  TreeBuffer buffer(const std::string& name, DType element) {
    TreeBuffer result{name, element, Space::In};
    const std::string_view text = word("in, out, global, local, shared or scalar");
    size_t space = 0;
    while (space < std::size(kSpaces) && kSpaces[space] != text) ++space;
    if (space == std::size(kSpaces)) fail("expected in, out, global, local, shared or scalar");
    result.space = static_cast<Space>(space);
    result.aliased = accept("aliased");
    if (!accept("[")) return result;
    skip_space();
    if (text_.substr(at_).starts_with("s")) {
      result.size_param = parameter('s');
    } else {
      result.count = number(INT64_MAX);
    }
    expect("]");
    if (accept("stages")) result.stages = static_cast<int32_t>(number());
    return result;
  }

  void phase() {
    expect("phase");
    Phase result;
    result.name = word("a phase's name");
    expect(":");
    expect("parallel");
    const int64_t index = new_name();
    result.index = fresh({tree_.index_type, 1});
    expect("in");
    number(0);
    expect("..");
    result.extent = parameter('s');
    values_.clear();
    define(index, result.index);
    checker_.open_block();
    checker_.begin_phase(result);
    result.body = block();
    checker_.end_phase();
    checker_.close_block();
    tree_.phases.push_back(std::move(result));
  }

  // `{ statements }`; names defined inside are forgotten at its end by the checker.
  std::vector<Stmt> block(const Stmt* header = nullptr) {
    std::vector<Stmt> stmts;
    expect("{");
    checker_.open_block(header);
    while (!accept("}")) stmts.push_back(statement());
    checker_.close_block();
    return stmts;
  }

  void check(const Stmt& stmt, size_t place) {
    const size_t end = std::exchange(start_, place);  // an error points at the statement's first character
    checker_.check(stmt);
    start_ = end;
  }

  Stmt statement() {
    skip_space();
    const size_t place = start_;
    Stmt stmt{};
    int64_t name = -1;
    if (accept("for")) return loop(place);
    if (accept("if")) return branch(place);
    if (accept("barrier")) {
      stmt.kind = StmtKind::Barrier;
    } else if (accept("set")) {
      stmt.kind = StmtKind::Set;
      stmt.args = {use(), (expect(","), use())};
    } else if (accept("store")) {
      stmt.kind = StmtKind::Store;
      access(stmt);
      expect(",");
      stmt.args.push_back(use());
    } else if (accept("copy_async")) {
      stmt.kind = StmtKind::CopyAsync;
      stmt.buffer = buffer_used();
      stmt.args = {element()};
      expect("from");
      stmt.slot = buffer_used();
      stmt.args.push_back(element());
      if (accept("mask")) stmt.mask = use();
    } else if (accept("commit")) {
      stmt.kind = StmtKind::Commit;
    } else if (accept("wait")) {
      stmt.kind = StmtKind::Wait;
      stmt.slot = static_cast<int32_t>(number());
    } else if (accept("prefetch")) {
      stmt.kind = StmtKind::Prefetch;
      access(stmt);
    } else if (accept("var")) {
      stmt.kind = StmtKind::Var;
      name = new_name();
      expect("=");
      stmt.args = {use()};
      stmt.result = fresh(type_of(stmt.args[0]));
    } else {
      name = new_name();
      expect("=");
      definition(stmt);
    }
    check(stmt, place);
    if (name >= 0) define(name, stmt.result);
    return stmt;
  }

  Stmt loop(size_t place) {
    Stmt stmt{};
    stmt.kind = StmtKind::For;
    const int64_t name = new_name();
    expect("in");
    stmt.args = {use(), (expect(".."), use())};
    expect("step");
    stmt.step = number(INT64_MAX);
    stmt.unroll = accept("unroll");
    stmt.result = fresh(type_of(stmt.args[0]));
    check(stmt, place);
    define(name, stmt.result);
    stmt.body = block(&stmt);
    return stmt;
  }

  Stmt branch(size_t place) {
    Stmt stmt{};
    stmt.kind = StmtKind::If;
    stmt.args = {use()};
    check(stmt, place);
    stmt.body = block(&stmt);
    if (accept("else")) stmt.orelse = block(&stmt);
    return stmt;
  }

  int32_t buffer_used() {
    const std::string name(word("a buffer"));
    const auto found = buffers_.find(name);
    if (found == buffers_.end()) fail("there is no buffer " + name);
    return found->second;
  }

  ValueId element() {
    expect("[");
    const ValueId index = use();
    expect("]");
    return index;
  }

  void access(Stmt& stmt) {
    stmt.buffer = buffer_used();
    expect("[");
    stmt.args = {use()};
    if (accept("stride")) {
      stmt.strided = true;
      stmt.args.push_back(use());
    }
    expect("]");
    if (accept("mask")) stmt.mask = use();
  }

  // The right side of `%N = ...`, up to and with its type.
  void definition(Stmt& stmt) {
    stmt.kind = StmtKind::Let;
    std::string_view constant;
    size_t constant_at = 0;
    if (accept("load")) {
      stmt.kind = StmtKind::Load;
      access(stmt);
    } else if (accept("load_tile")) {
      stmt.kind = StmtKind::LoadTile;
      access(stmt);
      stmt.transposed = accept("transposed");
    } else if (accept("size")) {
      stmt.kind = StmtKind::Size;
      stmt.slot = parameter('s');
    } else if (accept("scalar")) {
      stmt.op = Op::Scalar;
      stmt.slot = parameter('a');
    } else if (accept("const")) {
      stmt.op = Op::Const;
      skip_space();
      constant_at = at_;
      while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\n') ++at_;
      constant = text_.substr(constant_at, at_ - constant_at);
    } else {
      if (accept("mma")) {
        stmt.kind = StmtKind::Mma;
      } else {
        const std::string_view text = word("an op");
        const std::optional<Op> op = op_from_text(text);
        if (!op) fail("'" + std::string(text) + "' is not an op");
        stmt.op = *op;
      }
      if (skip_space(), text_.substr(at_).starts_with("%")) {
        do {
          if (stmt.args.size() == (is_one_of_many(stmt.op) ? kMaxOneOfMany : 3)) fail("too many operands");
          stmt.args.push_back(use());
        } while (accept(","));
      }
      if (is_one_of_many(stmt.op)) {
        expect("at");
        stmt.slot = static_cast<int32_t>(number());
      }
      stmt.fast = accept("fast");
    }
    expect(":");
    const VType result = type();
    stmt.result = fresh(result);
    if (stmt.op != Op::Const || stmt.kind != StmtKind::Let) return;
    const std::optional<Constant> value = parse_constant(constant, result.dtype);
    start_ = constant_at;
    if (!value) fail("'" + std::string(constant) + "' is not a constant of this type");
    stmt.bits = value->bits;
  }

  LoopTree tree_;
  TreeChecker checker_;
  std::unordered_map<int64_t, ValueId> values_;  // %N -> value, latest definition; the checker knows the scopes
  std::unordered_map<std::string, int32_t> buffers_;
};

}  // namespace

std::string print(const LoopTree& tree, bool with_name) { return Printer(tree, with_name).run(); }

LoopTree parse_looptree(std::string_view text, std::string_view file) { return Parser(text, file).run(); }

}  // namespace tenon::ir
