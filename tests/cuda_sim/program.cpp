// Compiles a text with tcc or cc into a shared library and finds its kernels: each line that starts with TENON_KERNEL
// declares one. For each, C code is appended that a launch needs:
//
//   TENON_KERNEL void TENON_LAUNCH(256) sum_rows(const float* TENON_RESTRICT x, int s0) {
//     TENON_SHARED(float, tile, 64, 0);
// ->
//   void tenon_sim_call_0(void** p) { sum_rows(*(void**)p[0], *(int*)p[1]); }
//   unsigned tenon_sim_parameters_0[] = {2, sizeof(void*), sizeof(int)};
//   unsigned tenon_sim_shared_0[] = {1, (64) * sizeof(float) + (0)};
//
// Registers are what the real NVRTC said where it compiled the text (TENON_SIM_REAL_NVRTC). Else they are an estimate: 24 and a word
// for each 4 bytes of the arrays that a thread declares, but no more than TENON_LAUNCH leaves a thread, as ptxas would have it; nothing
// spills.
#include "cuda_sim/program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>

#include "cuda_sim/note.h"

extern char** environ;

namespace tenon::cuda_sim {

namespace {

// Runs a command; its output goes to `log`. The exit status, or -1.
int execute(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::string trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> split(const std::string& text) {  // at commas
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(trim(part));
  return parts;
}

struct Declaration {
  std::string name;
  unsigned max_threads = Engine::kMaxThreads;
  std::vector<std::string> types, shared;  // of the parameters; the bytes up to each shared array's end
  bool dynamic_shared = false;
  unsigned blocks = 0;  // that TENON_LAUNCH wants registers for at the same time; 0: it does not say, or there is none
  unsigned registers = 0, local_bytes = 0;
};

std::string parameter_type(const std::string& parameter) {
  if (parameter.find('*') != std::string::npos) return "void*";
  const size_t name = parameter.find_last_of(" \t");
  if (name == std::string::npos) throw std::runtime_error("no type in the parameter '" + parameter + "'");
  return trim(parameter.substr(0, name));
}

// `text` begins behind TENON_KERNEL and ends with the kernel.
Declaration parse_kernel(const std::string& text) {
  static const std::string kBounds = "TENON_LAUNCH(", kShared = "SHARED(", kDynamic = "TENON_DYNAMIC_SHARED(";
  Declaration kernel;
  std::string head = text.substr(0, text.find('{'));
  if (const size_t bounds = head.find(kBounds); bounds != std::string::npos) {
    const auto numbers = split(head.substr(bounds + kBounds.size(), head.find(')', bounds) - bounds - kBounds.size()));
    kernel.max_threads = static_cast<unsigned>(std::stoul(numbers.at(0)));
    kernel.blocks = numbers.size() > 1 ? static_cast<unsigned>(std::stoul(numbers[1])) : 1;
    head = head.substr(head.find(')', bounds) + 1);
  }
  const size_t open = head.find('('), close = head.rfind(')');
  if (open == std::string::npos || close == std::string::npos) throw std::runtime_error("no parameters: " + head);
  const std::string before = trim(head.substr(0, open));
  kernel.name = before.substr(before.find_last_of(" \t\n") + 1);
  for (const std::string& parameter : split(head.substr(open + 1, close - open - 1))) {
    if (parameter != "void") kernel.types.push_back(parameter_type(parameter));
  }
  for (size_t at = text.find(kShared); at != std::string::npos; at = text.find(kShared, at + 1)) {
    const size_t begin = at + kShared.size();
    const auto parts = split(text.substr(begin, text.find(");", begin) - begin));  // type, name, count, offset
    if (parts.size() == 4) kernel.shared.push_back("(" + parts[2] + ") * sizeof(" + parts[0] + ") + (" + parts[3] + ")");
  }
  kernel.dynamic_shared = text.find(kDynamic) != std::string::npos;
  return kernel;
}

// The registers of a thread's arrays; elements of less than 4 bytes have a register each too.
unsigned words_of_arrays(const std::string& text) {
  static const std::regex array(
      R"(\n +(tenon_bool|(?:(?:unsigned|signed) )?char|(?:unsigned )?(?:short|int|long long)|unsigned|float|double) \w+\[(\d+)\];)");
  unsigned words = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), array), end; it != end; ++it) {
    const std::string type = (*it)[1];
    words += static_cast<unsigned>(std::stoul((*it)[2])) * (type == "double" || type.find("long long") != std::string::npos ? 2 : 1);
  }
  return words;
}

// `text` is the kernel; `whole` has the notes.
void find_registers(Declaration& kernel, const std::string& text, const std::string& whole) {
  constexpr unsigned kBeside = 24, kMost = 255, kUnit = 8;
  const std::string note = "\n" + registers_note(kernel.name, 0, 0);
  const std::string start = note.substr(0, note.find(':') + 1);
  if (const size_t at = whole.find(start); at != std::string::npos) {
    std::sscanf(whole.c_str() + at + start.size(), "%u %u", &kernel.registers, &kernel.local_bytes);
    return;
  }
  // Warps have their registers in fours.
  const unsigned warps = (kernel.blocks * ((kernel.max_threads + Engine::kWarp - 1) / Engine::kWarp) + 3) / 4 * 4;
  const unsigned room = warps == 0 ? kMost : Engine::kRegisters / (warps * Engine::kWarp) / kUnit * kUnit;
  kernel.registers = std::min({kBeside + words_of_arrays(text), room, kMost});
}

