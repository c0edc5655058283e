import Synchronization

/// Remembers verified chains by the bytes of their certificates, so that a receipt costs one signature verification
/// and no certificate work. Bounded; the oldest goes first. Only what a pinned root vouches for gets in, so nobody
/// from outside can crowd it.
final class SignerCache: Sendable {
    private struct Contents {
        var signers: [[UInt8]: [VerifiedSigner]] = [:]
        var order: [[UInt8]] = []
    }

    private let capacity: Int
    private let contents = Mutex(Contents())

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int {
        contents.withLock { $0.order.count }
    }

    subscript(key: [UInt8]) -> [VerifiedSigner]? {
        contents.withLock { $0.signers[key] }
    }

    func insert(_ signers: [VerifiedSigner], for key: [UInt8]) {
        contents.withLock { contents in
            guard contents.signers.updateValue(signers, forKey: key) == nil else { return }
            contents.order.append(key)
            if contents.order.count > capacity {
                contents.signers.removeValue(forKey: contents.order.removeFirst())
            }
        }
    }

    func removeAll() {
        contents.withLock { $0 = Contents() }
    }
}
