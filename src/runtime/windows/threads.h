// windows/threads.h: call_once and locks of C11 by POSIX threads, which MinGW has.
#ifndef KD_WINDOWS_THREADS_H
#define KD_WINDOWS_THREADS_H

#include <pthread.h>

typedef pthread_once_t once_flag;
#define ONCE_FLAG_INIT PTHREAD_ONCE_INIT
#define call_once(flag, function) ((void)pthread_once(flag, function))

typedef pthread_mutex_t mtx_t;
enum { mtx_plain };
#define mtx_init(lock, kind) ((void)(kind), pthread_mutex_init(lock, NULL))
#define mtx_lock(lock) pthread_mutex_lock(lock)
#define mtx_unlock(lock) pthread_mutex_unlock(lock)

#endif
