package import ReceiptBridgeAppStore
package import ReceiptBridgeBase

/// The outputs of `renewals extend`, one JSON object per line.
package enum ExtensionAnswers {
    /// The result of extending one subscription:
    ///
    ///     { "originalTransactionId", "webOrderLineItemId", "success", "effectiveDate", "requestIdentifier" }
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldateresponse
    package static func one(
        _ result: ExtensionResult, of id: TransactionIdentifier, _ request: RequestIdentifier
    ) -> [UInt8] {
        JSONWriter.object {
            $0.member("originalTransactionId", result.originalTransactionId ?? id.rawValue)
            $0.member("webOrderLineItemId", result.webOrderLineItemId)
            $0.member("success", result.success)
            $0.member("effectiveDate", result.effectiveDate?.milliseconds)
            $0.member("requestIdentifier", request.text)
        }
    }

    /// The result of requesting an extension for all subscribers: `{ "requestIdentifier", "productId" }`. The App
    /// Store has accepted the request but not yet completed it.
    package static func accepted(_ identifier: String, productId: String) -> [UInt8] {
        JSONWriter.object {
            $0.member("requestIdentifier", identifier)
            $0.member("productId", productId)
        }
    }

    /// The status of an extension for all subscribers:
    ///
    ///     { "requestIdentifier", "productId", "complete", "completeDate", "succeededCount", "failedCount" }
    ///
    /// The last three are null until the extension is complete.
    ///
    /// https://developer.apple.com/documentation/appstoreserverapi/massextendrenewaldatestatusresponse
    package static func status(_ status: MassExtensionStatus, _ request: RequestIdentifier, productId: String)
        -> [UInt8]
    {
        JSONWriter.object {
            $0.member("requestIdentifier", status.requestIdentifier ?? request.text)
            $0.member("productId", productId)
            $0.member("complete", status.complete)
            $0.member("completeDate", status.complete ? status.completeDate?.milliseconds : nil)
            $0.member("succeededCount", status.complete ? status.succeededCount : nil)
            $0.member("failedCount", status.complete ? status.failedCount : nil)
        }
    }
}
