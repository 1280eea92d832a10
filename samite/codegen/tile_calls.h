// Operations on whole tiles, as calls of the functions in samite/device/tile/. What is much to compile is a function of
// its own (`EmittedSource::objects`), compiled once for all kernels that call it.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/tile_places.h"

namespace samite::codegen {

class TileCalls {
 public:
  TileCalls(Emission &emission, const TilePlaces &places) : emission_(emission), places_(places) {}

  void call(const ir::TileCall &call, SourceLocation where);
  void load_stream(const ir::LoadStream &stream, SourceLocation where);

  // Of the objects, before the text that calls them.
  std::string declarations() const;

 private:
  // tile_loads.cpp
  void load(const ir::TileCall &call, SourceLocation where);
  std::string window(const ir::Type &type, std::uint32_t array, const std::vector<ir::Value> &indices) const;
  std::string load_arguments(const ir::TileMemory &to, bool in_units) const;
  void note_load(const ir::Type &type, std::uint32_t array, SourceLocation where);

  // tile_objects.cpp
  std::string object(const ir::TileCall &call, std::string_view function);
  std::string parameters_of_object(const ir::TileCall &call) const;

  Emission &emission_;
  const TilePlaces &places_;
  std::string declarations_;
};

}  // namespace samite::codegen
