import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// What shows who made a receipt of a form that is not known: its certificates and signatures, read without the rest
/// of its structure. Nothing becomes authentic by it.
struct SignatureTrace {
    /// A signature, and the bytes that it covers in every known form.
    struct Mark {
        let value: [UInt8]
        let message: [UInt8]
        /// Whether the algorithm is one of RSA PKCS#1 v1.5 or ECDSA with SHA-256 or SHA-384, so that it is known
        /// whether a key made the signature.
        let isKnownAlgorithm: Bool
        /// Whether the message of this form is not known either.
        var isUnknownMessage = false
    }

    /// The bytes that contain the certificates.
    let bytes: [UInt8]
    private(set) var certificates: [CertificateSummary] = []
    private(set) var marks: [Mark] = []
    private(set) var role = SignerRole.storeReceipt

    private static let limits = (certificates: 16, marks: 4)

    /// Each signer with the certificates that may have issued its own.
    var signers: [PresentedSigner] {
        certificates.map { leaf in
            let authorities = certificates.filter {
                $0.whole != leaf.whole && bytes.span.equal($0.subject, leaf.issuer)
            }
            return PresentedSigner(leaf: leaf.whole, authorities: authorities.map(\.whole))
        }
    }

    /// Returns whether a key made one of the signatures, as far as that is known.
    func isMade(by key: VerifyingKey) -> Bool {
        marks.contains { mark in
            guard mark.isKnownAlgorithm else { return true }
            for digest in [DigestAlgorithm.sha1, .sha256, .sha384] {
                let holds: Void? = try? key.verify(mark.value.span, over: mark.message.span, digest: digest)
                if holds != nil { return true }
            }
            guard let info = key.digestInfo(in: mark.value.span) else { return false }
            return mark.isUnknownMessage || !Self.knownDigests.contains { info.firstRange(of: $0) != nil }
        }
    }

    /// The object identifiers of SHA-1, SHA-256 and SHA-384, without tag and length.
    private static let knownDigests: [[UInt8]] = [
        [0x2B, 0x0E, 0x03, 0x02, 0x1A], [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01],
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02],
    ]
}

extension SignatureTrace {
    /// Reads a PKCS#7 container, as far as it can be read: `SignedData` with certificates in [0] and a last SET of
    /// SignerInfo.
    init(container bytes: [UInt8]) {
        self.bytes = bytes
        try? readContainer(bytes.span)
    }

    private mutating func readContainer(_ bytes: borrowing Span<UInt8>) throws(BERError) {
        var outer = BERCursor(0..<bytes.count)
        var contentInfo = try outer.next(BERTag.sequence, in: bytes).inside
        _ = try contentInfo.next(in: bytes)
        var explicit = try contentInfo.next(BERTag.context(0), in: bytes).inside
        var fields = try explicit.next(in: bytes).inside
        var content: [UInt8] = []
        while !fields.isAtEnd {
            let field = try fields.next(in: bytes)
            switch field.tag {
            case BERTag.sequence: content = Self.content(of: field, in: bytes)
            case BERTag.context(0):
                var bag = field.inside
                while !bag.isAtEnd, certificates.count < Self.limits.certificates {
                    let element = try bag.next(in: bytes)
                    if let certificate = try? CertificateSummary(element, in: bytes) {
                        certificates.append(certificate)
                    }
                }
            case BERTag.set:
                var infos = field.inside
                marks = []
                while !infos.isAtEnd, marks.count < Self.limits.marks {
                    let info = try infos.next(in: bytes)
                    if let mark = try Self.mark(info, over: content, in: bytes) { marks.append(mark) }
                }
            default: break
            }
        }
    }

    private static func content(of encapsulated: BERElement, in bytes: borrowing Span<UInt8>) -> [UInt8] {
        switch try? SignedData.content(of: encapsulated, in: bytes) {
        case .slice(let range): bytes.copy(range)
        case .joined(let octets): octets
        case nil: []
        }
    }

