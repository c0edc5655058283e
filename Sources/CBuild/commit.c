#include "CBuild.h"

const char *receipt_bridge_commit(void) { return BUILD_COMMIT; }
