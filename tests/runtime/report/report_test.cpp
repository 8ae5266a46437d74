// What people read: dumps of every stage, explain, the drawing, TENON_DUMP files, the history and the
// profile.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "compiler/pipeline.h"
#include "ir/kernel/kernel.h"
#include "ir/looptree/looptree.h"
#include "runtime/base/code_version.h"
#include "runtime/base/evaluation_mutex.h"
#include "runtime/evaluation_support.h"
#include "runtime/history/history.h"
#include "runtime/history/profiler.h"
#include "runtime/history/ticks.h"
#include "runtime/run/evaluation.h"
#include "runtime/temp_directory.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

NodeRef sample() {
  NodeRef x = input_of(Shape{32, 48}, [](int64_t i) { return static_cast<double>(i % 7); });
  NodeRef m = ir::expand(ir::reduce(Op::ReduceMax, x, Shape{1}), x->shape());
  return ir::unary(Op::Exp, ir::binary(Op::Sub, x, m));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

size_t count_of(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("dump: every stage, without running anything") {
  WithOptions options;
  std::vector<NodeRef> roots{sample()};
  reset_counters();
  std::string graph = dump(roots, Stage::Graph);
  CHECK(ir::print(ir::parse_graph(graph)) == graph);
  CHECK(has(graph, "reduce.max"));
  CHECK(has(dump(roots, Stage::Fused), "kernel @"));
  std::string kernel = dump(roots, Stage::Kernel);
  CHECK(ir::print(ir::parse_kernel(kernel)) == kernel);
  std::string tree = dump(roots, Stage::LoopTree);
  CHECK(ir::print(ir::parse_looptree(tree)) == tree);
  CHECK(has(dump(roots, Stage::LLVM), "define"));
  CHECK(has(dump(roots, Stage::Assembly), "phase0"));
  CHECK(has(dump(roots, Stage::CUDA), "__global__"));
  CHECK(has(dump(roots, Stage::PTX), "NVRTC"));
  CHECK(counters().launches == 0);
  CHECK(counters().kernels_compiled == 0);
  CHECK(roots[0]->op() == Op::Exp);
}

TEST_CASE("dump: nothing pending, and graphs of placeholders") {
  WithOptions options;
  std::vector<NodeRef> done{input_of(Shape{3}, [](int64_t) { return 1.0; })};
  CHECK(has(dump(done, Stage::Kernel), "Nothing is pending"));
  CHECK(has(explain(done), "0 kernels"));
  CHECK(draw_dot(done).starts_with("digraph tenon {\n"));
  std::vector<NodeRef> text_only{ir::unary(Op::Neg, ir::make_input(DType::F32, Shape{3}))};
  CHECK(has(dump(text_only, Stage::Kernel), "neg"));
}

TEST_CASE("explain: kernels with their figures, and why neighbours stayed apart") {
  WithOptions options;
  std::vector<NodeRef> roots{sample()};
  std::string text = explain(roots);
  CAPTURE(text);
  CHECK(has(text, "1 kernels"));
  CHECK(has(text, "schedule   rows"));
  CHECK(has(text, "reduce.max, sub, exp"));
  CHECK(has(text, "reads      6.00 KiB from 1, writes 6.00 KiB to 1"));
  CHECK(has(text, "flop/byte"));
  // A value that feeds a reduction over one axis and a reader along the other cannot be one kernel.
  NodeRef x = input_of(Shape{64, 64}, [](int64_t i) { return static_cast<double>(i); });
  NodeRef a = ir::reduce(Op::Sum, x, Shape{0}),
          b = ir::reduce(Op::Sum, ir::unary(Op::Exp, ir::binary(Op::Mul, x, ir::expand(a, x->shape()))), Shape{1});
  std::vector<NodeRef> apart{b};
  std::string two = explain(apart);
  CAPTURE(two);
  CHECK(has(two, "2 kernels"));
  CHECK(has(two, "not fused:"));
}

TEST_CASE("drawing: kernels as boxes with their nodes, views on arrows, inputs, constants and outputs by their shapes") {
  WithOptions options;
  NodeRef x = input_of(Shape{32, 48}, [](int64_t i) { return static_cast<double>(i % 7); });
  NodeRef w = input_of(Shape{48, 32}, [](int64_t i) { return static_cast<double>(i % 5); });
  const NodeRef two = ir::make_const(ir::constant(DType::F32, 2.5), Shape{32, 48});
  NodeRef y = ir::binary(Op::Mul, ir::binary(Op::Add, x, ir::permute(w, Shape{1, 0})), two);
  const std::string dot = draw_dot(std::vector<NodeRef>{y});
  CAPTURE(dot);
  CHECK(dot.starts_with("digraph tenon {\n"));
  CHECK(dot.ends_with("}\n"));
  CHECK(count_of(dot, "subgraph cluster_") == 1);
  CHECK(has(dot, "label=\"@add_mul\"; style"));
  CHECK(has(dot, "[label=\"add\\nf32[32,48]\"];"));
  CHECK(has(dot, "[label=\"mul\\nf32[32,48]\"];"));
  CHECK(count_of(dot, "[label=\"input\\nf32[32,48]\", shape=ellipse,") == 1);
  CHECK(count_of(dot, "[label=\"input\\nf32[48,32]\", shape=ellipse,") == 1);
  CHECK(has(dot, "[label=\"2.5\\nf32[32,48]\", shape=plaintext,"));
  CHECK(has(dot, "[label=\"output\\nf32[32,48]\", shape=octagon,"));
  CHECK(count_of(dot, " -> ") == 5);
  CHECK(count_of(dot, " [label=\"permute [1,0]\"];") == 1);
  CHECK_FALSE(has(dot, "permute [1,0]\\n"));  // no node
  CHECK(draw_dot(std::vector<NodeRef>{y}) == dot);
  evaluate({y});
  const std::string ran = draw_dot(std::vector<NodeRef>{y});
  CAPTURE(ran);
  CHECK(has(ran, "label=\"@add_mul\\n" + kernel_history().back().schedule + ", 18.00 KiB, "));
  CHECK(has(ran, " us\"; style"));
  CHECK(count_of(ran, " -> ") == 5);
}

TEST_CASE("drawing: values of several plans, without kernels, stored as they are, and on other devices") {
  WithOptions options;
  CHECK(draw_dot({}).starts_with("digraph tenon {\n"));
  const NodeRef x = input_of(Shape{8, 4}, [](int64_t i) { return static_cast<double>(i); });
  const NodeRef y = ir::unary(Op::Exp, x), z = ir::unary(Op::Neg, x);
  evaluate({y});
  evaluate({z});
  const std::string both = draw_dot(std::vector<NodeRef>{y, z});
  CAPTURE(both);
  CHECK(count_of(both, "digraph") == 1);
  CHECK(count_of(both, "subgraph") == 2);
  CHECK(count_of(both, "shape=octagon") == 2);
  const std::string view = draw_dot(std::vector<NodeRef>{ir::permute(x, Shape{1, 0})});  // which is copied, by a kernel
  CAPTURE(view);
  CHECK(has(view, "[label=\"permute [1,0]\\nf32[4,8]\"];"));
  CHECK(count_of(view, " -> ") == 2);
  const std::string moved = draw_dot(std::vector<NodeRef>{ir::unary(Op::Neg, ir::make_input(DType::F32, Shape{3}))});
  CHECK(has(moved, "label=\"@neg\"; style"));
}

TEST_CASE("drawing: ten thousand nodes") {
  WithOptions options;
  NodeRef x = input_of(Shape{64}, [](int64_t i) { return static_cast<double>(i); }), y = x;
  for (int i = 0; i < 5000; ++i) y = ir::unary(Op::Exp, ir::binary(Op::Sub, y, x));
  const std::string dot = draw_dot(std::vector<NodeRef>{y});
  CHECK(count_of(dot, "[label=\"exp\\nf32[64]\"]") == 5000);
  CHECK(count_of(dot, " -> ") == 15001);
}

namespace {
// A folder with a program `dot`, which alone is in PATH as long as this lives.
class OwnDot {
 public:
  explicit OwnDot(const std::string& script) : path_(std::getenv("PATH")) {
    if (!script.empty()) {
      write_file(folder_.path + "/dot", "#!/bin/sh\n" + script);
      std::filesystem::permissions(folder_.path + "/dot", std::filesystem::perms::owner_all);
    }
    setenv("PATH", folder_.path.c_str(), 1);
  }
  ~OwnDot() { setenv("PATH", path_.c_str(), 1); }

 private:
  TempDirectory folder_;
  std::string path_;
};

std::string refusal_of(const std::string& script, std::chrono::milliseconds limit = std::chrono::minutes(1)) {
  const OwnDot dot(script);
  try {
    return "none: " + svg_of(std::string(1 << 20, 'x'), limit);  // more than a socket holds
  } catch (const Error& e) {
    return e.msg();
  }
}
}  // namespace

TEST_CASE("drawing: SVG by Graphviz's dot, and what is said where that does not work") {
  WithOptions options;
  const std::vector<NodeRef> roots{sample()};
  if (std::system("command -v dot >/dev/null") == 0) {
    const std::string svg = draw_svg(roots);
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(has(svg, "reduce.max"));
    CHECK(has(draw_svg({}), "<svg "));
  }
  CHECK(refusal_of("") == "draw_svg: Graphviz's program dot is not installed: install graphviz; draw_dot has the text that it would read");
  CHECK(refusal_of("echo 'Error: bad' >&2; exit 1\n") == "draw_svg: dot failed: Error: bad; draw_dot has the text that it would read");
  CHECK(refusal_of("kill -9 $$\n") == "draw_svg: dot failed: it says nothing; draw_dot has the text that it would read");
  CHECK(refusal_of("exec 0<&- 1>&- 2>&-\nwhile :; do :; done\n", std::chrono::milliseconds(200)) ==
        "draw_svg: dot needs more than 200 ms for this graph; draw_dot has the text that it would read");
  // Two megabytes with zeros among them come back whole, though the text is read last.
  const std::string big = refusal_of("PATH=/usr/bin:/bin\nprintf '<?xml?><svg '; head -c 2000000 /dev/zero; wc -c; echo '</svg>'\n");
  CHECK(big.size() > 2000000);
  CHECK(big.starts_with("none: <svg "));
  CHECK(big.ends_with("1048576\n</svg>\n"));
}

TEST_CASE("TENON_DUMP: one file a stage for each new plan") {
  TempDirectory directory;
  WithOptions options([&](Options& o) {
    o.dump = 1u << static_cast<int>(Stage::Graph) | 1u << static_cast<int>(Stage::LoopTree);
    o.dump_dir = directory.path;
    o.plan_cache = false;
  });
  evaluate({sample()});
  evaluate({sample()});
  int graphs = 0, trees = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory.path)) {
    std::string name = file.path().filename();
    graphs += has(name, ".graph.txt") && has(read_file(file.path()), "reduce.max");
    trees += has(name, ".looptree.txt") && has(read_file(file.path()), "looptree @");
  }
  CHECK(graphs == 2);
  CHECK(trees == 2);
}

