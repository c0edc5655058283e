import Foundation

#if compiler(>=6.3) && os(Linux)
    /// Limits plain `swift test` to a few tests at a time.
    ///
    /// Without a limit Swift Testing starts all tests at once. Their servers and clients then share two threads, and
    /// the deadlines of the program pass before a request has its turn. The loader calls this function before the
    /// runner reads the environment. Who sets the variable or the option of `swift test` chooses another number.
    @used
    @section(".init_array")
    private let limitParallelTests: @convention(c) () -> Void = {
        setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "4", 0)
    }
#endif
