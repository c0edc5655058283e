package import ReceiptBridgeStorage

/// Copies all data of a store but imports into an empty one, of the same engine or another. Row ids, numbers of JWS
/// headers and erasures stay the same. Leases are not copied.
///
/// A copy that was stopped resumes where it ended. No server or command may write to one of the stores meanwhile: a row
/// that changes after it was copied is not copied again. So the copy is compared with the source before it is complete.
package struct StoreCopy: Sendable {
    package struct Progress: Sendable, Hashable {
        /// Rows of all tables in the source.
        package let rows: Int64
        /// Rows copied so far, by this run and by earlier ones.
        package let copied: Int64
        package let title: String
    }

    let source: any StoreTransfer
    let destination: any StoreTransfer
    /// Identifies the source in the destination, so that a copy of another store is not resumed.
    let sourceName: String
    private let batch: Int

    package init(
        from source: any StoreTransfer, named sourceName: String, to destination: any StoreTransfer, batch: Int = 500
    ) {
        self.source = source
        self.sourceName = sourceName
        self.destination = destination
        self.batch = batch
    }

    /// Returns whether the copy is complete. One that is complete already stays as it is.
    ///
    /// - Parameter report: called after each transaction; returns `false` to stop.
    /// - Throws: ``StorageError``; `changed` if the destination holds other data, or if the source has changed.
    package func run(_ report: @Sendable (Progress) -> Bool) async throws(StorageError) -> Bool {
        guard let begun = try await destination.beginCopy(from: sourceName) else {
            if let other = try await difference() {
                throw StorageError(.changed, at: destination.place, "the store is not empty: it has other \(other)")
            }
            return true
        }
        var rows: Int64 = 0
        for table in StoreTable.copied { rows += try await source.count(of: table) }
        var copied: Int64 = 0
        for table in StoreTable.copied {
            var last = begun[table.name]
            if last != nil { copied += try await destination.count(of: table) }
            while true {
                let page = try await source.rows(table.copy, after: last, limit: batch, decodesJWS: false)
                guard let key = page.last?.key else { break }
                try await destination.insert(page, into: table)
                copied += Int64(page.count)
                last = key
                guard report(Progress(rows: rows, copied: copied, title: table.title)) else { return false }
                if page.count < batch { break }
            }
        }
        guard report(Progress(rows: rows, copied: copied, title: "comparison")) else { return false }
        if let changed = try await difference() {
            throw StorageError(
                .changed, at: source.place,
                "its \(changed) changed while they were copied. Stop all servers and commands that write to it, empty "
                    + "the destination, and run the same command again")
        }
        try await destination.finishCopy()
        return true
    }

    /// Returns the kind of data that differs; `nil` if there is none.
    private func difference() async throws(StorageError) -> String? {
        let digests = (try await StoreDigest.all(of: source), try await StoreDigest.all(of: destination))
        return zip(digests.0, digests.1).first { $0 != $1 }?.0.title
    }
}
