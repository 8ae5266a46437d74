// The threads behind a loader: jobs go out by number, come back in any order and are handed out by number.
//
//   program  push(0) push(1) push(2) ...   pop() -> 0   push(3)   pop() -> 1   push(4)
//   workers          make(1) make(0)              make(2)              make(3)
#include "tenon/data/loader.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "frontend/src/random/generator.h"
#include "frontend/src/tensor/text.h"
#include "runtime/base/background.h"
#include "tenon/data/chunk.h"

namespace tenon::data {
namespace {

// The next number of a sequence that starts anywhere (splitmix64).
uint64_t scrambled(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return text("Caught exception in DataLoader worker thread. Original message: ", e.what());
  } catch (...) {
    return "Caught exception in DataLoader worker thread.";
  }
}

}  // namespace

FullDataLoaderOptions::FullDataLoaderOptions(const DataLoaderOptions& options)
    : batch_size(options.batch_size()),
      workers(options.workers()),
      max_jobs(workers == 0 ? 0 : options.max_jobs().value_or(2 * workers)),
      timeout(options.timeout()),
      enforce_ordering(options.enforce_ordering()),
      drop_last(options.drop_last()) {
  check<ValueError>(batch_size > 0, "batch_size should be a positive integer value, but got batch_size=0");
  check<ValueError>(workers == 0 || max_jobs > 0, "max_jobs should be a positive integer value, but got max_jobs=0");
  check<ValueError>(!timeout || timeout->count() >= 0, "timeout option should be non-negative");
}

WorkerException::WorkerException(std::exception_ptr original)
    : Error(message_of(original)), original_exception(std::move(original)), message(msg()) {}

namespace detail {

uint64_t seed_of_epoch(uint64_t epoch) {
  const Generator program = default_generator().clone();
  return scrambled(LockedEngine(program)->word64() + epoch);
}

// --- where a loader stands

void LoaderPlace::save(serialize::OutputArchive& archive) const {
  const auto write = [&](const char* key, uint64_t number) { archive.write(key, IValue(static_cast<int64_t>(number))); };
  archive.write("within", IValue(within));
  write("epochs", epochs);
  write("seed", seed);
  write("handed_out", within ? handed_out : 0);
}
LoaderPlace LoaderPlace::load(serialize::InputArchive& archive) {
  const auto read = [&](const char* key) {
    IValue value;
    archive.read(key, value);
    return value;
  };
  const int64_t handed_out = read("handed_out").toInt();
  check(handed_out >= 0, archive.where("handed_out"), ": ", handed_out, " is negative");
  return {read("within").toBool(), static_cast<uint64_t>(read("epochs").toInt()), static_cast<uint64_t>(read("seed").toInt()),
          static_cast<uint64_t>(handed_out)};
}

struct WorkerScope::Impl {
  explicit Impl(uint64_t seed)
      : stream(make_generator<CPUGeneratorImpl>(scrambled(seed))), scope(stream), before(std::exchange(runtime::in_background, true)) {}
  ~Impl() { runtime::in_background = before; }
  const Generator stream;
  const DefaultGeneratorScope scope;
  const bool before;
};
WorkerScope::WorkerScope(uint64_t seed) : impl_(std::make_unique<Impl>(seed)) {}
WorkerScope::~WorkerScope() = default;

struct BatchMaker::State {
  struct Task {
    std::unique_ptr<BatchJob> job;
    uint64_t number, seed;
  };
  explicit State(const FullDataLoaderOptions& o) : ordered(o.enforce_ordering), timeout(o.timeout) {}

  void work(size_t worker);
  void check_process() const {
    check(threads.empty() || process == ::getpid(),
          "the workers of a DataLoader are threads of the process that made it, not of a forked child");
  }
  // False after the timeout.
  template <typename Condition>
  bool wait(std::unique_lock<std::mutex>& lock, Condition&& condition) {
    if (timeout) return batch_came.wait_for(lock, *timeout, condition);
    batch_came.wait(lock, condition);
    return true;
  }
  uint64_t seed_of(uint64_t number) const { return scrambled(epoch_seed ^ scrambled(number)); }
  std::deque<Task>::iterator next_done() {
    if (!ordered) return done.begin();
    return std::find_if(done.begin(), done.end(), [&](const Task& task) { return task.number == next_out; });
  }

