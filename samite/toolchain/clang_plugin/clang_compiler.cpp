#include "samite/toolchain/clang_plugin/clang_compiler.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/BackendUtil.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Serialization/ASTWriter.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

namespace samite::clang_plugin {
namespace {

constexpr const char *prelude_path = "/samite/prelude.h";
constexpr const char *precompiled_path = "/samite/prelude.pch";

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

llvm::StringRef text(SamiteText t) { return {t.data, t.size}; }

// The host's own features, or those of the architecture, without those whose registers are wider than `vector_bytes`,
// so that a program can be tested for a narrower machine. Sorted, since the order affects the precompiled header.
std::vector<std::string> target_features(int vector_bytes, bool of_host) {
  static constexpr llvm::StringRef wider_than_32[] = {"avx512", "avx10"};
  static constexpr llvm::StringRef wider_than_16[] = {"avx",        "fma",    "f16c", "xop", "vaes",
                                                      "vpclmulqdq", "sha512", "sm3",  "sm4"};
  const auto is_wider = [&](llvm::StringRef name) {
    const auto begins = [&](llvm::StringRef prefix) { return name.starts_with(prefix); };
    return (vector_bytes < 64 && llvm::any_of(wider_than_32, begins)) ||
           (vector_bytes < 32 && llvm::any_of(wider_than_16, begins));
  };
  std::vector<std::string> features;
  static const auto host_features = llvm::sys::getHostCPUFeatures();
  for (const auto &feature : host_features) {
    const bool on = feature.second && !is_wider(feature.first());
    if (of_host || is_wider(feature.first())) features.push_back((on ? "+" : "-") + feature.first().str());
  }
  // "+" first: enabling a feature enables its dependencies, which a later "-" disables again.
  std::sort(features.begin(), features.end());
  return features;
}

std::vector<std::string> compiler_arguments(const SamiteClangInput &input, const std::string &source_path) {
  const std::string architecture = text(input.architecture).str();
  std::vector<std::string> arguments = {
      "-triple", llvm::sys::getDefaultTargetTriple(), "-target-cpu",
      architecture.empty() ? llvm::sys::getHostCPUName().str() : architecture, "-x", "c++", "-std=c++20",
      "-O" + std::to_string(input.optimization), "-main-file-name",
      llvm::StringRef(source_path).rsplit('/').second.str(),
      // No header of the machine is read; the prelude has everything that a kernel needs.
      "-nostdsysteminc", "-nobuiltininc", "-mrelocation-model", "pic", "-pic-level", "2", "-fno-rtti",
      // Integers of kernels wrap around, in scalars as in vectors.
      "-fwrapv", input.contraction != 0 ? "-ffp-contract=fast" : "-ffp-contract=off"};
  // Clang prefers 256-bit vectors on many machines with AVX-512; the emitted code has chosen its own width.
  arguments.push_back("-mprefer-vector-width=" + std::to_string(input.vector_bytes * 8));
  if (input.optimization >= 2) arguments.insert(arguments.end(), {"-vectorize-loops", "-vectorize-slp"});
  // Debuggers and profilers unwind through kernels even without debug information.
  arguments.push_back("-funwind-tables=2");
  if (input.debug_info)
    arguments.insert(arguments.end(),
                     {"-debug-info-kind=line-tables-only", "-dwarf-version=5", "-debugger-tuning=gdb"});
  arguments.insert(arguments.end(),
                   {"-fpch-instantiate-templates", "-w", "-ferror-limit", "10", "-disable-llvm-verifier"});
  for (const std::string &feature : target_features(input.vector_bytes, architecture.empty()))
    arguments.insert(arguments.end(), {"-target-feature", feature});
  arguments.push_back(source_path);
  return arguments;
}

void initialize_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    // X86AvoidStoreForwardingBlocks of LLVM 22 queries memory operands of unknown size, which ends the process: «Cannot
    // implicitly convert a scalable size to a fixed-width size». LLD resets all options to their defaults at each link,
    // so the default is changed.
    const auto &options = llvm::cl::getRegisteredOptions();
    if (const auto found = options.find("x86-disable-avoid-SFB"); found != options.end())
      static_cast<llvm::cl::opt<bool> *>(found->second)->setValue(true, /*initial=*/true);
  });
}

// A compiler for one text, with its file system and the stream that collects its messages.
class Session {
 public:
  Session(const SamiteClangInput &input, const std::string &source_path)
      : files_(llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>()), messages_(diagnostics_) {
    initialize_targets();
    const std::vector<std::string> arguments = compiler_arguments(input, source_path);
    std::vector<const char *> pointers;
    for (const std::string &argument : arguments) pointers.push_back(argument.c_str());

    // Clang takes ownership of the bare pointer.
    const auto printer = [this] {
      return std::make_unique<clang::TextDiagnosticPrinter>(messages_, options_).release();
    };
    auto invocation = std::make_shared<clang::CompilerInvocation>();
    const auto engine = clang::CompilerInstance::createDiagnostics(*files_, options_, printer());
    valid_ = clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, *engine);