TEST_CASE("history: the last launches, oldest first") {
  clear_kernel_history();
  KernelRecord record;
  record.name = "k";
  const KernelFacts facts = std::make_shared<const KernelRecord>(record);
  for (size_t i = 0; i < kHistoryLimit + 10; i += 2) {
    const auto copied = static_cast<int64_t>(i);
    const std::lock_guard lock(evaluation_mutex());
    record_launches(
        std::array{LaunchRecord{&facts, 0, 0, CacheState::Memory, copied}, LaunchRecord{&facts, 0, 0, CacheState::Memory, copied + 1}});
  }
  std::vector<KernelRecord> records = kernel_history();
  REQUIRE(records.size() == kHistoryLimit);
  CHECK(records.front().bytes == 10);
  CHECK(records.back().bytes == static_cast<int64_t>(kHistoryLimit + 9));
  CHECK(records.back().name == "k");
  clear_kernel_history();
  CHECK(kernel_history().empty());
}

TEST_CASE("ticks: as long as the steady clock says") {
  using Clock = std::chrono::steady_clock;
  using Micros = std::chrono::duration<double, std::micro>;
  const Clock::time_point before = Clock::now();
  const Ticks begin = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Ticks length = ticks() - begin;
  const double us = static_cast<double>(length) * microseconds_per_tick();
  CHECK(us >= 20e3 * 0.99);
  CHECK(us <= Micros(Clock::now() - before).count() * 1.01);
}

