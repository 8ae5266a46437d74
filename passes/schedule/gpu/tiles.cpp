// The tiles of products and the model that chooses among them; see tiles.h.
#include "passes/schedule/gpu/tiles.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ir/looptree/looptree.h"
#include "ir/op/sum_order.h"
#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

namespace {

constexpr Worker kWarp = Worker::Warp;

// Square ones reuse most; flat ones are for few rows or columns; deep ones wait for memory less often, where there are few blocks.
constexpr Tile kTiles[] = {
    {128, 128, 8, 8, 8},
    {128, 64, 8, 8, 4},
    {64, 128, 8, 4, 8},
    {64, 64, 16, 4, 4},
    {128, 32, 16, 4, 4},
    {32, 128, 16, 4, 4},
    {32, 32, 16, 2, 2},
    {32, 32, 64, 2, 2},
    {256, 16, 16, 4, 4},
    {16, 256, 16, 4, 4},
    {64, 16, 32, 2, 2},
    {16, 64, 32, 2, 2},
    {16, 16, 64, 1, 1},
    {256, 8, 16, 2, 4},
    {8, 256, 16, 4, 2},
    {256, 4, 16, 1, 4},
    {4, 256, 16, 4, 1},
    {256, 1, 32, 1, 1},
    {1, 256, 32, 1, 1},

    {128, 128, 32, 64, 64, kWarp},
    {128, 128, 32, 64, 32, kWarp},
    {128, 64, 32, 64, 32, kWarp},
    {64, 128, 32, 64, 32, kWarp},
    {64, 64, 32, 32, 32, kWarp},
    {32, 32, 64, 16, 16, kWarp},
    {128, 16, 32, 32, 16, kWarp},
    {16, 128, 32, 16, 32, kWarp},
};

// What a thread stages is spread evenly; the threads store whole rows; a warp's part is of whole tiles.
constexpr bool is_sound(const Tile& t) {
  const int least = t.worker == Worker::Warp ? ir::kTileExtent : 1, together = t.worker == Worker::Warp ? kVector : 1;
  return t.rows % t.part_rows == 0 && t.columns % t.part_columns == 0 && t.part_rows % least == 0 && t.part_columns % least == 0 &&
         t.depth % least == 0 && ir::kProductChain % t.depth == 0 && t.threads() % t.columns == 0 && staged_evenly(t, t.rows, together) &&
         staged_evenly(t, t.columns, together);
}
static_assert(std::all_of(std::begin(kTiles), std::end(kTiles), is_sound));

// Instructions and cycles, for four schedulers a multiprocessor that each start one instruction of a warp a cycle.
constexpr double kSchedulers = 4;
constexpr double kResidentThreads = 1024;
constexpr double kLatency = 700;      // of memory, and the barriers around a slice
constexpr double kStaged = 8;         // for one staged element, beside what it is computed by
constexpr double kStagedHalf = 5;     // if four are put to shared memory together
constexpr double kCopied = 1;         // of one that is copied asynchronously, eight at once
constexpr double kTileRead = 16;      // of a warp's tile from shared memory, whose bandwidth all schedulers share
constexpr double kWarpRate = 0.6;     // of the tensor cores' rate, that instructions of one warp reach from compute capability 9.0 on
constexpr double kFromMemory = 12;    // of an output's two operands and their addresses, for one k
constexpr double kScattered = 3;      // times as much, if each thread waits for a line of its own
constexpr int kMostWide = 32;         // sums of a thread that take two registers each
constexpr int kMostOfWarp = 64 * 32;  // sums of a warp beside which a thread has room for as many more

int64_t shared_bytes(const Tile& t, ir::DType dtype) {
  const bool warps = t.worker == Worker::Warp;
  const int64_t item = warps ? 2 : ir::item_size(dtype), stages = stages_of(t, item);
  if (warps)
    return int64_t{t.rows + t.columns} * t.depth * item * stages +
           int64_t{t.rows / t.part_rows} * ir::kTileExtent * (t.columns + kPadding) * 4;
  return (int64_t{t.depth} * (t.rows + t.columns + 2 * kVector) * stages + int64_t{t.threads()} * t.part_columns) * item;
}

}  // namespace

double multiply_cycles(ir::DType dtype, int compute) {
  const bool data_center = compute % 10 == 0;  // 80, 90, 100; the others compute few doubles
  switch (dtype) {
    case ir::DType::F64: return !data_center ? 64 : compute >= 90 ? 2 : 4;
    case ir::DType::I64: return 8;
    case ir::DType::F32: return compute <= 80 ? 2 : 1;
    default: return 2;
  }
}

