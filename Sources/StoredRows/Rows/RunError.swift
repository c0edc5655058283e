package import Ledger

/// Why a run over stored rows ended before its end.
package enum RunError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It cannot begin, or go on, as it was told; nothing was lost.
    case notPossible(String)
    /// Something that passes stood in the way: a full disk, a locked database. The same command goes on.
    case interrupted(String)

    package var description: String {
        switch self {
        case .notPossible(let reason), .interrupted(let reason): reason
        }
    }

    /// The source is not the one that the run before this one read.
    package static func anotherSource(_ path: String, reason: String) -> RunError {
        .notPossible("\(path) is not the source that this run began with: \(reason). --fresh begins anew")
    }

    package init(_ error: SourceError) {
        switch error.code {
        case .locked: self = .interrupted("the source: \(error)")
        case .changed: self = .anotherSource(error.place, reason: error.reason)
        default: self = .notPossible("the source: \(error)")
        }
    }

    package init(_ error: SinkError) {
        switch error.code {
        case .full, .locked, .failed: self = .interrupted("the destination: \(error)")
        default: self = .notPossible("the destination: \(error)")
        }
    }

    /// Of a report: the result is written all the same.
    package init(report error: SinkError) {
        switch error.code {
        case .full, .locked, .failed: self = .interrupted("the report: \(error)")
        default: self = .notPossible("the report: \(error)")
        }
    }

    package init(_ error: StorageError) {
        switch error.code {
        case .full: self = .interrupted("the progress file: \(error)")
        default: self = .notPossible("the progress file: \(error)")
        }
    }
}

/// Writes a report, with its errors as a run's.
package func reporting<Result>(_ body: () throws -> Result) throws(RunError) -> Result {
    do {
        return try body()
    } catch let error as SinkError {
        throw RunError(report: error)
    } catch {
        return try running { throw error }
    }
}

/// Calls of the parts of a run, with their errors as its own.
package func running<Result>(_ body: () throws -> Result) throws(RunError) -> Result {
    do {
        return try body()
    } catch let error as SourceError {
        throw RunError(error)
    } catch let error as SinkError {
        throw RunError(error)
    } catch let error as StorageError {
        throw RunError(error)
    } catch let error as RunError {
        throw error
    } catch {
        throw .notPossible("\(error)")
    }
}
