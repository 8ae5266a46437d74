// A CUDA block takes a row of several passes, and every thread keeps its part of it: chains of four lanes' elements (ir/op/sum_order.h), 64
// elements from one to the next, in registers, the later ones in shared memory. What its chains come to goes to shared memory, where
// a warp takes each block of the tree. 32768 floats a row; 65536 with an H100's 227 KB of shared memory.
//
//   for j in 0..4 unroll { kept[j] = x; acc += x }; chains[...] = acc; barrier
//   warp: for c in 0..16 { total += chains[c] } fold barrier ...
#include "passes/schedule/gpu/rows_in_block.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "passes/schedule/gpu/row_groups.h"

namespace tenon::passes::gpu {
namespace {

constexpr int64_t kLanes = ir::kReduceLanes;
constexpr int64_t kBlockRegisters = 32;                              // of four bytes, in which a thread keeps elements of its row
constexpr int64_t kChainSpan = ir::kReduceChain * ir::kReduceLanes;  // elements from a chain of a lane to its next
constexpr int64_t kChainsOfBlock = ir::kLaneBlock / kChainSpan;

// A value gives its place to one that is computed where it is needed last.
void find_places(const ir::Kernel& kernel, const ReduceLoops& plan, BlockRow& row) {
  const auto has = [](const std::vector<Value>& values, Value v) { return std::ranges::find(values, v) != values.end(); };
  std::vector<int> last_of_place;
  for (int l = 0; l < plan.loops; ++l) {
    for (Value v : plan.carried) {
      if (!has(plan.full[static_cast<size_t>(l)], v)) continue;
      int last = l;
      for (int later = l; later < plan.loops + 1; ++later) {
        if (static_cast<size_t>(later) < plan.carried_in.size() && has(plan.carried_in[static_cast<size_t>(later)], v)) last = later;
      }
      size_t place = 0;
      while (place < row.places.size() && (row.places[place] != kernel.instr(v).dtype || last_of_place[place] > l)) ++place;
      if (place == row.places.size()) {
        row.places.push_back(kernel.instr(v).dtype);
        last_of_place.push_back(0);
      }
      last_of_place[place] = last;
      row.place_of[v] = place;
    }
  }
}

// What the chains of reduction number r of a loop lie in, which those of other loops share.
using ChainPlace = std::tuple<size_t, DType, bool>;
ChainPlace chain_place(const ir::Kernel& kernel, Value reduction, size_t number) {
  const Instr& in = kernel.instr(reduction);
  return {number, kernel.instr(in.args[0]).dtype, Reducer::has_index(in.op)};
}

// What a block has of shared memory: kept values, chains, block values.
int64_t shared_bytes(const ir::Kernel& kernel, const ReduceLoops& plan, const BlockRow& row) {
  int64_t bytes = 0;
  for (DType dtype : row.places) bytes += row.shared_slots() * ir::item_size(dtype);
  std::set<ChainPlace> places;
  for (const std::vector<Value>& loop : plan.reductions) {
    for (size_t r = 0; r < loop.size(); ++r) {
      places.insert(chain_place(kernel, loop[r], r));
      bytes += 32 + 16 * ceil_div(row.chains() * kChainSpan, ir::kLaneBlock);  // its block values, at most
    }
  }
  for (const auto& [number, dtype, has_index] : places) bytes += row.chains() * kLanes * (ir::item_size(dtype) + (has_index ? 8 : 0));
  return bytes;
}

class RowsInBlock : RowGroups {
 public:
  RowsInBlock(Context& c, const BlockRow& row) : RowGroups(c, Kept::Block, row.threads), row_(row) {
    keep();
    int64_t kept = 0;
    for (DType dtype : row.places) kept += words(dtype) * row.slots();
    begin(kept);
  }

  void lower() {
    add_sums();
    nest_.bind_linear(rows_, c_.begin_phase("rows", row_count_));
    bind_group();
    std::tie(chain_group_, first_lane_) = place_in_group(c_, kLanes / row_.lanes);
    first_lane_ = c_.mul(first_lane_, c_.literal(row_.lanes));
    for (int l = 0; l < plan_.loops; ++l) {
      emit_row(l, c_.thread());
      c_.in_scope([&] {
        prepare(full(l));
        carry_ = in_thread_;
        c_.unrolled(row_.in_registers, [&](ValueId round) { chain(l, round, false); });
        carry_ = in_shared_;
        if (row_.shared_slots() > 0) {
          c_.loop(c_.literal(row_.in_registers), c_.literal(row_.rounds), 1, [&](ValueId round) { chain(l, round, true); });
        }
      });
      if (reductions(l).empty()) continue;
      b_.barrier();
      for (size_t r = 0; r < reductions(l).size(); ++r) add_chains(reductions(l)[r], r);
      b_.barrier();
      for (Value v : reductions(l)) {
        const auto first = [&] { return c_.reducer(v).load(partials_.at(v), c_.literal(0)); };
        blocks_ > 1 ? fold_partials(v, kZero, nest_.size(blocks_)) : nest_.set(v, c_.reducer(v).result(first()));
      }
    }
    emit_row(plan_.loops, c_.thread());
    c_.end_phase();
  }