namespace {

// Multiply-adds a cycle of a multiprocessor in the library: tensor cores, but for f32.
double library_rate(ir::DType dtype, int compute) {
  if (dtype == ir::DType::F64) return compute >= 90 ? 128 : compute == 80 ? 64 : 2;
  if (dtype == ir::DType::F32 || (dtype == ir::DType::BF16 && compute < 80)) return compute <= 80 ? 64 : 128;
  if (compute >= 90) return compute >= 100 ? 4096 : 2048;
  return compute == 80 ? 1024 : 512;
}

// Cycles of a scheduler for a warp's product of 16x16x16.
double tensor_cycles(int compute) {
  constexpr double kMultiplied = ir::kTileExtent * ir::kTileExtent * ir::kTileExtent;
  return kMultiplied * kSchedulers / (library_rate(ir::DType::F16, compute) * (compute >= 90 ? kWarpRate : 1));
}

bool fits(const Tile& t, const ProductShape& shape, const ir::GpuTarget& target) {
  if (t.worker == Worker::Warp && !(shape.halves && target.compute >= kFirstMma)) return false;
  constexpr int64_t kMostShared = 100 << 10;  // two blocks a multiprocessor
  // The largest tile has no room for what its sums' chains come to, nor for what is staged.
  if (t.worker == Worker::Warp && t.part_rows * t.part_columns > kMostOfWarp &&
      !(shape.copied && !ir::product_in_chains(shape.dtype, shape.depth, ir::kTileChain)))
    return false;
  return t.threads() <= target.threads && shared_bytes(t, shape.dtype) <= std::min(kMostShared, target.shared_bytes) &&
         (ir::item_size(shape.dtype) <= 4 || t.part_rows * t.part_columns <= kMostWide);
}

// Instructions by which a thread reads so many neighbours from shared memory.
int reads(int n) { return n % kVector == 0 ? n / kVector : n; }

// Cycles for which a warp multiplies a slice of its operands.
double slice_cycles(const Tile& t, const ProductShape& shape, const ir::GpuTarget& target) {
  if (t.worker == Worker::Warp) {
    const int down = t.part_rows / ir::kTileExtent, across = t.part_columns / ir::kTileExtent;
    return t.depth / ir::kTileExtent * std::max(down * across * tensor_cycles(target.compute), (down + across) * kTileRead);
  }
  const double multiplied = multiply_cycles(shape.dtype, target.compute) * t.part_rows * t.part_columns;
  return t.depth * (multiplied + 2.0 * (reads(t.part_rows) + reads(t.part_columns)));
}

double cycles(const Tile& t, const ProductShape& shape, const ir::GpuTarget& target) {
  const double threads = t.threads();
  const double blocks = static_cast<double>(shape.batch) * static_cast<double>(ceil_div(shape.rows, t.rows)) *
                        static_cast<double>(ceil_div(shape.columns, t.columns));
  const auto slices = static_cast<double>(ceil_div(shape.depth, t.depth));
  const bool by_warps = t.worker == Worker::Warp;
  const double each = !by_warps ? kStaged : shape.copied ? kCopied : kStagedHalf;
  const auto staged = [&](int width, int cost) { return std::ceil(width * t.depth / threads) * (each + cost); };
  const double whole = by_warps ? slices : static_cast<double>(shape.depth) / t.depth;  // a warp multiplies zeros too
  const double slice = staged(t.rows, shape.left_cost) + staged(t.columns, shape.right_cost);
  const double waits = slices / (shape.copied ? stages_of(t, by_warps ? 2 : ir::item_size(shape.dtype)) - 1 : 1) + 1;
  return cycles_of_blocks(blocks, t.threads(), whole * slice_cycles(t, shape, target) + slices * slice, waits, target);
}

double cycles_one_by_one(const ProductShape& shape, const ir::GpuTarget& target) {
  constexpr double kChain = 50;  // cycles from one sum to the next, a few loads in flight
  const double outputs = static_cast<double>(shape.batch) * static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
  const double warps = std::ceil(outputs / target.warp), depth = static_cast<double>(shape.depth);
  const double instructions = depth * (kFromMemory * (shape.scattered ? kScattered : 1) + shape.left_cost + shape.right_cost);
  const double processors = target.multiprocessors, resident = kResidentThreads / target.warp;
  return std::max(std::ceil(warps / processors) * instructions / kSchedulers,
                  std::ceil(warps / (processors * resident)) * (depth * kChain + instructions) + kLatency);
}

}  // namespace