TEST_CASE("profile: valid JSON with the spans of an evaluation, from every thread") {
  WithOptions options;
  clear_caches();
  Profiler::global().start();
  evaluate({sample()});
  std::thread([] { ProfileSpan span("test", "quote \" backslash \\ newline \n"); }).join();
  Profiler::global().stop();
  { ProfileSpan ignored("test", "after the end"); }
  nlohmann::json trace = nlohmann::json::parse(Profiler::global().json());
  std::multiset<std::string> categories;
  std::set<int> threads;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") continue;  // names of threads
    categories.insert(event.at("cat").get<std::string>());
    threads.insert(event.at("tid").get<int>());
    CHECK(event.at("ph") == "X");
    CHECK(event.at("ts").get<double>() >= 0);
    CHECK(event.at("dur").get<double>() >= 0);
  }
  CHECK(categories.count("evaluate") == 1);
  CHECK(categories.count("plan") >= 1);
  CHECK(categories.count("compile") == 1);
  CHECK(categories.count("launch") == 1);
  CHECK(categories.count("test") == 1);
  CHECK(threads.size() >= 2);
  TempDirectory directory;
  CHECK(Profiler::global().write(directory.path + "/trace.json"));
  CHECK(read_file(directory.path + "/trace.json") == Profiler::global().json());
  CHECK_FALSE(Profiler::global().write("/no/such/directory/trace.json"));
  CHECK_FALSE(Profiler::global().start("/no/such/directory/trace.json"));
  CHECK_FALSE(Profiler::global().enabled());
}