 private:
  // Buffers of what is kept.
  void keep() {
    std::vector<std::pair<int32_t, int32_t>> buffers;
    for (DType dtype : row_.places) {
      const std::string name = "kept" + std::to_string(buffers.size());
      const bool more = row_.shared_slots() > 0;
      buffers.emplace_back(c_.fixed_buffer(name, dtype, Space::Local, row_.slots()),
                           more ? c_.fixed_buffer(name + "_more", dtype, Space::Shared, row_.shared_slots()) : kNone);
    }
    for (const auto& [v, place] : row_.place_of) std::tie(in_thread_[v], in_shared_[v]) = buffers[place];
  }

  // Buffers of what is added up: by a thread, by its block.
  void add_sums() {
    const int64_t blocks = ceil_div(row_.chains(), kChainsOfBlock);
    std::map<ChainPlace, AccumulatorBuffers> places;
    for (int l = 0; l < plan_.loops; ++l) {
      for (size_t r = 0; r < reductions(l).size(); ++r) {
        const Value v = reductions(l)[r];
        const std::string number = std::to_string(v);
        partials_[v] = c_.reducer(v).buffers("blocks" + number, Space::Shared, blocks);
        chain_[v] = c_.reducer(v).buffers("chain" + number, Space::Local, row_.lanes);
        auto [place, fresh] = places.try_emplace(chain_place(c_.kernel, v, r));
        if (fresh) place->second = c_.reducer(v).buffers("chains" + number, Space::Shared, row_.chains() * kLanes);
        chains_[v] = place->second;
      }
    }
  }

  // A chain of each of the thread's lanes: its elements in loop l, and what they come to.
  void chain(int l, ValueId round, bool in_shared) {
    const ValueId number = c_.add(c_.mul(chain_group_, c_.literal(row_.rounds)), round);
    const ValueId begin = c_.add(c_.mul(number, c_.literal(kChainSpan)), first_lane_);
    const auto start_chain = [&](Value v) {
      for (int64_t part = 0; part < row_.lanes; ++part) c_.reducer(v).store(chain_.at(v), c_.literal(part), c_.reducer(v).identity());
    };
    for (Value v : reductions(l)) start_chain(v);
    const bool ragged = row_.chains() * kChainSpan != length_;
    c_.unrolled(ir::kReduceChain, [&](ValueId step) {
      const ValueId first = c_.add(begin, c_.mul(step, c_.literal(kLanes)));
      const ValueId of_round = in_shared ? c_.sub(round, c_.literal(row_.in_registers)) : round;
      const ValueId slot = c_.add(c_.mul(of_round, c_.literal(ir::kReduceChain)), step);
      const ValueId place = in_shared ? c_.add(c_.mul(slot, c_.literal(threads_ * row_.lanes)), c_.mul(c_.thread(), c_.literal(row_.lanes)))
                                      : c_.mul(slot, c_.literal(row_.lanes));
      nest_.when(ragged ? c_.less(first, nest_.extent(lane_)) : kAlways, [&] { elements(l, first, place, in_shared); });
    });
    for (Value v : reductions(l)) {
      const Accumulator sums = c_.reducer(v).load(chain_.at(v), c_.literal(0), static_cast<int>(row_.lanes));
      c_.reducer(v).store(chains_.at(v), c_.add(c_.mul(number, c_.literal(kLanes)), first_lane_), sums);
    }
  }

  // Neighbours from position `first` on, whose kept values are at `place`: in shared memory they move as one vector.
  void elements(int l, ValueId first, ValueId place, bool in_shared) {
    const auto take_all = [&](ValueId part, ValueId position) {
      for (Value v : reductions(l)) {
        Reducer reduce = c_.reducer(v);
        Accumulator next{nest_.get(nest_.instr(v).args[0])};
        if (reduce.has_index()) next.beside = nest_.position(position);
        reduce.store(chain_.at(v), part, reduce.combine(reduce.load(chain_.at(v), part), next));
      }
    };
    if (!in_vectors_) {
      nest_.bind(lane_, first);
      point(l, full(l), [&](int) { return place; });
      return take_all(c_.literal(0), first);
    }
    VectorAccess access(c_);
    if (in_shared) {
      for (Value v : plan_.carried_in[l]) {
        if (carry_.count(v) != 0) access.read(v, carry_.at(v), place);
      }
    }
    const std::vector<Value> single = through(access, l, first);
    if (in_shared) {
      for (Value v : full(l)) {
        if (carry_.count(v) != 0) access.write(v, carry_.at(v), place);
      }
    }
    access.each([&](ValueId k) {
      const ValueId position = c_.add(first, k);
      nest_.bind(lane_, position);
      if (in_shared) {
        for (Value v : single) nest_.emit(v);
      } else {
        point(l, single, [&](int) { return c_.add(place, k); });
      }
      take_all(k, position);
    });
  }

