// What codegen/llvm is in a -DTENON_LLVM=OFF build: it says that it is not there, and refuses work, which then runs as bytecode.
#ifndef TENON_HAVE_LLVM
#include <stdexcept>

#include "codegen/llvm/jit.h"

namespace tenon::codegen::llvm_backend {

namespace {
[[noreturn]] void refuse() { throw std::runtime_error("Tenon was built without LLVM (-DTENON_LLVM=OFF)"); }
}  // namespace

bool available() { return false; }
std::string version() { return "none"; }
std::string host_cpu() { return "unknown, without LLVM"; }
std::string host_features() { return ""; }
int host_vector_bits() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return 512;
  if (__builtin_cpu_supports("avx2")) return 256;
#endif
  return 128;
}

std::string compile_object(const ir::LoopTree&, const std::string&) { refuse(); }
std::unique_ptr<Executable> load_object(const std::string&, int) { refuse(); }
std::string emit_ir(const ir::LoopTree&) { refuse(); }
std::string emit_assembly(const ir::LoopTree&) { refuse(); }

}  // namespace tenon::codegen::llvm_backend
#endif
