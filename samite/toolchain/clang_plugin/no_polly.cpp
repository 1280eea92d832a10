// Replaces Polly if LLVM is linked statically. Distributions build LLVM to request Polly's passes, but ship Polly only
// as a shared library; the plug-in uses none of its passes.
#include <llvm/Plugins/PassPlugin.h>

llvm::PassPluginLibraryInfo getPollyPluginInfo();  // LLVM declares it at its call

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  llvm::PassPluginLibraryInfo none{};
  none.APIVersion = LLVM_PLUGIN_API_VERSION;
  none.PluginName = "none";
  none.PluginVersion = "";
  none.RegisterPassBuilderCallbacks = [](llvm::PassBuilder &) {};
  return none;
}
