// SPDX-License-Identifier: GPL-2.0
#include "library/object.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "events/loss.h"
#include "events/stack_dump.h"
#include "library/call.h"
#include "library/probeload.h"
#include "object/assign.h"

using namespace djprobe::loader;

namespace {

bool is_wanted(const Program& program) {
    return runner_of(program) == Runner::kDjprobe && bpf_program__autoload(program.handle);
}

}  // namespace

// A question's file is none that its caller knows.
std::string probeload_object::name() const {
    return answer_ ? answer_->place() : object_.name();
}

// What is left of it is half made.
void probeload_object::check_load_has_not_failed() const {
    if (load_tried_ && !rings_) fail(ExitCode::kUsage, "{} could not be loaded: close it", name());
}

probeload_object::probeload_object(const char* file)
    : object_(Object::open(&given(file, "file"), false, Process::kCallers)) {}

probeload_object::probeload_object(std::unique_ptr<Answer> answer)
    : answer_(std::move(answer)),
      object_(Object::open(answer_->object(), false, Process::kCallers)) {
    for (const std::string& global : answer_->attach(nullptr).globals)
        assign_global(object_.handle(), global);
}

bpf_object* probeload_object::still_open() const {
    check_load_has_not_failed();
    if (load_tried_) fail(ExitCode::kUsage, "{} has been loaded already", name());
    return object_.handle();
}

void probeload_object::load() {
    const bpf_object* const handle = still_open();
    std::vector<Program> wanted;
    std::ranges::copy_if(object_.programs(), std::back_inserter(wanted), is_wanted);
    if (wanted.empty())
        fail(ExitCode::kWrongProgram, "{}: no program of a kprobe section in it", name());
    load_tried_ = true;
    object_.take(wanted);
    object_.load();
    // What is read for their frames would else be hits of its own.
    if (has_stacks(handle)) symbolizer_.kallsyms();
    programs_ = std::move(wanted);
    PrintRecord json;
    if (answer_ && answer_->has_events()) json = answer_->json(*object_.types(), symbolizer_);
    // The last step: with it the load has succeeded.
    rings_.emplace(handle, names_, json);
}

bpf_object* probeload_object::loaded() const {
    check_load_has_not_failed();
    if (!rings_) fail(ExitCode::kUsage, "{} is not loaded: call probeload_load() first", name());
    return object_.handle();
}

Rings& probeload_object::rings() {
    loaded();
    return *rings_;
}

const Rings& probeload_object::rings() const {
    loaded();
    return *rings_;
}

void probeload_object::know_symbols() const {
    if (!answer_ || !answer_->names_symbols()) return;
    symbolizer_ = Symbolizer();
    symbolizer_.kallsyms();
}

const std::string& probeload_object::results(std::size_t most) {
    const bpf_object* const handle = loaded();
    if (!answer_)
        fail(ExitCode::kUsage, "{} was opened as a file: results are those of a question", name());
    return results_ = answer_->results(handle, most, symbolizer_);
}

const std::vector<Program>& probeload_object::programs() const {
    loaded();
    return programs_;
}

const Program& probeload_object::program(const char* name) const {
    loaded();
    if (!name && programs_.size() == 1) return programs_.front();
    if (!name)
        fail(ExitCode::kUsage, "{}: several programs: name one of them: {}", this->name(),
             program_list(programs_));
    const auto found = std::ranges::find(programs_, name, &Program::name);
    if (found == programs_.end())
        fail(ExitCode::kUsage, "{}: no program '{}' is loaded; it has: {}", this->name(), name,
             program_list(programs_));
    return *found;
}

int probeload_open(const char* file, probeload_object** object) {
    return call([&] {
        probeload_object*& made = given(object, "object");
        made = new probeload_object(file);
        return 0;
    });
}

int probeload_ask(const probeload_question* question, std::size_t size, probeload_object** object) {
    return call([&] {
        probeload_object*& made = given(object, "object");
        const KeptWords words;
        auto answer = std::make_unique<Answer>(given(question, "question"), size);
        answer->tell(words.text());
        made = new probeload_object(std::move(answer));
        return 0;
    });
}

const char* probeload_left_out(const probeload_object* object) {
    const char* text = nullptr;
    call([&] {
        const Answer* const answer = given(object, "object").answer();
        text = answer ? answer->left_out().c_str() : "";
        return 0;
    });
    return text;
}

int probeload_set_global(probeload_object* object, const char* assignment) {
    return call([&] {
        assign_global(given(object, "object").still_open(), &given(assignment, "assignment"));
        return 0;
    });
}

int probeload_set_map(probeload_object* object, const char* assignment) {
    return call([&] {
        assign_map(given(object, "object").still_open(), &given(assignment, "assignment"));
        return 0;
    });
}

int probeload_load(probeload_object* object) {
    return call([&] {
        given(object, "object").load();
        return 0;
    });
}

int probeload_program_fd(const probeload_object* object, const char* program) {
    return call([&] { return given(object, "object").program(&given(program, "program")).fd(); });
}

int probeload_map_fd(const probeload_object* object, const char* map) {
    return call([&] {
        const bpf_object* const handle = given(object, "object").loaded();
        const int fd = bpf_object__find_map_fd_by_name(handle, &given(map, "map"));
        if (fd < 0) fail(ExitCode::kUsage, "the object has no map '{}'", map);
        return fd;
    });
}

void probeload_close(probeload_object* object) {
    delete object;
}

int probeload_poll(probeload_object* object, int timeout_ms, probeload_event_fn function,
                   void* context) {
    return call([&] {
        return given(object, "object")
            .rings()
            .read(timeout_ms, &given(function, "function"), context);
    });
}

int probeload_poll_fd(const probeload_object* object) {
    return call([&] { return given(object, "object").rings().fd(); });
}

const char* probeload_json(probeload_object* object, const probeload_event* event) {
    const char* text = nullptr;
    call([&] {
        text = given(object, "object").rings().json(given(event, "event"));
        return 0;
    });
    return text;
}

const char* probeload_results(probeload_object* object, std::size_t most) {
    const char* text = nullptr;
    call([&] {
        text = given(object, "object").results(most).c_str();
        return 0;
    });
    return text;
}

int probeload_lost(const probeload_object* object, std::uint64_t* lost) {
    return call([&] {
        std::uint64_t& count = given(lost, "lost");
        const auto counted = counted_by_program(given(object, "object").loaded());
        if (counted) count = *counted;
        return counted ? 1 : 0;
    });
}
