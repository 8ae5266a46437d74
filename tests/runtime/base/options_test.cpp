// The environment becomes options: accepted values, one warning for each malformed variable, defaults kept.
#include "runtime/base/options.h"

#include <doctest/doctest.h>

#include <map>
#include <thread>
#include <vector>

using namespace tenon::runtime;

namespace {

struct Parsed {
  Options options;
  std::vector<std::string> warnings;
};

Parsed parse(const std::map<std::string, std::string>& environment) {
  Parsed p;
  p.options = parse_options(
      [&](const char* name) -> const char* {
        auto it = environment.find(name);
        return it == environment.end() ? nullptr : it->second.c_str();
      },
      [&](const std::string& line) { p.warnings.push_back(line); });
  return p;
}

}  // namespace

TEST_CASE("options: every variable is read") {
  Parsed p = parse({{"TENON_THREADS", "3"},
                    {"TENON_FUSION", "0"},
                    {"TENON_SIMPLIFY", "0"},
                    {"TENON_PLAN_CACHE", "0"},
                    {"TENON_REPLAY", "0"},
                    {"TENON_DISK_CACHE", "0"},
                    {"TENON_CACHE_DIR", "/x/y"},
                    {"TENON_CACHE_MAX_MB", "7"},
                    {"TENON_VECTOR_BITS", "128"},
                    {"TENON_BACKEND", "interpreter"},
                    {"TENON_DUMP", "graph,cuda"},
                    {"TENON_DUMP_DIR", "/d"},
                    {"TENON_DUMP_KERNEL", "softmax"},
                    {"TENON_PROFILE", "/p.json"},
                    {"TENON_TRACE", "1"},
                    {"TENON_DONATION", "0"},
                    {"TENON_WINDOWS", "0"},
                    {"TENON_BATCH", "17"},
                    {"TENON_OFTEN", "7"},
                    {"TENON_FIRST_TIER", "2"},
                    {"TENON_REPEATS", "5"},
                    {"TENON_MEMORY_LIMIT_MB", "100"}});
  CHECK(p.warnings.empty());
  CHECK(p.options.threads == 3);
  CHECK_FALSE(p.options.fusion);
  CHECK_FALSE(p.options.simplify);
  CHECK_FALSE(p.options.plan_cache);
  CHECK_FALSE(p.options.replay);
  CHECK_FALSE(p.options.disk_cache);
  CHECK_FALSE(p.options.donation);
  CHECK_FALSE(p.options.windows);
  CHECK(p.options.batch == 17);
  CHECK(p.options.often == 7);
  CHECK(p.options.first_tier == 2);
  CHECK(p.options.repeats == 5);
  CHECK(p.options.cache_dir == "/x/y");
  CHECK(p.options.cache_max_mb == 7);
  CHECK(p.options.vector_bits == 128);
  CHECK(p.options.backend == Options::Backend::Interpreter);
  CHECK(p.options.dump == (1u << 0 | 1u << 6));
  CHECK(p.options.dump_dir == "/d");
  CHECK(p.options.profile == "/p.json");
  CHECK(p.options.trace);
  CHECK(p.options.dump_kernel == "softmax");
  CHECK(p.options.memory_limit_mb == 100);
}

TEST_CASE("options: a malformed value keeps the default and warns once, naming what is accepted") {
  struct Case {
    const char *name, *value, *accepted;
  };
  const Case cases[] = {{"TENON_THREADS", "two", "0 to 1024"},
                        {"TENON_THREADS", "-1", "0 to 1024"},
                        {"TENON_THREADS", "4x", "0 to 1024"},
                        {"TENON_THREADS", "99999999999999999999", "0 to 1024"},
                        {"TENON_FUSION", "yes", "0 or 1"},
                        {"TENON_SIMPLIFY", "2", "0 or 1"},
                        {"TENON_PLAN_CACHE", "on", "0 or 1"},
                        {"TENON_DISK_CACHE", " 1", "0 or 1"},
                        {"TENON_DONATION", "false", "0 or 1"},
                        {"TENON_WINDOWS", "off", "0 or 1"},
                        {"TENON_BATCH", "-1", "0 to"},
                        {"TENON_OFTEN", "never", "0 to"},
                        {"TENON_FIRST_TIER", "3", "0 to 2"},
                        {"TENON_REPEATS", "-1", "0 to"},
                        {"TENON_CACHE_MAX_MB", "0", "1 to"},
                        {"TENON_VECTOR_BITS", "64", "128, 256 or 512"},
                        {"TENON_BACKEND", "LLVM", "llvm or interpreter"},
                        {"TENON_DUMP", "graph,lvm", "graph, fused, kernel, looptree, llvm, assembly, cuda"},
                        {"TENON_MEMORY_LIMIT_MB", "1e3", "a whole number from 0"}};
  Options standard;
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.value);
    Parsed p = parse({{c.name, c.value}});
    REQUIRE(p.warnings.size() == 1);
    CHECK(p.warnings[0].find(c.name) != std::string::npos);
    CHECK(p.warnings[0].find(c.value) != std::string::npos);
    CHECK(p.warnings[0].find(c.accepted) != std::string::npos);
    CHECK(p.options.threads == standard.threads);
    CHECK(p.options.fusion == standard.fusion);
    CHECK(p.options.simplify == standard.simplify);
    CHECK(p.options.plan_cache == standard.plan_cache);
    CHECK(p.options.disk_cache == standard.disk_cache);
    CHECK(p.options.donation == standard.donation);
    CHECK(p.options.cache_max_mb == standard.cache_max_mb);
    CHECK(p.options.vector_bits == standard.vector_bits);
    CHECK(p.options.backend == standard.backend);
    CHECK(p.options.dump == standard.dump);
    CHECK(p.options.memory_limit_mb == standard.memory_limit_mb);
  }
}

TEST_CASE("options: an empty variable is an unset one") { CHECK(parse({{"TENON_THREADS", ""}}).warnings.empty()); }

TEST_CASE("options: set and read from several threads") {
  Options before = options();
  uint64_t generation = options_generation();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&before, t] {
      for (int i = 0; i < 200; ++i) {
        Options o = before;
        o.dump_dir = std::string(64, static_cast<char>('a' + t));  // long enough to live on the heap
        set_options(o);
        std::string seen = options().dump_dir;
        REQUIRE(seen == std::string(64, seen[0]));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(options_generation() == generation + 800);
  set_options(before);
}
