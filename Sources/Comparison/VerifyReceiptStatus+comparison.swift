package import StoreTypes

extension VerifyReceiptStatus {
    /// `true` if the status is a result for the receipt, and not a temporary failure, a wrong shared secret or a
    /// malformed request.
    package var canBeCompared: Bool {
        [.valid, .subscriptionExpired, .notAuthentic, .accountNotFound].contains(self)
    }
}
