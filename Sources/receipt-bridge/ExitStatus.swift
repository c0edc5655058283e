import ArgumentParser

/// The exit codes, here and nowhere else.
extension ExitCode {
    /// Done, but some inputs were refused, differ, or are not verified.
    static let someNotVerified = ExitCode(1)
    /// The command line or the configuration.
    static let usage = ExitCode(2)
    /// Stopped by a limit, or by something that passes: a rate limit, an App Store that cannot be reached, a refused key. The
    /// same command goes on.
    static let limit = ExitCode(3)
    /// A defect of ours.
    static let defect = ExitCode(70)
}
