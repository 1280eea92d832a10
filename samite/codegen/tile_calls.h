// Operations on whole tiles, as calls of the functions in samite/device/tile/. What is much to compile is a function of
// its own (`EmittedSource::objects`), compiled once for all kernels that call it.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/tile_places.h"
#include "samite/passes/product_loops.h"

namespace samite::codegen {

class TileCalls {
 public:
  TileCalls(Emission &emission, const TilePlaces &places)
      : emission_(emission), places_(places), maps_(passes::tensor_maps(emission.kernel)) {}

  void call(const ir::TileCall &call, SourceLocation where);
  void load_stream(const ir::LoadStream &stream, SourceLocation where);

  // Where threads have roles: what both have of the loop of products.
  void make_rings();

  // Of the objects, before the text that calls them.
  std::string declarations() const;

 private:
  // tile_loads.cpp
  void load(const ir::TileCall &call, SourceLocation where);
  std::string window(const ir::Type &type, std::uint32_t array, const std::vector<ir::Value> &indices) const;
  std::string load_arguments(const ir::TileMemory &to, bool in_units) const;
  void note_load(const ir::Type &type, std::uint32_t array, SourceLocation where);

  // product_loop.cpp
  void product_loop(const ir::TileCall &call);
  std::string kind_of_loop(const ir::TileCall &call) const;

  // tile_objects.cpp
  std::string object(const ir::TileCall &call, std::string_view function);
  std::string parameters_of_object(const ir::TileCall &call) const;

  Emission &emission_;
  const TilePlaces &places_;
  std::string declarations_;
  const std::vector<passes::TensorMapNeeded> maps_;
};

}  // namespace samite::codegen