TEST_CASE("code version: names this build, the same each time") {
  CHECK(code_version().size() > 10);
  CHECK(&code_version() == &code_version());
}

TEST_CASE("report: TENON_DUMP=passes names each step and shows what it changed, in a folder that it makes") {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("tenon-dump-" + std::to_string(getpid())) / "deep";
  {
    WithOptions options([&](Options& o) {
      o.dump = kDumpPasses;
      o.dump_dir = folder.string();
      o.plan_cache = false;
    });
    evaluate({ir::unary(Op::Exp, ir::unary(Op::Neg, input_of(std::vector<int64_t>{4}, [](int64_t i) { return i * 0.5; })))});
  }
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::filesystem::remove_all(folder.parent_path());
  CHECK(text.starts_with("--- graph before the steps\ngraph @graph(%x0: f32[4]) {\n  %0 = neg %x0 : f32[4]\n"));
  CHECK(text.find("--- simplify changes nothing\n") != std::string::npos);
  CHECK(text.find("--- expand-math\nkernel @neg_exp(") != std::string::npos);
  size_t at = 0;
  for (const compiler::StepInfo& step : compiler::steps()) {  // every step is there, in order
    CAPTURE(std::string(step.name));
    at = text.find("--- " + std::string(step.name), at);
    REQUIRE(at != std::string::npos);
  }
}
