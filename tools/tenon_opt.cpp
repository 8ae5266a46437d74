// tenon-opt: reads the text of a graph, kernel, call or loop tree, takes it through named passes and as far down as
// asked, and prints what comes out.
//
//   tenon-opt --list
//   tenon-opt --pass simplify,dce softmax.ir
//   tenon-opt --fuse --pass all softmax.ir          kernels, each after all kernel passes
//   tenon-opt --lower cpu --vector-bits 256 < softmax.ir
//   tenon-opt --emit asm softmax.ir
//   tenon-opt --emit cuda --gpu 90 softmax.ir
//
// Graph passes run before fusion and kernel passes after it. Errors name FILE:LINE:COLUMN; the exit status is
// then 1.
#include <CLI/CLI.hpp>
#include <cctype>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <variant>

#include "codegen/cuda/emit.h"
#include "codegen/llvm/jit.h"
#include "compiler/pipeline.h"

namespace {

using namespace tenon;

// What the command line asks for. `lower` and `emit` are empty if not wanted.
struct Request {
  std::string file = "-";
  std::vector<std::string> passes;
  std::string lower, emit;
  bool list = false, fuse = false, no_fusion = false;
  int vector_bits = 0;
  bool often = false;
  int gpu = 0;
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a graph falls into: kernels and calls; or their loop trees, beside calls that a library computes.
using Works = std::vector<ir::Work>;
using Trees = std::vector<std::variant<ir::LoopTree, ir::Work>>;
using Program = std::variant<ir::Graph, Works, Trees>;

// --- reading

std::string read_all(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) throw UsageError(file + ": cannot be read, or is empty");
  return text.str();
}

// The first word that is not in a comment: "graph", "kernel", "call" or "looptree".
std::string_view first_word(std::string_view text) {
  size_t at = 0;
  for (;;) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
    if (text.substr(at, 2) != "//") break;
    at = std::min(text.find('\n', at), text.size());
  }
  size_t end = at;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
  return text.substr(at, end - at);
}

Program parse(const std::string& text, const std::string& file) {
  const std::string name = file == "-" ? "<stdin>" : file;
  const std::string_view word = first_word(text);
  if (word == "graph") {
    ir::Graph graph = ir::parse_graph(text, ir::Folding::Unshared, name);
    ir::verify(graph);
    return graph;
  }
  if (word == "kernel") {
    ir::Kernel kernel = ir::parse_kernel(text, name);
    ir::verify(kernel);
    return Works{std::move(kernel)};
  }
  if (word == "call") return Works{ir::parse_call(text, name)};
  if (word == "looptree") {
    ir::LoopTree tree = ir::parse_looptree(text, name);
    ir::verify(tree);
    Trees trees;
    trees.emplace_back(std::move(tree));
    return trees;
  }
  throw ir::IrError(name + ":1:1: expected a graph, a kernel, a call or a looptree");
}

// --- passes

template <typename Pass>
const Pass* find(std::span<const Pass> passes, std::string_view name) {
  for (const Pass& pass : passes) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

void check_pass_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool known = name == "all" || find(passes::graph_passes(), name) || find(passes::kernel_passes(), name);
    if (!known) throw UsageError("unknown pass '" + name + "'; --list names them");
  }
}

// Runs those of the named passes that are in `table`, in the order named; "all" stands for the table.
template <typename Pass, typename Ir, typename... Targets>
void run_passes(std::span<const Pass> table, const std::vector<std::string>& names, Ir& program, const Targets&... targets) {
  const auto apply = [&](const Pass& pass) {
    program = pass.run(program, targets...);
    ir::verify(program);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const Pass& pass : table) apply(pass);
    } else if (const Pass* pass = find(table, name)) {
      apply(*pass);
    }
  }
}

// A GPU of compute capability 7.5, 8.0 or 9.0 (T4, A100, H100) without libraries; of 0: the one in the middle.
ir::GpuTarget gpu_target(int compute) {
  ir::GpuTarget target;
  if (compute == 0) return target;
  target.compute = compute;
  target.multiprocessors = compute == 75 ? 40 : compute == 80 ? 108 : 132;
  target.shared_bytes = (compute == 75 ? 64 : compute == 80 ? 163 : 227) << 10;
  target.library = {};
  return target;
}

ir::Target target_of(const Request& request) {
  if (request.lower == "cuda" || request.gpu != 0) return gpu_target(request.gpu);
  ir::CpuTarget cpu{request.vector_bits ? request.vector_bits : codegen::llvm_backend::host_vector_bits()};
  cpu.often = request.often;
  return cpu;
}

// Whatever device a node names, it is this one.
ir::Targets targets_of(const ir::Graph& graph, const Request& request) {
  ir::Targets targets;
  for (const ir::NodeRef& node : graph.nodes) targets.try_emplace(node->device(), target_of(request));
  return targets;
}

Works fuse(const ir::Graph& graph, const Request& request) {
  compiler::Settings settings;
  settings.simplify = false;  // --pass says which
  settings.fusion.enabled = !request.no_fusion;
  settings.fusion.targets = targets_of(graph, request);
  compiler::Program program = compiler::compile_graph(graph.outputs, {}, settings);
  Works works;
  for (passes::FusedKernel& fused : program.fusion.kernels) {
    ir::verify(fused.work);
    works.push_back(std::move(fused.work));
  }
  return works;
}

