import ReceiptBridgeBase
import GRDB

extension StorageError {
    /// Converts an error that GRDB threw; a `StorageError` stays as it is. SQLite's message names tables and columns,
    /// never values.
    package init(_ error: any Error, at place: String) {
        if let known = error as? StorageError {
            self = known
        } else if let failure = error as? DatabaseError {
            let isAboutFile = [.SQLITE_CANTOPEN, .SQLITE_IOERR].contains(failure.resultCode)
            if isAboutFile, let problem = StoreFiles.problem(of: place) {
                self.init(.notPermitted, at: place, problem.reason)
            } else {
                self.init(Self.code(for: failure.resultCode), at: place, Self.reason(for: failure))
            }
        } else if let value = error as? DamagedValue {
            self.init(.damaged, at: place, "a value of \(value.column) is damaged")
        } else if error is RowDecodingError {
            // Its description contains the row.
            self.init(.damaged, at: place, "a value is damaged")
        } else {
            self.init(.failed, at: place, "\(error)")
        }
    }

    /// Returns the reason in words; SQLite's message for errors that no file or disk causes.
    private static func reason(for failure: DatabaseError) -> String {
        switch failure.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another process has locked the database"
        case .SQLITE_FULL: "no space left on the disk"
        case .SQLITE_READONLY: "the database cannot be written"
        case .SQLITE_CANTOPEN: "the file cannot be opened"
        case .SQLITE_PERM, .SQLITE_AUTH: "not permitted"
        case .SQLITE_NOTADB: "this is not a SQLite database"
        case .SQLITE_CORRUPT: "the file is damaged"
        case .SQLITE_IOERR: "the disk reports an error"
        default: failure.message ?? "\(failure.resultCode)"
        }
    }

    private static func code(for result: ResultCode) -> Code {
        switch result {
        case .SQLITE_BUSY, .SQLITE_LOCKED: .locked
        case .SQLITE_FULL: .full
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH: .notPermitted
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: .notADatabase
        default: .failed
        }
    }
}

package func asStorageError<Result>(at place: String, _ body: () throws -> Result) throws(StorageError) -> Result {
    do {
        return try body()
    } catch {
        throw StorageError(error, at: place)
    }
}
