// Watching: explain and dump of what is computed, kernels by name, what the program holds, profiles and their table.
#include <doctest/doctest.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "frontend/values.h"

namespace tenon {
namespace {

using nlohmann::json;
using test::error_of;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct TraceFile {
  std::string path = (std::filesystem::temp_directory_path() / ("tenon_watching_" + std::to_string(::getpid()) + ".json")).string();
  ~TraceFile() { std::filesystem::remove(path); }
  json read() const {
    std::ifstream in(path);
    return json::parse(in).at("traceEvents");
  }
};

Tensor sample(IntArrayRef shape) { return (arange(shape[0] * shape[1], kFloat) / 100).view(shape); }

}  // namespace

TEST_CASE("explain and dump of a computed tensor answer from the plan that computed it") {
  Tensor x = sample({64, 48});
  eval(x);
  Tensor y = (x - 1).softmax(1);
  const std::string before = explain(y), kernel = dump(y, Stage::Kernel), tree = dump(y, Stage::LoopTree);
  eval(y);
  const std::string after = explain(y);
  CAPTURE(after);
  CHECK(has(after, "already computed by plan "));
  CHECK(after.substr(after.find('\n') + 1) == before);
  for (const auto& [stage, text] : std::map<Stage, std::string>{{Stage::Kernel, kernel}, {Stage::LoopTree, tree}}) {
    const std::string again = dump(y, stage);
    CHECK(again.find("// already computed by plan ") == 0);
    CHECK(again.substr(again.find('\n') + 1) == text);
  }
  CHECK(has(explain(y.t()), "already computed"));  // a view of it is no work
  CHECK(has(draw_dot(y), "exp"));
  const KernelRecord last = kernel_history().back();
  CHECK(has(after, "plan " + std::to_string(last.plan) + ", kernels " + last.name));
  CHECK(last.shapes == "f32[64,48] -> f32[64,48]");
  CHECK(has(explain(y + 1), "outputs, 1 kernels"));  // what is pending is explained as ever
  CHECK(has(explain(tensor({1.0, 2.0})), "0 kernels"));
  Tensor many = x;
  eval(std::vector<Tensor>{y * 2, x.sum(0)});
  CHECK(has(explain(TensorList({y, many})), "already computed"));
}

TEST_CASE("what is computed keeps no memory alive, also where constants and counts are shared") {
  eval(zeros({4}) + arange(4));
  const int64_t before = memory_stats().allocated;
  for (int i = 0; i < 3; ++i) {
    Tensor big = arange(1 << 20).to(kDouble);
    eval(big);
    CHECK(has(explain(big), "already computed"));
  }
  CHECK(memory_stats().allocated == before);
}

TEST_CASE("explain names each value that is stored only because the program holds it") {
  Tensor x = sample({32, 32});
  eval(x);
  const Tensor held = x.exp(), sum = held.sum(1);
  const std::string text = explain(sum);
  CHECK(has(text, "stored because the program holds it: exp f32[32,32]\n"));
  eval(sum);
  CHECK(has(explain(sum), "stored because the program holds it: exp f32[32,32]\n"));
  Tensor free = x.exp();
  free = free.sum(1);
  CHECK_FALSE(has(explain(free), "stored because"));
}

TEST_CASE("explain lists what is kept for gradients and what they compute again, after a look before backward and without one") {
  manual_seed(0);
  nn::Linear first(8, 6), second(6, 3);
  const Tensor x = rand({4, 8}), y = randint(0, 3, {4});
  eval(x, y, first->weight, first->bias, second->weight, second->bias);
  const auto lines = [](const std::string& text, const std::string& with) {
    std::multiset<std::string> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(with)) found.insert(line.substr(with.size()));
    }
    return found;
  };
  const std::string kept = "kept for gradients: ", again = "computed again for gradients: ", held = "stored because";
  const auto recorded = [&] { return nn::functional::cross_entropy(second(relu(first(x))), y); };
  // The second product's operand is relu of the first one plus the bias: only the product is dear.
  {
    const Tensor loss = recorded();
    const std::string before = explain(loss);  // what a look would do
    CAPTURE(before);
    CHECK(lines(before, kept).contains("dot f32[4,6]"));
    CHECK(lines(before, kept).contains("dot f32[4,3]"));
    CHECK(lines(before, again).contains("max f32[4,6]"));
    for (const std::string& line : lines(before, again)) CHECK_FALSE((has(line, "dot") || has(line, "reduce")));
    CHECK(lines(before, held).empty());
    (void)loss.item<float>();
    const std::string after = explain(loss);
    CHECK(has(after, "already computed by plan "));
    CHECK(lines(after, kept) == lines(before, kept));
    CHECK(lines(after, again) == lines(before, again));
    CHECK(lines(after, held).empty());
    clear_kernel_history();
    loss.backward();
    eval(first->weight.grad(), second->weight.grad());
    size_t products = 0;
    for (const KernelRecord& launch : kernel_history()) products += launch.schedule == "contraction";
    CHECK(products == 3);  // of the gradients alone
  }
  first->zero_grad(), second->zero_grad();
  {
    const Tensor loss = recorded();
    loss.backward();  // nobody looked: what was saved is released
    const std::string text = explain(TensorList({loss, first->weight.grad(), second->weight.grad()}));
    CHECK(lines(text, kept).empty());
    CHECK(lines(text, again).empty());
  }
  const NoGradGuard no_grad;
  CHECK(lines(explain(recorded()), kept).empty());
  CHECK(lines(explain(recorded()), again).empty());
}

