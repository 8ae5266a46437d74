// Print, parse, print: the first word of a text says which level it is.
#include "compiler/round_trip.h"

#include "ir/call/call.h"
#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/looptree/looptree.h"

namespace tenon::compiler {

void check_round_trip(const std::string& text) {
  std::string again;
  if (text.starts_with("graph ")) {
    ir::Graph graph = ir::parse_graph(text);
    ir::verify(graph);
    again = ir::print(graph);
  } else if (text.starts_with("kernel ")) {
    ir::Kernel kernel = ir::parse_kernel(text);
    ir::verify(kernel);
    again = ir::print(kernel);
  } else if (text.starts_with("call ")) {
    again = ir::print(ir::parse_call(text));
  } else {
    ir::LoopTree tree = ir::parse_looptree(text);
    ir::verify(tree);
    again = ir::print(tree);
  }
  if (again != text) throw ir::IrError("a text does not survive parsing:\n" + text + "it came back as:\n" + again);
}

}  // namespace tenon::compiler
