// Frames by glibc's backtrace(), names by dladdr, lines by addr2line if it is installed. Slow, and asked for.
#include "frontend/src/tensor/stack_trace.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

constexpr int kMostFrames = 64;
constexpr int kOwnFrames = 2;  // this file's and the one that asks

struct Frame {
  std::string module;    // path of the program or library
  uintptr_t offset = 0;  // of the call in it, as its symbols count
  std::string function;  // empty: unknown
  std::string place;     // "file:line"; empty: unknown
};

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

// The path of the running program; what dladdr says of it is how it was called.
std::string program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

Frame frame_at(const void* return_address) {
  const auto address = reinterpret_cast<uintptr_t>(return_address) - 1;  // in the call, not after it
  Dl_info info{};
  void* extra = nullptr;
  Frame frame;
  if (!dladdr1(reinterpret_cast<void*>(address), &info, &extra, RTLD_DL_SYMENT) || !info.dli_fbase) return frame;
  frame.module = info.dli_fname;
  if (frame.module.find('/') == std::string::npos) frame.module = program();
  const auto* header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  const bool relocated = header->e_type == ET_DYN;
  frame.offset = relocated ? address - reinterpret_cast<uintptr_t>(info.dli_fbase) : address;
  // A name is the nearest exported one before the address: only its size tells whether it is the function's.
  const auto* symbol = static_cast<const ElfW(Sym)*>(extra);
  if (info.dli_sname && symbol && address < reinterpret_cast<uintptr_t>(info.dli_saddr) + symbol->st_size)
    frame.function = demangled(info.dli_sname);
  return frame;
}

std::string quoted(const std::string& path) {
  std::string result = "'";
  for (const char c : path) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Two lines a frame from addr2line: the function and the place, either "??" if unknown.
void ask_addr2line(const std::string& module, const std::vector<Frame*>& frames) {
  std::string command = "addr2line -Cfe " + quoted(module);
  for (const Frame* frame : frames) {
    char number[32];
    std::snprintf(number, sizeof number, " 0x%zx", static_cast<size_t>(frame->offset));
    command += number;
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  if (!pipe) return;
  const auto line = [&] {
    std::string result;
    for (int c = std::fgetc(pipe.get()); c != EOF && c != '\n'; c = std::fgetc(pipe.get())) result += static_cast<char>(c);
    return result;
  };
  for (Frame* frame : frames) {
    const std::string function = line(), place = line();
    if (function.empty() || place.empty()) return;
    if (frame->function.empty() && function[0] != '?') frame->function = function;
    if (place[0] != '?') frame->place = place.substr(0, place.find(" (discriminator"));
    if (frame->place.ends_with(":?")) frame->place.clear();
  }
}

}  // namespace

std::vector<void*> call_stack() {
  void* addresses[kMostFrames];
  const int count = backtrace(addresses, kMostFrames);
  return std::vector<void*>(addresses + std::min(count, kOwnFrames), addresses + count);
}

std::string text_of_stack(const std::vector<void*>& addresses) {
  std::vector<Frame> frames;
  for (const void* address : addresses) frames.push_back(frame_at(address));
  std::map<std::string, std::vector<Frame*>> by_module;
  for (Frame& frame : frames) {
    if (!frame.module.empty()) by_module[frame.module].push_back(&frame);
  }
  for (const auto& [module, members] : by_module) ask_addr2line(module, members);
  std::string result;
  for (size_t i = 0; i < frames.size(); ++i) {
    const Frame& f = frames[i];
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%zx", static_cast<size_t>(f.offset));
    const std::string where = f.place.empty() ? f.module.substr(f.module.rfind('/') + 1) + offset : f.place;
    result += text("\n  #", i, " ", f.function.empty() ? "?" : f.function, " (", where, ")");
  }
  return result;
}

}  // namespace tenon
