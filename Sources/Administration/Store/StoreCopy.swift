package import Storage

/// Copies all data of a store into an empty one, of the same engine or another. Row ids, numbers of JWS headers, the
/// key of handles and erasures stay the same. Leases are not copied.
///
/// A copy that was stopped resumes where it ended. No server may use one of the stores meanwhile: a row that changes
/// after it was copied is not copied again.
package struct StoreCopy: Sendable {
    /// The state of a copy, for display.
    package struct Progress: Sendable, Hashable {
        /// Rows of all tables in the source.
        package let rows: Int64
        /// Rows copied so far, by this run and by earlier ones.
        package let copied: Int64
        /// The kind of data that is being copied.
        package let title: String
    }

    let source: any StoreTransfer
    let destination: any StoreTransfer
    /// Identifies the source in the destination, so that a copy of another store is not resumed.
    let sourceName: String
    /// Rows in one transaction of the destination.
    private let batch: Int

    package init(
        from source: any StoreTransfer, named sourceName: String, to destination: any StoreTransfer, batch: Int = 500
    ) {
        self.source = source
        self.sourceName = sourceName
        self.destination = destination
        self.batch = batch
    }

    /// Runs or resumes the copy. One that is complete already stays as it is.
    ///
    /// - Parameter report: called after each transaction; returns `false` to stop.
    /// - Returns: whether the copy is complete.
    /// - Throws: ``StorageError``; `changed` if the destination holds other data.
    package func run(_ report: @Sendable (Progress) -> Bool) async throws(StorageError) -> Bool {
        guard let begun = try await destination.beginCopy(from: sourceName) else {
            try await requireSameData()
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
        try await destination.finishCopy()
        return true
    }

    private func requireSameData() async throws(StorageError) {
        guard try await StoreDigest.all(of: source) != StoreDigest.all(of: destination) else { return }
        for table in StoreTable.copied where try await destination.count(of: table) > 0 {
            throw StorageError(.changed, at: destination.place, "the store is not empty: it has other \(table.title)")
        }
    }
}
