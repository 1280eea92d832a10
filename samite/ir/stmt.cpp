#include "samite/ir/stmt.h"

namespace samite::ir {

template <class Kind>
Stmt::Stmt(Kind kind, SourceLocation where) : node_(std::make_shared<const Node>(Node{std::move(kind), where})) {}

template Stmt::Stmt(Let, SourceLocation);
template Stmt::Stmt(Assign, SourceLocation);
template Stmt::Stmt(Store, SourceLocation);
template Stmt::Stmt(Accumulate, SourceLocation);
template Stmt::Stmt(Allocate, SourceLocation);
template Stmt::Stmt(LocalStore, SourceLocation);
template Stmt::Stmt(TileCall, SourceLocation);
template Stmt::Stmt(TileLoad, SourceLocation);
template Stmt::Stmt(MainLoop, SourceLocation);
template Stmt::Stmt(WindowProduct, SourceLocation);
template Stmt::Stmt(StageProduct, SourceLocation);
template Stmt::Stmt(LoadStream, SourceLocation);
template Stmt::Stmt(BringWindows, SourceLocation);
template Stmt::Stmt(ReleaseWindows, SourceLocation);
template Stmt::Stmt(Prefetch, SourceLocation);
template Stmt::Stmt(LoadPack, SourceLocation);
template Stmt::Stmt(StorePack, SourceLocation);
template Stmt::Stmt(Barrier, SourceLocation);
template Stmt::Stmt(CommitCopies, SourceLocation);
template Stmt::Stmt(WaitForCopies, SourceLocation);
template Stmt::Stmt(Print, SourceLocation);
template Stmt::Stmt(Check, SourceLocation);
template Stmt::Stmt(If, SourceLocation);
template Stmt::Stmt(For, SourceLocation);
template Stmt::Stmt(While, SourceLocation);
template Stmt::Stmt(Labelled, SourceLocation);
template Stmt::Stmt(Leave, SourceLocation);
template Stmt::Stmt(CustomAdjoint, SourceLocation);
template Stmt::Stmt(AdjointCall, SourceLocation);

}  // namespace samite::ir