    compiler_ = std::make_unique<clang::CompilerInstance>(std::move(invocation));
    compiler_->setVirtualFileSystem(files_);
    compiler_->createDiagnostics(printer());
    compiler_->createFileManager();
    // It would print its count of errors to standard error; the diagnostics suffice.
    compiler_->setVerboseOutputStream(llvm::nulls());
    add_file(prelude_path, input.prelude);
  }

  void add_file(llvm::StringRef path, SamiteText contents) {
    files_->addFileNoOwn(path, 0, llvm::MemoryBufferRef(text(contents), path));
  }

  bool execute(clang::FrontendAction &action) { return valid_ && compiler_->ExecuteAction(action); }

  clang::CompilerInstance &compiler() { return *compiler_; }
  std::string diagnostics() { return messages_.str(); }
  llvm::raw_ostream &messages() { return messages_; }

 private:
  llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> files_;
  std::string diagnostics_;
  llvm::raw_string_ostream messages_;
  clang::DiagnosticOptions options_;
  bool valid_ = false;
  std::unique_ptr<clang::CompilerInstance> compiler_;
};

// Clang's own action writes a file; this one keeps the precompiled header in memory.
class PrecompileAction : public clang::ASTFrontendAction {
 public:
  explicit PrecompileAction(std::shared_ptr<clang::PCHBuffer> buffer) : buffer_(std::move(buffer)) {}

 private:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler, llvm::StringRef) override {
    return std::make_unique<clang::PCHGenerator>(compiler.getPreprocessor(), compiler.getModuleCache(),
                                                 precompiled_path, /*isysroot=*/"", buffer_, compiler.getCodeGenOpts(),
                                                 llvm::ArrayRef<std::shared_ptr<clang::ModuleFileExtension>>(),
                                                 /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  bool hasASTFileSupport() const override { return false; }

  std::shared_ptr<clang::PCHBuffer> buffer_;
};

}  // namespace

Compiled precompile_prelude(const SamiteClangInput &input) {
  const Clock::time_point start = Clock::now();
  Session session(input, prelude_path);
  auto &inputs = session.compiler().getFrontendOpts().Inputs;
  inputs.assign(
      1, clang::FrontendInputFile(
             prelude_path, clang::InputKind(clang::Language::CXX).withFormat(clang::InputKind::Source).getHeader()));
  const auto buffer = std::make_shared<clang::PCHBuffer>();
  PrecompileAction action(buffer);
  Compiled result;
  result.ok = session.execute(action) && buffer->IsComplete;
  if (result.ok) result.bytes.assign(buffer->Data.begin(), buffer->Data.end());
  result.diagnostics = session.diagnostics();
  result.frontend_ms = milliseconds_since(start);
  return result;
}

Compiled compile_object(const SamiteClangInput &input) {
  const Clock::time_point start = Clock::now();
  const std::string source_path = "/samite/" + text(input.name).str() + ".cpp";
  Session session(input, source_path);
  session.add_file(source_path, input.source);
  session.add_file(precompiled_path, input.precompiled_prelude);
  clang::PreprocessorOptions &preprocessor = session.compiler().getPreprocessorOpts();
  preprocessor.ImplicitPCHInclude = precompiled_path;
  // The caller keeps one precompiled prelude for each prelude and set of options, so validation is unnecessary.
  preprocessor.DisablePCHOrModuleValidation = clang::DisableValidationForModuleKind::PCH;

  Compiled result;
  llvm::LLVMContext context;
  // Without a handler LLVM prints the back end's errors and ends the process.
  bool backend_failed = false;
  struct Sink {
    llvm::raw_ostream &messages;
    bool &failed;
  } sink{session.messages(), backend_failed};
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *opaque) {
        if (info->getSeverity() != llvm::DS_Error) return;
        Sink &to = *static_cast<Sink *>(opaque);
        llvm::DiagnosticPrinterRawOStream printer(to.messages);
        to.messages << "error: ";
        info->print(printer);
        to.messages << "\n";
        to.failed = true;
      },
      &sink);

  // The action would run LLVM's passes although it emits nothing; they run once, below.
  clang::CodeGenOptions &options = session.compiler().getCodeGenOpts();
  options.DisableLLVMPasses = true;
  clang::EmitLLVMOnlyAction action(&context);
  const bool parsed = session.execute(action);
  const std::unique_ptr<llvm::Module> module = parsed ? action.takeModule() : nullptr;
  result.frontend_ms = milliseconds_since(start);
  // LLVM's own verifier ends the process if Clang generates invalid code from valid C++; this one reports it.
  const bool broken = module && llvm::verifyModule(*module, &session.messages());
  if (broken) session.messages() << "error: Clang made invalid LLVM code of this source\n";
  if (module && !broken) {
    const Clock::time_point backend_start = Clock::now();
    clang::CompilerInstance &compiler = session.compiler();
    options.DisableLLVMPasses = false;
    llvm::SmallString<0> object;
    clang::emitBackendOutput(compiler, options, compiler.getTarget().getDataLayoutString(), module.get(),
                             clang::Backend_EmitObj, compiler.getVirtualFileSystemPtr(),
                             std::make_unique<llvm::raw_svector_ostream>(object));
    result.ok = !backend_failed && !compiler.getDiagnostics().hasErrorOccurred();
    if (result.ok) result.bytes.assign(object.begin(), object.end());
    result.backend_ms = milliseconds_since(backend_start);
  }
  result.diagnostics = session.diagnostics();
  return result;
}

}  // namespace samite::clang_plugin
