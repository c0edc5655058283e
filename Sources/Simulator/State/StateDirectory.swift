import Cryptography
import StoreTypes

/// `--state DIR`: everything that a proxy, a migration or a test needs to work against a simulated App Store.
///
/// A second start with the same seed and number of customers, and the same clock if one is given, takes up the first
/// one's keys, instant and receipts again, so that what was handed out then is recognised now. Anything else begins anew,
/// with the old keys. `keys/` and `issued.jsonl` are the simulator's own; the other names are fixed.
package struct StateDirectory: Sendable {
    let files: PrivateFiles

    package init(_ path: String) throws {
        files = try PrivateFiles(path)
    }

    /// The App Store of this directory; its files are written by ``write(_:host:port:)``.
    ///
    /// Where the directory has no keys yet, those of `newKeys` are taken, or new ones made.
    package func open(
        seed: UInt64, customers: Int, clock: SimulatedClock, newKeys: TestPKI? = nil,
        options: WorldOptions = .init()
    ) throws -> SimulatedStore {
        let kept = keptKeys()
        let pki: TestPKI
        if kept.entries.isEmpty, let newKeys { pki = newKeys } else { pki = try TestPKI(.init(), keep: kept) }
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
            world: world, pki: pki, clock: clock, credentials: SimulatedCredentials(key: keptServerKey()),
            keep: isSame ? keptReceipts() : [:], onIssue: journal.add)
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

    /// Everything, for a simulator at that address.
    package func write(_ store: SimulatedStore, host: String, port: Int) throws {
        try write(store)
        try writeConfiguration(store, host: host, port: port)
    }

    /// Everything but where the simulator is.
    package func write(_ store: SimulatedStore) throws {
        try writeCertificates(store.pki)
        try writeKeys(store)
        let folder = try files.folder("receipts")
        for receipt in store.receipts { try folder.write("\(receipt.id).b64", receipt.base64) }
        try files.write("receipts.jsonl", lines: store.receipts.map(\.document))
        try files.write("hostile.jsonl", lines: store.hostileReceipts().map(\.document))
        try files.write("world.json", store.world.document.bytes + [0x0A])
        try files.write("shared-secret.txt", SimulatedApp.first.sharedSecret + "\n")
    }

    /// A proxy's configuration.
    package func writeConfiguration(_ store: SimulatedStore, host: String, port: Int) throws {
        try files.write(
            "receipt-bridge.yaml", SimulatedConfiguration(store.pki, host: host, port: port).text)
    }

    func writeCertificates(_ pki: TestPKI) throws {
        let roots = try files.folder("roots")
        for (name, certificate) in pki.roots { try roots.write(name, certificate) }
        let intermediates = try files.folder("intermediates")
        for (name, certificate) in pki.intermediates { try intermediates.write(name, certificate) }
    }

    /// The authorities' keys and what makes this world; the app's Server API key is kept once it is there.
    private func writeKeys(_ store: SimulatedStore) throws {
        let folder = try files.folder("keys")
        for (place, entry) in store.pki.keep.entries {
            try folder.write("\(place.rawValue).pem", entry.privateKeyPEM)
            try folder.write("\(place.rawValue).cer", entry.certificate)
        }
        let world = JSONValue.object([
            "seed": .number(Int64(bitPattern: store.world.seed)),
            "customers": .number(Int64(store.world.customers.count)),
            "epoch": .number(store.world.epoch.milliseconds),
            "options": store.world.options.document,
        ])
        try folder.write("world.json", world.prettyBytes)
        try files.write(SimulatedConfiguration.keyFile, store.credentials.key.privateKeyPEM)
    }

    /// The app's Server API key of before, if it is one; else a new one.
    private func keptServerKey() throws -> SigningKey {
        let text = files.read(SimulatedConfiguration.keyFile).map { String(decoding: $0, as: UTF8.self) }
        if let key = text.flatMap({ try? SigningKey(privateKeyPEM: $0) }), !key.isRSA, key.bits == 256 { return key }
        return try .p256()
    }

    private func keptKeys() -> PKIStore {
        var keep = PKIStore()
        for place in PKIStore.Place.allCases {
            // All or nothing: one new authority among old ones would sign nothing that verifies.
            guard let pem = files.read("keys/\(place.rawValue).pem"),
                let certificate = files.read("keys/\(place.rawValue).cer")
            else { return PKIStore() }
            keep.entries[place] = PKIStore.Entry(
                privateKeyPEM: String(decoding: pem, as: UTF8.self), certificate: certificate)
        }
        return keep
    }

    private func keptReceipts() -> [String: [UInt8]] {
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
        .object([
            "id": .string(id), "receipt": .string(base64), "environment": .string(environment.rawValue),
            "style": .string(plan.style),
            "originalTransactionIds": .array(originalTransactionIds.map(JSONValue.string)),
        ])
    }
}
