import Base
package import Cryptography

/// Encodes iOS 6 transactionReceipts: an old-style property list that contains a signed one.
///
/// `signature` holds version byte ‖ RSA signature ‖ certificate length (4 bytes, big-endian) ‖ leaf certificate. The
/// signature covers version byte ‖ purchase-info, with SHA-1 in versions 2 and 3 and SHA-256 in version 4.
/// `environment`, `pod` and `signing-status` are not signed.
package struct TransactionReceiptEncoder: Sendable {
    /// A line of a property list.
    package struct Entry: Sendable, Hashable {
        package var key: String
        package var value: String

        package init(_ key: String, _ value: String) {
            self.key = key
            self.value = value
        }
    }

    /// The form of the receipt, including deviations from the genuine form.
    package struct Options: Sendable {
        /// 2 for RSA-1024, until 2016; 3 for RSA-2048, until 2023; 4 for RSA-2048 and SHA-256, since then.
        package var version: UInt8
        /// Value of the unsigned line `environment`, or `nil` to omit it, as in production.
        package var environmentLine: String?
        /// `100` in the sandbox, another number in production.
        package var pod = "100"
        /// Writes `{"signature" = "…"; …}` on one line, as clients do that serialize the list again.
        package var oneLine = false
        /// Version byte in `signature` that replaces the signed one.
        package var writtenVersion: UInt8?
        /// Certificate length that replaces the correct one.
        package var writtenCertificateLength: UInt32?
        /// Purchase-info that replaces the signed one.
        package var swappedPurchaseInfo: [UInt8]?

        package init(version: UInt8 = 4, environmentLine: String? = nil, pod: String = "100") {
            self.version = version
            self.environmentLine = environmentLine
            self.pod = pod
        }
    }

    /// The purchase signer for version 2, the receipt signer for the later ones.
    package let signer: ReceiptSigner
    package var options: Options

    package init(signer: ReceiptSigner, options: Options) {
        self.signer = signer
        self.options = options
    }

    /// Returns the bytes of the receipt. Clients send them as base64.
    package func encode(purchaseInfo entries: [Entry]) throws(CryptographyError) -> [UInt8] {
        let purchaseInfo = Self.list(entries)
        let signature = try signer.leaf.key.signature(
            over: [options.version] + purchaseInfo, digest: options.version < 4 ? .sha1 : .sha256)
        let certificate = signer.leaf.certificate
        let length = options.writtenCertificateLength ?? UInt32(certificate.count)
        let blob =
            [options.writtenVersion ?? options.version] + signature
            + withUnsafeBytes(of: length.bigEndian) { Array($0) } + certificate
        var outer = [
            Entry("signature", Base64.encode(blob)),
            Entry("purchase-info", Base64.encode(options.swappedPurchaseInfo ?? purchaseInfo)),
        ]
        if let environment = options.environmentLine { outer.append(Entry("environment", environment)) }
        outer += [Entry("pod", options.pod), Entry("signing-status", "0")]
        return Self.list(outer, oneLine: options.oneLine)
    }

    /// Writes a property list: `{`, a line for each entry, and `}` without a line feed after it.
    package static func list(_ entries: [Entry], oneLine: Bool = false) -> [UInt8] {
        let lines = entries.map { "\"\($0.key)\" = \"\(escaped($0.value))\";" }
        let text = oneLine ? "{\(lines.joined(separator: " "))}" : "{\n" + lines.map { "\t\($0)\n" }.joined() + "}"
        return Array(text.utf8)
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}

/// Writes the signed lines (`purchase-info`) of transactionReceipts: keys with hyphens, text values, and a different
/// order in each receipt.
enum PurchaseInfo {
    /// Returns the lines of a planned receipt. The same plan always gives the same lines in the same order.
    static func entries(_ plan: ReceiptPlan, of customer: SimulatedCustomer) -> [TransactionReceiptEncoder.Entry] {
        guard let id = plan.transactionIds.first, let transaction = customer.transaction(id) else { return [] }
        let (bought, firstBought) = (transaction.purchaseDate, transaction.originalPurchaseDate)
        let expires = transaction.expiresDate
        let isProduction = customer.environment == .production
        let isVersion2 = plan.version == 2
        let digits = customer.vendorIdentifier.replacing("-", with: "")
        // A device of 2014 had a UDID with 40 digits.
        let device: String =
            isVersion2 ? digits.lowercased() + digits.lowercased().prefix(8) : "00008020-\(digits.prefix(16))"
        let lines: KeyValuePairs<String, String?> = [
            "transaction-id": id, "original-transaction-id": transaction.originalTransactionId,
            "product-id": transaction.product.productId, "quantity": String(transaction.quantity),
            "bid": SimulatedApp.first.bundleId, "item-id": String(transaction.product.itemId),
            "purchase-date": bought.greenwichText, "purchase-date-ms": String(bought.milliseconds),
            "purchase-date-pst": bought.losAngelesText, "original-purchase-date": firstBought.greenwichText,
            "original-purchase-date-ms": String(firstBought.milliseconds),
            "original-purchase-date-pst": firstBought.losAngelesText, "bvrs": "42",
            "unique-vendor-identifier": customer.vendorIdentifier, "unique-identifier": device,
            "app-item-id": isProduction ? String(SimulatedApp.first.appAppleId) : nil,
            "version-external-identifier": isProduction ? "860000001" : nil,
            // In milliseconds; the formatted dates have other keys.
            "expires-date": (expires?.milliseconds).map { String($0) },
            "expires-date-formatted": expires?.greenwichText, "expires-date-formatted-pst": expires?.losAngelesText,
            "web-order-line-item-id": transaction.webOrderLineItemId,
            "subscription-group-identifier":
                isVersion2 || transaction.isFamilyShared ? nil : transaction.product.group,
            // Version 2 does not have the rest.
            "is-trial-period": isVersion2 ? nil : AnswerRowWriter.flag(transaction.isTrialPeriod),
            "is-in-intro-offer-period": isVersion2 ? nil : AnswerRowWriter.flag(transaction.isInIntroOfferPeriod),
            "in-app-ownership-type": isVersion2 ? nil : transaction.ownership,
        ]
        var random = SplitMix64(seed: plan.seed)
        return random.shuffled(
            lines.compactMap { line in line.value.map { TransactionReceiptEncoder.Entry(line.key, $0) } })
    }
}
