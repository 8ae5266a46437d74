// The GPU schedules, one function each, and what they share. Private to passes/schedule/.
#pragma once

#include <vector>

#include "passes/schedule/context.h"
#include "passes/schedule/loops.h"

namespace tenon::passes::gpu {

constexpr int kVector = 4;  // neighbours that a thread moves as one: 16 bytes, if they have four each

struct Context : passes::Context {
  const ir::GpuTarget& target;
  ReduceLoops loops;

  Context(const ir::Kernel& kernel, Lowered& out, const ir::GpuTarget& target, KnownLowered known = {});

  // A phase of so many blocks of threads; gives the block's number.
  ValueId begin_phase(std::string name, int64_t blocks);
  ValueId thread() const { return thread_; }  // in its block
  // Asks for registers for so many blocks on a multiprocessor, or as many as threads with so many registers let it have.
  void ask_for_blocks(int64_t blocks, int64_t registers_of_thread);
  // A phase with a thread for each of `count` items: body(item).
  template <typename Body>
  void each_item(std::string name, int64_t count, const Body& body) {
    const ValueId block = begin_phase(std::move(name), ceil_div(count, target.threads));
    const ValueId item = add(mul(block, literal(target.threads)), thread_);
    nest.when(below(item, count, target.threads), [&] { body(item); });
    end_phase();
  }
  // Whether item < count, where `together` of them start at once.
  ValueId below(ValueId item, int64_t count, int64_t together) { return count % together == 0 ? kAlways : less(item, nest.size(count)); }

 private:
  ValueId thread_ = kNone;
};

// Blocks of so many threads, with so many registers each, that a multiprocessor has registers for: at least one, at most `blocks`.
int resident_blocks(int64_t blocks, int64_t threads, int64_t registers_of_thread);

void lower_pointwise(Context& c);
// Whether there is an axis along which some load is contiguous although the stores are contiguous along the innermost one.
Choice choose_transpose(const ir::Kernel& kernel, const ir::GpuTarget& target);
void lower_transpose(Context& c);

enum class RowProgram : uint8_t { Short, InBlock, Long, Split };
Choice choose_rows(const ir::Kernel& kernel, const ir::GpuTarget& target);
void lower_short_rows(Context& c);
void lower_rows_in_block(Context& c);
void lower_long_rows(Context& c);
void lower_rows_split(Context& c);

bool splits_columns(const ir::Kernel& kernel);
void lower_columns(Context& c);
void lower_columns_split(Context& c);

enum class ContractionProgram : uint8_t { Outputs, TilesOfThreads, TilesOfWarps, Windows };
Choice choose_contraction(const ir::Kernel& kernel, const ir::GpuTarget& target);
void lower_contraction_tiles(Context& c);  // of threads or of warps
void lower_contraction_windows(Context& c);
void lower_contraction_outputs(Context& c);

}  // namespace tenon::passes::gpu
