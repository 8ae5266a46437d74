// What explain says of a kernel's accesses to memory, and how its code is shown in a process without a GPU.
#include "runtime/cuda/access_lines.h"

#include "codegen/cuda/accesses.h"
#include "codegen/cuda/emit.h"
#include "ir/base/text.h"
#include "runtime/device/device.h"

namespace tenon::runtime::cuda {
namespace {

constexpr const char* kWhyNoPtx = "PTX is what NVRTC makes of kernels for a CUDA device; the CUDA stage has the source for one.\n";
[[maybe_unused]] const bool sketched = register_sketch(CodeForm::CUDA, {.target = ir::GpuTarget{}, .text = codegen::cuda::emit}) &&
                                       register_sketch(CodeForm::PTX, {.why_none = kWhyNoPtx});

// `whole`: every warp was walked.
std::string access_text(const codegen::cuda::Access& access, const ir::TreeBuffer& buffer, bool whole) {
  using Kind = codegen::cuda::Access::Kind;
  const bool writes = access.kind == Kind::Store || access.kind == Kind::CopyTo, shared = buffer.space == ir::Space::Shared;
  std::string text = (writes ? "writes " : "reads ") + std::string(shared ? "shared " : "") + buffer.name + ", " +
                     std::to_string(access.bytes) + " B a thread: ";
  if (access.warps == 0) return text + (access.places_vary ? "where data say" : whole ? "no warp comes to it" : "behind what is counted");
  const auto of_warp = [&](int64_t n) { return ir::fixed_text(static_cast<double>(n) / static_cast<double>(access.warps), 2); };
  text += of_warp(access.transfers) + (shared ? " rounds of banks a warp, " : " sectors a warp, ") + of_warp(access.least) + " at least";
  if (access.ways > 1) text += ", conflicts of " + std::to_string(access.ways) + " ways";
  return text + (access.places_vary    ? "; elsewhere where data say"
                 : access.threads_vary ? "; if all threads take part, which data say"
                                       : "");
}

}  // namespace

std::vector<std::string> access_lines(const ir::LoopTree& tree, std::span<const int64_t> sizes) {
  constexpr int64_t kSteps = 200'000;  // some tens of milliseconds
  std::vector<std::string> lines;
  for (const ir::Phase& phase : tree.phases) {
    const codegen::cuda::AccessCounts counts = codegen::cuda::count_accesses(tree, phase, sizes, kSteps);
    const bool whole = counts.blocks == counts.of_blocks;
    for (const codegen::cuda::Access& access : counts.accesses) {
      lines.push_back(phase.name + ": " + access_text(access, tree.buffers[static_cast<size_t>(access.buffer)], whole) +
                      (whole ? "" : " (" + std::to_string(counts.blocks) + " of " + std::to_string(counts.of_blocks) + " blocks)"));
    }
  }
  return lines;
}

}  // namespace tenon::runtime::cuda
