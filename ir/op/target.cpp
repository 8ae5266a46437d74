#include "ir/op/target.h"

#include <string>

#include "ir/op/types.h"

namespace tenon::ir {
namespace {

void require(bool ok, const char* what, int64_t value, const char* wanted) {
  if (!ok) throw IrError(std::string("target: ") + what + " is " + std::to_string(value) + ", not " + wanted);
}

void check_cpu(const CpuTarget& t) {
  require(t.vector_bits == 128 || t.vector_bits == 256 || t.vector_bits == 512, "vector_bits", t.vector_bits, "128, 256 or 512");
  require(t.l2_bytes > 0, "l2_bytes", t.l2_bytes, "positive");
  require(t.cores > 0, "cores", t.cores, "positive");
}

void check_gpu(const GpuTarget& t) {
  require(t.warp == 32, "warp", t.warp, "32");
  require(t.threads > 0 && t.threads % t.warp == 0 && t.threads <= 1024, "threads", t.threads, "a whole number of warps, at most 1024");
  require(t.shared_bytes >= 0, "shared_bytes", t.shared_bytes, "0 or more");
  require(t.multiprocessors > 0, "multiprocessors", t.multiprocessors, "positive");
  require(t.compute >= 10, "compute", t.compute, "a compute capability times ten");
  if (!(t.gigahertz > 0 && t.gigabytes_per_second > 0)) throw IrError("target: its clock and its memory have a speed");
}

}  // namespace

const Target& target_of(const Targets& targets, DeviceTag device) {
  static const Target unknown;
  const auto it = targets.find(device);
  return it == targets.end() ? unknown : it->second;
}

std::string_view name(TargetKind kind) { return kind == TargetKind::Cpu ? "CPU" : "GPU"; }

void check(const Target& target) {
  if (const auto* cpu = std::get_if<CpuTarget>(&target)) return check_cpu(*cpu);
  check_gpu(std::get<GpuTarget>(target));
}

}  // namespace tenon::ir
