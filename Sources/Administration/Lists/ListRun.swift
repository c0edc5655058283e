package import ReceiptBridgeAppStore
package import ReceiptBridgeBase
import ReceiptBridgeStorage

/// The result of one item of a list.
package struct ListResult: Sendable, Hashable {
    /// The line of the output, a JSON object.
    package let line: [UInt8]
    /// `false` if the App Store or a limit refused the item, or does not know it.
    package let isSuccess: Bool
}

/// The progress of a run over a list.
package struct ListCounts: Sendable, Hashable {
    /// Number of items in this run.
    package var items = 0
    /// Items whose line was written.
    package var done = 0
    /// Written items that were not successful, including those of earlier runs.
    package var refused = 0
    /// Items that failed for now.
    package var failed = 0

    package init() {}
}

package typealias ListMonitor = RunMonitor<ListCounts>

/// Calls the App Store for each item of a list, a few at a time, and writes one line for each in the order of the list.
///
/// An item that fails for now has no line yet; the next run tries it again. The checkpoint is saved after the output is
/// on disk. So a file contains each item exactly once, even if a run is killed; the operation of the last few items is
/// then repeated, and must be one that may be.
package enum ListRun {
    /// Runs or resumes the list.
    ///
    /// - Parameter perform: throws ``UpstreamError`` if the item failed for now; any other error ends the run.
    /// - Returns: The reason for stopping early; `nil` if every item was tried.
    /// - Throws: `StorageError`, `SinkError`, and what the operation throws.
    package static func run<Item: Sendable>(
        _ items: [Item], limits: RunLimits, monitor: ListMonitor, to output: inout LineOutput,
        _ checkpoint: inout ListCheckpoint,
        _ perform: @escaping @Sendable (Item, CallOptions) async throws -> ListResult
    ) async throws -> RunStop? {
        let queue = checkpoint.remaining(of: items.count)
        let (first, refused) = (min(queue.count, limits.items.map(Int.init) ?? .max), checkpoint.refused)
        monitor.change { ($0.items, $0.refused) = (first, refused) }
        var rest = queue[...]
        return try await limits.run(
            maximumCalls: 100, isStopped: { monitor.isStopped }, next: { rest.popFirst() },
            perform: { try await perform(items[$0], $1) },
            finish: { index, result in
                switch result {
                case .success(let result):
                    try output.append(result.line)
                    try checkpoint.complete(index, isSuccess: result.isSuccess)
                    monitor.change {
                        $0.done += 1
                        $0.refused += result.isSuccess ? 0 : 1
                    }
                case .failure:
                    try checkpoint.postpone(index)
                    monitor.change { $0.failed += 1 }
                }
                try checkpoint.save(size: try output.makeDurable())
            })
    }
}
