// The tiles of products and the model that chooses among them; see tiles.h.
#include "passes/schedule/gpu/tiles.h"

#include <algorithm>
#include <cmath>

#include "passes/schedule/context.h"

namespace tenon::passes::gpu {

namespace {

// Square ones reuse most; flat ones are for few rows or columns; deep ones wait for memory less often, where there are few blocks.
constexpr Tile kTiles[] = {
    {128, 128, 8, 8, 8}, {128, 64, 8, 8, 4},  {64, 128, 8, 4, 8},  {64, 64, 16, 4, 4}, {128, 32, 16, 4, 4}, {32, 128, 16, 4, 4}, {32, 32, 16, 2, 2},
    {32, 32, 64, 2, 2},  {256, 16, 16, 4, 4}, {16, 256, 16, 4, 4}, {64, 16, 32, 2, 2}, {16, 64, 32, 2, 2},  {16, 16, 64, 1, 1},  {256, 8, 16, 2, 4},
    {8, 256, 16, 4, 2},  {256, 4, 16, 1, 4},  {4, 256, 16, 4, 1},  {256, 1, 32, 1, 1}, {1, 256, 32, 1, 1},
};

// Instructions and cycles, for four schedulers a multiprocessor that each start one instruction of a warp a cycle.
constexpr double kSchedulers = 4;
constexpr double kResidentThreads = 1024;
constexpr double kLatency = 700;    // of memory, and the barriers around a slice
constexpr double kStaged = 8;       // for one staged element, beside what it is computed by
constexpr double kFromMemory = 12;  // of an output's two operands and their addresses, for one k
constexpr double kScattered = 3;    // times as much, if each thread waits for a line of its own
constexpr int kMostWide = 32;       // sums of a thread that take two registers each

int64_t shared_bytes(const Tile& t, ir::DType dtype) {
  return (int64_t{t.depth} * (t.rows + t.columns + 2 * kVector) + int64_t{t.threads()} * t.thread_columns) * ir::item_size(dtype);
}

// Cycles for which a fused multiply-add of a warp keeps its scheduler.
double multiply_cycles(ir::DType dtype, int compute) {
  const bool data_center = compute % 10 == 0;  // 80, 90, 100; the others compute few doubles
  switch (dtype) {
    case ir::DType::F64: return !data_center ? 64 : compute >= 90 ? 2 : 4;
    case ir::DType::I64: return 8;
    case ir::DType::F32: return compute <= 80 ? 2 : 1;
    default: return 2;
  }
}

// Multiply-adds a cycle of a multiprocessor in the library: tensor cores, but for f32.
double library_rate(ir::DType dtype, int compute) {
  if (dtype == ir::DType::F64) return compute >= 90 ? 128 : compute == 80 ? 64 : 2;
  if (dtype == ir::DType::F32 || (dtype == ir::DType::BF16 && compute < 80)) return compute <= 80 ? 64 : 128;
  if (compute >= 90) return compute >= 100 ? 4096 : 2048;
  return compute == 80 ? 1024 : 512;
}

bool fits(const Tile& t, const ProductShape& shape, const ir::GpuTarget& target) {
  return t.threads() <= target.threads && shared_bytes(t, shape.dtype) <= target.shared_bytes &&
         (ir::item_size(shape.dtype) <= 4 || t.thread_rows * t.thread_columns <= kMostWide);
}

// Instructions by which a thread reads so many neighbours from shared memory.
int reads(int n) { return n % kVector == 0 ? n / kVector : n; }

// The work of the busiest multiprocessor, or how long its blocks wait for memory, those that are resident together.
double cycles(const Tile& t, const ProductShape& shape, const ir::GpuTarget& target) {
  const double threads = t.threads(), warps = threads / target.warp;
  const double blocks = static_cast<double>(shape.batch) * static_cast<double>(ceil_div(shape.rows, t.rows)) *
                        static_cast<double>(ceil_div(shape.columns, t.columns));
  const auto slices = static_cast<double>(ceil_div(shape.depth, t.depth));
  const double multiplied = multiply_cycles(shape.dtype, target.compute) * t.thread_rows * t.thread_columns +
                            2.0 * (reads(t.thread_rows) + reads(t.thread_columns));
  const auto staged = [&](int width, int cost) { return std::ceil(width * t.depth / threads) * (kStaged + cost); };
  const double slice = staged(t.rows, shape.left_cost) + staged(t.columns, shape.right_cost);
  const double block = (static_cast<double>(shape.depth) * multiplied + slices * slice) * warps / kSchedulers;
  const double processors = target.multiprocessors, resident = std::max(1.0, std::floor(kResidentThreads / threads));
  return std::max(std::ceil(blocks / processors) * block, std::ceil(blocks / (processors * resident)) * ((slices + 1) * kLatency + block));
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

TileChoice choose_tile(const ProductShape& shape, const ir::GpuTarget& target) {
  TileChoice best{nullptr, cycles_one_by_one(shape, target)};
  for (const Tile& tile : kTiles) {
    if (!fits(tile, shape, target)) continue;
    const double estimate = cycles(tile, shape, target);
    if (estimate < best.cycles) best = {&tile, estimate};
  }
  return best;
}

ProductCosts product_costs(const Form::Product& p, const ir::GpuTarget& target) {
  constexpr double kEfficiency = 0.75;             // of its rate
  constexpr double kUnseen = 1.5;                  // of generated code: conflicts of banks, warps that wait at barriers
  constexpr double kCall = 4000, kLaunch = 3000;   // ns
  const ir::DType sums = ir::is_half(p.dtype) ? ir::DType::F32 : p.dtype;
  const double generated = choose_tile({sums, p.batch, p.rows, p.columns, p.depth}, target).cycles * kUnseen / target.gigahertz;
  const double outputs = static_cast<double>(p.batch) * static_cast<double>(p.rows) * static_cast<double>(p.columns);
  const double multiplied = outputs * static_cast<double>(p.depth);
  const double rate = library_rate(p.dtype, target.compute) * kEfficiency * target.multiprocessors * target.gigahertz;
  const double beside = kLaunch * p.other_launches + static_cast<double>(p.other_bytes) / target.gigabytes_per_second;
  return {generated / 1000, (kCall + multiplied / rate + beside) / 1000};
}

bool library_is_faster(const Form::Product& p, const ir::GpuTarget& target) {
  if (!ir::is_float(p.dtype)) return false;
  const ProductCosts costs = product_costs(p, target);
  return costs.library_us < costs.generated_us;
}

}  // namespace tenon::passes::gpu
