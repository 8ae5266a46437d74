#include "runtime/cuda/libraries.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tenon::runtime::cuda {
namespace {

// What is looked for: the environment's name for it, its sonames, the folder of its wheel for CUDA 12.
struct Wanted {
  const char* variable;
  std::vector<std::string> sonames;
  const char* wheel;
};

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

// The folder of the file that holds this code.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::vector<std::string> folders(const Wanted& wanted) {
  std::vector<std::string> found;
  if (const std::filesystem::path own = own_folder(); !own.empty()) {
    for (const char* up : {".", "..", "../.."}) {
      for (const std::string& wheel : {std::string("cu13"), std::string(wanted.wheel)})
        found.push_back((own / up / "nvidia" / wheel / "lib").lexically_normal().string());
    }
  }
  for (const std::string& root : {value_of("CUDA_HOME"), value_of("CUDA_PATH"), value_of("CONDA_PREFIX"), std::string("/usr/local/cuda")}) {
    if (root.empty()) continue;
    for (const char* folder : {"/lib64", "/lib", "/targets/x86_64-linux/lib"}) found.push_back(root + folder);
  }
  return found;
}

// NVRTC opens its builtins by bare name, which its own folder does not help to find: loaded by full path first, they are.
void load_builtins(const std::string& library) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(library).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("libnvrtc-builtins.so.")) dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

std::string file_of(void* function, const std::string& asked) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname ? info.dli_fname : asked;
}

// Opens the first file that has every function; notes why each other one did not do.
class Search {
 public:
  Search(const Wanted& wanted, Library& library) : wanted_(wanted), library_(library) {}

  // resolve(handle) fills the table and gives the missing function, null if there is none.
  template <typename Resolve>
  void run(const Resolve& resolve) {
    if (const std::string file = value_of(wanted_.variable); !file.empty()) {
      attempt(file, RTLD_NOW | RTLD_LOCAL, resolve);
      return;
    }
    for (const int loaded : {RTLD_NOLOAD, 0}) {
      for (const std::string& soname : wanted_.sonames) {
        if (attempt(soname, RTLD_NOW | RTLD_LOCAL | loaded, resolve)) return;
      }
    }
    for (const std::string& folder : folders(wanted_)) {
      for (const std::string& soname : wanted_.sonames) {
        const std::string file = folder + "/" + soname;
        if (access(file.c_str(), F_OK) == 0 && attempt(file, RTLD_NOW | RTLD_LOCAL, resolve)) return;
      }
    }
  }

 private:
  template <typename Resolve>
  bool attempt(const std::string& file, int flags, const Resolve& resolve) {
    if (file.find('/') != std::string::npos && file.find("nvrtc") != std::string::npos) load_builtins(file);
    void* handle = dlopen(file.c_str(), flags);
    if (!handle) {
      if ((flags & RTLD_NOLOAD) == 0) note(file, dlerror());
      return false;
    }
    void* first = nullptr;
    if (const char* missing = resolve(handle, first)) {
      note(file, std::string("it has no function ") + missing);
      return false;
    }
    library_.file = file_of(first, file);
    return true;
  }
  void note(const std::string& file, const std::string& reason) {
    library_.tried.push_back(reason.starts_with(file) ? reason : file + ": " + reason);
  }

  const Wanted& wanted_;
  Library& library_;
};

// A library's functions, once it has been looked for.
template <typename Functions>
struct Loaded {
  Library library;
  Functions functions;
  const Functions* get() const { return library.found() ? &functions : nullptr; }
};

#define TENON_RESOLVE(name, symbol, result, parameters)                                \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(handle, #symbol)); \
  if (!functions.name) return #symbol;                                                 \
  if (!first) first = reinterpret_cast<void*>(functions.name);
#define TENON_RESOLVE_ALL(Functions, TABLE) \
  const char* resolve(void* handle, Functions& functions, void*& first) { TABLE(TENON_RESOLVE) return nullptr; }
TENON_RESOLVE_ALL(Driver, TENON_CUDA_DRIVER)
TENON_RESOLVE_ALL(Graphs, TENON_CUDA_GRAPHS)
TENON_RESOLVE_ALL(Nvrtc, TENON_NVRTC)
TENON_RESOLVE_ALL(Cublas, TENON_CUBLAS)
#undef TENON_RESOLVE_ALL
#undef TENON_RESOLVE

template <typename Functions>
const Loaded<Functions>& load(const Wanted& wanted) {
  static const auto* loaded = [&] {
    auto* made = new Loaded<Functions>;  // never destroyed: buffers in static objects free memory of the device
    Search(wanted, made->library).run([&](void* handle, void*& first) { return resolve(handle, made->functions, first); });
    return made;
  }();
  return *loaded;
}

const Wanted& wanted_driver() {
  static const Wanted wanted{"TENON_CUDA_DRIVER", {"libcuda.so.1"}, "cuda_driver"};
  return wanted;
}
// cuBLAS and NVRTC of the version that the driver is of come first: a driver runs nothing of a later one.
std::vector<std::string> by_version(const std::string& stem) {
  int version = 13000;
  if (const Driver* d = driver()) d->driver_version(&version);
  const std::vector<std::string> newest = {stem + "13", stem + "12"};
  return version >= 13000 ? newest : std::vector<std::string>{newest[1], newest[0]};
}
const Wanted& wanted_nvrtc() {
  static const Wanted wanted{"TENON_NVRTC", by_version("libnvrtc.so."), "cuda_nvrtc"};
  return wanted;
}
const Wanted& wanted_cublas() {
  static const Wanted wanted{"TENON_CUBLAS", by_version("libcublas.so."), "cublas"};
  return wanted;
}

}  // namespace

std::string Library::why() const { return tried.empty() ? "nothing of its name is installed" : tried.front(); }

const Driver* driver() { return load<Driver>(wanted_driver()).get(); }
const Graphs* graphs() {
  static const bool off = value_of("TENON_CUDA_GRAPHS") == "0";
  return off ? nullptr : load<Graphs>(wanted_driver()).get();
}
const Nvrtc* nvrtc() { return load<Nvrtc>(wanted_nvrtc()).get(); }
const Cublas* cublas() { return load<Cublas>(wanted_cublas()).get(); }
const Library& driver_library() { return load<Driver>(wanted_driver()).library; }
const Library& nvrtc_library() { return load<Nvrtc>(wanted_nvrtc()).library; }
const Library& cublas_library() { return load<Cublas>(wanted_cublas()).library; }

bool cublas_is_there() {
  static const bool there = [] {
    const Wanted& wanted = wanted_cublas();
    if (const std::string file = value_of(wanted.variable); !file.empty()) return access(file.c_str(), R_OK) == 0;
    std::vector<std::string> places = folders(wanted);
    for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib"}) places.emplace_back(folder);
    const std::string path = value_of("LD_LIBRARY_PATH");
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find(':', begin), path.size());
      places.push_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    for (const std::string& soname : wanted.sonames) {
      if (dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return true;
      for (const std::string& folder : places) {
        if (access((folder + "/" + soname).c_str(), R_OK) == 0) return true;
      }
    }
    return false;
  }();
  return there;
}

}  // namespace tenon::runtime::cuda