  const bool ordered;
  const optional<std::chrono::milliseconds> timeout;
  const pid_t process = ::getpid();  // a forked child has none of the threads
  std::vector<std::thread> threads;
  // Used by the program's thread alone:
  uint64_t epoch = 0, epoch_seed = 0;
  uint64_t next_in = 0, next_out = 0;  // numbers of jobs
  // Under the mutex:
  std::mutex mutex;
  std::condition_variable work_came, batch_came;
  std::deque<Task> waiting, done;
  size_t running = 0;
  bool quit = false;
};

void BatchMaker::State::work(size_t worker) {
  runtime::in_background = true;
  const Generator stream = make_generator<CPUGeneratorImpl>();
  const DefaultGeneratorScope scope(stream);
  std::unique_lock lock(mutex);
  while (true) {
    work_came.wait(lock, [&] { return quit || !waiting.empty(); });
    if (quit) return;
    Task task = std::move(waiting.front());
    waiting.pop_front();
    ++running;
    lock.unlock();
    try {
      Generator(stream).set_current_seed(task.seed);
      task.job->make(worker);
      task.job->finish();
    } catch (...) {
      task.job->error = std::current_exception();
    }
    lock.lock();
    --running;
    done.push_back(std::move(task));
    batch_came.notify_all();
  }
}

BatchMaker::BatchMaker(const FullDataLoaderOptions& options) : state_(std::make_shared<State>(options)) {
  try {
    for (size_t i = 0; i < options.workers; ++i) state_->threads.emplace_back([s = state_, i] { s->work(i); });
  } catch (const std::system_error& e) {
    join();
    throw Error(text("cannot start ", options.workers, " DataLoader workers: ", e.what()));
  }
}

void tensors_of(const Tensor& tensor, std::vector<Tensor>& out) { out.push_back(tensor); }
LoaderPlace BatchMaker::place() const { return {false, state_->epoch, state_->epoch_seed, state_->next_out}; }

void BatchMaker::start_epoch(const LoaderPlace& from) {
  State& s = *state_;
  s.check_process();
  std::deque<State::Task> dropped, unseen;  // which die outside the lock
  {
    std::unique_lock lock(s.mutex);
    s.waiting.swap(dropped);
    check(s.wait(lock, [&] { return s.running == 0; }),
          "Timeout in DataLoader while waiting for a worker's last batch of the epoch before (timeout was ", s.timeout->count(), " ms)");
    s.done.swap(unseen);
  }
  const bool goes_on = from.within;
  s.epoch = from.epochs;
  s.next_in = s.next_out = goes_on ? from.handed_out : 0;
  s.epoch_seed = goes_on ? from.seed : seed_of_epoch(s.epoch++);
}

void BatchMaker::push(std::unique_ptr<BatchJob> job) {
  State& s = *state_;
  s.check_process();
  check(!s.threads.empty(), "the workers of this DataLoader have been joined");
  const uint64_t number = s.next_in++;
  {
    const std::lock_guard lock(s.mutex);
    s.waiting.push_back({std::move(job), number, s.seed_of(number)});
  }
  s.work_came.notify_one();
}

std::unique_ptr<BatchJob> BatchMaker::pop() {
  State& s = *state_;
  s.check_process();
  if (in_flight() == 0) return nullptr;
  std::unique_lock lock(s.mutex);
  const auto ready = [&] { return s.next_done() != s.done.end(); };
  check(s.wait(lock, ready), "Timeout in DataLoader queue while waiting for next batch (timeout was ", s.timeout->count(), " ms)");
  const auto found = s.next_done();
  std::unique_ptr<BatchJob> job = std::move(found->job);
  s.done.erase(found);
  ++s.next_out;
  return job;
}

void BatchMaker::make_here(BatchJob& job) {
  State& s = *state_;
  const Generator stream = make_generator<CPUGeneratorImpl>(s.seed_of(s.next_in++));
  s.next_out = s.next_in;
  const DefaultGeneratorScope scope(stream);
  job.make(0);
}

size_t BatchMaker::in_flight() const { return static_cast<size_t>(state_->next_in - state_->next_out); }

void BatchMaker::join() {
  State& s = *state_;
  if (s.threads.empty()) return;
  if (s.process != ::getpid()) {  // the threads, and whatever locks they held, stayed in the parent
    for (std::thread& thread : s.threads) thread.detach();
    s.threads.clear();
    new std::shared_ptr<State>(state_);  // never dies
    return;
  }
  std::deque<State::Task> dropped;
  bool idle;
  {
    std::unique_lock lock(s.mutex);
    s.quit = true;
    s.waiting.swap(dropped);
    idle = s.wait(lock, [&] { return s.running == 0; });
  }
  s.work_came.notify_all();
  for (std::thread& thread : s.threads) idle ? thread.join() : thread.detach();  // a thread holds what it uses
  s.threads.clear();
  s.next_out = s.next_in;
}

void compute(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> defined;
  for (const Tensor& tensor : tensors) {
    if (tensor.defined()) defined.push_back(tensor);
  }
  eval(defined);
}

}  // namespace detail
}  // namespace tenon::data
