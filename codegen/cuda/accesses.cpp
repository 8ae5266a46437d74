#include "codegen/cuda/accesses.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace tenon::codegen::cuda {

using ir::DType;
using ir::Op;
using ir::Stmt;
using ir::StmtKind;
using ir::ValueId;

namespace {

constexpr int kLanes = 32, kBanks = 32;
constexpr int64_t kWord = 4, kMoved = 16;  // bytes: of a bank; that an instruction moves of a thread, at most
using Lanes = std::array<int64_t, kLanes>;
using Known = std::optional<Lanes>;

Lanes all(int64_t x) {
  Lanes lanes;
  lanes.fill(x);
  return lanes;
}

// As an element of the type has it.
int64_t wrapped(DType type, uint64_t x) {
  switch (type) {
    case DType::Bool: return x != 0;
    case DType::U8: return static_cast<uint8_t>(x);
    case DType::I8: return static_cast<int8_t>(x);
    case DType::I16: return static_cast<int16_t>(x);
    case DType::I32: return static_cast<int32_t>(x);
    default: return static_cast<int64_t>(x);
  }
}

// Nothing for operations that no schedule makes indices of.
std::optional<int64_t> operation(Op op, DType type, int64_t a, int64_t b, int64_t c) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Op::Get:
    case Op::Cast: return wrapped(type, x);
    case Op::Add: return wrapped(type, x + y);
    case Op::Sub: return wrapped(type, x - y);
    case Op::Mul: return wrapped(type, x * y);
    case Op::Neg: return wrapped(type, -x);
    case Op::Min: return std::min(a, b);
    case Op::Max: return std::max(a, b);
    case Op::Quotient: return b > 0 ? std::optional(a / b) : std::nullopt;
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Not: return type == DType::Bool ? int64_t{a == 0} : wrapped(type, ~x);
    case Op::Shl: return b >= 0 && b < 63 ? std::optional(wrapped(type, x << b)) : std::nullopt;
    case Op::Shr: return b >= 0 && b < 63 ? std::optional(a >> b) : std::nullopt;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Where: return a != 0 ? b : c;
    default: return std::nullopt;
  }
}

void variables_set(const std::vector<Stmt>& stmts, std::set<ValueId>& found) {
  for (const Stmt& stmt : stmts) {
    if (stmt.kind == StmtKind::Set) found.insert(stmt.args[0]);
    variables_set(stmt.body, found);
    variables_set(stmt.orelse, found);
  }
}

class Walk {
 public:
  Walk(const ir::LoopTree& tree, std::span<const int64_t> sizes, int64_t most_steps)
      : tree_(tree), sizes_(sizes), steps_left_(most_steps), values_(tree.values.size()) {}