std::span<const Tile> tiles() { return kTiles; }

double cycles_of_blocks(double blocks, int threads, double of_warp, double waits, const ir::GpuTarget& target) {
  const double processors = target.multiprocessors, resident = std::max(1.0, std::floor(kResidentThreads / threads));
  const double block = of_warp * threads / target.warp / kSchedulers;
  return std::max(std::ceil(blocks / processors) * block, std::ceil(blocks / (processors * resident)) * (waits * kLatency + block));
}

int64_t registers_of_sums(const Tile& t, ir::DType dtype, int64_t depth) {
  const int64_t sums = int64_t{t.part_rows} * t.part_columns / (t.worker == Worker::Warp ? 32 : 1);
  const int64_t chain = t.worker == Worker::Warp ? ir::kTileChain : ir::kProductChain;
  const int64_t kinds = 1 + (ir::product_in_chains(dtype, depth, chain) ? 1 : 0) + (ir::product_in_groups(dtype, depth, chain) ? 2 : 0);
  return sums * kinds * std::max<int64_t>(1, ir::item_size(dtype) / 4);
}

TileChoice choose_tile(const ProductShape& shape, const ir::GpuTarget& target) {
  TileChoice best{nullptr, cycles_one_by_one(shape, target)};
  for (const Tile& tile : kTiles) {
    if (!fits(tile, shape, target)) continue;
    const double estimate = cycles(tile, shape, target);
    if (estimate < best.cycles) best = {&tile, estimate};
  }
  return best;
}

namespace {

constexpr double kCall = 9500, kLaunch = 3000;  // ns; of a call with what the host takes longer for it than for a launch (docs/gpu_runs.md)

ProductShape shape_of(const Form::Product& p) {
  const bool halves = ir::is_half(p.dtype);
  return {.dtype = halves ? ir::DType::F32 : p.dtype,
          .batch = p.batch,
          .rows = p.rows,
          .columns = p.columns,
          .depth = p.depth,
          .halves = halves,
          .copied = halves};
}

double nanoseconds(const TileChoice& choice, const ir::GpuTarget& target) {
  constexpr double kUnseen = 1.5;  // of generated code: conflicts of banks, warps that wait at barriers
  return choice.cycles * kUnseen / target.gigahertz;
}

}  // namespace

ProductCosts product_costs(const Form::Product& p, const ir::GpuTarget& target) {
  constexpr double kEfficiency = 0.75;  // of its rate
  const double generated = nanoseconds(choose_tile(shape_of(p), target), target);
  const double outputs = static_cast<double>(p.batch) * static_cast<double>(p.rows) * static_cast<double>(p.columns);
  const double multiplied = outputs * static_cast<double>(p.depth);
  const double rate = library_rate(p.dtype, target.compute) * kEfficiency * target.multiprocessors * target.gigahertz;
  const double beside = kLaunch * p.other_launches + static_cast<double>(p.other_bytes) / target.gigabytes_per_second;
  return {generated / 1000, (kCall + multiplied / rate + beside) / 1000};
}

WindowOrder window_order(const Form::Product& p, int64_t copied_bytes, const ir::GpuTarget& target) {
  constexpr int kWindowCost = 13;  // of an element: two guards
  ProductShape shape = shape_of(p);
  const TileChoice copied = choose_tile(shape, target);
  if (!shape.halves || !copied.tile || copied.tile->worker != Worker::Warp) return WindowOrder::ByChannel;
  shape.copied = false;
  shape.right_cost = kWindowCost;
  const double saved = nanoseconds(choose_tile(shape, target), target) - nanoseconds(copied, target);
  const double copies = 2 * kLaunch + static_cast<double>(copied_bytes) / target.gigabytes_per_second;
  return saved > copies ? WindowOrder::ByTapStored : WindowOrder::ByTap;
}

bool library_is_faster(const Form::Product& p, const ir::GpuTarget& target) {
  if (!ir::is_float(p.dtype)) return false;
  const ProductCosts costs = product_costs(p, target);
  return costs.library_us < costs.generated_us;
}

}  // namespace tenon::passes::gpu
