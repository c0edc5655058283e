/// The commit that the program was built from, as Package.swift got it in BUILD_COMMIT; empty if it did not.
const char *receipt_bridge_commit(void);