TEST_CASE("dump takes the kernels with a name") {
  Tensor x = sample({32, 32});
  eval(x);
  const Tensor y = x.cumsum(0).matmul(x).exp();
  const std::string all = dump(y, Stage::Kernel);
  const size_t at = all.rfind("kernel @") + 8;
  const std::string name = all.substr(at, all.find('(', at) - at);
  const std::string one = dump(y, Stage::Kernel, name);
  CHECK(one.size() < all.size());
  CHECK(one.find("kernel @" + name) == 0);
  CHECK(has(dump(y, Stage::LoopTree, "nothing of the kind"), "No kernel has 'nothing of the kind' in its name; there are: "));
}

TEST_CASE("a profile: from start to stop, with shapes, bytes, plans and the program's scopes") {
  TraceFile file;
  Tensor x = sample({512, 512});
  eval(x);
  const Config saved = get_config();
  set_num_threads(2);
  { Scope unseen("before"); }
  profile_start(file.path);
  {
    Scope scope("attention \"\xff\"");
    Tensor y = (x * 2).exp().sum(1);
    eval(y);
  }
  profile_stop();
  set_config(saved);
  eval(x + 1);
  std::set<std::string> scopes;
  int launches = 0;
  for (const json& event : file.read()) {
    if (event.at("ph") == "M") continue;
    if (event.at("cat") == "scope") scopes.insert(event.at("name"));
    if (event.at("cat") != "launch") continue;
    ++launches;
    const json& args = event.at("args");
    CHECK(args.at("shapes") == "f32[512,512] -> f32[512]");
    CHECK(args.at("bytes") == 512 * 512 * 4 + 512 * 4);
    CHECK(args.at("GB/s").get<double>() > 0);
    CHECK(args.at("plan") == kernel_history()[kernel_history().size() - 2].plan);
  }
  CHECK(launches == 1);
  CHECK(scopes.size() == 1);
  CHECK(has(*scopes.begin(), "attention"));
}

TEST_CASE("a profile shows the worker threads") {
  TraceFile file;
  Tensor x = sample({2048, 2048});
  eval(x);
  const Config saved = get_config();
  set_num_threads(3);
  profile_start(file.path);
  for (int i = 0; i < 20; ++i) eval((x * (i + 0.5)).exp());
  profile_stop();
  set_config(saved);
  std::set<int> named, working;
  for (const json& event : file.read()) {
    if (event.at("ph") == "M" && has(event.at("args").at("name"), "tenon worker")) named.insert(event.at("tid").get<int>());
    if (event.at("ph") == "X" && event.at("cat") == "worker") working.insert(event.at("tid").get<int>());
  }
  CHECK(working.size() >= 1);
  for (int thread : working) CHECK(named.contains(thread));
}

TEST_CASE("a profile that cannot be written is an error at once, and changes nothing") {
  CHECK(has(error_of([] { profile_start("/no/such/folder/trace.json"); }), "/no/such/folder/trace.json: cannot write"));
  CHECK(has(error_of([] { profile_start(""); }), "empty"));
  Config config = get_config();
  config.profile = "/no/such/folder/trace.json";
  CHECK(has(error_of([&] { set_config(config); }), "cannot write"));
  CHECK(get_config().profile.empty());
}

TEST_CASE("profile_summary is a table of kernels, those that took most first") {
  Tensor x = sample({256, 256});
  eval(x);
  clear_kernel_history();
  CHECK(has(profile_summary(), "kernel"));
  for (int i = 0; i < 3; ++i) eval((x * (i + 0.5)).exp());
  eval(x.matmul(x));
  const std::string table = profile_summary();
  CAPTURE(table);
  CHECK(std::count(table.begin(), table.end(), '\n') == 4);  // head, two kernels, all
  CHECK(has(table, "mul_exp  f32[256,256] -> f32[256,256]\n"));
  CHECK(has(table, "100.0%"));
  CHECK(has(table, "all; "));
}

}  // namespace tenon
