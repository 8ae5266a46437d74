// From LLVM module to callable code: a short pass list, the host's code generator, one checked
// object a tree, and ORC to link objects into the process. Takes loop trees or objects; gives objects
// and Executables.
#ifdef TENON_HAVE_LLVM
#include "codegen/llvm/jit.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#if __has_include(<llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>)
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#endif
#include <llvm/IR/Dominators.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <vector>

#include "codegen/llvm/emit.h"
#include "ir/base/exit.h"

namespace tenon::codegen::llvm_backend {

namespace orc = ::llvm::orc;
using ::llvm::TargetMachine;

namespace {

// The only symbols that an object may leave open: a CPU without FMA instructions rounds fma in libm.
constexpr std::string_view kMathSymbols[] = {"fma", "fmaf"};

// LLVM ends the process where its code generator finds no instructions. In a compilation of ours that is an exception instead. It
// passes through LLVM's frames, which free nothing on the way.
thread_local bool is_compiling = false;
struct Compiling {
  Compiling() { is_compiling = true; }
  ~Compiling() { is_compiling = false; }
};

[[noreturn]] void end_compilation(void*, const char* reason, bool) {
  const std::string text = reason;
  if (is_compiling) throw std::runtime_error("LLVM has no code for this kernel: " + text.substr(0, text.find('\n')));
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
  std::abort();
}

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::llvm::install_fatal_error_handler(end_compilation);
    ::llvm::InitializeNativeTarget();
    ::llvm::InitializeNativeTargetAsmPrinter();
  });
}

bool host_has(const char* feature) {
  static const auto features = ::llvm::sys::getHostCPUFeatures();
  const auto found = features.find(feature);
  return found != features.end() && found->second;
}

// --- exit

#ifdef TENON_LLVM_DIES_AT_EXIT
// Around each use of libLLVM.so, whose static objects are destroyed at exit; some are made by the first use of a part of it. An exit
// handler that is set after a use runs before the destructors of what that use made: it waits for the uses of other
// threads, and all later ones are errors.
class Use {
 public:
  Use() : lock_(state().mutex) {
    if (state().over) throw std::runtime_error("LLVM has ended, since the process is exiting");
  }
  ~Use() { ir::at_exit(end); }

 private:
  struct State {
    std::shared_mutex mutex;
    bool over = false;
  };
  static State& state() {
    static auto* s = new State;
    return *s;
  }
  static void end() {
    const std::lock_guard lock(state().mutex);
    state().over = true;
  }
  std::shared_lock<std::shared_mutex> lock_;
};
#else
struct Use {
  Use() {}
};
#endif

// --- compiling

std::unique_ptr<TargetMachine> make_target_machine(const std::string& cpu) {
  initialise();
  ::llvm::TargetOptions options;
  options.AllowFPOpFusion = ::llvm::FPOpFusion::Strict;
  const std::string name = ::llvm::sys::getProcessTriple();
#if LLVM_VERSION_MAJOR >= 21
  const ::llvm::Triple triple(name);
#else
  const std::string& triple = name;
#endif
  std::string error;
  const ::llvm::Target* target = ::llvm::TargetRegistry::lookupTarget(name, error);
  if (!target) throw std::runtime_error("LLVM has no code generator for this machine: " + error);
  std::string features = cpu.empty() ? host_features() : "";
  // Kernels compute no float16 in float16; and LLVM 19 fails at some moves of bits into its registers.
  if (::llvm::Triple(name).isX86()) features += ",-avx512fp16";
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(triple, cpu.empty() ? host_cpu() : cpu, features, options,
                                                                     ::llvm::Reloc::PIC_, ::llvm::CodeModel::Small,
                                                                     ::llvm::CodeGenOptLevel::Default));
  if (!machine) throw std::runtime_error("LLVM cannot generate code for " + (cpu.empty() ? host_cpu() : cpu));
  return machine;
}

// A target machine for one compilation, which threads do not share. Machines are kept for the next one: a machine, with what it
// knows of a CPU's features, takes as long to make as a tenth of a small kernel.
class LentMachine {
 public:
  explicit LentMachine(const std::string& cpu) : cpu_(cpu) {
    const std::lock_guard lock(pool().mutex);
    std::vector<std::unique_ptr<TargetMachine>>& idle = pool().idle[cpu_];
    if (idle.empty()) {
      machine_ = make_target_machine(cpu);
    } else {
      machine_ = std::move(idle.back());
      idle.pop_back();
    }
  }
  ~LentMachine() {
    if (!machine_) return;
    const std::lock_guard lock(pool().mutex);
    pool().idle[cpu_].push_back(std::move(machine_));
  }
  void forget() { (void)machine_.release(); }  // its state is unknown
  TargetMachine* operator->() const { return machine_.get(); }

