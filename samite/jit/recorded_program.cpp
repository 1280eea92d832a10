#include "samite/jit/recorded_program.h"

#include "samite/base/error.h"
#include "samite/jit/at_once.h"
#include "samite/jit/launch_access.h"

#include <algorithm>

namespace samite::jit {
namespace {

std::vector<OwnedArgument> owned(const std::vector<Argument> &views) {
  std::vector<OwnedArgument> owned;
  owned.reserve(views.size());
  for (const Argument &view : views)
    owned.push_back(view.buffer ? OwnedArgument{*view.buffer, 0} : OwnedArgument{{}, view.scalar});
  return owned;
}

bool same_array(const AnyBuffer &a, const AnyBuffer &b) {
  return a.storage() == b.storage() && a.data() == b.data() && a.extents() == b.extents() &&
         std::ranges::equal(a.strides(), b.strides());
}

// The first launch of each kernel.
class FirstLaunches : public ScheduledProgram::Visitor {
 public:
  FirstLaunches(const ScheduledProgram &program, std::span<const Argument> arguments, Temporaries &temporaries)
      : arguments_(arguments), temporaries_(temporaries), found_(program.kernels().size()) {}

  void allocate(const schedules::Temporary &temporary, const Extents &extents) override {
    temporaries_.allocate(temporary, extents);
  }
  void launch(std::size_t kernel, const schedules::KernelLaunch &launch, const Extents &extents,
              const HostValues &values) override {
    if (!found_[kernel]) found_[kernel] = {extents, owned(arguments_of(launch, arguments_, temporaries_, values))};
  }

  struct Found {
    Extents extents;
    std::vector<OwnedArgument> arguments;
  };
  const std::vector<std::optional<Found>> &found() const { return found_; }

 private:
  std::span<const Argument> arguments_;
  Temporaries &temporaries_;
  std::vector<std::optional<Found>> found_;
};

}  // namespace

std::vector<Argument> arguments_of(const schedules::KernelLaunch &launch, std::span<const Argument> arguments,
                                   const Temporaries &temporaries, const HostValues &values) {
  std::vector<Argument> given;
  given.reserve(launch.arguments.size());
  for (const schedules::KernelArgument &argument : launch.arguments) {
    if (const auto *own = std::get_if<schedules::ParameterArgument>(&argument))
      given.push_back(arguments[own->parameter]);
    else if (const auto *own = std::get_if<schedules::TemporaryArgument>(&argument))
      given.push_back({&temporaries[own->number], 0});
    else
      given.push_back({nullptr, values.bits_of(std::get<schedules::HostArgument>(argument).value)});
  }
  return given;
}

void compile_first_launches(const ScheduledProgram &program, const LaunchOptions &options,
                            std::span<const Argument> arguments, Temporaries &temporaries) {
  if (!program.is_new() || program.kernels().size() < 2) return;
  FirstLaunches first(program, arguments, temporaries);
  program.run(arguments, first);
  std::vector<std::function<void()>> compiles;
  for (std::size_t k = 0; k < first.found().size(); ++k) {
    const auto &found = first.found()[k];
    if (found)
      compiles.emplace_back(
          [&, k] { compile_for(*program.kernels()[k], found->extents, options, views(found->arguments)); });
  }
  at_once(compiles);
}

// Counts the launches, and the memory that the arrays between them need.
class RecordedProgram::Survey : public ScheduledProgram::Visitor {
 public:
  explicit Survey(const schedules::Program &program) : bytes(program.temporary_count) {}

  void allocate(const schedules::Temporary &temporary, const Extents &extents) override {
    std::optional<std::size_t> &most = bytes[temporary.number];
    most = std::max(most.value_or(0), bytes_of(temporary, extents));
  }
  void launch(std::size_t, const schedules::KernelLaunch &, const Extents &, const HostValues &) override {
    ++launches;
  }

  std::size_t launches = 0;
  std::vector<std::optional<std::size_t>> bytes;
};

class RecordedProgram::Unroll : public ScheduledProgram::Visitor {
 public:
  Unroll(RecordedProgram &recorded, std::span<const Argument> arguments) : recorded_(recorded), arguments_(arguments) {}

  void allocate(const schedules::Temporary &temporary, const Extents &extents) override {
    recorded_.temporaries_.allocate(temporary, extents);
  }
  void launch(std::size_t kernel, const schedules::KernelLaunch &launch, const Extents &extents,
              const HostValues &values) override {
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      if (const auto *own = std::get_if<schedules::ParameterArgument>(&launch.arguments[i]))
        if (!arguments_[own->parameter].buffer)
          recorded_.passed_.push_back({recorded_.launches_.size(), i, own->parameter});
    recorded_.launched_.push_back(&launch);
    recorded_.launches_.emplace_back(recorded_.program_->kernels()[kernel], extents, recorded_.options_,
                                     owned(arguments_of(launch, arguments_, recorded_.temporaries_, values)));
  }

