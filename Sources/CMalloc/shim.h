// The allocator settings of glibc, which the Glibc module leaves out.
#ifdef __linux__
#include <malloc.h>
#endif