 private:
  struct Pool {
    std::mutex mutex;
    std::map<std::string, std::vector<std::unique_ptr<TargetMachine>>> idle;  // by CPU
  };
  static Pool& pool() {
    static auto* const pool = new Pool;  // never destroyed, like LLVM's own tables
    return *pool;
  }

  const std::string cpu_;
  std::unique_ptr<TargetMachine> machine_;
};

// Loop strength reduction takes a third to a half of a compilation and finds nothing more: a schedule computes each part of
// an address outside the loops that do not change it, and the emitter makes pointers of these parts.
class WithoutStrengthReduction final : public ::llvm::OptPassGate {
 public:
  bool shouldRunPass(::llvm::StringRef name, ::llvm::StringRef) override { return name != "Loop Strength Reduction"; }
  bool isEnabled() const override { return true; }
};

// One compilation: its own context and machine, so that threads share nothing.
struct Compilation {
  WithoutStrengthReduction gate;
  std::unique_ptr<::llvm::LLVMContext> context = std::make_unique<::llvm::LLVMContext>();
  LentMachine machine;
  std::unique_ptr<::llvm::Module> module;

  Compilation(const ir::LoopTree& tree, const std::string& cpu) : machine(cpu) {
    context->setOptPassGate(gate);
    const ::llvm::MCSubtargetInfo& features = *machine->getMCSubtargetInfo();
    const bool x86 = machine->getTargetTriple().isX86();
    if (x86 && !features.checkFeatures("+sse4.1")) {
      throw std::runtime_error("this CPU lacks SSE4.1, the least that generated code needs");
    }
    module = emit_module(tree, *context, !x86 || features.checkFeatures("+f16c"));
#if LLVM_VERSION_MAJOR >= 21
    module->setTargetTriple(machine->getTargetTriple());
#else
    module->setTargetTriple(machine->getTargetTriple().str());
#endif
    module->setDataLayout(machine->createDataLayout());
    std::string report;
    ::llvm::raw_string_ostream out(report);
    if (::llvm::verifyModule(*module, &out)) throw ir::IrError("LLVM refuses the code of " + tree.name + ": " + report);
  }

  // Registers to SSA, common subexpressions (index arithmetic mostly), straight branches. The tree is
  // vectorised and unrolled already: LLVM's own pipelines find nothing more and take several times as long.
  void optimise() {
    ::llvm::FunctionAnalysisManager analyses;
    analyses.registerPass([] { return ::llvm::PassInstrumentationAnalysis(); });
    analyses.registerPass([] { return ::llvm::DominatorTreeAnalysis(); });
    analyses.registerPass([] { return ::llvm::AssumptionAnalysis(); });
    analyses.registerPass([] { return ::llvm::TargetLibraryAnalysis(); });
    analyses.registerPass([&] { return machine->getTargetIRAnalysis(); });
    ::llvm::FunctionPassManager passes;
    passes.addPass(::llvm::PromotePass());
    passes.addPass(::llvm::EarlyCSEPass());
    passes.addPass(::llvm::SimplifyCFGPass());
    for (::llvm::Function& function : *module) {
      if (!function.isDeclaration()) passes.run(function, analyses);
    }
  }

  std::string generate(::llvm::CodeGenFileType type) {
    ::llvm::SmallString<0> text;
    ::llvm::raw_svector_ostream out(text);
    auto passes = std::make_unique<::llvm::legacy::PassManager>();
    if (machine->addPassesToEmitFile(*passes, out, nullptr, type)) {
      throw std::runtime_error("LLVM cannot write this kind of file");
    }
    try {
      const Compiling here;
      passes->run(*module);
    } catch (...) {  // all was left in the middle of its work
      (void)passes.release();
      (void)module.release();
      (void)context.release();
      machine.forget();
      throw;
    }
    return std::string(text);
  }
};

std::string text_of(::llvm::Error error) { return ::llvm::toString(std::move(error)); }

void check_symbols(const std::string& object) {
  auto file = ::llvm::object::ObjectFile::createObjectFile(::llvm::MemoryBufferRef(object, "kernel"));
  if (!file) throw std::runtime_error("LLVM wrote an unreadable object: " + text_of(file.takeError()));
  for (const ::llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    const uint32_t flags = ::llvm::cantFail(symbol.getFlags());
    if (!(flags & ::llvm::object::SymbolRef::SF_Undefined)) continue;
    const ::llvm::StringRef name = ::llvm::cantFail(symbol.getName());
    if (name.empty() || std::ranges::count(kMathSymbols, std::string_view(name)) != 0) continue;
    throw ir::IrError("generated code calls " + name.str() + ", which is not part of it");
  }
}

