/* Writes log messages to stderr, one line each. Library code does not log; the caller that knows the consequence logs
 * it once.
 */
#pragma once

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
/* Replaces control characters by '?', so that file names cannot control the terminal. */
void log_clean(char *text);
/* Tells whether messages of this level are shown, for callers to whom creating a message is expensive. */
int log_shows(enum log_level level);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
