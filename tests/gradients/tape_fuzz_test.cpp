// Random graphs and random training programs against the eager model of tape.h. One that fails is printed.
//
//   TENON_FUZZ_COUNT=5000 TENON_FUZZ_SEED=1 test_gradients -tc='tape*'
//   TENON_TEST_DEVICE=late or cuda: on a device whose memory the host cannot touch (tests/device/tested_device.h).
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

#include "device/tested_device.h"
#include "gradients/tape_program.h"
#include "support/fuzz_cases.h"

using namespace tenon::test;
using tape::Program;

namespace {

using Run = void (Program::*)();

// Empty if all is well, else what is not, with the program.
std::string outcome(Program& program, Run run) {
  try {
    (program.*run)();
  } catch (const std::exception& e) {
    return std::string(e.what()) + "\n" + program.listing();
  }
  return "";
}

void compare_programs(Run run, int64_t count) {
  const tenon::Device place = std::getenv("TENON_TEST_DEVICE") ? tenon::test::tested_device() : tenon::Device(tenon::kCPU);
  tape::Tally all;
  int failures = 0;
  for (int64_t i = 0; i < count && failures < 3; ++i) {
    const uint64_t seed = first_seed() + static_cast<uint64_t>(i);
    Program program(seed, place);
    const std::string problem = outcome(program, run);
    if (!problem.empty()) {
      ++failures;
      FAIL_CHECK("seed " << seed << ": " << problem);
    }
    const tape::Tally& t = program.tally();
    all.operations += t.operations, all.writes += t.writes, all.backwards += t.backwards;
    all.errors += t.errors, all.hooks += t.hooks;
  }
  MESSAGE(count << " programs from seed " << first_seed() << ": " << all.operations << " operations, " << all.writes << " writes, "
                << all.backwards << " backward passes, " << all.errors << " expected errors, " << all.hooks << " hooks");
}

}  // namespace

TEST_CASE("tape: random graphs have the gradients of the eager model") { compare_programs(&Program::run_graph, fuzz_count(120)); }

TEST_CASE("tape: random training programs do what the eager model does") { compare_programs(&Program::run_training, fuzz_count(300)); }
