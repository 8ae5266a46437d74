// Reads the TENON_* variables once, and keeps the current options behind a lock. Takes strings of any shape;
// gives an Options that is always valid, and one warning for each variable that was not.
#include "runtime/base/options.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "ir/base/fork.h"

namespace tenon::runtime {
namespace {

// One after another, as evaluate.h numbers its stages; then kDumpPasses.
constexpr std::string_view kStageNames[] = {"graph", "fused", "kernel", "looptree", "llvm", "assembly", "cuda", "passes"};

class Reader {
 public:
  Reader(const std::function<const char*(const char*)>& get, const std::function<void(const std::string&)>& warn)
      : get_(get), warn_(warn) {}

  // One of these words stands for each value; `accepted` names them.
  template <typename T>
  void choice(const char* name, T& value, std::initializer_list<std::pair<std::string_view, T>> choices, const char* accepted) {
    const char* text = present(name);
    if (!text) return;
    const auto* chosen = std::ranges::find(choices, std::string_view(text), &std::pair<std::string_view, T>::first);
    if (chosen != choices.end()) value = chosen->second;
    else reject(name, text, accepted);
  }

  void boolean(const char* name, bool& value) { choice<bool>(name, value, {{"0", false}, {"1", true}}, "0 or 1"); }

  template <typename T>
  void number(const char* name, T& value, int64_t least, int64_t most) {
    const char* text = present(name);
    if (!text) return;
    std::optional<int64_t> n = integer(text);
    if (n && *n >= least && *n <= most) {
      value = static_cast<T>(*n);
    } else {
      reject(name, text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
  }

  void stages(const char* name, uint32_t& value) {
    const char* text = present(name);
    if (!text) return;
    uint32_t mask = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
      size_t comma = rest.find(',');
      std::optional<uint32_t> bit = stage(rest.substr(0, comma));
      if (!bit) return reject(name, text, "a comma-separated list of " + stage_list());
      mask |= *bit;
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    value = mask;
  }

  void text(const char* name, std::string& value) {
    if (const char* text = present(name)) value = text;
  }

 private:
  // An empty variable counts as unset, as the shell's ${X:-default} does.
  const char* present(const char* name) const {
    const char* text = get_(name);
    return text && *text ? text : nullptr;
  }
  static std::optional<int64_t> integer(std::string_view text) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
  static std::optional<uint32_t> stage(std::string_view name) {
    for (size_t i = 0; i < std::size(kStageNames); ++i) {
      if (name == kStageNames[i]) return uint32_t{1} << i;
    }
    return std::nullopt;
  }
  static std::string stage_list() {
    std::string list;
    for (std::string_view name : kStageNames) list += (list.empty() ? "" : ", ") + std::string(name);
    return list;
  }
  void reject(const char* name, const char* text, const std::string& accepted) {
    warn_(std::string("tenon: ") + name + "=\"" + text + "\" is not understood; expected " + accepted + ". The default is used.");
  }

  const std::function<const char*(const char*)>& get_;
  const std::function<void(const std::string&)>& warn_;
};

struct State {
  std::mutex mutex;
  Options current = parse_options([](const char* name) { return static_cast<const char*>(std::getenv(name)); },
                                  [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
  std::atomic<uint64_t> generation{1};
  std::atomic<bool> replay{current.replay};
};

State& state() {
  static auto* s = new State;  // never destroyed: destructors of user objects may still evaluate at exit
  return *s;
}
[[maybe_unused]] const bool options_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Options, ir::fork_lock<[]() -> std::mutex& { return state().mutex; }>());

std::vector<void (*)(const Options&)>& listeners() {  // complete before main
  static auto* const all = new std::vector<void (*)(const Options&)>;
  return *all;
}

}  // namespace

bool when_options_change(void (*told)(const Options&)) {
  listeners().push_back(told);
  return true;
}

Options parse_options(const std::function<const char*(const char*)>& get, const std::function<void(const std::string&)>& warn) {
  Options o;
  Reader r(get, warn);
  r.number("TENON_THREADS", o.threads, 0, 1024);
  r.boolean("TENON_FUSION", o.fusion);
  r.boolean("TENON_SIMPLIFY", o.simplify);
  r.boolean("TENON_PLAN_CACHE", o.plan_cache);
  r.number("TENON_BATCH", o.batch, 0, 1 << 30);
  r.number("TENON_OFTEN", o.often, 0, 1 << 30);
  r.number("TENON_FIRST_TIER", o.first_tier, 0, 2);
  r.number("TENON_REPEATS", o.repeats, 0, 1 << 30);
  r.boolean("TENON_REPLAY", o.replay);
  r.boolean("TENON_WINDOWS", o.windows);
  r.boolean("TENON_DONATION", o.donation);
  r.boolean("TENON_VERIFY", o.verify);
  r.number("TENON_INLINE_US", o.inline_us, 0, 1'000'000);
  r.boolean("TENON_DISK_CACHE", o.disk_cache);
  r.text("TENON_CACHE_DIR", o.cache_dir);
  r.number("TENON_CACHE_MAX_MB", o.cache_max_mb, 1, 1 << 30);
  r.choice<int>("TENON_VECTOR_BITS", o.vector_bits, {{"128", 128}, {"256", 256}, {"512", 512}}, "128, 256 or 512");
  using enum Options::Backend;
  r.choice<Options::Backend>("TENON_BACKEND", o.backend, {{"llvm", Llvm}, {"interpreter", Interpreter}}, "llvm or interpreter");
  r.stages("TENON_DUMP", o.dump);
  r.text("TENON_DUMP_KERNEL", o.dump_kernel);
  r.text("TENON_DUMP_DIR", o.dump_dir);
  r.text("TENON_PROFILE", o.profile);
  r.boolean("TENON_TRACE", o.trace);
  r.number("TENON_MEMORY_LIMIT_MB", o.memory_limit_mb, 0, int64_t{1} << 40);
  return o;
}

Options options() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  return s.current;
}

void set_options(const Options& o) {
  State& s = state();
  {
    std::lock_guard lock(s.mutex);
    s.current = o;
  }
  s.replay.store(o.replay, std::memory_order_relaxed);
  s.generation.fetch_add(1, std::memory_order_release);
  for (const auto told : listeners()) told(o);
}

bool replays() { return state().replay.load(std::memory_order_relaxed); }

uint64_t options_generation() { return state().generation.load(std::memory_order_acquire); }

}  // namespace tenon::runtime