  // Reduction number r of a loop, from what the chains came to: the tree's blocks by warps, beginning with another warp for each r.
  void add_chains(Value v, size_t number) {
    Reducer chain = c_.reducer(v), total = chain.total();
    const AccumulatorBuffers& lanes = (total.keeps_rest() ? totals_ : accumulators_).at(v);
    const ValueId blocks = nest_.size(blocks_), shift = c_.literal(static_cast<int64_t>(number) % groups_);
    const ValueId before = c_.add(group_number_, c_.sub(c_.literal(groups_), shift));
    const ValueId first = b_.op(Op::Where, {c_.less(group_number_, shift), before, c_.sub(group_number_, shift)});
    const int64_t all = row_.chains();
    c_.loop(first, blocks, groups_, [&](ValueId block) {
      start(total, lanes);
      const ValueId begin = c_.mul(block, c_.literal(kChainsOfBlock));
      const bool whole = blocks_ <= 1 || all % kChainsOfBlock == 0;
      const ValueId count =
          whole ? c_.literal(std::min(all, kChainsOfBlock)) : c_.minimum(c_.sub(c_.literal(all), begin), c_.literal(kChainsOfBlock));
      c_.loop(
          c_.literal(0), count, 1,
          [&](ValueId of_block) {
            const ValueId line = c_.mul(c_.add(begin, of_block), c_.literal(kLanes));
            for (int64_t part = 0; part < parts_; ++part) {
              const ValueId at = c_.literal(part), place = c_.add(line, place_in_step(at));
              total.store(lanes, at, total.combine(total.load(lanes, at), chain.load(chains_.at(v), place)));
            }
          },
          whole);
      std::vector<Accumulator> sums = lanes_in(total, lanes);
      for (Accumulator& sum : sums) sum = total.whole(sum);
      const Accumulator state = fold(chain, std::move(sums));
      only(lane_in_group_, [&] { chain.store(partials_.at(v), block, state); });
    });
  }

  const BlockRow& row_;
  std::map<Value, int32_t> in_thread_, in_shared_;      // where kept values are
  std::map<Value, AccumulatorBuffers> chain_, chains_;  // a thread's chain of each lane; shared: of all
  ValueId chain_group_ = kNone, first_lane_ = kNone;
};

}  // namespace

int64_t BlockRow::groups() const { return threads * lanes / kLanes; }
int64_t BlockRow::chains() const { return groups() * rounds; }
int64_t BlockRow::slots() const { return in_registers * ir::kReduceChain * lanes; }
int64_t BlockRow::shared_slots() const { return (rounds - in_registers) * ir::kReduceChain * threads * lanes; }

std::optional<BlockRow> block_row(const ir::Kernel& kernel, const ir::GpuTarget& target, const ReduceLoops& plan, int64_t length,
                                  bool vectors) {
  constexpr int64_t kLeast = 128, kMost = 1024, kOfThread = 16, kManyScalars = 16;
  // Each scalar takes a register of each thread: with many of them (random numbers) half the threads have twice the registers.
  const auto scalars = std::ranges::count_if(kernel.instrs, [](const Instr& in) { return in.op == Op::Scalar; });
  const int64_t wider = scalars > kManyScalars ? 2 : 1;
  BlockRow row;
  row.lanes = vectors ? kVector : 1;
  find_places(kernel, plan, row);
  for (const std::vector<Value>& loop : plan.reductions) {
    for (Value v : loop) {
      const bool in_order = kernel.instr(v).op == Op::Prod && ir::is_float(kernel.instr(v).dtype);
      if (in_order) return std::nullopt;
    }
  }
  row.threads = std::clamp(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(ceil_div(length, kOfThread)))), kLeast, kMost / wider);
  row.rounds = ceil_div(length, row.groups() * kChainSpan);
  int64_t registers = 0;
  for (DType dtype : row.places) registers += std::max<int64_t>(1, ir::item_size(dtype) / 4) * ir::kReduceChain * row.lanes;
  row.in_registers = registers == 0 ? row.rounds : std::min(row.rounds, wider * kBlockRegisters / registers);
  if (row.in_registers == 0 || shared_bytes(kernel, plan, row) > target.shared_bytes) return std::nullopt;
  return row;
}

void lower_rows_in_block(Context& c, const BlockRow& row) { RowsInBlock(c, row).lower(); }

}  // namespace tenon::passes::gpu
