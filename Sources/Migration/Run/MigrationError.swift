package import Ledger
import StoredRows

/// Why a migration ended before its end.
package enum MigrationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It cannot begin, or go on, as it was told; nothing was lost.
    case notPossible(String)
    /// Something that passes stood in the way: a full disk, a locked database. The same command goes on.
    case interrupted(String)

    package var description: String {
        switch self {
        case .notPossible(let reason), .interrupted(let reason): reason
        }
    }

    static func anotherSource(_ path: String, reason: String) -> MigrationError {
        .notPossible("\(path) is not the source that this migration began with: \(reason). --fresh begins anew")
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
        case .full, .locked, .failed: self = .interrupted("the destination: \(error)")
        default: self = .notPossible("the destination: \(error)")
        }
    }

    /// Of a report: the result is written all the same.
    init(report error: SinkError) {
        switch error.code {
        case .full, .locked, .failed: self = .interrupted("the report: \(error)")
        default: self = .notPossible("the report: \(error)")
        }
    }

    package init(_ error: LedgerError) {
        switch error.code {
        case .full: self = .interrupted("the progress file: \(error)")
        default: self = .notPossible("the progress file: \(error)")
        }
    }
}

/// Writes a report, with its errors as a migration's.
func reporting<Result>(_ body: () throws -> Result) throws(MigrationError) -> Result {
    do {
        return try body()
    } catch let error as SinkError {
        throw MigrationError(report: error)
    } catch {
        return try migrating { throw error }
    }
}

/// Calls of the three parts, with their errors as a migration's.
func migrating<Result>(_ body: () throws -> Result) throws(MigrationError) -> Result {
    do {
        return try body()
    } catch let error as SourceError {
        throw MigrationError(error)
    } catch let error as SinkError {
        throw MigrationError(error)
    } catch let error as LedgerError {
        throw MigrationError(error)
    } catch let error as MigrationError {
        throw error
    } catch {
        throw .notPossible("\(error)")
    }
}
