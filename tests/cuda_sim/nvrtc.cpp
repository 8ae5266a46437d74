// A stand-in for libnvrtc: checks a text by compiling it as C, and gives it back as the image that the simulated driver
// loads. With TENON_SIM_REAL_NVRTC=path the real library compiles the text first: its errors and its log are then the
// answer, registers that still spill with -DTENON_ALL_REGISTERS are an error too, and the image has the registers that it gave each kernel.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda_sim/image.h"
#include "cuda_sim/note.h"
#include "cuda_sim/shared.h"

#define TENON_SIM_API extern "C" __attribute__((visibility("default")))

using namespace tenon::cuda_sim;

namespace {

enum Result : int {  // NVRTC's
  kSuccess = 0,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kCompilation = 6,
};

constexpr int kArchs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

struct Program {
  std::string source, log, cubin, ptx;
  bool compiled = false;
};

struct Programs {
  std::mutex mutex;
  std::set<Program*> live;
};
Programs& programs() {
  static Programs& all = *new Programs;
  return all;
}
bool is_program(Program* program) {
  const std::lock_guard lock(programs().mutex);
  return programs().live.count(program) > 0;
}

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

bool has_all_registers(const std::vector<const char*>& options) {
  return std::any_of(options.begin(), options.end(), [](const std::string option) { return option == "-DTENON_ALL_REGISTERS"; });
}

// The real library, if the environment names one.
struct RealNvrtc {
  void* library = nullptr;

  static const RealNvrtc& get() {
    static const RealNvrtc real;
    return real;
  }
  RealNvrtc() {
    const char* const path = std::getenv("TENON_SIM_REAL_NVRTC");
    if (!path || !*path) return;
    // It opens its builtins by bare name: loaded by full path first, they are found.
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path(), ignored)) {
      if (starts_with(entry.path().filename().string(), "libnvrtc-builtins.so.")) dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) std::fprintf(stderr, "simulated NVRTC: %s\n", dlerror());
  }
  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))(arguments...);
  }

  int compile(const std::string& source, std::vector<const char*> options, std::string& log) const {
    void* program = nullptr;
    if (const int code = call<void**, const char*, const char*, int, const char**, const char**>(
            "nvrtcCreateProgram", &program, source.c_str(), "kernel.cu", 0, nullptr, nullptr)) {
      return code;
    }
    const int code = call<void*, int, const char**>("nvrtcCompileProgram", program, static_cast<int>(options.size()), options.data());
    size_t size = 0;
    call<void*, size_t*>("nvrtcGetProgramLogSize", program, &size);
    std::string text(size, '\0');
    call<void*, char*>("nvrtcGetProgramLog", program, text.data());
    log += text.c_str();
    call<void**>("nvrtcDestroyProgram", &program);
    return code == 0 && has_all_registers(options) && spills(log) ? kCompilation : code;
  }
  // The notes of what ptxas says of each function in this log (with --ptxas-options=-v).
  static std::string notes(const std::string& log) {
    static const std::string kFunction = "Compiling entry function '";
    std::string all = "\n";
    for (size_t at = log.find(kFunction); at != std::string::npos;) {
      const size_t begin = at + kFunction.size(), next = log.find(kFunction, begin);
      const std::string said = log.substr(begin, next - begin);
      const size_t stack = said.find(" bytes stack frame"), used = said.find("Used ");
      if (stack != std::string::npos && used != std::string::npos) {
        const size_t number = said.find_last_of(' ', stack - 1) + 1;
        all += registers_note(said.substr(0, said.find('\'')), static_cast<unsigned>(std::atoi(said.c_str() + used + 5)),
                              static_cast<unsigned>(std::atoi(said.c_str() + number)));
      }
      at = next;
    }
    return all;
  }
  static bool spills(const std::string& log) {
    static const std::string kMark = " bytes spill stores";
    for (size_t at = log.find(kMark); at != std::string::npos; at = log.find(kMark, at + 1)) {
      if (log[at - 1] != '0' || log[at - 2] != ' ') return true;
    }
    return false;
  }
};

// sm_90 -> 90; 0 if it is none that this version knows.
int arch_of(std::string option, bool& virtual_arch) {
  option = option.substr(option.find('=') + 1);
  virtual_arch = starts_with(option, "compute_");
  if (!virtual_arch && !starts_with(option, "sm_")) return 0;
  const int arch = std::atoi(option.c_str() + option.find('_') + 1);
  for (const int known : kArchs) {
    if (known == arch) return arch;
  }
  return 0;
}

