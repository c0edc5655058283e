import ReceiptBridgeBase
package import ReceiptBridgeCryptography

/// A decoder from base64 text to an authentic ``Receipt``. It is synchronous, performs no I/O, and reads no clock.
///
/// The order of the steps: slice the container, verify the signer's certificate chain at the time of signing, verify
/// the signature, and only then read the purchases.
package struct ReceiptDecoder: Sendable {
    package let trust: TrustStore
    package let profile: ReceiptProfile

    package init(trust: TrustStore, profile: ReceiptProfile) {
        self.trust = trust
        self.profile = profile
    }

    /// Decodes and authenticates a receipt. Of several receipts in a stored text, the first authentic one counts. If
    /// there is a signed text instead, the error is `signedTransaction`.
    package func decode(_ text: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> Receipt {
        guard profile == .stored else { return try receipt(in: ReceiptInput(text, profile: profile)) }
        let findings = ReceiptInput.findings(in: text, profile: profile)
        var failure: ReceiptDecodingError
        do throws(ReceiptDecodingError) {
            return try receipt(in: findings.first.get())
        } catch {
            failure = error
        }
        for input in findings.others where failure.code != .signedTransaction {
            do throws(ReceiptDecodingError) {
                return try receipt(in: input)
            } catch {
                if error.code == .signedTransaction { failure = error }
            }
        }
        throw failure
    }

    func receipt(in found: ReceiptInput) throws(ReceiptDecodingError) -> Receipt {
        var input = found
        let (contents, signed) = try authenticatedContents(of: &input)
        guard let environment = contents.environment, environment != .xcode else {
            throw ReceiptDecodingError(.unknownStructure, at: "attribute 0", "unknown receipt type")
        }
        guard let bundleId = contents.bundleId.flatMap(BundleIdentifier.init(rawValue:)) else {
            throw ReceiptDecodingError(.missingAttribute, at: "receipt", "no bundle id")
        }
        return Receipt(
            contents: contents, container: input.bytes, signed: signed, environment: environment, bundleId: bundleId)
    }

    /// Verifies the signature. Returns the contents and the bytes that the signature covers.
    func authenticatedContents(
        of input: inout ReceiptInput
    ) throws(ReceiptDecodingError) -> (contents: ReceiptContents, signed: ReceiptBytes) {
        do throws(ReceiptDecodingError) {
            return try knownContents(of: &input)
        } catch {
            throw verdict(on: error, of: input)
        }
    }

    /// The same for the known forms.
    private func knownContents(
        of input: inout ReceiptInput
    ) throws(ReceiptDecodingError) -> (contents: ReceiptContents, signed: ReceiptBytes) {
        switch input.kind {
        case .appReceipt:
            let container = try SignedData(ber: input.bytes.span)
            try consume(container.consumed, of: &input)
            let (bytes, range) = container.content.location(in: input.bytes)
            try authenticate(container, content: bytes.span.extracting(range), in: input.bytes.span)
            do throws(ReceiptDecodingError) {
                let receipt = try AppReceipt(attributes: bytes, in: range)
                return (.app(receipt), ReceiptBytes(range, of: Redacted(bytes)))
            } catch {
                throw error.ofSignedContent
            }
        case .transactionReceipt:
            let blob = try TransactionReceiptBlob(input.bytes.span)
            let message = try authenticate(blob)
            return (.transaction(blob.receipt), ReceiptBytes(message))
        case .jws:
            throw ReceiptDecodingError(.signedTransaction, at: "text", "a signed transaction instead of a receipt")
        case .unknown where input.isHandle: throw .handle
        case .unknown:
            throw ReceiptDecodingError(.notAReceipt, at: "bytes", "neither a PKCS#7 container nor a property list")
        }
    }

    /// Removes the bytes after the container if the profile allows it. Apple's endpoint ignores them (a published
    /// measurement of four receipts), but no signature covers them: two readers of one text could see two receipts.
    private func consume(_ count: Int, of input: inout ReceiptInput) throws(ReceiptDecodingError) {
        let surplus = input.bytes.count - count
        guard surplus > 0 else { return }
        guard profile != .apple else {
            throw ReceiptDecodingError(
                .trailingBytes, at: "SignedData", "\(surplus) bytes after the end of the container")
        }
        guard (try? SignedData(ber: input.bytes.span.extracting(last: surplus))) == nil else { throw .twoReceipts }
        input.bytes.removeLast(surplus)
        input.repairs.append(.trailingBytes)
    }

    private func authenticate(
        _ container: SignedData, content: borrowing Span<UInt8>, in bytes: borrowing Span<UInt8>
    ) throws(ReceiptDecodingError) {
        let key = try signerKey(of: container, content: content, in: bytes)
        let signer = try container.signature.get().signer
        try signer.signedAttributes?.check(content: content, digest: signer.digest)
        do throws(CryptographyError) {
            let signature = bytes.extracting(signer.signature)
            if let attributes = signer.signedAttributes {
                try key.verify(signature, over: attributes.message.span, digest: signer.digest)
            } else {
                try key.verify(signature, over: content, digest: signer.digest)
            }
        } catch {
            throw ReceiptDecodingError(error, at: "SignerInfo.signature")
        }
    }

    /// Returns the key of an App Receipt's signer, if its certificate chain was valid when the receipt was created.
    func signerKey(
        of container: SignedData, content: borrowing Span<UInt8>, in bytes: borrowing Span<UInt8>
    ) throws(ReceiptDecodingError) -> VerifyingKey {
        let outline = try AppReceiptAttributes.outline(of: content)
        guard !outline.isXcode(in: content) else {
            throw ReceiptDecodingError(.xcodeReceipt, at: "attribute 0", "signed by StoreKit Testing, not by Apple")
        }
        guard let created = outline.receiptCreationDate else {
            throw ReceiptDecodingError(
                .missingAttribute, at: "attribute 12",
                "no creation date, which is needed to verify the signer's certificate chain")
        }
        let signature = try container.signature.get()
        guard let leaf = signature.signerCertificate(in: bytes) else {
            throw ReceiptDecodingError(
                .signerCertificateMissing, at: "SignedData.certificates",
                "the certificate that SignerInfo names is missing")
        }
        return try rsaKey(
            of: PresentedSigner(leaf: leaf.whole, authorities: signature.authorities(over: leaf, in: bytes)),
            in: bytes, role: .storeReceipt, time: .at(created.seconds))
    }

    /// Verifies the signature of a transactionReceipt. Returns the bytes that the signature covers.
    private func authenticate(_ blob: TransactionReceiptBlob) throws(ReceiptDecodingError) -> [UInt8] {
        let key = try signerKey(of: blob)
        let signature = try blob.signature.get()
        do throws(CryptographyError) {
            try key.verify(signature.value.span, over: signature.message.span, digest: signature.digest)
        } catch {
            throw ReceiptDecodingError(error, at: "signature")
        }
        return signature.message
    }

    /// Returns the key of a transactionReceipt's signer, if its certificate chain had not expired before the
    /// purchase.
    func signerKey(of blob: TransactionReceiptBlob) throws(ReceiptDecodingError) -> VerifyingKey {
        let signature = try blob.signature.get()
        guard let purchased = blob.receipt.purchaseDate else {
            throw ReceiptDecodingError(
                .missingAttribute, at: "purchase-date",
                "no purchase date, which is needed to verify the signer's certificate chain")
        }
        return try rsaKey(
            of: PresentedSigner(leaf: 0..<signature.certificate.count, authorities: []),
            in: signature.certificate.span, role: signature.role, time: .notBefore(purchased.seconds))
    }

    /// Returns a signer's key after checking that it is an RSA key. The signature algorithm of both styles is RSA, so
    /// a key of another type is rejected even if its certificate chain is valid.
    private func rsaKey(
        of presented: PresentedSigner, in bytes: borrowing Span<UInt8>, role: SignerRole,
        time: TrustStore.SigningTime
    ) throws(ReceiptDecodingError) -> VerifyingKey {
        let key: VerifyingKey
        do throws(CryptographyError) {
            key = try trust.key(of: presented, in: bytes, role: role, time: time)
        } catch {
            throw ReceiptDecodingError(error, at: "signer")
        }
        guard key.isRSA else {
            throw ReceiptDecodingError(.unsupportedAlgorithm, at: "signer", "the signer's key is not an RSA key")
        }
        return key
    }
}