Trees lower(const Works& works, const Request& request) {
  const ir::Target target = target_of(request);
  Trees trees;
  for (const ir::Work& work : works) {
    if (!passes::generates(work, target)) {
      trees.emplace_back(work);
      continue;
    }
    ir::LoopTree tree = compiler::compile(work, target, {}).tree;
    ir::verify(tree);
    trees.emplace_back(std::move(tree));
  }
  return trees;
}

Program transform(Program program, const Request& request) {
  const bool lowers = !request.lower.empty();
  if (auto* graph = std::get_if<ir::Graph>(&program)) {
    run_passes(passes::graph_passes(), request.passes, *graph, targets_of(*graph, request));
    if (request.fuse || lowers) program = fuse(*graph, request);
  }
  if (auto* works = std::get_if<Works>(&program)) {
    for (ir::Work& work : *works) {
      if (auto* kernel = std::get_if<ir::Kernel>(&work)) run_passes(passes::kernel_passes(), request.passes, *kernel);
    }
    if (lowers) program = lower(*works, request);
  }
  return program;
}

// --- writing

std::string emitted(const ir::LoopTree& tree, const std::string& form) {
  const bool cuda = tree.target == ir::TargetKind::Cuda;
  if (cuda != (form == "cuda")) throw UsageError("--emit " + form + ": the loop tree is for the other device");
  if (form == "cuda") return codegen::cuda::emit(tree);
  return form == "llvm" ? codegen::llvm_backend::emit_ir(tree) : codegen::llvm_backend::emit_assembly(tree);
}

void write(const Program& program, const Request& request) {
  if (const auto* graph = std::get_if<ir::Graph>(&program)) {
    std::cout << ir::print(*graph);
    return;
  }
  const char* separator = "";
  const auto write_one = [&](const std::string& text) { std::cout << std::exchange(separator, "\n") << text; };
  if (const auto* works = std::get_if<Works>(&program)) {
    for (const ir::Work& work : *works) write_one(ir::print(work));
    return;
  }
  for (const auto& part : std::get<Trees>(program)) {
    const auto* tree = std::get_if<ir::LoopTree>(&part);
    if (!tree) {
      write_one(ir::print(std::get<ir::Work>(part)));
    } else {
      write_one(request.emit.empty() ? ir::print(*tree) : emitted(*tree, request.emit));
    }
  }
}

void list_passes() {
  const auto line = [](std::string_view name, std::string_view summary) {
    std::cout << "  " << name << std::string(name.size() < 20 ? 20 - name.size() : 1, ' ') << summary << "\n";
  };
  const auto is_pass = [](std::string_view name) { return find(passes::graph_passes(), name) || find(passes::kernel_passes(), name); };
  std::cout << "the steps from a graph to a plan, in order; --pass runs those with a star:\n";
  for (const compiler::StepInfo& step : compiler::steps()) {
    line((is_pass(step.name) ? "* " : "  ") + std::string(step.name), step.summary);
  }
}

// --emit needs a loop tree of its device.
void complete(Request& request) {
  if (request.emit.empty()) return;
  const std::string device = request.emit == "cuda" ? "cuda" : "cpu";
  if (!request.lower.empty() && request.lower != device) {
    throw UsageError("--emit " + request.emit + " needs --lower " + device);
  }
  request.lower = device;
  if (device == "cpu" && !codegen::llvm_backend::available()) {
    throw UsageError("--emit " + request.emit + ": this build has no LLVM");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Request request;
  CLI::App app("Takes IR text through Tenon's passes and prints the result.", "tenon-opt");
  app.add_option("file", request.file, "IR text: a graph, a kernel, a call or a looptree; - is stdin");
  app.add_flag("--list", request.list, "name the steps and passes");
  app.add_option("--pass", request.passes, "passes to run, in this order; 'all' for every one")->delimiter(',')->allow_extra_args(false);
  app.add_flag("--fuse", request.fuse, "turn a graph into kernels");
  app.add_flag("--no-fusion", request.no_fusion, "one kernel for each node that is not a view");
  app.add_option("--lower", request.lower, "turn kernels into loop trees")->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--emit", request.emit, "print generated code")->check(CLI::IsMember({"llvm", "asm", "cuda"}));
  app.add_option("--vector-bits", request.vector_bits, "CPU vector width (default: this machine's)")->check(CLI::IsMember({128, 256, 512}));
  app.add_option("--gpu", request.gpu, "compute capability of a GPU that has no libraries: all is generated, for its shared memory")
      ->check(CLI::IsMember({75, 80, 90}));
  app.add_flag("--often", request.often, "CPU: lower for a plan that runs often, whose code knows its lengths");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  try {
    if (request.list) {
      list_passes();
      return 0;
    }
    check_pass_names(request.passes);
    complete(request);
    write(transform(parse(read_all(request.file), request.file), request), request);
  } catch (const std::exception& error) {
    std::cerr << "tenon-opt: " << error.what() << "\n";
    return 1;
  }
  return std::cout.flush() ? 0 : 1;
}
