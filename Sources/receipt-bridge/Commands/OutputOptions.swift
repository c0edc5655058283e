import ArgumentParser

/// The option of commands that show progress or a summary.
struct QuietOption: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print results, warnings and errors only: no progress, no summary.")
    var quiet = false

    /// Sets the mode of the whole process, because progress and messages have one place.
    func validate() {
        if quiet { Terminal.isQuiet = true }
    }
}

/// `--json` of commands that print JSON anyway, so that it can be given to every command that reports.
struct JSONOption: ParsableArguments {
    @Flag(help: "Print JSON. This command always does.")
    var json = false
}
