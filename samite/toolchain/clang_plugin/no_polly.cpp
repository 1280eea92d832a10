// Stands in for Polly where LLVM is linked statically. Distributions build LLVM to ask Polly for its passes, and ship
// Polly as a shared library alone; the plug-in uses none of its passes.
#include <llvm/Plugins/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo();  // LLVM declares it where it calls it

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  llvm::PassPluginLibraryInfo none{};
  none.APIVersion = LLVM_PLUGIN_API_VERSION;
  none.PluginName = "none";
  none.PluginVersion = "";
  none.RegisterPassBuilderCallbacks = [](llvm::PassBuilder &) {};
  return none;
}
