/// The kind of the submitted bytes, whether they are authentic or not.
package enum ReceiptKind: String, Sendable, Hashable {
    /// A PKCS#7 container with the attributes of an App Receipt.
    case appReceipt
    /// The property list that iOS 6 created for one transaction.
    case transactionReceipt
    /// A JSON Web Signature from StoreKit 2 or the App Store Server API.
    case jws
    case unknown
}
