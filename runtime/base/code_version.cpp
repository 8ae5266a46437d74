// Finds the GNU build-id note of the module that holds this very function.
#include "runtime/base/code_version.h"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace tenon::runtime {
namespace {

// The id in one note segment, as hex; empty if it is not there. A note is {name size, size, type}, name,
// content.
std::string id_in_notes(const char* at, size_t bytes) {
  constexpr char digits[] = "0123456789abcdef";
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    size_t name = (note.n_namesz + 3u) & ~size_t{3}, content = (note.n_descsz + 3u) & ~size_t{3};
    size_t whole = sizeof note + name + content;
    if (whole > bytes) break;
    const char* text = at + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(text, "GNU", 4) == 0) {
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        auto byte = static_cast<unsigned char>(text[name + i]);
        id += digits[byte >> 4];
        id += digits[byte & 15];
      }
      return id;
    }
    at += whole;
    bytes -= whole;
  }
  return {};
}

struct Search {
  uintptr_t address;  // in the module wanted
  std::string id;
};

int visit_module(dl_phdr_info* module, size_t, void* context) {
  auto* search = static_cast<Search*>(context);
  bool ours = false;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const auto& segment = module->dlpi_phdr[i];
    uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
    ours = ours || (segment.p_type == PT_LOAD && search->address - begin < segment.p_memsz);
  }
  if (!ours) return 0;
  for (int i = 0; i < module->dlpi_phnum && search->id.empty(); ++i) {
    const auto& segment = module->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    search->id = id_in_notes(reinterpret_cast<const char*>(module->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

const std::string& code_version() {
  static const std::string version = [] {
    Search search{reinterpret_cast<uintptr_t>(&visit_module), {}};
    dl_iterate_phdr(visit_module, &search);
    return search.id.empty() ? std::string("compiled " __DATE__ " " __TIME__) : "build " + search.id;
  }();
  return version;
}

}  // namespace tenon::runtime
