// SPDX-License-Identifier: GPL-2.0
#include "crowd.h"

#include <signal.h>
#include <time.h>

#include <chrono>
#include <system_error>
#include <thread>

namespace djprobe::vm {
namespace {

constexpr int kWakeUp = SIGUSR1;
constexpr size_t kStack = 32 * 1024;

}  // namespace

void sleep_once(long milliseconds) {
    const timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

void sleep_together(unsigned count, long milliseconds) {
    std::vector<std::thread> sleepers;
    for (unsigned i = 0; i < count; ++i)
        sleepers.emplace_back([=] { sleep_once(milliseconds); });
    for (std::thread& sleeper : sleepers)
        sleeper.join();
}

void* Crowd::sleep(void* self) {
    timespec time = {3600, 0};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    ++static_cast<Crowd*>(self)->awake_;
    return nullptr;
}

Crowd::Crowd(unsigned count) {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(kWakeUp, &action, nullptr);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    int error = 0;
    while (threads_.size() < count && !error) {
        pthread_t thread;
        error = pthread_create(&thread, &attributes, sleep, this);
        if (!error) threads_.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
    if (!error) return;
    wake();
    throw std::system_error(error, std::generic_category(), "not so many threads");
}

void Crowd::wake() {
    while (awake_ < threads_.size()) {
        // Who was not asleep yet missed the signal.
        for (const pthread_t thread : threads_)
            pthread_kill(thread, kWakeUp);
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (awake_ < threads_.size() && std::chrono::steady_clock::now() < patience)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (const pthread_t thread : threads_)
        pthread_join(thread, nullptr);
    threads_.clear();
    awake_ = 0;
}

}  // namespace djprobe::vm
