import Cryptography

/// A UUID that follows from a name, so that the same world tells the same events by the same UUIDs.
enum NotificationUUID {
    static func named(_ name: String) -> String {
        let seed = SHA.digest(Array(name.utf8), with: .sha256).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var random = SplitMix64(seed: seed)
        return random.uuid()
    }
}