    /// 1.2.840.113549.1.1.10, RSASSA-PSS, without tag and length.
    private static let pss: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]
    /// The beginnings of 1.2.840.113549.1.1 (RSA) and 1.2.840.10045.4.3.2 and .3 (ECDSA), without tag and length.
    private static let knownAlgorithms: [[UInt8]] = [
        Array(pss.dropLast()), [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02],
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03],
    ]

    /// Reads a SignerInfo: its first OCTET STRING is the signature, and the element before it names the algorithm.
    private static func mark(
        _ info: BERElement, over content: [UInt8], in bytes: borrowing Span<UInt8>
    ) throws(BERError) -> Mark? {
        guard info.tag == BERTag.sequence else { return nil }
        var (fields, message, algorithm) = (info.inside, content, [UInt8]())
        while !fields.isAtEnd {
            let field = try fields.next(in: bytes)
            switch field.tag {
            case BERTag.context(0): message = [BERTag.set] + bytes.copy(field.whole).dropFirst()
            case BERTag.sequence:
                var names = field.inside
                algorithm = names.isAtEnd ? [] : bytes.copy(try names.next(in: bytes).content)
            case BERTag.octetString:
                let isKnown = algorithm != pss && knownAlgorithms.contains { algorithm.starts(with: $0) }
                return Mark(value: bytes.copy(field.content), message: message, isKnownAlgorithm: isKnown)
            default: break
            }
        }
        return nil
    }
}

extension SignatureTrace {
    /// Maximum number of entries of an outer list.
    private static let maximumEntries = 1_024

    /// Reads the list of a transactionReceipt. In a signature of any version, the certificate is at the end, after its
    /// length in four bytes.
    init(list text: [UInt8]) {
        let outer = try? PropertyListText(text.span, at: "", limit: Self.maximumEntries)
        func decoded(_ key: String) -> [UInt8] {
            outer?[key].flatMap { Base64Text.decode($0.span, .receipt) } ?? []
        }
        let (blob, info) = (decoded("signature"), decoded("purchase-info"))
        bytes = blob
        guard let version = blob.first, !info.isEmpty, let end = Self.certificateStart(in: blob) else { return }
        certificates = CertificateSummary(at: end + 4..<blob.count, in: blob.span).map { [$0] } ?? []
        role = version == 2 ? .purchaseReceipt : .storeReceipt
        marks = [
            Mark(
                value: Array(blob[1..<end]), message: [version] + info, isKnownAlgorithm: true,
                isUnknownMessage: !(2...4).contains(version))
        ]
    }

    /// Returns the place of the four bytes that are the number of bytes after them.
    private static func certificateStart(in blob: [UInt8]) -> Int? {
        guard blob.count > 5 else { return nil }
        return (1..<blob.count - 4).first { place in
            blob[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } == blob.count - place - 4
        }
    }
}

extension ReceiptDecoder {
    /// Returns the failure of a receipt, which is not judged only if a receipt signer of the App Store made one of its
    /// signatures, as far as that can be known. Otherwise it is forged: whoever is not the App Store must not be able
    /// to choose the verdict.
    ///
    /// What remains is an unknown issuer (``ReceiptDecodingError/Code-swift.enum/issuerUnknown``): then the key of the
    /// receipt's own certificate must have made the signature.
    func verdict(on failure: ReceiptDecodingError, of input: ReceiptInput) -> ReceiptDecodingError {
        guard failure.verdict == .notJudged, failure.code != .unavailable else { return failure }
        let trace =
            input.kind == .appReceipt ? SignatureTrace(container: input.bytes) : SignatureTrace(list: input.bytes)
        for signer in trace.signers {
            if failure.code == .issuerUnknown {
                let leaf = try? Certificate(der: trace.bytes.span.extracting(signer.leaf))
                if let key = try? leaf?.publicKey(), trace.isMade(by: key) { return failure }
            } else if let key = try? trust.key(of: signer, in: trace.bytes.span, role: trace.role, time: .unread) {
                if trace.isMade(by: key) { return failure }
            } else if trust.hasIssued(signer, in: trace.bytes.span, role: trace.role) {
                return failure
            }
        }
        return ReceiptDecodingError(
            .untrustedChain, at: failure.place, "\(failure.reason), and no signer of the App Store made it")
    }
}
