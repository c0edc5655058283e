import StoredRows

/// Where differences go: a file that a run goes on with, or somebody who takes them as they come.
struct DifferenceOutput {
    private var file: OutputFile?
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameters:
    ///   - path: nil gives everything to `write`.
    ///   - bytes: of the file that are kept.
    init(path: String?, keeping bytes: Int64, write: @escaping @Sendable ([UInt8]) -> Void) throws(SinkError) {
        if let path { file = try OutputFile(path: path, cutAt: bytes) }
        self.write = write
    }

    /// How long the file is.
    var size: Int64 { file?.size ?? 0 }

    mutating func append(_ bytes: [UInt8]) throws(SinkError) {
        guard !bytes.isEmpty else { return }
        if file == nil { write(bytes) } else { try file?.append(bytes) }
    }

    mutating func makeDurable() throws(SinkError) { try file?.makeDurable() }
}
