// Loop tree -> LLVM IR -> object file -> callable code. The only door to LLVM; no LLVM type passes through it.
#pragma once

#include <memory>
#include <string>

#include "codegen/executable.h"
#include "ir/looptree/looptree.h"

namespace tenon::codegen::llvm_backend {

bool available();             // false in a -DTENON_LLVM=OFF build
std::string version();        // "19.1.7"
std::string host_cpu();       // LLVM's name of this CPU
std::string host_features();  // "-amx,+avx,...": its ISA features, sorted by name: part of the disk key
int host_vector_bits();       // 128, 256 or 512

// One self-contained relocatable object with a function `phase0`, `phase1`, ... for each phase. Thread-safe; callable
// from several threads at once. Throws IrError on a malformed tree, or if LLVM rejects the module. `cpu` names another
// CPU than the host, without the host's features ("x86-64-v3"): the same bits come out on every one.
std::string compile_object(const ir::LoopTree& tree, const std::string& cpu = {});
// Links what compile_object gave into this process; whoever keeps it in a file answers for its bytes (runtime/cache/disk_cache.h).
// Throws std::runtime_error if it is no object, or has no such phases.
std::unique_ptr<Executable> load_object(const std::string& object, int phase_count);

std::string emit_ir(const ir::LoopTree& tree);  // as emitted, before LLVM's passes
std::string emit_assembly(const ir::LoopTree& tree);

}  // namespace tenon::codegen::llvm_backend