  AccessCounts run(const ir::Phase& phase) {
    find(phase.body);
    const int64_t blocks = sizes_[static_cast<size_t>(phase.extent)];
    counts_.of_blocks = blocks;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t block = i == 0 ? 0 : i == 1 ? blocks - 1 : i - 1;
      for (first_thread_ = 0; first_thread_ < tree_.threads; first_thread_ += kLanes) {
        value(phase.index) = all(block);
        const int threads = std::min(kLanes, tree_.threads - first_thread_);
        walk(phase.body, threads == kLanes ? ~0U : (1U << threads) - 1);
        if (steps_left_ <= 0) return std::move(counts_);
      }
      ++counts_.blocks;
    }
    return std::move(counts_);
  }

 private:
  Known& value(ValueId v) { return values_[static_cast<size_t>(v)]; }
  ir::VType type(ValueId v) const { return tree_.values[static_cast<size_t>(v)]; }
  const ir::TreeBuffer& buffer(int32_t i) const { return tree_.buffers[static_cast<size_t>(i)]; }
  int item(int32_t i) const { return static_cast<int>(ir::item_size(buffer(i).dtype)); }

  // --- which accesses there are

  void find(const std::vector<Stmt>& stmts) {
    for (const Stmt& stmt : stmts) {
      switch (stmt.kind) {
        case StmtKind::Load: add(stmt, Access::Kind::Load, stmt.buffer, type(stmt.result).lanes * item(stmt.buffer)); break;
        case StmtKind::Store: add(stmt, Access::Kind::Store, stmt.buffer, type(stmt.args.back()).lanes * item(stmt.buffer)); break;
        case StmtKind::LoadTile: add(stmt, Access::Kind::LoadTile, stmt.buffer, kMoved); break;
        case StmtKind::CopyAsync:
          add(stmt, Access::Kind::CopyFrom, stmt.slot, kMoved);
          add(stmt, Access::Kind::CopyTo, stmt.buffer, kMoved);
          break;
        default: break;
      }
      find(stmt.body);
      find(stmt.orelse);
    }
  }

  void add(const Stmt& stmt, Access::Kind kind, int32_t of, int64_t bytes) {
    if (buffer(of).space == ir::Space::Local) return;  // registers
    places_.emplace(&stmt, counts_.accesses.size());   // of a copy the first of the two
    counts_.accesses.push_back({.kind = kind, .buffer = of, .bytes = static_cast<int>(bytes)});
  }

  // --- what a warp does; `active`: its threads that do

  void walk(const std::vector<Stmt>& stmts, uint32_t active) {
    for (const Stmt& stmt : stmts) {
      if (--steps_left_ <= 0) return;
      statement(stmt, active);
    }
  }

  void statement(const Stmt& stmt, uint32_t active) {
    switch (stmt.kind) {
      case StmtKind::Let: value(stmt.result) = computed(stmt); return;
      case StmtKind::Size: value(stmt.result) = all(sizes_[static_cast<size_t>(stmt.slot)]); return;
      case StmtKind::Var: value(stmt.result) = value(stmt.args[0]); return;
      case StmtKind::Set: return set(stmt, active);
      case StmtKind::Load: value(stmt.result) = std::nullopt; return access(stmt, 0, stmt.args[0], active);
      case StmtKind::Store:
      case StmtKind::LoadTile: return access(stmt, 0, stmt.args[0], active);
      case StmtKind::CopyAsync:
        access(stmt, 0, stmt.args[1], active);
        return count(stmt, 1, stmt.args[0], active, false);  // zeros, where it reads nothing
      case StmtKind::If: return condition(stmt, active);
      case StmtKind::For: return loop(stmt, active);
      default: return;
    }
  }

  Known computed(const Stmt& stmt) {
    const ir::VType of = type(stmt.result);
    if (of.lanes != 1 || ir::is_float(of.dtype)) return std::nullopt;
    if (stmt.op == Op::Const) return all(ir::to_int64({of.dtype, stmt.bits}));
    if (stmt.op == Op::ThreadId) {
      Lanes lanes;
      for (int lane = 0; lane < kLanes; ++lane) lanes[static_cast<size_t>(lane)] = first_thread_ + lane;
      return lanes;
    }
    std::array<const Lanes*, 3> x{};
    if (stmt.args.empty() || stmt.args.size() > x.size()) return std::nullopt;
    for (size_t i = 0; i < stmt.args.size(); ++i) {
      const Known& arg = value(stmt.args[i]);
      if (!arg || ir::is_float(type(stmt.args[i]).dtype)) return std::nullopt;
      x[i] = &*arg;
    }
    Lanes lanes;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto result = operation(stmt.op, of.dtype, (*x[0])[lane], x[1] ? (*x[1])[lane] : 0, x[2] ? (*x[2])[lane] : 0);
      if (!result) return std::nullopt;
      lanes[lane] = *result;
    }
    return lanes;
  }

  void set(const Stmt& stmt, uint32_t active) {
    Known& variable = value(stmt.args[0]);
    const Known& fresh = value(stmt.args[1]);
    if (!fresh || !variable || guesses_ > 0) {
      variable = active == ~0U && guesses_ == 0 ? fresh : std::nullopt;
      return;
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (active >> lane & 1) (*variable)[lane] = (*fresh)[lane];
    }
  }

  // The threads of `active` where it holds.
  static uint32_t holds(const Lanes& condition, uint32_t active) {
    uint32_t mask = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) mask |= condition[lane] != 0 ? 1U << lane : 0;
    return mask & active;
  }

  void condition(const Stmt& stmt, uint32_t active) {
    if (const Known& condition = value(stmt.args[0])) {
      const uint32_t then = holds(*condition, active), other = active & ~then;
      if (then != 0) walk(stmt.body, then);
      if (other != 0) walk(stmt.orelse, other);
      return;
    }
    ++guesses_;
    walk(stmt.body, active);
    walk(stmt.orelse, active);
    --guesses_;
  }

  // If a loop's bounds depend on data, one round of it is walked, which knows nothing of the ones before it.
  void loop(const Stmt& stmt, uint32_t active) {
    const Known begin = value(stmt.args[0]), end = value(stmt.args[1]);
    if (!begin || !end) {
      std::set<ValueId> variables;
      variables_set(stmt.body, variables);
      for (const ValueId v : variables) value(v) = std::nullopt;
      value(stmt.result) = std::nullopt;
      ++guesses_;
      walk(stmt.body, active);
      --guesses_;
      return;
    }
    for (Lanes at = *begin; steps_left_ > 0; std::for_each(at.begin(), at.end(), [&](int64_t& x) { x += stmt.step; })) {
      Lanes goes_on;
      for (size_t lane = 0; lane < kLanes; ++lane) goes_on[lane] = at[lane] < (*end)[lane];
      const uint32_t round = holds(goes_on, active);
      if (round == 0) return;
      value(stmt.result) = at;
      walk(stmt.body, round);
    }
  }

  // --- what an access takes

  void access(const Stmt& stmt, size_t which, ValueId place, uint32_t active) {
    if (stmt.mask < 0) return count(stmt, which, place, active, false);
    const Known& mask = value(stmt.mask);
    count(stmt, which, place, mask ? holds(*mask, active) : active, !mask);
  }

  void count(const Stmt& stmt, size_t which, ValueId place, uint32_t active, bool guessed) {
    const auto found = places_.find(&stmt);
    if (found == places_.end() || active == 0) return;
    Access& access = counts_.accesses[found->second + which];
    const Known& index = value(place);
    if (!index || stmt.strided || type(place).lanes != 1) {
      access.places_vary = true;
      return;
    }
    access.threads_vary |= guessed || guesses_ > 0;
    ++access.warps;
    Lanes addresses = *index;
    for (int64_t& x : addresses) x *= item(access.buffer);
    const bool shared = buffer(access.buffer).space == ir::Space::Shared;
    const int64_t bytes = std::min<int64_t>(access.bytes, kMoved);
    for (int64_t moved = 0; moved < access.bytes; moved += bytes) {
      if (shared) count_banks(access, addresses, bytes, active);
      else count_sectors(access, addresses, bytes, active);
      for (int64_t& x : addresses) x += bytes;
    }
  }

  // Buffers begin with a sector; what overlaps is one place.
  static void count_sectors(Access& access, const Lanes& addresses, int64_t bytes, uint32_t active) {
    std::array<int64_t, kLanes> starts{};
    std::array<int64_t, 2 * kLanes> sectors{};
    size_t started = 0, touched = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if ((active >> lane & 1) == 0) continue;
      const int64_t first = addresses[lane] / kSectorBytes, last = (addresses[lane] + bytes - 1) / kSectorBytes;
      starts[started++] = addresses[lane];
      sectors[touched++] = first;
      if (last != first) sectors[touched++] = last;
    }
    access.transfers += distinct(sectors, touched);
    access.least += (distinct(starts, started) * bytes + kSectorBytes - 1) / kSectorBytes;
  }

  template <size_t N>
  static int64_t distinct(std::array<int64_t, N>& numbers, size_t count) {
    const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(count);
    std::sort(numbers.begin(), end);
    return std::unique(numbers.begin(), end) - numbers.begin();
  }

  // Memory gives 128 bytes at a time: to all threads, of 8 or 16 bytes to half or a quarter of them. A word that several want is given
  // once.
  static void count_banks(Access& access, const Lanes& addresses, int64_t bytes, uint32_t active) {
    const auto together = static_cast<size_t>(kLanes * kWord / std::max(kWord, bytes));
    for (size_t first = 0; first < kLanes; first += together) {
      std::array<int64_t, kBanks * 2> words{};  // an access of 1 or 2 bytes lies in one word, aligned as all are
      size_t count = 0;
      for (size_t lane = first; lane < first + together; ++lane) {
        if ((active >> lane & 1) == 0) continue;
        for (int64_t word = addresses[lane] / kWord; word <= (addresses[lane] + bytes - 1) / kWord; ++word) words[count++] = word;
      }
      if (count == 0) continue;
      std::array<int, kBanks> of_bank{};
      const auto different = static_cast<size_t>(distinct(words, count));
      for (size_t i = 0; i < different; ++i) ++of_bank[static_cast<size_t>(words[i] % kBanks)];
      const int ways = *std::max_element(of_bank.begin(), of_bank.end());
      access.transfers += ways;
      ++access.least;
      access.ways = std::max(access.ways, ways);
    }
  }

  const ir::LoopTree& tree_;
  const std::span<const int64_t> sizes_;
  int64_t steps_left_;
  std::vector<Known> values_;
  std::map<const Stmt*, size_t> places_;  // of the accesses
  AccessCounts counts_;
  int first_thread_ = 0;
  int guesses_ = 0;  // conditions around that depend on data
};

}  // namespace

AccessCounts count_accesses(const ir::LoopTree& tree, const ir::Phase& phase, std::span<const int64_t> sizes, int64_t most_steps) {
  return Walk(tree, sizes, most_steps).run(phase);
}

}  // namespace tenon::codegen::cuda
