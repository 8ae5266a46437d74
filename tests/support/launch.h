// Runs a lowered kernel on host memory without the runtime: allocates Global and Local buffers, runs the
// phases in pieces, compiled or as bytecode. For tests of schedules and code generators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "codegen/bytecode/bytecode.h"
#include "codegen/executable.h"
#include "codegen/llvm/jit.h"
#include "passes/schedule/schedule.h"

namespace tenon::test {

inline int64_t buffer_bytes(const ir::TreeBuffer& buffer, const std::vector<int64_t>& sizes) {
  int64_t count = buffer.size_param < 0 ? buffer.count : sizes[static_cast<size_t>(buffer.size_param)];
  return count * ir::item_size(buffer.dtype);
}

// `buffers` are the kernel's In and Out buffers; each phase runs in pieces of `piece` iterations, last piece
// first, so that a schedule whose iterations depend on each other gives wrong results. Scratch starts as 0xff
// bytes.
// run(phase, buffers, sizes, scalars, begin, end, local) does so of one piece; local has room for `more` bytes behind the Local buffers.
template <typename Run>
void launch_with(const Run& run, const passes::Lowered& lowered, std::vector<void*> buffers, const std::vector<uint64_t>& scalars,
                 int64_t piece, int64_t more = 0) {
  constexpr int64_t align = codegen::kLocalAlign;
  std::vector<std::vector<std::byte>> scratch;
  int64_t local_bytes = 0;
  for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
    int64_t bytes = buffer_bytes(buffer, lowered.sizes);
    if (buffer.space == ir::Space::Local) local_bytes += (bytes + align - 1) / align * align;
    if (buffer.space != ir::Space::Global) continue;
    scratch.emplace_back(static_cast<size_t>(bytes), std::byte{0xff});
    buffers.push_back(scratch.back().data());
  }
  std::vector<std::byte> local(static_cast<size_t>(local_bytes + more + align), std::byte{0xff});
  void* base = local.data();
  size_t space = local.size();
  std::align(static_cast<size_t>(align), static_cast<size_t>(local_bytes + more), base, space);
  for (size_t p = 0; p < lowered.tree.phases.size(); ++p) {
    int64_t extent = lowered.sizes[static_cast<size_t>(lowered.tree.phases[p].extent)];
    for (int64_t end = extent; end > 0; end -= std::min(piece, end)) {
      int64_t begin = std::max<int64_t>(0, end - piece);
      run(p, buffers.data(), lowered.sizes.data(), scalars.data(), begin, end, base, static_cast<std::byte*>(base) + local_bytes);
    }
  }
}

inline void launch(const passes::Lowered& lowered, const codegen::Executable& code, std::vector<void*> buffers,
                   const std::vector<uint64_t>& scalars, int64_t piece) {
  const auto run = [&](size_t p, void* const* b, const int64_t* sizes, const uint64_t* numbers, int64_t begin, int64_t end, void* local,
                       void*) { code.phases[p](b, sizes, numbers, begin, end, local); };
  launch_with(run, lowered, std::move(buffers), scalars, piece);
}

inline void launch(const passes::Lowered& lowered, const codegen::Bytecode& code, std::vector<void*> buffers,
                   const std::vector<uint64_t>& scalars, int64_t piece) {
  const auto run = [&](auto... arguments) { code.run(arguments...); };
  launch_with(run, lowered, std::move(buffers), scalars, piece, static_cast<int64_t>(code.register_bytes()));
}

}  // namespace tenon::test
