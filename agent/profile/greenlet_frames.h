/* Stacks of greenlets (the library below gevent and eventlet), which share the stack of their thread: a greenlet begins
 * on top of whatever ran when it was first switched to, and that is not its caller.
 */
#pragma once
#include "profile/profile.h"

/* Ends stacks of Python in a greenlet where that begins, with a frame "[greenlet]". Once all frames have names. Returns
 * 0 or -ENOMEM. */
int greenlet_frames_trim(struct profile *p);
