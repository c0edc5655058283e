import Ledger
import StoredRows

/// Why a comparison ended before its end.
package enum ComparisonRunError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It cannot begin, or go on, as it was told.
    case notPossible(String)
    /// Something that passes stood in the way: a full disk, a locked file. The same command goes on.
    case interrupted(String)

    package var description: String {
        switch self {
        case .notPossible(let reason), .interrupted(let reason): reason
        }
    }

    static func anotherSource(_ path: String, reason: String) -> ComparisonRunError {
        .notPossible("\(path) is not the source that this comparison began with: \(reason). --fresh begins anew")
    }

    init(_ error: SourceError) {
        switch error.code {
        case .locked, .notReadable: self = .interrupted("the source: \(error)")
        case .changed: self = .anotherSource(error.place, reason: error.reason)
        default: self = .notPossible("the source: \(error)")
        }
    }

    init(_ error: SinkError) {
        switch error.code {
        case .full, .locked, .failed: self = .interrupted("what is written: \(error)")
        default: self = .notPossible("what is written: \(error)")
        }
    }

    init(_ error: LedgerError) {
        switch error.code {
        case .full: self = .interrupted("the progress file: \(error)")
        default: self = .notPossible("the progress file: \(error)")
        }
    }
}

/// Calls of the parts, with their errors as a comparison's.
func comparing<Result>(_ body: () throws -> Result) throws(ComparisonRunError) -> Result {
    do {
        return try body()
    } catch let error as SourceError {
        throw ComparisonRunError(error)
    } catch let error as SinkError {
        throw ComparisonRunError(error)
    } catch let error as LedgerError {
        throw ComparisonRunError(error)
    } catch let error as ComparisonRunError {
        throw error
    } catch {
        throw .notPossible("\(error)")
    }
}
