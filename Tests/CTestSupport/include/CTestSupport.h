/// Has no declarations. It keeps OpenSSL's locks until the process of the tests has ended, as the program does, see
/// OpenSSLProcess: with OpenSSL's own atexit handler, a thread that still used a key at the end ended with SIGSEGV, and
/// the run failed although no test did.
