package import ReceiptBridgeBase

/// Erasure and retention of personal data.
package protocol PersonalDataStore: SQLEngine {}

extension PersonalDataStore {
    /// Days after which a store that receives records has newer ones.
    private static var silence: Int64 { 100 }

    /// Returns why the time may be wrong; `nil` if it is plausible.
    ///
    /// Rows are deleted by this machine's clock, and what it deletes cannot be restored. The signing dates are Apple's.
    /// If the newest is far behind, the clock is ahead, or nothing was received for that long.
    package func doubt(about now: Timestamp) async throws(StorageError) -> String? {
        guard let newest = try await newestSignedDate(),
            now > newest.advanced(by: .days(Self.silence))
        else { return nil }
        return "it is more than \(Self.silence) days ahead of the newest stored record, signed on \(newest.iso8601)"
    }
}
