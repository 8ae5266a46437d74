// Where TENON_DUMP writes, and the log of what each step of the pipeline made.
#pragma once

#include <string>
#include <string_view>

#include "passes/passes.h"
#include "runtime/plan/graph_key.h"

namespace tenon::runtime {

std::string graph_text(const GraphKey& key);  // as the program recorded it

// DIRECTORY/planNNNN.NAME.txt; on stderr if the directory is empty.
void write_dump(const std::string& directory, int plan, const char* name, const std::string& text);

// The text of a plan in the making: what each step made of a graph or kernel; a step that changed nothing is only named.
class StepLog {
 public:
  void start(std::string_view what, std::string first);  // "--- kernel before its steps"
  void add(std::string_view step, std::string made);
  const std::string& text() const { return text_; }

 private:
  std::string text_, last_;
};

}  // namespace tenon::runtime
