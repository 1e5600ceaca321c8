// SPDX-License-Identifier: GPL-2.0
// A request of many goes on without those that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sites.h"

namespace djprobe::model {
namespace {

TEST(LeftOut, TheOthersGoOn) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    const u64 nowhere = session.kernel.image.core().begin - 4096;
    u64 within = found.address + 1;
    while (session.explain(within).verdict != DJPROBE_VERDICT_REFUSED)
        ++within;
    const std::vector<Wish> wishes = {{.address = nowhere},
                                      {.address = found.address},
                                      {.address = within},
                                      {.address = found.inside[0]}};
    const Session::Answer most = session.attach(wishes, true);
    EXPECT_EQ(most.left_out, (std::vector<size_t>{0, 2}));
    ASSERT_EQ(most.probes.size(), 2u);
    EXPECT_EQ(most.probes[1]->address, found.inside[0]);
    session.settle();
    // Of all the first one is told.
    const Session::Answer none = session.attach({{.address = within}, {.address = nowhere}}, true);
    EXPECT_TRUE(none.probes.empty());
    EXPECT_EQ(none.index, 0u);
    EXPECT_EQ(none.reason, static_cast<unsigned>(DJPROBE_REASON_NOT_BOUNDARY));
    // Without memory no place is at fault.
    session.detach(most.probes);
    session.settle();
    session.kernel.fail_after = 0;
    session.kernel.keep_failing = true;
    const Session::Answer poor = session.attach(wishes, true);
    session.kernel.fail_after = -1;
    session.kernel.keep_failing = false;
    EXPECT_EQ(poor.reason, static_cast<unsigned>(DJPROBE_REASON_NO_MEMORY));
    session.finish();
}

/// A function with several returns of its own.
struct Returning {
    u64 seed = 0, function = 0;
    std::vector<u64> returns;
};

std::vector<u64> returns_of(Session& session, const Function& function) {
    djp_request request = {};
    request.address = function.start;
    request.where = DJP_RETURNS;
    djp_verdict worst = {};
    std::vector<u64> returns;
    if (!djp_explain(&request, &worst) || worst.verdict == DJPROBE_VERDICT_REFUSED) return returns;
    for (size_t i = 0; i < function.place_count; ++i) {
        const Place& place = session.kernel.image.places[function.first_place + i];
        if (place.insn.kind == x86::Kind::Return) returns.push_back(place.start());
    }
    return returns;
}

Returning find_returning() {
    for (u64 seed = 0; seed < 256; ++seed) {
        Session session(seed);
        for (const Function& function : session.kernel.image.functions) {
            const std::vector<u64> returns = returns_of(session, function);
            if (returns.size() < 3 || function.in_module) continue;
            const Returning found{seed, function.start, returns};
            session.finish();
            return found;
        }
        session.finish();
    }
    ADD_FAILURE() << "no function has three returns";
    return {};
}

TEST(LeftOut, WithOneReturnGoAllOfItsFunction) {
    const Returning found = find_returning();
    // Whichever of them it is, those before and behind it have sites already when it is found.
    for (const u64 bad : found.returns) {
        Session session(found.seed, [&](TextImage& image) {
            image.owned.push_back({{bad, bad + 1}, Reason::ALTERNATIVE});
        });
        Kernel& kernel = session.kernel;
        for (int i = 0; i < 32; ++i)
            kernel.more_handlers.push_back(kernel.make_handler(Kernel::kCFunction, 0));
        const size_t handlers = kernel.handlers;
        djp_request requests[2] = {};
        requests[0].address = found.function;
        requests[0].where = DJP_RETURNS;
        requests[1].address =
            found.returns.front() == bad ? found.returns.back() : found.returns.front();
        for (djp_request& request : requests)
            request.source = source_of(*kernel.more_handlers.front());
        djp_attachment attachment = {};
        attachment.requests = requests;
        attachment.count = 2;
        attachment.skip_refused = true;
        ASSERT_TRUE(djp_attach(&attachment));
        EXPECT_TRUE(requests[0].left_out);
        EXPECT_EQ(requests[0].address, bad);
        EXPECT_EQ(requests[0].reason, static_cast<unsigned>(DJPROBE_REASON_ALTERNATIVE));
        EXPECT_FALSE(requests[1].left_out);
        ASSERT_EQ(attachment.probe_count, 1u);
        djp_status status = {};
        djp_query(attachment.probes, 1, &status);
        EXPECT_EQ(status.address, requests[1].address);
        EXPECT_EQ(handlers - kernel.handlers, found.returns.size());
        for (const u64 address : found.returns)
            EXPECT_EQ(kernel.image.is_original(address, 1), address != requests[1].address);
        djp_detach(attachment.probes, 1);
        djk_free_large(attachment.probes);
        for (Handler* handler : kernel.more_handlers)
            kernel.destroy(*handler);
        kernel.more_handlers.clear();
        session.settle();
        session.finish();
    }
}

}  // namespace
}  // namespace djprobe::model
