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
        guard error.code != .changed else {
            self = .anotherSource(error.place, reason: error.reason)
            return
        }
        self.init(
            "the source", error.place, error.reason, error.code.rawValue, isTemporary: error.code == .locked,
            advice: error.advice.map { "; \($0)" } ?? "")
    }

    /// - Parameter part: what cannot be written: the destination or a report, beside which the results are written.
    package init(_ error: SinkError, of part: String = "the destination") {
        self.init(
            part, error.place, error.reason, error.code.rawValue,
            isTemporary: [.full, .locked, .failed].contains(error.code))
    }

    /// Converts an error of the progress file.
    package init(_ error: StorageError) {
        self.init(
            "the progress file", error.place, error.reason, error.code.rawValue, isTemporary: error.code == .full)
    }

    /// Converts an error of the database of a shared migration.
    package init(database error: StorageError) {
        self.init(
            "the database", error.place, error.reason, error.code.rawValue,
            isTemporary: [.full, .locked, .notOpen].contains(error.code))
    }

    /// A sentence that ends with the code. For example, `the source a.csv: there is no such file (notFound)`.
    private init(
        _ part: String, _ place: String, _ reason: String, _ code: String, isTemporary: Bool, advice: String = ""
    ) {
        let text = "\(part) \(place): \(reason) (\(code))\(advice)"
        self = isTemporary ? .interrupted(text) : .notPossible(text)
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
}

/// Calls `body`, which writes a report, and converts its errors.
package func reporting<Result>(_ body: () throws -> Result) throws(RunError) -> Result {
    do { return try body() } catch {
        throw (error as? SinkError).map { RunError($0, of: "the report") } ?? RunError(of: error)
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
