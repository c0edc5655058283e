import Synchronization

/// A limit of the memory for the bodies of responses.
package protocol ResponseMemory: Sendable {
    /// Reserves more bytes for a body, which then has `size` bytes; false if there is no room for them.
    func reserve(_ bytes: Int, ofBody size: Int) -> Bool

    func release(_ bytes: Int)
}

/// The memory of the body of one response. It is returned when the last reference to this object ends.
package final class ResponseReservation: Sendable {
    private let memory: any ResponseMemory
    private let bytes = Atomic<Int>(0)

    init(_ memory: any ResponseMemory) { self.memory = memory }

    deinit { memory.release(bytes.load(ordering: .relaxed)) }

    /// Reserves memory up to this size; false if there is no room.
    func grow(to size: Int) -> Bool {
        let missing = size - bytes.load(ordering: .relaxed)
        guard missing > 0 else { return true }
        guard memory.reserve(missing, ofBody: size) else { return false }
        bytes.store(size, ordering: .relaxed)
        return true
    }
}

/// All are equal, because a response is the same with and without it.
extension ResponseReservation: Hashable {
    package static func == (first: ResponseReservation, second: ResponseReservation) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
}
