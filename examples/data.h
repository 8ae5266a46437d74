// The files of iris_train and iris_predict.
#pragma once
#include <tenon/tenon.h>

#include <filesystem>
#include <string>

namespace examples {

// FOLDER/name; where it is missing, an Error that says how to name the folder.
inline std::string data_file(const std::string& folder, const std::string& name) {
  const std::string file = folder + "/" + name;
  if (std::filesystem::exists(file)) return file;
  throw tenon::Error("no " + file + ": name the folder that holds " + name + " as the last argument (examples/data in Tenon's sources)");
}

}  // namespace examples