int compile(Program& program, const std::vector<const char*>& options) {
  int arch = 75;
  bool virtual_arch = true;
  for (const std::string option : options) {
    if (!starts_with(option, "-")) return kInvalidOption;
    if (!starts_with(option, "-arch=") && !starts_with(option, "--gpu-architecture=")) continue;
    arch = arch_of(option, virtual_arch);
    if (arch == 0) {
      program.log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
      return kInvalidOption;
    }
  }
  std::string text = program.source;
  if (RealNvrtc::get().library) {
    if (const int code = RealNvrtc::get().compile(program.source, options, program.log)) return code;
    text += RealNvrtc::notes(program.log);
  }
  if (std::string messages; !compile_text(text, messages)) {
    program.log += messages;
    return kCompilation;
  }
  if (texts_spill() && !has_all_registers(options))
    program.log +=
        "ptxas info    : Function properties for kernel\n    24 bytes stack frame, 20 bytes spill stores, 20 bytes spill loads\n";
  if (!virtual_arch) program.cubin = pack({false, arch, text});
  program.ptx = pack({true, arch, text});
  program.compiled = true;
  return kSuccess;
}

int give_size(Program* program, const std::string Program::*member, size_t* size, size_t null) {
  if (!size) return kInvalidInput;
  if (!is_program(program)) return kInvalidProgram;
  *size = (program->*member).size() + null;
  return kSuccess;
}

int give_bytes(Program* program, const std::string Program::*member, char* out, size_t null) {
  if (!out) return kInvalidInput;
  if (!is_program(program)) return kInvalidProgram;
  std::memcpy(out, (program->*member).c_str(), (program->*member).size() + null);
  return kSuccess;
}

}  // namespace

TENON_SIM_API int nvrtcVersion(int* major, int* minor) {
  if (const int code = count_call("nvrtcVersion")) return code;
  if (!major || !minor) return kInvalidInput;
  *major = 13;
  *minor = 0;
  return kSuccess;
}

TENON_SIM_API int nvrtcGetNumSupportedArchs(int* count) {
  if (const int code = count_call("nvrtcGetNumSupportedArchs")) return code;
  if (!count) return kInvalidInput;
  *count = static_cast<int>(std::size(kArchs));
  return kSuccess;
}

TENON_SIM_API int nvrtcGetSupportedArchs(int* archs) {
  if (const int code = count_call("nvrtcGetSupportedArchs")) return code;
  if (!archs) return kInvalidInput;
  std::memcpy(archs, kArchs, sizeof kArchs);
  return kSuccess;
}

TENON_SIM_API int nvrtcCreateProgram(Program** program, const char* source, const char*, int headers, const char* const*,
                                     const char* const*) {
  if (const int code = count_call("nvrtcCreateProgram")) return code;
  if (!program || !source || headers != 0) return kInvalidInput;  // Tenon's texts include nothing
  *program = new Program{source, {}, {}, {}};
  const std::lock_guard lock(programs().mutex);
  programs().live.insert(*program);
  return kSuccess;
}

TENON_SIM_API int nvrtcDestroyProgram(Program** program) {
  if (const int code = count_call("nvrtcDestroyProgram")) return code;
  if (!program || !is_program(*program)) return kInvalidProgram;
  const std::lock_guard lock(programs().mutex);
  programs().live.erase(*program);
  delete *program;
  *program = nullptr;
  return kSuccess;
}

TENON_SIM_API int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  if (const int code = count_call("nvrtcCompileProgram")) return code;
  if (!is_program(program)) return kInvalidProgram;
  if (count < 0 || (count > 0 && !options)) return kInvalidInput;
  return compile(*program, std::vector<const char*>(options, options + count));
}

TENON_SIM_API int nvrtcGetProgramLogSize(Program* program, size_t* size) { return give_size(program, &Program::log, size, 1); }
TENON_SIM_API int nvrtcGetProgramLog(Program* program, char* log) { return give_bytes(program, &Program::log, log, 1); }

// The image ends with a null, so that one that was cut off can be told (image.h).
TENON_SIM_API int nvrtcGetCUBINSize(Program* program, size_t* size) {
  if (const int code = count_call("nvrtcGetCUBINSize")) return code;
  if (is_program(program) && program->cubin.empty() && size) return *size = 0, kSuccess;  // a virtual arch has none
  return give_size(program, &Program::cubin, size, 1);
}
TENON_SIM_API int nvrtcGetCUBIN(Program* program, char* cubin) { return give_bytes(program, &Program::cubin, cubin, 1); }

TENON_SIM_API int nvrtcGetPTXSize(Program* program, size_t* size) {
  if (const int code = count_call("nvrtcGetPTXSize")) return code;
  if (is_program(program) && !program->compiled) return kInvalidProgram;
  return give_size(program, &Program::ptx, size, 1);
}
TENON_SIM_API int nvrtcGetPTX(Program* program, char* ptx) { return give_bytes(program, &Program::ptx, ptx, 1); }

TENON_SIM_API const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case 0: return "NVRTC_SUCCESS";
    case 1: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case 2: return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case 3: return "NVRTC_ERROR_INVALID_INPUT";
    case 4: return "NVRTC_ERROR_INVALID_PROGRAM";
    case 5: return "NVRTC_ERROR_INVALID_OPTION";
    case 6: return "NVRTC_ERROR_COMPILATION";
    case 7: return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    case 11: return "NVRTC_ERROR_INTERNAL_ERROR";
    default: return "NVRTC_ERROR unknown";
  }
}
