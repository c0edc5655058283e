import StoredRows

/// The output of differences: a file that a run can resume, or a closure.
struct DifferenceOutput {
    private var file: OutputFile?
    private let write: @Sendable ([UInt8]) -> Void

    /// Opens the output.
    ///
    /// - Parameters:
    ///   - path: Path of the file. If `nil`, everything is passed to `write`.
    ///   - bytes: Size to which an existing file is truncated, in bytes.
    ///   - write: Receives the output if there is no file.
    init(path: String?, keeping bytes: Int64, write: @escaping @Sendable ([UInt8]) -> Void) throws(SinkError) {
        if let path { file = try OutputFile(path: path, cutAt: bytes) }
        self.write = write
    }

    /// Size of the file in bytes; 0 if there is no file.
    var size: Int64 { file?.size ?? 0 }

    mutating func append(_ bytes: [UInt8]) throws(SinkError) {
        guard !bytes.isEmpty else { return }
        if file == nil { write(bytes) } else { try file?.append(bytes) }
    }

    mutating func makeDurable() throws(SinkError) { try file?.makeDurable() }
}
