package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Reason why a run over stored rows ended early.
package enum RunError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The run cannot start or resume with these options. No data was lost.
    case notPossible(String)
    /// A temporary problem: for example, a full disk or a locked database. The same command resumes the run.
    case interrupted(String)

    package var description: String {
        switch self {
        case .notPossible(let reason), .interrupted(let reason): reason
        }
    }

    /// The source differs from the one that the previous run read.
    static func anotherSource(_ path: String, reason: String) -> RunError {
        .notPossible("\(path) is not the source that this run started with: \(reason). Use --fresh to start over")
    }

    package init(_ error: SourceError) {
        let text =
            Self.text("the source", error.place, error.reason, error.code.rawValue)
            + (error.advice.map { "; \($0)" } ?? "")
        switch error.code {
        case .locked: self = .interrupted(text)
        case .changed: self = .anotherSource(error.place, reason: error.reason)
        default: self = .notPossible(text)
        }
    }

    package init(_ error: SinkError) { self.init("the destination", error) }

    /// Converts an error of a report. The results are written nevertheless.
    package init(report error: SinkError) { self.init("the report", error) }

    private init(_ part: String, _ error: SinkError) {
        let text = Self.text(part, error.place, error.reason, error.code.rawValue)
        switch error.code {
        case .full, .locked, .failed: self = .interrupted(text)
        default: self = .notPossible(text)
        }
    }

    /// Converts an error of the progress file.
    package init(_ error: StorageError) {
        let text = Self.text("the progress file", error.place, error.reason, error.code.rawValue)
        self = error.code == .full ? .interrupted(text) : .notPossible(text)
    }

    /// Converts an error of the database of a shared migration.
    package init(database error: StorageError) {
        let text = Self.text("the database", error.place, error.reason, error.code.rawValue)
        self = [.full, .locked, .notOpen].contains(error.code) ? .interrupted(text) : .notPossible(text)
    }

    package init(of error: any Error) {
        self =
            switch error {
            case let error as SourceError: RunError(error)
            case let error as SinkError: RunError(error)
            case let error as StorageError: RunError(error)
            case let error as RunError: error
            default: .notPossible("\(error)")
            }
    }

    /// Returns a sentence that ends with the code. For example, `the source a.csv: there is no such file (notFound)`.
    private static func text(_ part: String, _ place: String, _ reason: String, _ code: String) -> String {
        "\(part) \(place): \(reason) (\(code))"
    }
}

/// Calls `body`, which writes a report, and converts its errors.
package func reporting<Result>(_ body: () throws -> Result) throws(RunError) -> Result {
    do { return try body() } catch {
        throw (error as? SinkError).map { RunError(report: $0) } ?? RunError(of: error)
    }
}

/// Calls `body` and converts the errors of the parts of a run.
package func running<Result>(_ body: () throws -> Result) throws(RunError) -> Result {
    do { return try body() } catch { throw RunError(of: error) }
}

extension SinkError {
    package init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .changed, .damaged, .notADatabase, .missingTable, .missingColumn, .unusableTable: .changed
            case .notPermitted: .notWritable
            case .full: .full
            case .locked: .locked
            case .notOpen, .notDurable, .failed: .failed
            }
        self.init(code, at: error.place, error.reason)
    }
}

func asSinkError<Result>(_ body: () throws(StorageError) -> Result) throws(SinkError) -> Result {
    do throws(StorageError) { return try body() } catch { throw SinkError(error) }
}
