import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The directory of `--state DIR`: all files that a proxy, a migration or a test needs for a simulated App Store.
///
/// If a simulator starts again with the same seed and number of customers, and with the same clock if one is given,
/// it loads the keys, the epoch and the receipts of the previous run, so that it recognizes everything that run has
/// issued. Otherwise it creates a new world with the previous keys. `keys/` and `issued.jsonl` are internal; all
/// other names are fixed.
package struct StateDirectory: Sendable {
    private let files: PrivateFiles

    package init(_ path: String) throws { files = try PrivateFiles(path) }

    /// Creates the App Store of this directory. Its files are written by ``write(_:host:port:)``.
    ///
    /// - Parameter newKeys: keys to use if the directory has none; `nil` makes new ones.
    package func open(
        seed: UInt64, customers: Int, clock: SimulatedClock, newKeys: TestPKI? = nil,
        options: WorldOptions = .init()
    ) throws -> SimulatedStore {
        let stored = storedKeys()
        let pki = stored.isEmpty ? try newKeys ?? TestPKI() : try TestPKI(.init(), stored: stored)
        let previous = files.read("keys/world.json").flatMap { try? JSONValue(reading: $0) }
        var isSame =
            previous?["seed"]?.integer == Int64(bitPattern: seed) && previous?["customers"]?.integer == Int64(customers)
            && previous?["options"] == options.document
        var epoch = clock.now
        if let instant = previous?["epoch"]?.integer.map(Timestamp.init(milliseconds:)), isSame {
            if case .fixed(let fixed) = clock { isSame = fixed.seconds == instant.seconds } else { epoch = instant }
        }
        let world = World(seed: seed, customers: customers, epoch: epoch, options: options)
        let journal = IssuedReceiptLog(files)
        let store = try SimulatedStore(
            world: world, pki: pki, clock: clock, credentials: SimulatedCredentials(key: storedServerKey()),
            storedReceipts: isSame ? storedReceipts() : [:], onIssue: journal.add)
        if isSame {
            for receipt in journal.receipts(of: world, issuer: store.issuer) {
                store.verifyReceipt.registry.add(receipt)
            }
        } else {
            journal.removeAll()
            files.remove("receipts")
        }
        return store
    }

    package func write(_ store: SimulatedStore, host: String, port: Int) throws {
        try write(store)
        try writeConfiguration(store, host: host, port: port)
    }

    /// Writes all files except the configuration, which needs the simulator's address.
    package func write(_ store: SimulatedStore) throws {
        try writeCertificates(store.pki)
        try writeKeys(store)
        let folder = try files.folder("receipts")
        let receipts = store.receipts
        for receipt in receipts { try folder.write("\(receipt.id).b64", receipt.base64) }
        try files.write("receipts.jsonl", lines: receipts.map(\.document))
        try files.write("signed.jsonl", lines: store.world.customers.compactMap(store.signedLine))
        try files.write("hostile.jsonl", lines: store.hostileReceipts().map(\.document))
        try files.write("world.json", store.world.document.bytes + [0x0A])
        try files.write("shared-secret.txt", SimulatedApp.first.sharedSecret + "\n")
    }

    package func writeConfiguration(_ store: SimulatedStore, host: String, port: Int) throws {
        try files.write("receipt-bridge.yaml", SimulatedConfiguration(store.pki, host: host, port: port).text)
    }

    /// Writes the roots and intermediates, which verifiers need.
    private func writeCertificates(_ pki: TestPKI) throws {
        let roots = try files.folder("roots")
        for (name, certificate) in pki.roots { try roots.write(name, certificate) }
        let intermediates = try files.folder("intermediates")
        for (name, certificate) in pki.intermediates { try intermediates.write(name, certificate) }
    }

    /// Writes the keys of the CAs, the parameters of this world, and the app's Server API key,
    /// which stays the same once it exists. A simulator that is started with this directory uses them.
    package func writeKeys(_ store: SimulatedStore) throws {
        let folder = try files.folder("keys")
        for (position, identity) in store.pki.identities {
            try folder.write("\(position.rawValue).pem", identity.key.privateKeyPEM)
            try folder.write("\(position.rawValue).cer", identity.certificate)
        }
        let world = JSONValue([
            "seed": Int64(bitPattern: store.world.seed), "customers": store.world.requestedCount,
            "epoch": store.world.epoch.milliseconds, "options": store.world.options.document,
        ])
        try folder.write("world.json", world.prettyBytes)
        try files.write(SimulatedConfiguration.keyFile, store.credentials.key.privateKeyPEM)
    }

    /// Returns the stored Server API key of the app, or a new one if there is no valid one.
    private func storedServerKey() throws -> SigningKey {
        let text = files.read(SimulatedConfiguration.keyFile).map { String(decoding: $0, as: UTF8.self) }
        if let key = text.flatMap({ try? SigningKey(privateKeyPEM: $0) }), key.isP256 { return key }
        return try .p256()
    }

    /// All or none, because certificates issued by a new CA would not verify below the stored ones.
    private func storedKeys() -> [CertificatePosition: TestPKI.StoredIdentity] {
        var stored: [CertificatePosition: TestPKI.StoredIdentity] = [:]
        for position in CertificatePosition.allCases {
            guard let pem = files.read("keys/\(position.rawValue).pem"),
                let certificate = files.read("keys/\(position.rawValue).cer")
            else { return [:] }
            stored[position] = (String(decoding: pem, as: UTF8.self), certificate)
        }
        return stored
    }

    private func storedReceipts() -> [String: [UInt8]] {
        let pairs = files.lines("receipts.jsonl").compactMap { line -> (String, [UInt8])? in
            guard let id = line["id"]?.text, let bytes = line["receipt"]?.text.flatMap(Base64.decode) else {
                return nil
            }
            return (id, bytes)
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }
}

extension IssuedReceipt {
    /// A line of `receipts.jsonl`.
    package var document: JSONValue {
        JSONValue([
            "id": id, "receipt": base64, "environment": environment.rawValue, "style": plan.style,
            "originalTransactionIds": originalTransactionIds,
        ])
    }
}

/// The content of `receipt-bridge.yaml`: the configuration of a proxy that uses the simulator instead of Apple.
package struct SimulatedConfiguration: Sendable {
    /// Key id of the first app's In-App Purchase key, in the form of App Store Connect.
    package static let keyId = "SIMKEY0001"
    package static let keyFile = "SubscriptionKey_SIMKEY0001.p8"
    package static let issuerId = "5e1f0c64-0000-4000-8000-53494d554c41"

    package let text: String

    /// Both environments are on one port, with paths that begin with `/production` and `/sandbox`.
    package init(_ pki: TestPKI, host: String, port: Int) {
        let base = Self.baseURL(host: host, port: port)
        let app = SimulatedApp.first
        let roots = pki.roots.map { "roots/\($0.name)" }.joined(separator: ", ")
        let intermediates = pki.intermediates.map { "intermediates/\($0.name)" }.joined(separator: ", ")
        text = """
            # Written by `receipt-bridge simulate`: a proxy in front of the simulated App Store at \(base).
            # The trust below is for tests; with it the server refuses Apple's hosts and listens on loopback only.
            listen: 127.0.0.1:8080
            trust:
              roots: [\(roots)]
              intermediates: [\(intermediates)]
            upstream:
              verifyReceipt:
                production: \(base)/production/verifyReceipt
                sandbox: \(base)/sandbox/verifyReceipt
              serverAPI:
                production: \(base)/production
                sandbox: \(base)/sandbox
            apps:
              - bundleId: \(app.bundleId)
                appAppleId: \(app.appAppleId)
                sharedSecret: {file: shared-secret.txt}
                serverAPI:
                  issuerId: \(Self.issuerId)
                  keyId: \(Self.keyId)
                  privateKey: {file: \(Self.keyFile)}
                answer: [apple, receipt]

            """
    }

    /// Returns the URL at which a client on the same machine reaches the simulator.
    package static func baseURL(host: String, port: Int) -> String {
        let name =
            switch host {
            case "0.0.0.0", "": "127.0.0.1"
            case "::": "[::1]"
            default: host.contains(":") ? "[\(host)]" : host
            }
        return "http://\(name):\(port)"
    }
}