 private:
  RecordedProgram &recorded_;
  std::span<const Argument> arguments_;
};

// Edits a Launch for each launch of the program, and launches it unless this is `dry`.
class RecordedProgram::Replay : public ScheduledProgram::Visitor {
 public:
  Replay(RecordedProgram &recorded, std::span<const Argument> arguments, const Stream *other, SourceLocation where,
         bool dry)
      : recorded_(recorded), arguments_(arguments), other_(other), where_(where), dry_(dry) {}

  void allocate(const schedules::Temporary &temporary, const Extents &extents) override {
    recorded_.temporaries_.allocate(temporary, extents);
  }
  void launch(std::size_t kernel, const schedules::KernelLaunch &launch, const Extents &extents,
              const HostValues &values) override {
    std::vector<OwnedArgument> given = owned(arguments_of(launch, arguments_, recorded_.temporaries_, values));
    std::optional<Edited> &edited = recorded_.edited_[kernel];
    if (!edited)
      edited = Edited{Launch(recorded_.program_->kernels()[kernel], extents, recorded_.options_, given), given};
    else
      edit(*edited, extents, std::move(given));
    if (dry_) return;
    recorded_.launch(edited->launch, launch, other_, where_);
  }

 private:
  static void edit(Edited &edited, const Extents &extents, std::vector<OwnedArgument> given) {
    bool alike = edited.launch.extents() == extents;
    for (std::size_t i = 0; i < given.size(); ++i)
      alike = alike && same_array(edited.arguments[i].buffer, given[i].buffer);
    if (alike) {
      for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].scalar != edited.arguments[i].scalar) LaunchAccess::set_bits(edited.launch, i, given[i].scalar);
    } else {
      LaunchAccess::exchange(edited.launch, extents, given);
    }
    edited.arguments = std::move(given);
  }

  RecordedProgram &recorded_;
  std::span<const Argument> arguments_;
  const Stream *other_;
  SourceLocation where_;
  bool dry_;
};

RecordedProgram::RecordedProgram(std::shared_ptr<const ScheduledProgram> program, const LaunchOptions &options,
                                 std::vector<OwnedArgument> arguments, std::vector<std::shared_ptr<Storage>> storages)
    : program_(std::move(program)),
      options_(options),
      arguments_(std::move(arguments)),
      temporaries_(program_->program(), device_of(views(arguments_), options), true, std::move(storages)),
      edited_(program_->kernels().size()) {
  survey();
  compile_first_launches(*program_, options_, views(arguments_), temporaries_);
  if (launch_count_ > most_unrolled_launches)
    replay(nullptr, {}, true);
  else
    unroll();
}

void RecordedProgram::unroll() {
  const std::vector<Argument> given = views(arguments_);
  launches_.reserve(launch_count_);
  Unroll unroll(*this, given);
  program_->run(given, unroll);
}

void RecordedProgram::survey() {
  const std::vector<Argument> given = views(arguments_);
  Survey survey(program_->program());
  program_->run(given, survey);
  launch_count_ = survey.launches;
  for (std::uint32_t number = 0; number < survey.bytes.size(); ++number)
    if (survey.bytes[number]) temporaries_.reserve(number, *survey.bytes[number]);
}

void RecordedProgram::replay(const Stream *other, SourceLocation where, bool dry) {
  const std::vector<Argument> given = views(arguments_);
  Replay replay(*this, given, other, where, dry);
  program_->run(given, replay);
}

void RecordedProgram::launch(const Stream *other, SourceLocation where) {
  if (launches_.size() != launch_count_) return replay(other, where, false);
  for (std::size_t i = 0; i < launches_.size(); ++i) launch(launches_[i], *launched_[i], other, where);
}

void RecordedProgram::launch(Launch &launch, const schedules::KernelLaunch &kernel, const Stream *other,
                             SourceLocation where) {
  try {
    if (other)
      launch.launch(*other, where);
    else
      launch.launch(where);
  } catch (const OutsideOfArray &error) {
    program_->rethrow(error, kernel, views(arguments_));
  }
}

void RecordedProgram::set_bits(std::size_t parameter, std::uint64_t bits) {
  arguments_[parameter].scalar = bits;
  for (const Passed &passed : passed_)
    if (passed.parameter == parameter) LaunchAccess::set_bits(launches_[passed.launch], passed.index, bits);
}

}  // namespace samite::jit
