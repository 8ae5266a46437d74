// Event files for TensorBoard:  tensorboard --logdir runs
//
//   tensorboard::SummaryWriter writer("runs/first");
//   writer.add_scalar("loss/train", loss, epoch);  writer.add_histogram("fc.weight", net->fc->weight, epoch);
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::tensorboard {

// One event file, "events.out.tfevents.TIME.HOST.PID.NUMBER", in a folder that is made if it is not there. Every failure to write is
// an Error that names the file.
class SummaryWriter {
 public:
  explicit SummaryWriter(const std::string& log_dir = "runs");
  ~SummaryWriter();  // closes; a failure is then silent
  SummaryWriter(SummaryWriter&&) noexcept;

  void add_scalar(const std::string& tag, double value, int64_t step = 0);
  // Several curves in one chart: each in a folder of its own, "LOG_DIR/TAG_NAME".
  void add_scalars(const std::string& tag, const std::vector<std::pair<std::string, double>>& values, int64_t step = 0);
  // A histogram of the elements, in `bins` intervals of the same width. nan and inf are left out; Error if nothing is left.
  void add_histogram(const std::string& tag, const Tensor& values, int64_t step = 0, int64_t bins = 64);
  // [C, H, W] with 1, 3 or 4 channels, or [H, W]: floats from 0 to 1, or bytes.
  void add_image(const std::string& tag, const Tensor& image, int64_t step = 0);
  void add_text(const std::string& tag, const std::string& text, int64_t step = 0);  // Markdown
  // What is computed to make this tensor, and is not computed yet.
  void add_graph(const Tensor& output);

  void flush();  // to the disk
  void close();
  const std::string& log_dir() const;
  const std::string& path() const;  // of the event file

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::tensorboard