// --- linking

template <typename T>
T checked(::llvm::Expected<T> result) {
  if (!result) throw std::runtime_error("cannot link a kernel: " + text_of(result.takeError()));
  return std::move(*result);
}

void checked(::llvm::Error error) {
  if (error) throw std::runtime_error("cannot link a kernel: " + text_of(std::move(error)));
}

// The process's linker. Never destroyed: kernels may outlive every static object.
class Linker {
 public:
  static Linker& get() {
    static Linker* const linker = new Linker;
    return *linker;
  }

  orc::JITDylib& link(std::string_view object, int phase_count, std::vector<PhaseFunction>& phases) {
    orc::JITDylib& library = session_.createBareJITDylib("kernel" + std::to_string(next_++));
    try {
      library.addToLinkOrder(*math_);
      checked(layer_.add(library, ::llvm::MemoryBuffer::getMemBufferCopy(::llvm::StringRef(object), "kernel")));
      for (int i = 0; i < phase_count; ++i) {
        const auto symbol = checked(session_.lookup({&library}, session_.intern("phase" + std::to_string(i))));
        phases.push_back(symbol.getAddress().toPtr<PhaseFunction>());
      }
    } catch (...) {
      unlink(library);
      throw;
    }
    return library;
  }

  void unlink(orc::JITDylib& library) { ::llvm::consumeError(session_.removeJITDylib(library)); }

 private:
  Linker()
      : session_(checked(orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>()))),
        layer_(session_),
        math_(&session_.createBareJITDylib("math")) {
    session_.setErrorReporter([](::llvm::Error error) { ::llvm::consumeError(std::move(error)); });  // lookup reports it
    const void* functions[] = {reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(std::fma)),
                               reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(std::fma))};
    orc::SymbolMap symbols;
    for (size_t i = 0; i < 2; ++i) {
      symbols[session_.intern(::llvm::StringRef(kMathSymbols[i]))] = {orc::ExecutorAddr::fromPtr(functions[i]),
                                                                      ::llvm::JITSymbolFlags::Exported | ::llvm::JITSymbolFlags::Callable};
    }
    checked(math_->define(orc::absoluteSymbols(std::move(symbols))));
  }

  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer layer_;
  orc::JITDylib* math_;
  std::atomic<uint64_t> next_{0};
};

struct LinkedExecutable final : Executable {
  explicit LinkedExecutable(std::string_view object, int phase_count) : library(Linker::get().link(object, phase_count, phases)) {}
  ~LinkedExecutable() override {
    try {
      const Use use;
      Linker::get().unlink(library);
    } catch (const std::runtime_error&) {
      // the process is exiting: the code stays
    }
  }
  orc::JITDylib& library;
};

}  // namespace

bool available() { return true; }

std::string version() { return LLVM_VERSION_STRING; }

std::string host_cpu() { return ::llvm::sys::getHostCPUName().str(); }

std::string host_features() {
  static const std::string* const text = [] {
    std::vector<std::string> features;
    for (const auto& feature : ::llvm::sys::getHostCPUFeatures()) {
      features.push_back((feature.second ? "+" : "-") + feature.first().str());
    }
    std::ranges::sort(features, {}, [](const std::string& f) { return f.substr(1); });
    auto* joined = new std::string;
    for (const std::string& feature : features) *joined += (joined->empty() ? "" : ",") + feature;
    return joined;
  }();
  return *text;
}

int host_vector_bits() {
  if (host_has("avx512f") && host_has("avx512vl") && host_has("avx512bw") && host_has("avx512dq")) return 512;
  return host_has("avx2") ? 256 : 128;
}

std::string compile_object(const ir::LoopTree& tree, const std::string& cpu) {
  const Use use;
  Compilation compilation(tree, cpu);
  compilation.optimise();
  std::string object = compilation.generate(::llvm::CodeGenFileType::ObjectFile);
  check_symbols(object);
  return object;
}

std::unique_ptr<Executable> load_object(const std::string& object, int phase_count) {
  const Use use;
  initialise();
  return std::make_unique<LinkedExecutable>(object, phase_count);
}

std::string emit_ir(const ir::LoopTree& tree) {
  const Use use;
  const Compilation compilation(tree, "");
  std::string text;
  ::llvm::raw_string_ostream out(text);
  compilation.module->print(out, nullptr);
  return text;
}

std::string emit_assembly(const ir::LoopTree& tree) {
  const Use use;
  Compilation compilation(tree, "");
  compilation.optimise();
  return compilation.generate(::llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace tenon::codegen::llvm_backend
#endif
