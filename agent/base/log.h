/* Writes log messages to stderr, one line each. Library rooms do not log; the caller that knows the consequence logs
 * once.
 */
#pragma once

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
/* Makes bytes fit for a terminal: control characters become '?', so that no file's name can steer it. */
void log_clean(char *text);
/* Whether messages of this level are shown: for those who would go to some length to make one. */
int log_shows(enum log_level level);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
