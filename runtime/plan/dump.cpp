// TENON_DUMP's files.
#include "runtime/plan/dump.h"

#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

namespace tenon::runtime {

std::string graph_text(const GraphKey& key) {
  std::vector<ir::NodeRef> roots;
  for (int32_t root : key.roots) roots.emplace_back(key.nodes[root]);
  return ir::print(ir::Graph::of(roots));
}

void write_dump(const std::string& directory, int plan, const char* name, const std::string& text) {
  if (directory.empty()) {
    std::fprintf(stderr, "=== tenon plan %d: %s\n%s", plan, name, text.c_str());
    return;
  }
  std::error_code ignored;  // opening the file tells
  std::filesystem::create_directories(directory, ignored);
  char file[64];
  std::snprintf(file, sizeof file, "/plan%04d.%s.txt", plan, name);
  std::FILE* out = std::fopen((directory + file).c_str(), "w");
  if (!out) {
    static bool warned = false;
    if (!std::exchange(warned, true)) {
      std::fprintf(stderr, "tenon: TENON_DUMP_DIR=%s cannot be written to\n", directory.c_str());
    }
    return;
  }
  std::fwrite(text.data(), 1, text.size(), out);
  std::fclose(out);
}

void StepLog::start(std::string_view what, std::string first) {
  text_ += "--- " + std::string(what) + " before the steps\n" + first;
  last_ = std::move(first);
}

void StepLog::add(std::string_view step, std::string made) {
  text_ += "--- " + std::string(step) + (made == last_ ? " changes nothing\n" : "\n" + made);
  last_ = std::move(made);
}

}  // namespace tenon::runtime
