import ArgumentParser

/// The exit codes of all commands.
extension ExitCode {
    /// The command is done, but some inputs were rejected, differ, or are not verified.
    static let someNotVerified = ExitCode(1)
    /// The command line or the configuration is wrong.
    static let usage = ExitCode(2)
    /// Stopped by a limit or by a temporary condition: a rate limit, an unreachable App Store, a key that Apple
    /// rejects. The same command resumes.
    static let limit = ExitCode(3)
    /// A defect of this program.
    static let defect = ExitCode(70)
}
