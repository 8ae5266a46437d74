// The real NVRTC for tests, loaded at run time where it is installed: compiles text for an architecture
// without a GPU and tells what ptxas says about registers and spills.
#pragma once

#include <dlfcn.h>

#include <sstream>
#include <string>
#include <vector>

namespace tenon::test {

class Nvrtc {
 public:
  struct Result {
    bool compiled = false;
    std::string log;  // with ptxas -v
    std::string ptx;
    size_t bytes = 0;                    // of the cubin
    bool warns = false, spills = false;  // spills: registers, or a stack frame
    std::vector<std::string> registers;  // "34 registers", of each function
  };

  Nvrtc() {
    for (const std::string folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"}) {
      for (const std::string version : {"13", "12"}) {
        if (!folder.empty()) preload_builtins(folder + "libnvrtc-builtins.so." + version);
        library_ = dlopen((folder + "libnvrtc.so." + version).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library_) return;
      }
    }
  }
  bool available() const { return library_ != nullptr; }

  Result compile(const std::string& text, const std::string& arch) const {
    void* program = nullptr;
    Result result;
    if (function<int(void**, const char*, const char*, int, const char**, const char**)>("nvrtcCreateProgram")(
            &program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
      return result;
    }
    const std::string arch_option = "-arch=" + arch;
    const char* options[] = {arch_option.c_str(), "--minimal", "--fmad=false", "--ptxas-options=-v"};
    result.compiled = function<int(void*, int, const char**)>("nvrtcCompileProgram")(program, std::size(options), options) == 0;
    size_t size = 0;
    function<int(void*, size_t*)>("nvrtcGetProgramLogSize")(program, &size);
    result.log.resize(size);
    function<int(void*, char*)>("nvrtcGetProgramLog")(program, result.log.data());
    if (result.compiled) {
      function<int(void*, size_t*)>("nvrtcGetCUBINSize")(program, &result.bytes);
      function<int(void*, size_t*)>("nvrtcGetPTXSize")(program, &size);
      result.ptx.resize(size);
      function<int(void*, char*)>("nvrtcGetPTX")(program, result.ptx.data());
    }
    function<int(void**)>("nvrtcDestroyProgram")(&program);
    read_log(result);
    return result;
  }

 private:
  static void read_log(Result& result) {
    std::istringstream log(result.log);
    for (std::string line; std::getline(log, line);) {
      const auto says = [&](const char* words) { return line.find(words) != std::string::npos; };
      result.warns |= says("warning");
      result.spills |= says("bytes spill stores") && !(says(" 0 bytes spill stores") && says(" 0 bytes stack frame"));
      if (const size_t used = line.find("Used "); used != std::string::npos)
        result.registers.push_back(line.substr(used + 5, line.find(',') - used - 5));
    }
  }
  // NVRTC opens its builtins by bare name: loaded by full path first, they are found.
  static void preload_builtins(const std::string& stem) {
    for (const std::string minor : {"", ".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9"}) {
      if (dlopen((stem + minor).c_str(), RTLD_NOW | RTLD_GLOBAL)) return;
    }
  }
  template <typename Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(library_, name));
  }
  void* library_ = nullptr;
};

}  // namespace tenon::test
