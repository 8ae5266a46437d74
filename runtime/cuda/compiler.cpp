#include "runtime/cuda/compiler.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "runtime/cuda/libraries.h"

namespace tenon::runtime::cuda {
namespace {

const Nvrtc& api() {
  const Nvrtc* loaded = nvrtc();
  if (!loaded) throw std::runtime_error("NVRTC is missing: " + nvrtc_library().why());
  return *loaded;
}

void check(int result, const char* call) {
  if (result != kNvrtcSuccess) throw std::runtime_error(std::string(call) + ": " + api().error_string(result));
}

class Program {
 public:
  explicit Program(const std::string& text) {
    check(api().create(&program_, text.c_str(), "kernel.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~Program() { api().destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Arithmetic is that of the IR: no multiplication and addition become one. --minimal leaves out what our text never uses.
  void compile(const std::string& architecture, bool all_registers = false) {
    const std::string arch = "-arch=" + architecture;
    std::vector<const char*> options = {arch.c_str(), "--minimal", "--fmad=false", "--ptxas-options=-v"};
    if (all_registers) options.push_back("-DTENON_ALL_REGISTERS");
    const int result = api().compile(program_, static_cast<int>(options.size()), options.data());
    if (result == kNvrtcCompilation) throw std::runtime_error("NVRTC refused the text:\n" + log());
    check(result, "nvrtcCompileProgram");
  }
  std::string log() const { return text(api().log_size, api().log, "nvrtcGetProgramLog"); }
  // Whether ptxas says of a function "N bytes spill stores" with another N than 0.
  bool spills() const {
    const std::string said = log(), mark = " bytes spill stores";
    for (size_t at = said.find(mark); at != std::string::npos; at = said.find(mark, at + 1)) {
      if (at >= 2 && said.compare(at - 2, 2, " 0") != 0) return true;
    }
    return false;
  }
  std::string cubin() const { return text(api().cubin_size, api().cubin, "nvrtcGetCUBIN"); }
  std::string ptx() const { return text(api().ptx_size, api().ptx, "nvrtcGetPTX"); }

 private:
  std::string text(int (*size_of)(nvrtcProgram, size_t*), int (*get)(nvrtcProgram, char*), const char* call) const {
    size_t size = 0;
    check(size_of(program_, &size), call);
    std::string result(size, '\0');
    check(get(program_, result.data()), call);
    return result;
  }
  nvrtcProgram program_ = nullptr;
};

}  // namespace

Architecture architecture_for(int capability) {
  int count = 0;
  check(api().arch_count(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<size_t>(count));
  check(api().archs(known.data()), "nvrtcGetSupportedArchs");
  if (known.empty() || capability < *std::min_element(known.begin(), known.end()))
    throw std::runtime_error("NVRTC " + compiler_version() + " does not compile for this GPU: its compute capability is " +
                             std::to_string(capability / 10) + "." + std::to_string(capability % 10));
  Architecture best;
  for (const int number : known) {
    // Machine code runs on later minor versions of its major one.
    if (number <= capability && number / 10 == capability / 10) best.number = std::max(best.number, number);
  }
  if (best.number > 0) return best;
  for (const int number : known) {
    if (number <= capability) best.number = std::max(best.number, number);
  }
  best.ptx = true;
  return best;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  check(api().version(&major, &minor), "nvrtcVersion");
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string compile(const std::string& text, const Architecture& architecture) {
  Program program(text);
  program.compile(architecture.text());
  if (architecture.ptx) return program.ptx();
  if (!program.spills()) return program.cubin();
  Program again(text);
  again.compile(architecture.text(), true);
  return again.cubin();
}

std::string compile_to_ptx(const std::string& text, const Architecture& architecture) {
  Program program(text);
  program.compile("compute_" + std::to_string(architecture.number));
  std::string ptx = program.ptx();
  while (!ptx.empty() && ptx.back() == '\0') ptx.pop_back();
  return ptx;
}

}  // namespace tenon::runtime::cuda
