package import StoreTypes

extension VerifyReceiptStatus {
    /// A verdict on the receipt: no temporary failure, wrong shared secret or malformed request.
    package var canBeCompared: Bool {
        [.valid, .subscriptionExpired, .notAuthentic, .accountNotFound].contains(self)
    }
}
