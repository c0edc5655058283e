import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase

/// The value of an option that several commands have, with its range.
///
/// The parser takes every `Value`, because its own error would not name the range: commands call ``check(_:)`` in
/// `validate()`.
protocol RangedValue: ExpressibleByArgument {
    associatedtype Value: ExpressibleByArgument
    static var range: String { get }
    var value: Value { get }
    var isInRange: Bool { get }
    init(value: Value)
}

extension RangedValue {
    init?(argument: String) {
        guard let value = Value(argument: argument) else { return nil }
        self.init(value: value)
    }

    var defaultValueDescription: String { value.defaultValueDescription }

    /// - Throws: `ValidationError` with the name of the option and the range.
    func check(_ option: String) throws {
        guard isInRange else { throw ValidationError("\(option): \(Self.range)") }
    }
}

struct Share: RangedValue {
    static let range = "0.01 to 1"
    let value: Double
    var isInRange: Bool { (0.01...1).contains(value) }
}

struct RowCount: RangedValue {
    static let range = "at least 1"
    let value: Int
    var isInRange: Bool { value > 0 }
}

struct Hours: RangedValue {
    static let range = "more than 0, at most 100000"
    let value: Double
    var isInRange: Bool { value > 0 && value <= 100_000 }
    var duration: Duration { .seconds(value * 3_600) }
}

/// A date or a time, as the user wrote it.
struct Instant: RangedValue {
    static let range = "must be an instant, for example 2026-11-21 or 2026-11-21T12:00:00Z"
    let value: String
    var isInRange: Bool { timestamp != nil }
    var timestamp: Timestamp? { Timestamp(instant: value) }
}

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