std::vector<Declaration> declarations(const std::string& text) {
  static const std::string kMark = "\nTENON_KERNEL";
  std::vector<Declaration> kernels;
  for (size_t at = text.find(kMark); at != std::string::npos;) {
    const size_t next = text.find(kMark, at + 1);
    const std::string kernel = text.substr(at + kMark.size(), next - at - kMark.size());
    kernels.push_back(parse_kernel(kernel));
    find_registers(kernels.back(), kernel, text);
    at = next;
  }
  return kernels;
}

std::string array(const std::string& name, const std::vector<std::string>& elements) {
  std::string text = "unsigned " + name + "[] = {" + std::to_string(elements.size());
  for (const std::string& element : elements) text += ", " + element;
  return text + "};\n";
}

std::string appendix(const std::vector<Declaration>& kernels) {
  std::string text = "\n";
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::string arguments;
    std::vector<std::string> sizes;
    for (size_t i = 0; i < kernels[k].types.size(); ++i) {
      arguments += (i ? ", *(" : "*(") + kernels[k].types[i] + "*)p[" + std::to_string(i) + "]";
      sizes.push_back("sizeof(" + kernels[k].types[i] + ")");
    }
    const std::string number = std::to_string(k);
    text += "void tenon_sim_call_" + number + "(void** p) { " + kernels[k].name + "(" + arguments + "); }\n";
    text += array("tenon_sim_parameters_" + number, sizes) + array("tenon_sim_shared_" + number, kernels[k].shared);
  }
  return text;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Compiles and opens; nothing stays on disk.
void* compile(const std::string& text, Compiler compiler) {
  std::string folder = std::filesystem::temp_directory_path() / "tenon_sim_XXXXXX";
  if (!mkdtemp(folder.data())) throw std::runtime_error("no temporary folder");
  const std::string source = folder + "/kernel.c", object = folder + "/kernel.so", log = folder + "/log";
  std::ofstream(source) << text;
  std::vector<std::string> command = {"tcc", "-shared", "-Wimplicit-function-declaration"};
  if (compiler == Compiler::Cc) {
    command = {"cc",
               "-std=c99",
               "-O1",
               "-w",
               "-Werror=implicit-function-declaration",
               "-fPIC",
               "-shared",
               "-ffp-contract=off",
               "-fno-strict-aliasing"};
  }
  for (const std::string& word : {std::string("-o"), object, source, std::string("-lm")}) command.push_back(word);
  const bool compiled = execute(command, log) == 0;
  std::string messages = read(log);
  const bool undeclared = messages.find("implicit declaration") != std::string::npos;  // to tcc a warning, to C++ an error
  void* const library = compiled && !undeclared ? dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (compiled && !undeclared && !library) messages += dlerror();
  std::filesystem::remove_all(folder);
  if (!library) throw std::runtime_error(messages.empty() ? "the compiler did not run" : messages);
  return library;
}

template <typename T>
T symbol(void* library, const std::string& name) {
  void* const address = dlsym(library, name.c_str());
  if (!address) throw std::runtime_error("the program has no " + name);
  return reinterpret_cast<T>(address);
}

}  // namespace

bool available(Compiler compiler) {
  static const bool tcc = execute({"tcc", "-v"}, "/dev/null") == 0, cc = execute({"cc", "--version"}, "/dev/null") == 0;
  return compiler == Compiler::Tcc ? tcc : cc;
}

Compiler fastest_compiler() {
  const char* const asked = std::getenv("TENON_SIM_COMPILER");
  return (asked && std::string(asked) == "cc") || !available(Compiler::Tcc) ? Compiler::Cc : Compiler::Tcc;
}

std::shared_ptr<const Program> Program::compile_and_find(const std::string& text, Compiler compiler) {
  const std::vector<Declaration> kernels = declarations(text);
  std::shared_ptr<Program> program(new Program);
  program->library_ = compile(text + appendix(kernels), compiler);
  program->machine_ = symbol<Machine*>(program->library_, "tenon_machine");
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::string number = std::to_string(k);
    Kernel kernel{.name = kernels[k].name,
                  .call = symbol<void (*)(void**)>(program->library_, "tenon_sim_call_" + number),
                  .parameter_bytes = {},
                  .max_threads = kernels[k].max_threads,
                  .shared_bytes = 0,
                  .dynamic_shared = kernels[k].dynamic_shared,
                  .registers = kernels[k].registers,
                  .local_bytes = kernels[k].local_bytes};
    const auto* bytes = symbol<const unsigned*>(program->library_, "tenon_sim_parameters_" + number);
    kernel.parameter_bytes.assign(bytes + 1, bytes + 1 + bytes[0]);
    for (const unsigned size : kernel.parameter_bytes) {
      if (size > sizeof(uint64_t)) throw std::runtime_error("a parameter of " + std::to_string(size) + " bytes");
    }
    const auto* ends = symbol<const unsigned*>(program->library_, "tenon_sim_shared_" + number);
    for (unsigned i = 0; i < ends[0]; ++i) kernel.shared_bytes = std::max(kernel.shared_bytes, ends[1 + i]);
    program->kernels_.push_back(std::move(kernel));
  }
  return program;
}

// Two threads that want the same text at the same time both compile it; the second's is dropped.
std::shared_ptr<const Program> Program::load(const std::string& text, Compiler compiler) {
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<Compiler, std::string>, std::shared_ptr<const Program>>;  // outlives late users
  const std::pair<Compiler, std::string> key(compiler, text);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  std::shared_ptr<const Program> fresh = compile_and_find(text, compiler);
  const std::lock_guard lock(mutex);
  if (known.size() > 1000) known.clear();
  return known.emplace(key, std::move(fresh)).first->second;
}

Program::~Program() {
  if (library_) dlclose(library_);
}

const Kernel* Program::find(const std::string& name) const {
  const auto found = std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernel& k) { return k.name == name; });
  return found == kernels_.end() ? nullptr : &*found;
}

}  // namespace tenon::cuda_sim
