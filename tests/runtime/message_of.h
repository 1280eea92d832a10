// For tests of messages: the text of an error.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

// The message of the `Error` that `action` throws; a failed test if it throws none or another kind.
template <class Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  } catch (const std::exception &error) {
    ADD_FAILURE() << "an error of another kind: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

// The message without its last line, if that names the call.
inline std::string without_call(const std::string &message) { return message.substr(0, message.rfind('\n')); }
