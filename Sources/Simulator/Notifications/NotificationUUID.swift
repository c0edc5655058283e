import Cryptography

/// UUIDs derived from a name, so that the same world reports the same events with the same UUIDs.
enum NotificationUUID {
    /// Returns a UUID of version 4 whose random bits follow from the SHA-256 digest of the name.
    static func named(_ name: String) -> String {
        let seed = SHA.digest(Array(name.utf8), with: .sha256).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var random = SplitMix64(seed: seed)
        return random.uuid()
    }
}
