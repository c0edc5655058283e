/// Information about the files of a store, for diagnosis.
package struct StoreInspection: Sendable, Hashable {
    /// Result of the check of the structure.
    package enum Integrity: Sendable, Hashable {
        case intact
        case damaged(String)
        /// The time limit ended the check before everything was read.
        case unfinished
    }

    /// Size of the files in bytes.
    package let bytes: Int64
    /// The last applied schema migration; `nil` for an empty store.
    package let layout: String?
    /// `true` if no schema migration is pending.
    package let isCurrent: Bool
    package let integrity: Integrity

    package init(bytes: Int64, layout: String?, isCurrent: Bool, integrity: Integrity) {
        self.bytes = bytes
        self.layout = layout
        self.isCurrent = isCurrent
        self.integrity = integrity
    }
}
